"""Every error code of KIP 2.0: its category, its retry class, what it means and what helps.

The retry class says what a caller must change before it asks again (contract kip-engine section
8). Nothing else says category or retry class of a code; the error classes look theirs up here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


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
