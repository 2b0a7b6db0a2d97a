"""Reads the commands that look at memory itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from storage.kip.language.ast_meta import (
    Changes,
    Describe,
    ExportCapsule,
    History,
    List,
    Meta,
    Preview,
    Search,
    Validate,
    Verify,
)
from storage.kip.language.ast_terms import Scalar
from storage.kip.language.parse_expressions import object_value
from storage.kip.language.parse_kql import as_of
from storage.kip.language.parse_patterns import (
    Patterns,
    element_kind,
    one_of,
    search_options,
    where,
)
from storage.kip.language.parse_terms import is_literal, scalar, target
from storage.kip.language.reader import Reader
from storage.kip.language.tokens import Kind

#: What DESCRIBE takes a value for.
_DESCRIBED = {
    "PACKAGE": "PACKAGE",
    "TYPE": "TYPE",
    "PREDICATE": "PREDICATE",
    "FACET": "FACET",
    "STRUCTURAL": "STRUCTURAL FIELD",
    "ERROR": "ERROR",
    "CAPSULE": "CAPSULE",
}
#: What it takes none or one for.
_DESCRIBED_OPTIONALLY = {
    "SPACE": "SPACE",
    "EPISTEMIC": "EPISTEMIC POLICY",
    "TRUST": "TRUST",
}
_LISTED = {
    "SPACES": "SPACES",
    "SCHEMA": "SCHEMA PACKAGES",
    "TYPES": "TYPES",
    "PREDICATES": "PREDICATES",
    "FACETS": "FACETS",
    "STRUCTURAL": "STRUCTURAL FIELDS",
    "EPISTEMIC": "EPISTEMIC POLICIES",
    "DEPENDENTS": "DEPENDENTS",
}
_VERIFIED = {"CAPSULE": "CAPSULE", "SCHEMA": "SCHEMA PACKAGE", "RECEIPT": "RECEIPT"}
_VALIDATED = {
    "KQL": "KQL",
    "KML": "KML",
    "CAPSULE": "CAPSULE",
    "SCHEMA": "SCHEMA PACKAGE",
    "IMPORT": "IMPORT PLAN",
}


def _describe(r: Reader) -> Describe:
    at = r.advance().at
    word = str(r.token.value) if r.token.kind == Kind.WORD else ""
    if word in _DESCRIBED:
        named = _target(r, _DESCRIBED)
        return Describe(named, scalar(r, f"which {named}"), at=at)
    if word in _DESCRIBED_OPTIONALLY:
        named = _target(r, _DESCRIBED_OPTIONALLY)
        return Describe(named, _optional_scalar(r), at=at)
    given: dict[str, Any] = {}
    match word:
        case "PROTOCOL" | "CAPABILITIES":
            named = _target(r, {word: word})
        case "PRIMER":
            named = _target(r, {word: word})
            given["mode"] = one_of(r, ("compact", "full")) if r.skip_words("MODE") else None
        case "SCHEMA":
            named = _target(r, {word: "SCHEMA ENVIRONMENT"})
            given["as_of"] = as_of(r)
        case "COMPATIBILITY":
            named = _target(r, {word: word})
            r.take_word("FROM")
            given["value"] = scalar(r, "a package")
            r.take_word("TO")
            given["to"] = scalar(r, "a package")
        case "TRANSACTION":
            named = _target(r, {word: word})
            given["by_key"] = r.skip_words("BY", "IDEMPOTENCY", "KEY")
            given["value"] = scalar(r, "a transaction")
        case "SNAPSHOT":
            named = _target(r, {word: word})
            given["as_of"] = as_of(r)
            if given["as_of"] is None and r.skip_words("AT", "TIME"):
                given["at_time"] = scalar(r, "a time")
        case "ACCESS":
            named = _target(r, {word: word})
            given["options"] = _options(r)
        case _:
            r.refuse("what to describe", hint="Such as PRIMER, CAPABILITIES, TYPE :t, ERROR :code.")
    return Describe(named, **given, at=at)


def _list(r: Reader) -> List:
    at = r.advance().at
    named = _target(r, _LISTED)
    value = scalar(r, "an element") if named == "DEPENDENTS" else None
    depth = scalar(r, "a depth") if value and r.skip_words("DEPTH") else None
    status = None
    if named == "SCHEMA PACKAGES" and r.skip_words("STATUS"):
        status = scalar(r, "a status")
    limit, cursor = _page(r)
    return List(named, value, depth, status, limit, cursor, at=at)


def _search(r: Reader) -> Search:
    at = r.advance().at
    kind = element_kind(r)
    query = scalar(r, "what to search for")
    options = search_options(r)
    seq = as_of(r)
    limit, cursor = _page(r)
    return Search(kind, query, **options, as_of=seq, limit=limit, cursor=cursor, at=at)


def _verify(r: Reader) -> Verify:
    at = r.advance().at
    named = _target(r, _VERIFIED)
    return Verify(named, scalar(r, f"a {named}"), at=at)


def _validate(r: Reader) -> Validate:
    at = r.advance().at
    named = _target(r, _VALIDATED)
    return Validate(named, scalar(r, f"a {named}"), _options(r), at=at)


def _preview(r: Reader) -> Preview:
    at = r.advance().at
    if r.skip_words("KML"):
        return Preview("KML", scalar(r, "a command"), at=at)
    if r.skip_words("IMPORT", "CAPSULE"):
        capsule = scalar(r, "a capsule")
        r.take_word("INTO")
        return Preview("IMPORT CAPSULE", capsule, scalar(r, "a space"), at=at)
    r.refuse("KML or IMPORT CAPSULE")


def _history(r: Reader) -> History:
    at = r.advance().at
    value: Scalar | None = None
    if r.skip_words("ELEMENT"):
        value = scalar(r, "an element")
    elif not r.skip_words("SPACE"):
        r.refuse("ELEMENT or SPACE")
    first = scalar(r, "a sequence") if r.skip_words("FROM", "SEQ") else None
    last = scalar(r, "a sequence") if r.skip_words("TO", "SEQ") else None
    limit, cursor = _page(r)
    return History("ELEMENT" if value else "SPACE", value, first, last, limit, cursor, at=at)


def _changes(r: Reader) -> Changes:
    at = r.advance().at
    since = after = None
    if r.skip_words("SINCE"):
        since = scalar(r, "a cursor")
    elif r.skip_words("AFTER", "SEQ"):
        after = scalar(r, "a sequence")
    else:
        r.refuse("SINCE or AFTER SEQ")
    limit = scalar(r, "a limit") if r.skip_words("LIMIT") else None
    return Changes(since, after, limit, at=at)


def _export(r: Reader) -> ExportCapsule:
    at = r.advance().at
    r.take_word("CAPSULE")
    root = target(r, "the root of the capsule")
    r.take_word("WHERE")
    block = where(r, Patterns.RAW)
    options = _options(r)
    return ExportCapsule(root, block, options, as_of(r), at=at)


STATEMENTS: dict[str, Callable[[Reader], Meta]] = {
    "DESCRIBE": _describe,
    "LIST": _list,
    "SEARCH": _search,
    "VERIFY": _verify,
    "VALIDATE": _validate,
    "PREVIEW": _preview,
    "HISTORY": _history,
    "CHANGES": _changes,
    "EXPORT": _export,
}


def _target(r: Reader, targets: dict[str, str]) -> str:
    """What the command is about, of one or two words; `targets` is keyed by the first."""
    if r.token.kind != Kind.WORD or r.token.value not in targets:
        r.refuse(f"one of {', '.join(targets.values())}")
    named = targets[str(r.advance().value)]
    for word in named.split()[1:]:
        r.take_word(word)
    return named


def _page(r: Reader) -> tuple[Scalar | None, Scalar | None]:
    limit = scalar(r, "a limit") if r.skip_words("LIMIT") else None
    cursor = scalar(r, "a cursor") if r.skip_words("CURSOR") else None
    return limit, cursor


def _options(r: Reader) -> Any:
    if not r.skip_words("WITH"):
        return None
    if not r.is_mark("{"):
        r.refuse("an object after WITH")
    return object_value(r)


def _optional_scalar(r: Reader) -> Scalar | None:
    given = r.token.kind == Kind.PARAMETER or is_literal(r)
    return scalar(r, "a value") if given else None
