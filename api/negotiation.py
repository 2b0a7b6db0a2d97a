"""Which format a body comes in and an answer goes out in (seed 003 section 1).

In: `application/json`, `application/cbor`, and `text/markdown` on routes that take plain text.
Out: the same three for answers of success; errors are always JSON (`api.errors`). A body without
a content type is refused: browsers may send such a body, and `text/plain`, to any address
without asking first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal, cast

from flask import Response, request
from gunicorn.http.errors import ParseException
from werkzeug.datastructures import MIMEAccept
from werkzeug.exceptions import ClientDisconnected
from werkzeug.http import parse_options_header

from api import strict_cbor, strict_json
from api.deadlines import deadlines
from api.errors import BodyTimeout
from storage.errors import InvalidInput, TooLarge, UnsupportedMediaType
from storage.settings import settings

Media = Literal["application/json", "application/cbor", "text/markdown"]
JSON: Media = "application/json"
CBOR: Media = "application/cbor"
MARKDOWN: Media = "text/markdown"
MEDIA: tuple[Media, ...] = (JSON, CBOR, MARKDOWN)
#: How many times `body_seconds` a whole body may take.
_WHOLE = 6


def read_body(from_text: Callable[[str], Any] | None = None, member: str = "") -> Any:
    """The request's body as plain data.

    Markdown is text for `from_text`, unless it is a JSON object with `member`: seed 003 says that
    in Markdown mode a raw string is allowed *too*. Raises `UnsupportedMediaType` and
    `InvalidInput`.
    """
    media = _content_type()
    body = _whole_body()
    if media == MARKDOWN:
        if from_text is None:
            raise UnsupportedMediaType("Send application/json or application/cbor to this route.")
        return _markdown(body, from_text, member)
    if not body:
        raise InvalidInput("The body is empty.")
    return strict_cbor.decode(body) if media == CBOR else strict_json.decode(body)


def preferred() -> Media:
    """The format that the caller likes best; JSON where it names none that we have."""
    accept = request.headers.get("Accept")
    if accept is None or accept in ("*/*", JSON):
        return JSON
    # a charset, or a version, makes a format no other one
    liked = MIMEAccept([(name.partition(";")[0], q) for name, q in request.accept_mimetypes])
    return cast(Media, liked.best_match(MEDIA, JSON))


def answer(
    result: Any,
    *,
    status: int = 200,
    next_cursor: str | None = None,
    text: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """`RpcResponse` of `result`; in Markdown `text` alone, or the result as indented JSON."""
    media = preferred()
    if media == MARKDOWN:
        told = text if text is not None else json.dumps(result, ensure_ascii=False, indent=2)
        return _response(told, status, "text/markdown; charset=utf-8", headers)
    body = {"result": result}
    if next_cursor is not None:
        body["next_cursor"] = next_cursor
    return plain(body, media=media, status=status, headers=headers)


def plain(
    body: Any,
    *,
    media: Media = JSON,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    """`body` as it is, without the RPC envelope."""
    if media == CBOR:
        return _response(strict_cbor.encode(body), status, CBOR, headers)
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return _response(text, status, JSON, headers)


def _response(
    body: str | bytes, status: int, content_type: str, headers: dict[str, str] | None
) -> Response:
    response = Response(body, status, headers, content_type=content_type)
    response.headers["Vary"] = "Accept"
    return response


def _whole_body() -> bytes:
    # gunicorn lends its socket: a client that stops, or trickles, must not keep a thread
    connection = request.environ.get("gunicorn.socket")
    if connection is None:
        return _read()
    silence = settings().body_seconds
    before = connection.gettimeout()
    with deadlines().of(connection, silence * _WHOLE) as deadline:
        try:
            connection.settimeout(silence)
            return _read()
        except InvalidInput:
            if deadline.over:
                raise BodyTimeout() from None
            raise
        finally:
            connection.settimeout(before)


def _read() -> bytes:
    try:
        body = request.get_data(cache=False)
        told = request.content_length
        # a body without a length is cut at the limit rather than refused, unless more is asked for
        if told is None and request.environ["wsgi.input"].read(1):
            raise TooLarge("The body is larger than this server accepts.")
        # nor does anybody below us compare what was told with what came
        if told is not None and len(body) < told:
            raise InvalidInput("The body ended before it was whole.")
    except TimeoutError:
        raise BodyTimeout() from None
    except ClientDisconnected as error:
        # also what werkzeug makes of a read that took too long
        if isinstance(error.__context__, TimeoutError):
            raise BodyTimeout() from None
        raise InvalidInput("The body ended before it was whole.") from error
    except (OSError, ValueError, ParseException) as error:
        # what gunicorn raises for a chunked body that is none
        raise InvalidInput("The body could not be read: its framing is wrong.") from error
    return body


def _content_type() -> Media:
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType("Send the body without a content encoding.")
    given = request.headers.get("Content-Type", "")
    if given == JSON:
        return JSON
    name, options = parse_options_header(given)
    media = name.lower()
    if media not in MEDIA:
        raise UnsupportedMediaType()
    if options.get("charset", "utf-8").lower() not in ("utf-8", "utf8"):
        raise UnsupportedMediaType("Send UTF-8; no other charset is read.")
    return cast(Media, media)


def _markdown(body: bytes, from_text: Callable[[str], Any], member: str) -> Any:
    text = strict_json.utf8(body)
    if text.lstrip()[:1] == "{":
        try:
            found = strict_json.decode(body)
        except InvalidInput:
            found = None
        if isinstance(found, dict) and member in found:
            return found
    return from_text(strict_json.check_text(text))
