"""What goes wrong while an operation runs, in the words of KIP."""

from __future__ import annotations

import logging

import psycopg

from storage.errors import BrainError, DatabaseUnavailable, NotFound
from storage.graph.errors import NotFoundOrNotVisible
from storage.kip.errors import (
    ExecutionTimeout,
    KipError,
    OutcomeUnknown,
    ResourceExhausted,
    SerializationConflict,
)
from storage.kip.protocol.operations import too_deep

#: SQLSTATE class of limits of the program, such as columns of a result.
_LIMITS = "54"

_log = logging.getLogger(__name__)


class InternalError(KipError):
    """Something went wrong on our side; the log has it."""

    code = "InternalError"
    status = 500


def as_error(error: Exception) -> KipError:
    """The KIP error for whatever was raised; what nobody foresaw is logged with its trace."""
    match error:
        case KipError():
            return error
        case NotFound():
            return NotFoundOrNotVisible("There is no such space.")
        case RecursionError():
            return too_deep()
        case psycopg.errors.QueryCanceled():
            return ExecutionTimeout("The operation took longer than it may.")
        case psycopg.errors.SerializationFailure() | psycopg.errors.DeadlockDetected():
            return SerializationConflict("Another transaction came in between.")
        case psycopg.Error() if (error.sqlstate or "").startswith(_LIMITS):
            return ResourceExhausted("The operation asks for more at once than can be worked out.")
        case psycopg.OperationalError(sqlstate=None):
            return ResourceExhausted("The operation brings more values than can be worked with.")
        case DatabaseUnavailable(__cause__=psycopg.errors.LockNotAvailable()):
            return SerializationConflict("Another transaction has held the space for too long.")
        case BrainError() if error.retry:
            return InternalError(error.message)
    return _internal(error)


def unknown(error: Exception) -> OutcomeUnknown:
    """The error for a commit of which no answer came."""
    _log.warning("The outcome of a commit is not known: %s", error)
    return OutcomeUnknown("The connection was lost while committing.")


def _internal(error: Exception) -> KipError:
    _log.error("An operation of KIP failed.", exc_info=error)
    return InternalError("Something went wrong on our side.")
