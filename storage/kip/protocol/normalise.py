"""The forms in which clients send a request, and the one strict form that they stand for.

Beside the envelope itself (seed 003, part 7, `KipRequest`): a bare string, which is one command;
`command` in place of `operations`; operations that are strings; the older `commands`, which run in
order and stop at the first failure; `dry_run` at the top; and no `kip`, which means 2.0.
"""

from __future__ import annotations

from typing import Any

from storage.kip.errors import InvalidRequestEnvelope

_FORMS = ("operations", "command", "commands")


def normalise(request: Any) -> dict[str, Any]:
    """The strict envelope of a request; what it holds is not looked at beyond that.

    Raises `InvalidRequestEnvelope` for what is neither a string nor an object with exactly one of
    `operations`, `command` and `commands`.
    """
    if isinstance(request, str):
        return {"kip": "2.0", "operations": [{"command": request}]}
    if not isinstance(request, dict):
        raise InvalidRequestEnvelope("A request is an object, or one command as a string.")
    given = [form for form in _FORMS if form in request]
    if len(given) != 1:
        raise InvalidRequestEnvelope(f"A request has exactly one of {', '.join(_FORMS)}.")
    strict = {name: value for name, value in request.items() if name not in (*_FORMS, "dry_run")}
    strict.setdefault("kip", "2.0")
    strict["operations"] = _operations(given[0], request[given[0]])
    if given[0] == "commands" and len(strict["operations"]) > 1:
        strict.setdefault("execution", {"mode": "sequence", "on_error": "stop"})
    if "dry_run" in request:
        strict["options"] = _options(strict.get("options"), request["dry_run"])
    return strict


def _operations(form: str, value: Any) -> list[Any]:
    if form == "command":
        return [{"command": value}]
    if not isinstance(value, list):
        raise InvalidRequestEnvelope(f"{form} is an array.")
    return [{"command": one} if isinstance(one, str) else one for one in value]


def _options(options: Any, dry_run: Any) -> Any:
    if options is None:
        return {"dry_run": dry_run}
    if isinstance(options, dict) and options.get("dry_run", dry_run) != dry_run:
        raise InvalidRequestEnvelope("dry_run is said twice, and differently.")
    return {**options, "dry_run": dry_run} if isinstance(options, dict) else options
