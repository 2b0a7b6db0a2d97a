"""The one error model: what can go wrong, sorted by what the caller can do about it.

    BrainError
    ├── InvalidInput          fix the request            400 (and 413, 415 by subclass)
    ├── Unauthenticated       bring a credential         401
    ├── NotAuthorized         ask for more authority     403
    ├── NotFound              there is no such thing     404 (foreign looks the same)
    ├── Conflict              read again, then retry     409
    ├── TooManyRequests       slow down                  429
    ├── Unsupported           not offered here           501
    ├── Unavailable           retry later                503
    └── Fatal                 ours to mend               500

Each leaf has a stable `code`. A message is a sentence that a person can act on; it holds nothing
of another tenant, no path and no secret. Jobs use the same tree: `retry` says whether the ledger
may run the job again (design section 3.1, "Retries by error class").
"""

from __future__ import annotations

from typing import Any, ClassVar


class BrainError(Exception):
    """Base of all errors that reach a caller; subclasses fix `code`, `status` and `retry`."""

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500
    retry: ClassVar[bool] = False
    default: ClassVar[str] = "Something went wrong on our side."

    def __init__(
        self,
        message: str | None = None,
        *,
        data: dict[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.message = message or self.default
        self.data = data or {}
        self.retry_after = retry_after
        super().__init__(self.message)

    def as_json(self) -> dict[str, Any]:
        """The wire form, seed 003 section 6: `{"message", "data"?}` with the code in `data`."""
        return {"message": self.message, "data": {"code": self.code, **self.data}}


class InvalidInput(BrainError):
    """The request is wrong; `data.field` names where, when one place is to blame."""

    code = "invalid_input"
    status = 400
    default = "The request is not valid."

    def __init__(self, message: str | None = None, *, field: str | None = None, **kw: Any) -> None:
        data = dict(kw.pop("data", None) or {})
        if field is not None:
            data["field"] = field
        super().__init__(message, data=data, **kw)


class TooLarge(InvalidInput):
    """The body or a part of it is over a documented limit."""

    code = "too_large"
    status = 413
    default = "The request is larger than this server accepts."


class UnsupportedMediaType(InvalidInput):
    """The content type is none that the route reads."""

    code = "unsupported_media_type"
    status = 415
    default = "Send application/json, application/cbor or text/markdown."


class MethodNotAllowed(InvalidInput):
    """The route exists, but not with this method."""

    code = "method_not_allowed"
    status = 405
    default = "This route does not take that method."


class Unauthenticated(BrainError):
    """No valid credential came with the request."""

    code = "unauthenticated"
    status = 401
    default = "A valid credential is needed."


class NotAuthorized(BrainError):
    """The credential is valid, but does not reach this far."""

    code = "not_authorized"
    status = 403
    default = "This credential does not allow that."


class NotFound(BrainError):
    """There is no such thing, or not for this caller."""

    code = "not_found"
    status = 404
    default = "There is no such thing here."


class Conflict(BrainError):
    """The state is not the one that the request assumed."""

    code = "conflict"
    status = 409
    default = "The state has changed; read it again."


class IdempotencyConflict(Conflict):
    """The idempotency key was used before with another request."""

    code = "IdempotencyConflict"
    default = "This idempotency key was used with another request; use a new key."


class TooManyRequests(BrainError):
    """More than is admitted at once."""

    code = "too_many_requests"
    status = 429
    retry = True
    default = "Too much is under way; try again shortly."


class Unsupported(BrainError):
    """This server does not offer that."""

    code = "unsupported"
    status = 501
    default = "This server does not support that."


class Unavailable(BrainError):
    """Something that this needs is away for now; the same request may succeed later."""

    code = "unavailable"
    status = 503
    retry = True
    default = "The service is not available right now; try again shortly."


class DatabaseUnavailable(Unavailable):
    """PostgreSQL does not answer."""

    code = "database_unavailable"
    default = "The database is not available right now; try again shortly."


class ModelUnavailable(Unavailable):
    """The model provider failed in a way that may pass (429, 5xx, time-out, hang-up)."""

    code = "model_unavailable"
    default = "The model provider is not available right now."


class ModelRateLimited(ModelUnavailable):
    """The model provider asks to slow down (429); `retry_after` says how long."""

    code = "rate_limited"
    default = "The model provider asks to wait before the next request."


class ModelRejected(BrainError):
    """The model provider refused for good (bad key, bad request)."""

    code = "model_rejected"
    status = 502
    default = "The model provider refused the request; check the model configuration."


class ModelMisbehaved(ModelUnavailable):
    """The model's answer could not be used, even after asking again."""

    code = "model_misbehaved"
    default = "The model's answer could not be used."


class LeaseLost(BrainError):
    """This worker no longer holds the job: another attempt has it, or it was ended."""

    code = "lease_lost"
    status = 409
    default = "This attempt no longer holds the job."


class Cancelled(BrainError):
    """The job was asked to stop."""

    code = "cancelled"
    status = 409
    default = "The job was cancelled."


class Interrupted(BrainError):
    """The worker is shutting down; the job goes back without having used up an attempt."""

    code = "interrupted"
    status = 503
    retry = True
    default = "The worker is shutting down."


class Fatal(BrainError):
    """A fault of ours; the job fails at once and the log has the trace."""
