"""Answering META: one function for every command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from storage.kip.language import ast_meta as ast
from storage.kip.meta import (
    capabilities,
    changes,
    dependents,
    describe,
    receipts,
    search,
    trial,
    vocabulary,
)
from storage.kip.meta.answered import Answered, Asking
from storage.kip.mutation.authority import Authority
from storage.kip.snapshot import Snapshot

__all__ = ["Answered", "answer", "writes"]

#: The capability that a command of these targets would need.
_NEEDS: dict[tuple[str, str], str] = {
    ("Describe", "CAPSULE"): "capsule_export",
    ("Verify", "CAPSULE"): "capsule_import",
    ("Verify", "SCHEMA PACKAGE"): "schema_package_artifacts",
    ("Validate", "CAPSULE"): "capsule_import",
    ("Validate", "SCHEMA PACKAGE"): "schema_package_artifacts",
    ("Validate", "IMPORT PLAN"): "capsule_import",
    ("Preview", "IMPORT CAPSULE"): "capsule_import",
}


def writes(statement: ast.Meta) -> bool:
    """Whether the command tries a mutation out and so needs a transaction that may write.

    PREVIEW KML and VALIDATE KML do; they roll back to where they began before they answer.
    """
    return isinstance(statement, ast.Preview | ast.Validate) and statement.target == "KML"


def answer(
    snapshot: Snapshot,
    statement: ast.Meta,
    *,
    caller: str,
    authority: Authority | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Answered:
    """Answer a bound command (no parameters are left in it) in the snapshot.

    `caller` is whom cursors are for; `authority` (None: a caller that may only read) is what
    DESCRIBE ACCESS tells of and what PREVIEW KML tries with; `parameters` are those of the request,
    which the command that PREVIEW KML quotes may name, too. The snapshot is of the present; what
    asks for the past says so itself. `context` is what the result's context is to hold besides the
    coordinate: `search` and `extensions`. Raises a `KipError`, such as `UnsupportedCapability` for
    what this engine does not have.
    """
    asking = Asking(snapshot, caller, authority, parameters or {})
    match statement:
        case ast.ExportCapsule():
            raise capabilities.unsupported(["capsule_export"])
        case ast.Describe() | ast.Verify() | ast.Validate() | ast.Preview():
            name = _NEEDS.get((type(statement).__name__, statement.target))
            if name is not None:
                raise capabilities.unsupported([name])
    return _of(statement)(asking, statement)


def _of(statement: ast.Meta) -> Callable[[Asking, Any], Answered]:
    match statement:
        case ast.Describe() if statement.target in vocabulary.DESCRIBED:
            return vocabulary.describe
        case ast.Describe():
            return describe.describe
        case ast.List() if statement.target == "DEPENDENTS":
            return dependents.dependents
        case ast.List() if statement.target in vocabulary.LISTED:
            return vocabulary.listed
        case ast.List():
            return describe.listed
        case ast.Search():
            return search.search
        case ast.Verify():
            return receipts.verify_receipt
        case ast.History():
            return changes.history
        case ast.Changes():
            return changes.changes
    return trial.trial
