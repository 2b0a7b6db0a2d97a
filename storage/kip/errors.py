"""Every error that KIP 2.0 names, and those that no part of the graph raises itself.

What each code means is said in `storage.graph.error_codes`. Errors about data are raised by
`storage.graph.errors`; this module adds the rest. `fault` makes any of them with an offset into the
text, which `storage.kip.language.command.read` turns into a line and a column.
"""

from __future__ import annotations

from typing import Any

from storage.graph.error_codes import REGISTRY
from storage.graph.errors import (
    ConstraintViolation,
    DanglingReference,
    DuplicateLocalHandle,
    DuplicateMutationTarget,
    IdempotencyConflict,
    IdentitySelectorRequired,
    ImmutableField,
    KipError,
    ResourceExhausted,
    SearchModeUnsupported,
    TypeMismatch,
)

__all__ = [
    "REGISTRY",
    "ActorBindingRequired",
    "ArtifactUnavailable",
    "ConstraintViolation",
    "CursorExpired",
    "CursorInvalid",
    "CursorMismatch",
    "CursorTypeMismatch",
    "DanglingReference",
    "DuplicateLocalHandle",
    "DuplicateMutationTarget",
    "EpistemicRevisionRequired",
    "EvidenceCorrectionRequired",
    "ExecutionTimeout",
    "HistoricalSearchUnavailable",
    "HistoricalSnapshotUnavailable",
    "IdempotencyConflict",
    "IdentitySelectorRequired",
    "ImmutableField",
    "InvalidIdentifier",
    "InvalidRequestEnvelope",
    "InvalidSyntax",
    "KipError",
    "LanguageMismatch",
    "NameIdentityForbidden",
    "NotAuthorized",
    "OutcomeUnknown",
    "PreconditionFailed",
    "ProjectionTargetUnbound",
    "ProjectionTargetUnbounded",
    "ProtectedGovernanceField",
    "ProtectedSchemaState",
    "ProtectedSystemField",
    "ReadonlyViolation",
    "ResourceExhausted",
    "ResultLimitExceeded",
    "SearchIndexUnavailable",
    "SearchModeUnsupported",
    "SerializationConflict",
    "TransactionTooLarge",
    "TransactionUnknown",
    "TypeMismatch",
    "UnsupportedCapability",
    "UnsupportedIsolation",
    "UnsupportedProtocolVersion",
    "as_kip",
    "fault",
]


class InvalidSyntax(KipError):
    """The text is no command of the language, or breaks one of its own rules."""

    code = "InvalidSyntax"


class InvalidIdentifier(KipError):
    """A name is missing, or has a character that names do not take."""

    code = "InvalidIdentifier"


class InvalidRequestEnvelope(KipError):
    """What came is not of the form of a request at all."""

    code = "InvalidRequestEnvelope"


class EpistemicRevisionRequired(KipError):
    """A claim is never rewritten: a new assertion takes its place."""

    code = "EpistemicRevisionRequired"


class EvidenceCorrectionRequired(KipError):
    """Evidence is never rewritten: new evidence corrects it."""

    code = "EvidenceCorrectionRequired"


class ProjectionTargetUnbound(KipError):
    """A belief is asked about a variable that nothing binds."""

    code = "ProjectionTargetUnbound"


class CursorInvalid(KipError):
    """That is no cursor that this server has given out."""

    code = "CursorInvalid"


class UnsupportedCapability(KipError):
    """This server does not have that capability."""

    code = "UnsupportedCapability"


class UnsupportedProtocolVersion(KipError):
    """This server speaks KIP 2.0 only."""

    code = "UnsupportedProtocolVersion"


class UnsupportedIsolation(KipError):
    """That isolation cannot be given."""

    code = "UnsupportedIsolation"


class LanguageMismatch(KipError):
    """The command is not of the language that its label says."""

    code = "LanguageMismatch"


class ReadonlyViolation(KipError):
    """Only reading is allowed here."""

    code = "ReadonlyViolation"


class ProjectionTargetUnbounded(KipError):
    """A belief is asked about no particular subject or predicate."""

    code = "ProjectionTargetUnbounded"


class ProtectedSystemField(KipError):
    """The engine alone writes that member."""

    code = "ProtectedSystemField"


class ProtectedGovernanceField(KipError):
    """Governance alone writes that member."""

    code = "ProtectedGovernanceField"


class ProtectedSchemaState(KipError):
    """The language does not change installed vocabulary."""

    code = "ProtectedSchemaState"


class NotAuthorized(KipError):
    """The caller may not do that."""

    code = "NotAuthorized"
    status = 403


class ActorBindingRequired(KipError):
    """Nobody may speak for that actor here."""

    code = "ActorBindingRequired"
    status = 403


class NameIdentityForbidden(KipError):
    """A name never identifies."""

    code = "NameIdentityForbidden"


class PreconditionFailed(KipError):
    """The space is not as the request expects it."""

    code = "PreconditionFailed"
    status = 409


class TransactionUnknown(KipError):
    """No such transaction is known here."""

    code = "TransactionUnknown"
    status = 404


class OutcomeUnknown(KipError):
    """Whether it was committed is not known."""

    code = "OutcomeUnknown"
    status = 503


class TransactionTooLarge(KipError):
    """The change is too large for one transaction."""

    code = "TransactionTooLarge"
    status = 413


class SerializationConflict(KipError):
    """Another write came first."""

    code = "SerializationConflict"
    status = 409


class HistoricalSnapshotUnavailable(KipError):
    """The space has no such state to look at."""

    code = "HistoricalSnapshotUnavailable"


class CursorMismatch(KipError):
    """The cursor belongs to another request."""

    code = "CursorMismatch"


class CursorTypeMismatch(KipError):
    """The cursor belongs to another family of commands."""

    code = "CursorTypeMismatch"


class CursorExpired(KipError):
    """What the cursor points into is not kept any more."""

    code = "CursorExpired"


class SearchIndexUnavailable(KipError):
    """The search index cannot be used right now."""

    code = "SearchIndexUnavailable"
    status = 503


class HistoricalSearchUnavailable(KipError):
    """The past cannot be searched."""

    code = "HistoricalSearchUnavailable"


class ArtifactUnavailable(KipError):
    """The artifact cannot be had."""

    code = "ArtifactUnavailable"


class ResultLimitExceeded(KipError):
    """The result is too large."""

    code = "ResultLimitExceeded"
    status = 413


class ExecutionTimeout(KipError):
    """The command took too long."""

    code = "ExecutionTimeout"
    status = 408


def fault(error: type[KipError], message: str, at: int, *, hint: str | None = None) -> KipError:
    """The error, at that offset of the text, with a hint of its own or the registry's."""
    return error(message, data={"hint": hint or REGISTRY[error.code].hint, "offset": at})


def as_kip(error: KipError) -> dict[str, Any]:
    """An error as a KIP response carries it; what else its data holds becomes `details`."""
    entry = REGISTRY[error.code]
    details = {name: value for name, value in error.data.items() if name != "hint"}
    return {
        "code": error.code,
        "category": entry.category,
        "message": error.message,
        "hint": error.data.get("hint", entry.hint),
        "retry": {"class": error.retry_class},
        "details": details,
    }
