"""What the memory routes read (seed 003 section 7), with every limit that they check.

Members that are not named here are ignored at the top level, as the seed's server does, and
carried along inside messages and content parts, because those are kept verbatim.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict

from api import strict_json
from api.validation import validated
from storage import memory_policy
from storage.clock import parse_text, to_millis, to_text
from storage.errors import InvalidInput, TooLarge
from storage.messages import TEXT_TYPES, part_text
from storage.settings import settings

#: Characters of a name, a user id, or a member of a context.
MAX_NAME_CHARS = 1024
#: Parts of one message's content.
MAX_PARTS = 1000

_STRICT = ConfigDict(strict=True, extra="ignore")
_CARRIES = ConfigDict(strict=True, extra="allow")


def _one_line(text: str) -> str:
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise InvalidInput("A name, user or member of a context is one line of plain text.")
    return text


Name = Annotated[str, Field(max_length=MAX_NAME_CHARS), AfterValidator(_one_line)]

#: Observations lie within these: 1980-01-01 up to, not including, 2200-01-01. A time outside them
#: (seconds taken for milliseconds, a default, a wrong unit) would outrank or underlie everything
#: else that memory believes.
EARLIEST = parse_text("1980-01-01T00:00:00Z")
LATEST = parse_text("2200-01-01T00:00:00Z")


def _canonical_time(text: str) -> str:
    try:
        at = parse_text(text, field="it")
    except InvalidInput as error:
        # where it stands is told by who knows it
        raise ValueError(error.message.rstrip(".")) from None
    if not EARLIEST <= at < LATEST:
        raise ValueError("it must lie between 1980-01-01 and 2200-01-01")
    return to_text(at)


#: An RFC 3339 time with any offset and at most milliseconds; kept as `YYYY-MM-DDTHH:mm:ss.SSSZ`.
Timestamp = Annotated[
    str,
    Field(max_length=64, json_schema_extra={"format": "date-time"}),
    AfterValidator(_canonical_time),
]


class ContentPart(TypedDict):
    """A part of a message: an object of some `type`.

    `text` and `Text` parts hold what was said in `text` and are read. Reasoning, FileData,
    InlineData, ToolCall, ToolOutput, Action and parts of any other type are carried along, whatever
    their members.
    """

    __pydantic_config__ = _CARRIES  # type: ignore[misc]
    type: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]


def _text_is_text(part: ContentPart) -> ContentPart:
    if part["type"] in TEXT_TYPES and not isinstance(part.get("text"), str | None):
        raise ValueError("the text of a text part is a string")
    return part


Part = Annotated[ContentPart, AfterValidator(_text_is_text)]


class MessageMembers(TypedDict):
    """One message. `timestamp` is when it was observed, Unix milliseconds.

    An assistant that only calls a tool says nothing: its `content` may be null or absent.
    """

    __pydantic_config__ = _CARRIES  # type: ignore[misc]
    role: Literal["system", "user", "assistant", "tool"]
    content: NotRequired[
        str | Annotated[list[str | Part], Field(json_schema_extra={"maxItems": MAX_PARTS})] | None
    ]
    name: NotRequired[Name | None]
    user: NotRequired[Name | None]
    timestamp: NotRequired[
        Annotated[int, Field(ge=to_millis(EARLIEST), lt=to_millis(LATEST))] | None
    ]


def _with_content(message: MessageMembers) -> MessageMembers:
    """The message as it is kept: what says nothing has no parts."""
    return message if message.get("content") is not None else {**message, "content": []}


Message = Annotated[MessageMembers, AfterValidator(_with_content)]


class InputContext(TypedDict):
    """Who is spoken with, by which agent, where, about what; `source` is no deduplication key.

    `user` is the old name of `counterparty`.
    """

    __pydantic_config__ = _STRICT  # type: ignore[misc]
    counterparty: NotRequired[Name | None]
    agent: NotRequired[Name | None]
    source: NotRequired[Name | None]
    topic: NotRequired[Name | None]
    user: NotRequired[Annotated[Name | None, Field(deprecated=True)]]


_CONTEXT: TypeAdapter[InputContext] = TypeAdapter(InputContext)


def _context(given: InputContext | str | None) -> InputContext | None:
    """A context as it is meant: agents often send the object as a JSON text, or twice so."""
    found: Any = given
    for _ in range(2):
        if isinstance(found, str):
            try:
                found = strict_json.decode(found.encode()) if found.strip() else None
            except InvalidInput:
                raise InvalidInput(
                    "The context is an object, or the text of one.", field="context"
                ) from None
    if found is None:
        return None
    if not isinstance(found, dict):
        raise InvalidInput("The context is an object, or the text of one.", field="context")
    if found is not given:
        found = _validated_context(found)
    user = found.pop("user", None)
    if user is not None and found.get("counterparty") is None:
        found["counterparty"] = user
    return cast(InputContext, found)


def _validated_context(given: Any) -> InputContext:
    try:
        return cast(InputContext, validated(_CONTEXT, given))
    except InvalidInput as error:
        field = ".".join(part for part in ("context", error.data.get("field")) if part)
        raise InvalidInput(error.message, field=field) from None


#: A context, or the JSON text of one; `null` and blank texts are none.
Context = Annotated[InputContext | str | None, AfterValidator(_context)]


def without_nulls(given: dict[str, Any]) -> dict[str, Any]:
    """`given` without members that are null: they mean the same as absent ones."""
    return {name: value for name, value in given.items() if value is not None}


def told_context(context: InputContext | str | None) -> dict[str, Any]:
    """What a context says, without its nulls; nothing for none."""
    return without_nulls(dict(context)) if isinstance(context, dict) else {}


def texts_of(message: Message) -> list[str]:
    """The texts of a message: its content, or those of its text parts."""
    content = message.get("content") or []
    parts = [content] if isinstance(content, str) else content
    return [text for part in parts if (text := part_text(part)) is not None]


def _messages(messages: list[Message]) -> list[Message]:
    limits = settings()
    if len(messages) > limits.max_messages:
        raise TooLarge(
            f"A formation takes at most {limits.max_messages} messages.", field="messages"
        )
    empty = True
    for index, message in enumerate(messages):
        field = f"messages.{index}.content"
        content = message.get("content")
        if isinstance(content, list) and len(content) > MAX_PARTS:
            raise TooLarge(f"A message has at most {MAX_PARTS} parts.", field=field)
        texts = texts_of(message)
        if sum(map(len, texts)) > limits.max_message_chars:
            raise TooLarge(
                f"A message has at most {limits.max_message_chars} characters.", field=field
            )
        empty = empty and not any(text.strip() for text in texts)
    if empty:
        raise InvalidInput("At least one message must hold text.", field="messages")
    return messages


def check_query(query: str) -> str:
    """`query` itself; raises `TooLarge` and, for a blank one, `InvalidInput`."""
    most = settings().max_query_chars
    if len(query) > most:
        raise TooLarge(f"A query has at most {most} characters.", field="query")
    if not query.strip():
        raise InvalidInput("The query is empty.", field="query")
    return query


class FormationInput(BaseModel):
    """Messages to be remembered; at least one of them holds text."""

    model_config = _STRICT
    messages: Annotated[list[Message], Field(min_length=1), AfterValidator(_messages)]
    context: Context = None
    timestamp: Timestamp | None = None

    @staticmethod
    def from_text(text: str) -> dict[str, Any]:
        """A Markdown body: one user message, verbatim."""
        return {"messages": [{"role": "user", "content": text}]}


class RecallBudget(memory_policy.RecallBudget):
    """Limits of one recall, in tokens of o200k_base; a space's own may be tighter and then count.

    `max_tokens` bounds the whole packet in `content`, `context_tokens` all that planning reads.
    """

    # a limit that is misspelt would be none at all
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class RecallInput(BaseModel):
    """A question in natural language. With a `budget` the answer is a JSON packet of memory."""

    model_config = _STRICT
    query: Annotated[str, Field(min_length=1), AfterValidator(check_query)]
    context: Context = None
    budget: RecallBudget | None = None

    @staticmethod
    def from_text(text: str) -> dict[str, Any]:
        """A Markdown body: the question."""
        return {"query": text}


class MaintenanceParameters(BaseModel):
    """Overrides of the space's policy for one run."""

    model_config = ConfigDict(strict=True, extra="ignore", populate_by_name=True)
    stale_event_threshold_days: int | None = Field(None, ge=1, le=365)
    memory_strength_decay_factor: float | None = Field(
        None, gt=0, le=1, description="Deprecated: checked, and without effect."
    )
    confidence_decay_factor: float | None = Field(
        None, gt=0, le=1, description="The old name of memory_strength_decay_factor."
    )
    unconsolidated_max_backlog: int | None = Field(None, ge=1, le=10_000)
    unsorted_max_backlog: int | None = Field(
        None, ge=1, le=10_000, description="The old name of unconsolidated_max_backlog."
    )
    orphan_max_count: int | None = Field(None, ge=1, le=10_000)

    def given(self) -> dict[str, Any]:
        """The members that were given, under their present names."""
        told = self.model_dump(exclude_none=True)
        backlog = told.pop("unsorted_max_backlog", None)
        if backlog is not None:
            told.setdefault("unconsolidated_max_backlog", backlog)
        told.pop("confidence_decay_factor", None)
        told.pop("memory_strength_decay_factor", None)
        return told


class MaintenanceInput(BaseModel):
    """Which maintenance to run."""

    model_config = _STRICT
    trigger: Literal["scheduled", "threshold", "on_demand"] = "on_demand"
    scope: Literal["full", "quick", "daydream"] = "daydream"
    timestamp: Timestamp | None = None
    parameters: MaintenanceParameters | None = None


class CreateOrUpdateSpaceInput(BaseModel):
    """A space to be made: its owner, its id and its tier."""

    model_config = _STRICT
    user: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
    space_id: Annotated[str, Field(min_length=1, max_length=128)]
    tier: Annotated[int, Field(ge=0, le=2**31 - 1)]
