"""One declaration a route: what it reads, what it answers, and how it is documented.

The wrapper around a handler does what is the same everywhere (admit the caller, read and check
body and query), so that a handler only says what it does; `api.openapi` writes the document from
the same declarations.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from flask import Blueprint, Response, request
from pydantic import BaseModel, TypeAdapter

from api import limits, negotiation
from api.admission import Admission, admit, admit_manager, admit_operator
from api.negotiation import CBOR, JSON, MEDIA, Media
from api.strict_json import check_text
from api.validation import validated
from storage import errors
from storage.errors import BrainError, InvalidInput, NotFound

#: The formats of bodies and answers that plain text cannot stand for.
MEDIA_PLAIN: tuple[Media, ...] = (JSON, CBOR)

Handler = Callable[..., Response]


@dataclass(frozen=True, slots=True)
class Header:
    """A request header that a route reads."""

    name: str
    description: str
    example: str
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "string"})


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a route: its model and the formats it comes in."""

    model: Any
    description: str = "Done."
    media: tuple[str, ...] = MEDIA


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path, as it is documented."""

    name: str
    method: str
    path: str
    tag: str
    summary: str
    description: str
    answers: dict[int, Answer]
    body: type[BaseModel] | None
    body_media: tuple[Media, ...]
    query: type[BaseModel] | None
    headers: tuple[Header, ...]
    errors: tuple[type[BrainError], ...]
    admits: Admission | str
    across_labels: bool


#: The errors that any route may answer.
EVERYWHERE: tuple[type[BrainError], ...] = (InvalidInput, errors.NotAuthorized, errors.Fatal)


class Routes:
    """The routes of one file: a Flask blueprint and their documentation."""

    def __init__(self, name: str, *, tag: str) -> None:
        self.blueprint = Blueprint(name, __name__)
        self.operations: list[Operation] = []
        self._tag = tag

    def add(
        self,
        method: str,
        path: str,
        *,
        summary: str,
        answers: dict[int, Answer],
        body: type[BaseModel] | None = None,
        from_text: Callable[[str], Any] | None = None,
        text_member: str = "",
        query: type[BaseModel] | None = None,
        headers: tuple[Header, ...] = (),
        raises: tuple[type[BrainError], ...] = (),
        admits: Admission | Literal["anyone", "manager", "operator"] = "anyone",
        admits_by: Callable[[Any], Admission] | None = None,
        across_labels: bool = False,
        **options: Any,
    ) -> Callable[[Handler], Handler]:
        """Declare a route; the handler gets `caller`, `body` and `query` where it has them.

        A route of a space names its admission class; `admits_by` chooses it by the body, as it was
        sent, where that says what is asked for. `across_labels` says that the answer spans all
        labels. Others are for anyone, for platform managers, or for operators.
        """
        if isinstance(admits, Admission) != path.startswith("/v1/<space_id>"):
            raise ValueError(f"{path}: say admits=Admission.… (see api.admission)")
        body_of = None if body is None else TypeAdapter(body)
        query_of = None if query is None else TypeAdapter(query)
        found: tuple[type[BrainError], ...] = EVERYWHERE + raises
        if "<space_id>" in path:
            found += (NotFound, errors.DatabaseUnavailable)
        if admits != "anyone":
            found += (errors.Unauthenticated,)
        if body is not None:
            found += (errors.TooLarge, errors.UnsupportedMediaType)

        def declare(handler: Handler) -> Handler:
            @functools.wraps(handler)
            def view(**given: Any) -> Response:
                raw: Any = None
                if isinstance(admits, Admission):
                    space_id = given.pop("space_id")
                    if admits_by is None:
                        given["caller"] = admit(space_id, admits, across_labels=across_labels)
                    else:
                        raw = _body_of_known(space_id)
                        given["caller"] = admit(
                            space_id, admits_by(raw), across_labels=across_labels
                        )
                elif admits == "manager":
                    admit_manager()
                elif admits == "operator":
                    admit_operator()
                if body_of is not None:
                    if admits_by is None:
                        raw = negotiation.read_body(from_text, text_member)
                    given["body"] = validated(body_of, raw)
                if query_of is not None:
                    given["query"] = validated(query_of, _query())
                elif request.query_string:
                    raise InvalidInput("This route takes no query parameters.")
                return limits.refuse_model() or handler(**given)

            def _body_of_known(space_id: str) -> Any:
                """The body, where it chooses the class; nobody's body is waited for.

                Who may not call learns nothing from a body that cannot be read.
                """
                assert isinstance(admits, Admission)
                refused = None
                try:
                    admit(space_id, admits, across_labels=across_labels)
                except errors.NotAuthorized as error:
                    # enough perhaps for what the body asks for
                    refused = error
                try:
                    return negotiation.read_body(from_text, text_member)
                except InvalidInput:
                    if refused is not None:
                        raise refused from None
                    raise

            self.blueprint.add_url_rule(path, handler.__name__, view, methods=[method], **options)
            self.operations.append(
                Operation(
                    name=handler.__name__,
                    method=method,
                    path=path,
                    tag=self._tag,
                    summary=summary,
                    description=" ".join((handler.__doc__ or "").split()),
                    answers=answers,
                    body=body,
                    body_media=MEDIA if from_text else MEDIA_PLAIN,
                    query=query,
                    headers=headers,
                    errors=tuple(dict.fromkeys(found)),
                    admits=admits,
                    across_labels=across_labels,
                )
            )
            return handler

        return declare


def json_only(model: Any, description: str = "Done.") -> Answer:
    """An answer that comes as JSON whatever is asked for."""
    return Answer(model, description, (JSON,))


def _query() -> dict[str, Any]:
    """The query parameters; one that is given several times is a list."""
    found: dict[str, Any] = {}
    for name, values in request.args.lists():
        for value in (name, *values):
            check_text(value, field=name)
        found[name] = values[0] if len(values) == 1 else values
    return found
