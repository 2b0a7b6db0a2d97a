"""Structured logs for every process: one line an event, on standard error.

Logs outlive an erasure, so they hold no content: of an exception they tell the types and the places
in the code, never its message, which may quote what somebody said.
"""

from __future__ import annotations

import logging
import sys
import traceback
from types import TracebackType
from typing import Any

import structlog

from storage.settings import settings


def configure_logging() -> None:
    """Set up logging once, at the start of a process."""
    config = settings()
    level = logging.getLevelNamesMapping().get(config.log_level.upper(), logging.INFO)
    processors: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        told_without_words,
    ]
    processors.append(
        structlog.processors.JSONRenderer()
        if config.log_json
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(WordlessFormatter(logging.BASIC_FORMAT))
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[handler])


def told_without_words(_: Any, __: str, event: Any) -> Any:
    """A processor that tells an exception by types and places."""
    told = event.pop("exc_info", None)
    if told is True:
        told = sys.exc_info()[1]
    elif isinstance(told, tuple):
        told = told[1]
    if isinstance(told, BaseException):
        event["exception"] = "\n".join(_chain(told))
    return event


class WordlessFormatter(logging.Formatter):
    """The same for the standard library's loggers, which libraries use."""

    def formatException(self, ei: Any) -> str:
        """Types and places."""
        return "\n".join(_chain(ei[1])) if ei[1] is not None else ""


def _chain(error: BaseException) -> list[str]:
    """An exception and those that led to it, the first one first."""
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    lines = []
    for one in reversed(chain):
        lines += [type(one).__qualname__, *_places(one.__traceback__)]
    return lines


def _places(trace: TracebackType | None) -> list[str]:
    return [
        f"  {frame.filename}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(trace)
    ]
