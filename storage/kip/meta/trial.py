"""VALIDATE and PREVIEW: trying a command without its effect.

VALIDATE answers whether a command could run and, if not, why; PREVIEW what it would change.
A mutation is carried out for that, under the space's lock, and rolled back before the answer; a
query is asked for no rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storage.graph.commit import ElementChange
from storage.kip.binding import bind
from storage.kip.errors import KipError, LanguageMismatch, TypeMismatch, as_kip
from storage.kip.language import command
from storage.kip.language.ast_kml import Mutation
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_meta import Preview, Validate
from storage.kip.language.ast_terms import ObjectValue
from storage.kip.language.check_values import plain
from storage.kip.language.command import Command, place
from storage.kip.meta.answered import Answered, Asking, needed
from storage.kip.mutation.apply import Applied, apply
from storage.kip.mutation.authority import Authority
from storage.kip.query.find import check


def trial(asking: Asking, statement: Validate | Preview) -> Answered:
    """Try a command out.

    PREVIEW raises what the command would raise; VALIDATE tells it as `errors`.
    """
    given = needed(statement.value)
    if isinstance(statement, Preview):
        return Answered(_preview(asking, _read(given, "KML"), asking.parameters))
    options = _options(statement.options)
    parameters = options.get("parameters", {})
    if not isinstance(parameters, Mapping):
        raise TypeMismatch("WITH parameters takes an object.")
    try:
        parsed = _read(given, statement.target)
        told = _validate(asking, parsed, parameters if "parameters" in options else None)
    except KipError as error:
        if "offset" in error.data:
            place(error, given)
        return Answered({"valid": False, "language": statement.target, "errors": [as_kip(error)]})
    return Answered(
        {
            "valid": True,
            "language": statement.target,
            "kind": parsed.kind,
            "parameters": sorted(parsed.parameters),
            "errors": [],
            **told,
        }
    )


def _read(text: str, language: str) -> Command:
    parsed = command.read(text)
    if parsed.language != language:
        raise LanguageMismatch(f"The command is {parsed.language}, not {language}.")
    return parsed


def _options(value: ObjectValue | None) -> Mapping[str, Any]:
    return plain(value) if value is not None else {}


def _validate(
    asking: Asking, parsed: Command, parameters: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What was checked; a command whose parameters are not given is parsed and no more."""
    if parsed.parameters and parameters is None:
        return {"checked": ["syntax"]}
    if parsed.language == "KML":
        preview = _preview(asking, parsed, parameters or {})
        return {"checked": ["syntax", "schema", "authority", "state"], "effect": preview["effect"]}
    bound = bind(parsed.statement, parameters or {})
    assert isinstance(bound, Find)
    check(asking.snapshot, bound)
    return {"checked": ["syntax", "schema"]}


def _preview(asking: Asking, parsed: Command, parameters: Mapping[str, Any]) -> dict[str, Any]:
    bound = bind(parsed.statement, parameters)
    assert isinstance(bound, Mutation)
    authority = asking.authority or Authority(asking.caller, permissions=frozenset())
    snapshot = asking.snapshot
    tried = apply(snapshot.tx, snapshot.scope, authority, bound, dry_run=True)
    return {
        "effect": "no_effect" if tried.no_effect else "would_commit",
        "basis_seq": snapshot.seq,
        "changes": [_change(one, tried) for one in tried.commit.changes],
        "defines": list(tried.commit.drafts),
        "selected": [count.as_json() for count in tried.counts],
    }


def _change(change: ElementChange, tried: Applied) -> dict[str, Any]:
    """A change as its envelope would tell it; a new element has no id yet, but maybe a handle."""
    told = change.as_json()
    if change.op == "create":
        del told["id"]
        handles = [name for name, id in tried.handles.items() if id == change.id]
        if handles:
            told["handle"] = f"?{handles[0]}"
    return told
