"""Every error that KIP 2.0 names, and those that no part of the graph raises itself.

`REGISTRY` says for each code its category, its retry class (what a caller must change before it
asks again), what it means and what usually helps (contract kip-engine section 8). Errors about
data are raised by `storage.graph.errors`; this module adds the rest. `fault` makes any of them
with an offset into the text, which `storage.kip.language.command.read` turns into a line and a
column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

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
    "ErrorCode",
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
    category = "syntax"


class InvalidIdentifier(KipError):
    """A name is missing, or has a character that names do not take."""

    code = "InvalidIdentifier"
    category = "syntax"


class InvalidRequestEnvelope(KipError):
    """What came is not of the form of a request at all."""

    code = "InvalidRequestEnvelope"
    category = "protocol"


class EpistemicRevisionRequired(KipError):
    """A claim is never rewritten: a new assertion takes its place."""

    code = "EpistemicRevisionRequired"
    category = "epistemic"


class EvidenceCorrectionRequired(KipError):
    """Evidence is never rewritten: new evidence corrects it."""

    code = "EvidenceCorrectionRequired"
    category = "epistemic"


class ProjectionTargetUnbound(KipError):
    """A belief is asked about a variable that nothing binds."""

    code = "ProjectionTargetUnbound"
    category = "epistemic"


class CursorInvalid(KipError):
    """That is no cursor that this server has given out."""

    code = "CursorInvalid"
    category = "history"


class UnsupportedCapability(KipError):
    """This server does not have that capability."""

    code = "UnsupportedCapability"
    category = "protocol"
    retry_class = "non_retryable"


class UnsupportedProtocolVersion(KipError):
    """This server speaks KIP 2.0 only."""

    code = "UnsupportedProtocolVersion"
    category = "protocol"
    retry_class = "non_retryable"


class UnsupportedIsolation(KipError):
    """That isolation cannot be given."""

    code = "UnsupportedIsolation"
    category = "protocol"
    retry_class = "non_retryable"


class LanguageMismatch(KipError):
    """The command is not of the language that its label says."""

    code = "LanguageMismatch"
    category = "protocol"


class ReadonlyViolation(KipError):
    """Only reading is allowed here."""

    code = "ReadonlyViolation"
    category = "protocol"


class ProjectionTargetUnbounded(KipError):
    """A belief is asked about no particular subject or predicate."""

    code = "ProjectionTargetUnbounded"
    category = "epistemic"


class ProtectedSystemField(KipError):
    """The engine alone writes that member."""

    code = "ProtectedSystemField"
    category = "governance"


class ProtectedGovernanceField(KipError):
    """Governance alone writes that member."""

    code = "ProtectedGovernanceField"
    category = "governance"


class ProtectedSchemaState(KipError):
    """The language does not change installed vocabulary."""

    code = "ProtectedSchemaState"
    category = "governance"
    retry_class = "requires_authority"


class NotAuthorized(KipError):
    """The caller may not do that."""

    code = "NotAuthorized"
    category = "governance"
    retry_class = "requires_authority"
    status = 403


class ActorBindingRequired(KipError):
    """Nobody may speak for that actor here."""

    code = "ActorBindingRequired"
    category = "governance"
    retry_class = "requires_authority"
    status = 403


class NameIdentityForbidden(KipError):
    """A name never identifies."""

    code = "NameIdentityForbidden"
    category = "data"


class PreconditionFailed(KipError):
    """The space is not as the request expects it."""

    code = "PreconditionFailed"
    category = "transaction"
    retry_class = "requires_refresh"
    status = 409


class TransactionUnknown(KipError):
    """No such transaction is known here."""

    code = "TransactionUnknown"
    category = "transaction"
    retry_class = "non_retryable"
    status = 404


class OutcomeUnknown(KipError):
    """Whether it was committed is not known."""

    code = "OutcomeUnknown"
    category = "transaction"
    retry_class = "outcome_lookup_required"
    status = 503


class TransactionTooLarge(KipError):
    """The change is too large for one transaction."""

    code = "TransactionTooLarge"
    category = "transaction"
    status = 413


class SerializationConflict(KipError):
    """Another write came first."""

    code = "SerializationConflict"
    category = "transaction"
    retry_class = "safe_same_request"
    status = 409


class HistoricalSnapshotUnavailable(KipError):
    """The space has no such state to look at."""

    code = "HistoricalSnapshotUnavailable"
    category = "history"
    retry_class = "requires_new_snapshot"


class CursorMismatch(KipError):
    """The cursor belongs to another request."""

    code = "CursorMismatch"
    category = "history"


class CursorTypeMismatch(KipError):
    """The cursor belongs to another family of commands."""

    code = "CursorTypeMismatch"
    category = "history"


class CursorExpired(KipError):
    """What the cursor points into is not kept any more."""

    code = "CursorExpired"
    category = "history"
    retry_class = "requires_new_snapshot"


class SearchIndexUnavailable(KipError):
    """The search index cannot be used right now."""

    code = "SearchIndexUnavailable"
    category = "search"
    retry_class = "safe_same_request"
    status = 503


class HistoricalSearchUnavailable(KipError):
    """The past cannot be searched."""

    code = "HistoricalSearchUnavailable"
    category = "search"


class ArtifactUnavailable(KipError):
    """The artifact cannot be had."""

    code = "ArtifactUnavailable"
    category = "artifact"
    retry_class = "requires_reacquire_artifact"


class ResultLimitExceeded(KipError):
    """The result is too large."""

    code = "ResultLimitExceeded"
    category = "resource"
    status = 413


class ExecutionTimeout(KipError):
    """The command took too long."""

    code = "ExecutionTimeout"
    category = "resource"
    retry_class = "safe_same_request"
    status = 408


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One entry of the registry."""

    code: str
    category: str
    retry_class: str
    meaning: str
    hint: str


_DIFFERENT = "requires_different_input"
_REFRESH = "requires_refresh"
_AUTHORITY = "requires_authority"
_SNAPSHOT = "requires_new_snapshot"
_ARTIFACT = "requires_reacquire_artifact"
_SAME = "safe_same_request"
_NEVER = "non_retryable"

#: category: (code, retry class, meaning, hint)
_CODES: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "syntax": (
        (
            "InvalidSyntax",
            _DIFFERENT,
            "The text is no command of the language.",
            "Mend the text at the place that the error names.",
        ),
        (
            "InvalidIdentifier",
            _DIFFERENT,
            "A name has a character that names do not take.",
            "Names are ASCII letters, digits and _, and do not begin with a digit.",
        ),
    ),
    "protocol": (
        (
            "InvalidRequestEnvelope",
            _DIFFERENT,
            "The request is not of the protocol's form.",
            "Compare it with the request schema.",
        ),
        (
            "UnsupportedProtocolVersion",
            _NEVER,
            "This server does not speak that version.",
            'Say kip: "2.0".',
        ),
        (
            "UnsupportedCapability",
            _NEVER,
            "This server does not have that capability.",
            "DESCRIBE CAPABILITIES says what it has.",
        ),
        (
            "UnsupportedIsolation",
            _NEVER,
            "This server does not offer that isolation.",
            "DESCRIBE CAPABILITIES says what it offers.",
        ),
        (
            "LanguageMismatch",
            _DIFFERENT,
            "The command is of another language than its label says.",
            "Correct the label, or leave it out.",
        ),
        (
            "ReadonlyViolation",
            _DIFFERENT,
            "A command that changes memory was sent where only reading is allowed.",
            "Send it to the endpoint that writes.",
        ),
        (
            "DuplicateLocalHandle",
            _DIFFERENT,
            "Two statements of one transaction define the same handle.",
            "Give each its own handle.",
        ),
        (
            "DuplicateMutationTarget",
            _DIFFERENT,
            "One transaction wants two final values for the same place.",
            "Say each value once.",
        ),
    ),
    "schema": (
        (
            "SchemaSymbolNotFound",
            _DIFFERENT,
            "No package and no draft knows the name.",
            "DESCRIBE or LIST the vocabulary first; DEFINE what is truly missing.",
        ),
        (
            "SchemaSymbolAmbiguous",
            _DIFFERENT,
            "The local name stands for symbols of several packages.",
            "Write the exact kip://package@version/Symbol.",
        ),
        (
            "SchemaSymbolConflict",
            _DIFFERENT,
            "A symbol of that kind and name exists already.",
            "Use it, or choose another name.",
        ),
        (
            "SchemaFieldNotFound",
            _DIFFERENT,
            "The closed type or facet has no such field.",
            "DESCRIBE the type or facet for its fields.",
        ),
        (
            "SchemaPackageUnavailable",
            _REFRESH,
            "The package is not installed here.",
            "LIST SCHEMA PACKAGES says what is.",
        ),
        (
            "SchemaEnvironmentChanged",
            _REFRESH,
            "The vocabulary changed since it was read.",
            "Read it again.",
        ),
        (
            "HistoricalSchemaUnavailable",
            _SNAPSHOT,
            "The vocabulary of that time is not kept.",
            "Ask about a later sequence.",
        ),
        (
            "TypeMismatch",
            _DIFFERENT,
            "A value is of another type than this place takes.",
            "DESCRIBE the symbol for the type that it takes.",
        ),
        (
            "ConstraintViolation",
            _DIFFERENT,
            "A value is of the right type, but not one that this place takes.",
            "DESCRIBE the symbol for the values that it takes.",
        ),
    ),
    "data": (
        (
            "NotFoundOrNotVisible",
            _DIFFERENT,
            "There is no such element, or not for this caller.",
            "This never shows that the statement is false.",
        ),
        (
            "ReferenceError",
            _DIFFERENT,
            "A parameter or handle is used that nothing defines.",
            "Bind the parameter, or define the handle in the same transaction.",
        ),
        (
            "StructuralReferenceInvalid",
            _DIFFERENT,
            "The structural reference does not suit its field.",
            "DESCRIBE STRUCTURAL FIELD says what it joins.",
        ),
        (
            "IdentitySelectorRequired",
            _DIFFERENT,
            "The concept is not named by an identity.",
            "Name it by id, or by type and key.",
        ),
        (
            "NameIdentityForbidden",
            _DIFFERENT,
            "A name never identifies a concept.",
            "Name it by id, or by type and key.",
        ),
        (
            "IdentityConflict",
            _DIFFERENT,
            "The identity is taken, or fits several concepts.",
            "Add the type, or read what has the key.",
        ),
        (
            "ClientKeyConflict",
            _DIFFERENT,
            "The client key was used before for something else.",
            "Use a new key for a new thing.",
        ),
        (
            "IdentityMergeConflict",
            _REFRESH,
            "The two concepts cannot be merged that way.",
            "Read both and their merges first.",
        ),
    ),
    "epistemic": (
        (
            "ImmutableField",
            _DIFFERENT,
            "The field cannot change once it is written.",
            "Record something new instead.",
        ),
        (
            "EpistemicRevisionRequired",
            _DIFFERENT,
            "A claim is never rewritten.",
            "Write a new ASSERT … SUPERSEDING the old one.",
        ),
        (
            "EvidenceCorrectionRequired",
            _DIFFERENT,
            "Evidence is never rewritten.",
            'Create the right one and TRANSITION the old TO "corrected" BY it.',
        ),
        (
            "InvalidLifecycleTransition",
            _DIFFERENT,
            "The element cannot move from its state to that one.",
            "Read its state first.",
        ),
        (
            "RetractionNotAuthorized",
            _AUTHORITY,
            "Only who made a claim may withdraw it.",
            "Record a claim of the other stance instead.",
        ),
        (
            "SupersessionMismatch",
            _DIFFERENT,
            "The new claim is by another actor, in another slot, or in another context.",
            "Let the two claims stand beside each other.",
        ),
        (
            "EvidenceCorrectionConflict",
            _DIFFERENT,
            "The evidence was corrected by another one already.",
            "Correct that one.",
        ),
        (
            "ActivityTerminal",
            _DIFFERENT,
            "A finished activity does not change any more.",
            "Record a new activity.",
        ),
        (
            "ProjectionTargetUnbound",
            _DIFFERENT,
            "Nothing binds the proposition that the belief is about.",
            "Bind it by a pattern, or write the triple in BELIEF.",
        ),
        (
            "ProjectionTargetUnbounded",
            _DIFFERENT,
            "The subject or predicate of the belief is open.",
            "Bind both by a pattern or a parameter.",
        ),
        (
            "ProjectionNotAuthorized",
            _AUTHORITY,
            "This caller may not ask for that belief.",
            "DESCRIBE ACCESS says what it may.",
        ),
        (
            "ProjectionPolicyUnavailable",
            _DIFFERENT,
            "No epistemic policy of that name is known.",
            "LIST EPISTEMIC POLICIES names them.",
        ),
    ),
    "governance": (
        ("Unauthenticated", _AUTHORITY, "No valid credential came.", "Send a credential."),
        (
            "NotAuthorized",
            _AUTHORITY,
            "The credential does not reach this far.",
            "DESCRIBE ACCESS says how far it reaches.",
        ),
        (
            "RequiresApproval",
            _AUTHORITY,
            "Somebody must approve this first.",
            "Ask the owner of the space.",
        ),
        (
            "RequiresStrongerAuthentication",
            _AUTHORITY,
            "The credential is too weak for this.",
            "Authenticate again, more strongly.",
        ),
        (
            "ActorBindingRequired",
            _AUTHORITY,
            "Nobody but a bound principal may speak as that actor.",
            "Record it as somebody else's claim, or bind the actor.",
        ),
        (
            "ProtectedSystemField",
            _DIFFERENT,
            "The field is the engine's own.",
            "Leave it out; the engine keeps it.",
        ),
        (
            "ProtectedGovernanceField",
            _DIFFERENT,
            "The field is governance, which cognition never writes.",
            "Leave it out; the owner sets it.",
        ),
        (
            "ProtectedSchemaState",
            _AUTHORITY,
            "Packages are not installed from within the language.",
            "Use DEFINE, or ask the owner for a package.",
        ),
        (
            "LegalHoldConflict",
            _AUTHORITY,
            "A legal hold keeps the element.",
            "Nothing but lifting the hold helps.",
        ),
        (
            "PurgeDenied",
            _DIFFERENT,
            "The element is still referred to.",
            'Say REFERENCE POLICY "tombstone_reference", or remove the references.',
        ),
    ),
    "transaction": (
        (
            "VersionConflict",
            _REFRESH,
            "The version is not the expected one.",
            "Read again, apply again, expect the new version.",
        ),
        ("PreconditionFailed", _REFRESH, "A precondition does not hold.", "Read again."),
        (
            "SerializationConflict",
            _SAME,
            "Another transaction came in between.",
            "Send the same request again.",
        ),
        (
            "IdempotencyConflict",
            _DIFFERENT,
            "The idempotency key was used with another request.",
            "Use a new key for a new intent.",
        ),
        (
            "TransactionUnknown",
            _NEVER,
            "No such transaction is remembered.",
            "It may be older than the outcomes that are kept.",
        ),
        (
            "OutcomeUnknown",
            "outcome_lookup_required",
            "Whether it was committed is not known.",
            "DESCRIBE TRANSACTION BY IDEMPOTENCY KEY, or send the same request again.",
        ),
        (
            "TransactionTooLarge",
            _DIFFERENT,
            "The transaction writes more than one may.",
            "Split it.",
        ),
    ),
    "history": (
        (
            "HistoricalSnapshotUnavailable",
            _SNAPSHOT,
            "That sequence is not kept, or not reached yet.",
            "DESCRIBE SNAPSHOT says what is.",
        ),
        (
            "CursorMismatch",
            _DIFFERENT,
            "The cursor belongs to another request.",
            "Use a cursor with the request that gave it out.",
        ),
        (
            "CursorTypeMismatch",
            _DIFFERENT,
            "The cursor belongs to another kind of listing.",
            "Use a cursor with the command that gave it out.",
        ),
        ("CursorExpired", _SNAPSHOT, "The cursor is too old.", "Begin again without a cursor."),
        (
            "CursorInvalid",
            _DIFFERENT,
            "That is no cursor that this server has given out.",
            "Begin again without a cursor.",
        ),
    ),
    "search": (
        (
            "SearchModeUnsupported",
            _DIFFERENT,
            "This server does not search in that mode.",
            "DESCRIBE CAPABILITIES names the modes.",
        ),
        (
            "SearchIndexUnavailable",
            _SAME,
            "The search index cannot be used right now.",
            "Try again shortly.",
        ),
        (
            "HistoricalSearchUnavailable",
            _DIFFERENT,
            "The past cannot be searched here.",
            "Search without AS OF SEQ.",
        ),
    ),
    "artifact": (
        ("ArtifactUnavailable", _ARTIFACT, "The artifact cannot be had.", "Fetch it again."),
        ("ArtifactTooLarge", _NEVER, "The artifact is larger than is taken.", "Split it."),
        ("ArtifactParseError", _ARTIFACT, "The artifact cannot be read.", "Fetch it again."),
        (
            "DigestMismatch",
            _ARTIFACT,
            "The artifact is not the one that its digest names.",
            "Fetch it again.",
        ),
        ("ProofInvalid", _ARTIFACT, "The proof does not hold.", "Fetch the artifact again."),
        (
            "SignerUnknown",
            _AUTHORITY,
            "Nobody here knows the signer.",
            "Ask the owner to trust it.",
        ),
        ("BlobUnavailable", _ARTIFACT, "The bytes are not here.", "Send them again."),
        (
            "CapsuleValidationFailed",
            _ARTIFACT,
            "The capsule is not valid.",
            "VALIDATE CAPSULE says why.",
        ),
        (
            "ImportPreviewConflict",
            _REFRESH,
            "The space changed since the preview.",
            "Preview the import again.",
        ),
    ),
    "resource": (
        (
            "ResourceExhausted",
            _DIFFERENT,
            "A documented limit is reached.",
            "Ask for less at once.",
        ),
        ("ResultLimitExceeded", _DIFFERENT, "The result is too large.", "Say a smaller LIMIT."),
        ("ExecutionTimeout", _SAME, "It took too long.", "Narrow the question, or try again."),
        ("RateLimited", _SAME, "Too many requests came.", "Wait, then send the same again."),
    ),
    "system": (("InternalError", _SAME, "Something went wrong on our side.", "Try again."),),
}

#: Every code of KIP 2.0.
REGISTRY: Mapping[str, ErrorCode] = MappingProxyType(
    {
        code: ErrorCode(code, category, retry_class, meaning, hint)
        for category, entries in _CODES.items()
        for code, retry_class, meaning, hint in entries
    }
)


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
