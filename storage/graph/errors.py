"""What the graph refuses, with the codes of KIP 2.0 (contract kip-engine section 8).

Each error is a `KipError`; its category and retry class follow from its code (`error_codes`).
HTTP statuses follow the nearest branch of the one tree. `retry` holds for what a job that reads the
space again may well not meet a second time.
"""

from __future__ import annotations

from typing import Any, ClassVar

from storage.errors import BrainError
from storage.graph.error_codes import REGISTRY


class KipError(BrainError):
    """Base of all refusals of the graph."""

    status = 400
    code = "InternalError"
    category: ClassVar[str]
    retry_class: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Look up what the registry says of the code; a class may say another retry class."""
        super().__init_subclass__(**kwargs)
        entry = REGISTRY[cls.code]
        cls.category = entry.category
        if "retry_class" not in vars(cls):
            cls.retry_class = entry.retry_class


# protocol


class DuplicateLocalHandle(KipError):
    """Two operations of one change set use the same handle."""

    code = "DuplicateLocalHandle"


class DuplicateMutationTarget(KipError):
    """Two operations of one change set want different final values for the same path."""

    code = "DuplicateMutationTarget"


# schema


class SchemaSymbolNotFound(KipError):
    """No installed package and no draft knows the name."""

    code = "SchemaSymbolNotFound"


class SchemaSymbolAmbiguous(KipError):
    """A local name stands for symbols of several packages."""

    code = "SchemaSymbolAmbiguous"


class SchemaSymbolConflict(KipError):
    """A symbol of that kind and name exists already."""

    code = "SchemaSymbolConflict"


class SchemaFieldNotFound(KipError):
    """A closed type or facet has no such field."""

    code = "SchemaFieldNotFound"


class TypeMismatch(KipError):
    """A value or an endpoint is of another type than the schema says."""

    code = "TypeMismatch"


class ConstraintViolation(KipError):
    """A value is of the right type, but outside what the schema allows."""

    code = "ConstraintViolation"


# data


class NotFoundOrNotVisible(KipError):
    """There is no such element, or not for this caller."""

    code = "NotFoundOrNotVisible"
    status = 404


class DanglingReference(KipError):
    """A handle is used that nothing in the change set defines."""

    code = "ReferenceError"


class StructuralReferenceInvalid(KipError):
    """A structural reference breaks its field's source, target or cardinality."""

    code = "StructuralReferenceInvalid"


class IdentitySelectorRequired(KipError):
    """A concept can only be matched by id, or by key, and only be created with a type."""

    code = "IdentitySelectorRequired"


class IdentityConflict(KipError):
    """A key is taken, or fits more than one concept."""

    code = "IdentityConflict"
    retry = True
    status = 409


class ClientKeyConflict(KipError):
    """The client key was used before for something else."""

    code = "ClientKeyConflict"
    status = 409


# epistemic


class ImmutableField(KipError):
    """The field cannot change once it is written."""

    code = "ImmutableField"


class InvalidLifecycleTransition(KipError):
    """The element cannot move from its state to that one."""

    code = "InvalidLifecycleTransition"
    retry = True
    status = 409


class SupersessionMismatch(KipError):
    """The replacement is by another actor, in another slot, or in another context set."""

    code = "SupersessionMismatch"
    retry = True
    status = 409


class EvidenceCorrectionConflict(KipError):
    """The evidence was corrected by another one already."""

    code = "EvidenceCorrectionConflict"
    status = 409


class ActivityTerminal(KipError):
    """A finished activity does not change any more."""

    code = "ActivityTerminal"
    status = 409


class ProjectionPolicyUnavailable(KipError):
    """No epistemic policy of that name is known."""

    code = "ProjectionPolicyUnavailable"


# governance


class SourceSuppressed(KipError):
    """The source was erased, and its content must not be stored again."""

    code = "NotAuthorized"
    retry_class = "non_retryable"
    status = 403


# transaction, resource


class VersionConflict(KipError):
    """An expected version is not the present one; `data.plane` names the plane."""

    code = "VersionConflict"
    retry = True
    status = 409


class ResourceExhausted(KipError):
    """A documented limit is reached."""

    code = "ResourceExhausted"
    status = 413


class IdentityMergeConflict(KipError):
    """The two concepts cannot be made one."""

    code = "IdentityMergeConflict"
    status = 409


class LegalHoldConflict(KipError):
    """A legal hold keeps the element."""

    code = "LegalHoldConflict"
    status = 409


class PurgeDenied(KipError):
    """Something still refers to what is to be erased."""

    code = "PurgeDenied"
    status = 409


class SchemaPackageUnavailable(KipError):
    """The package is not installed here, or is no package."""

    code = "SchemaPackageUnavailable"


class IdempotencyConflict(KipError):
    """The idempotency key was used for another request."""

    code = "IdempotencyConflict"
    status = 409


class SearchModeUnsupported(KipError):
    """That way of searching is not available."""

    code = "SearchModeUnsupported"
