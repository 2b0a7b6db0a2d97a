"""Runs a request of KIP, whatever it is: one envelope in, one envelope out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from storage.errors import DatabaseUnavailable
from storage.graph.errors import NotFoundOrNotVisible
from storage.graph.transactions import uri
from storage.kip.errors import (
    PreconditionFailed,
    ResourceExhausted,
)
from storage.kip.language.ast_kml import Define, Mutation
from storage.kip.meta import capabilities
from storage.kip.protocol import answers, ingest
from storage.kip.protocol.answers import Outcome
from storage.kip.protocol.caller import Caller
from storage.kip.protocol.deadlines import Deadline
from storage.kip.protocol.envelope import Request, parse
from storage.kip.protocol.expectations import Expectations
from storage.kip.protocol.faults import as_error
from storage.kip.protocol.normalise import normalise
from storage.kip.protocol.operations import Prepared, bound, prepare, request_digest
from storage.kip.protocol.reading import read
from storage.kip.protocol.writing import Intent, write
from storage.kip.snapshot_tokens import coordinate

#: DEFINE commands of one request.
MAX_DEFINES = 8


def execute(request: Any, caller: Caller, *, readonly: bool) -> dict[str, Any]:
    """The response envelope to any request that a client may send, of any form.

    With `readonly`, a request that would change memory is refused as a whole. Nothing that is wrong
    with the request raises: it is an error in the answer, on the operation that it concerns or, if
    none has run, on the whole. Raises `DatabaseUnavailable` alone, when PostgreSQL is away and
    nothing of the request has been committed.
    """
    request_id = request.get("request_id") if isinstance(request, dict) else None
    known: Request | None = None
    try:
        known = parse(normalise(request))
        prepared = _admitted(known, caller, readonly=readonly)
        run = _Run(known, caller)
        outcomes = run.all(prepared)
    except DatabaseUnavailable:
        raise
    except Exception as error:
        return answers.refused(known, request_id, as_error(error))
    return answers.answered(known, caller.scope.space_id, outcomes)


def _admitted(request: Request, caller: Caller, *, readonly: bool) -> tuple[Prepared, ...]:
    """The operations of a request that may run here. Raises a `KipError` if it may not."""
    space_id = caller.scope.space_id
    if request.space_id not in (None, space_id, uri(space_id)) or request.space_uri not in (
        None,
        uri(space_id),
    ):
        raise NotFoundOrNotVisible("There is no such space.")
    if unmet := capabilities.missing(request.requires):
        raise capabilities.unsupported(unmet)
    prepared = prepare(request, readonly=readonly)
    defines = sum(
        one.command is not None and isinstance(one.command.statement, Define) for one in prepared
    )
    if defines > MAX_DEFINES:
        raise ResourceExhausted(f"A request may DEFINE {MAX_DEFINES} symbols; this one has more.")
    return prepared


@dataclass(slots=True)
class _Run:
    """One request on its way: what it knows by the operations that are through."""

    request: Request
    caller: Caller
    deadline: Deadline = field(init=False)
    expected: Expectations = field(init=False)
    as_of: int | None = field(init=False, default=None)
    minted: dict[str, Mapping[str, str]] = field(init=False, default_factory=dict)
    committed: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        request = self.request
        self.deadline = Deadline.after(request.deadline_ms)
        self.expected = Expectations(request.expected_seq, request.expected_env_version)
        if request.snapshot_token is not None:
            self.as_of = coordinate(self.caller.scope, request.snapshot_token)

    def all(self, prepared: tuple[Prepared, ...]) -> list[Outcome]:
        """The outcomes of all operations, in their order.

        Raises `PreconditionFailed` when the space is another than the request expects and nothing
        of it has been committed yet.
        """
        outcomes: list[Outcome] = []
        stopped = False
        writing = [index for index, one in enumerate(prepared) if one.writes]
        for index, one in enumerate(prepared):
            if stopped:
                outcomes.append(Outcome("skipped"))
                continue
            outcome = self._outcome(one, self._key(one, index, writing))
            outcomes.append(outcome)
            stopped = not outcome.done and self._stops(outcome)
        return outcomes

    def _stops(self, outcome: Outcome) -> bool:
        if self.request.mode != "sequence":
            return False
        return outcome.unknown or self.request.on_error == "stop"

    def _outcome(self, one: Prepared, key: str | None) -> Outcome:
        try:
            return self._write(one, key) if one.writes else self._read(one)
        except DatabaseUnavailable as error:
            if not self.committed:
                raise
            return answers.failed(as_error(error))
        except PreconditionFailed as error:
            if not self.committed:
                raise
            return answers.failed(error)
        except Exception as error:
            return answers.failed(as_error(error))

    def _read(self, one: Prepared) -> Outcome:
        parameters = {**one.operation.parameters, **self.minted}
        statement = bound(one, parameters)
        return read(
            self.caller,
            statement,
            deadline=self.deadline,
            expected=self.expected,
            as_of=self.as_of,
            parameters=parameters,
        )

    def _write(self, one: Prepared, key: str | None) -> Outcome:
        handles = ingest.handles(self.request) if one.mints else {}
        statement = bound(one, one.operation.parameters, minted=handles)
        assert isinstance(statement, Mutation)
        intent = Intent(
            statement,
            digest=request_digest(self.request, one),
            key=key,
            mints=one.mints,
            as_of=self.as_of,
        )
        written = write(
            self.caller, intent, self.request, deadline=self.deadline, expected=self.expected
        )
        if written.moved is not None:
            self.committed = True
            self.expected.moved(*written.moved)
        self.minted.update(written.minted)
        return written.outcome

    def _key(self, one: Prepared, index: int, writing: list[int]) -> str | None:
        """The idempotency key of a mutation: its own, or the request's.

        Several mutations under one key of the request are told apart by their place.
        """
        if one.operation.idempotency_key is not None:
            return one.operation.idempotency_key
        shared = self.request.idempotency_key
        if shared is None or not one.writes:
            return None
        return shared if len(writing) == 1 else f"{shared}#{index}"
