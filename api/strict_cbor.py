"""CBOR (RFC 8949) as far as it says what JSON can say: no tags, no bytes, text keys only.

Tags are refused because they reach beyond data (shared references can unfold without bound,
others name types that no route takes), save those of integers beyond 64 bits, which JSON can say
and our own answers hold. The limits are those of `api.strict_json`.
"""

from __future__ import annotations

import io
import math
from typing import Any, NoReturn

import cbor2

from api.strict_json import MAX_DEPTH, check_tree, too_deep
from storage.errors import InvalidInput
from storage.strict_json import MAX_DIGITS


def decode(body: bytes) -> Any:
    """Read one CBOR item that fills the body; raises `InvalidInput`."""
    try:
        stream = io.BytesIO(body)
        decoder = cbor2.CBORDecoder(
            stream,
            max_depth=MAX_DEPTH,
            allow_duplicate_keys=False,
            strict_hashable_types=True,
            semantic_decoders=_TAGS,
            tag_hook=_refuse_tag,
        )
        value = decoder.decode()
    except InvalidInput:
        raise
    except RecursionError:
        raise too_deep() from None
    except (cbor2.CBORDecodeError, ValueError, OverflowError, TypeError, MemoryError) as error:
        if isinstance(error.__cause__, InvalidInput):
            raise error.__cause__ from None
        raise InvalidInput("The body is not valid CBOR, or nested too deep.") from None
    if stream.tell() != len(body):
        raise InvalidInput("The body goes on after its CBOR item.")
    _check_types(value)
    check_tree(value, strings=True)
    return value


def encode(value: Any) -> bytes:
    """`value` as CBOR, integers as integers."""
    return cbor2.dumps(value)


def _refuse_tag(*_: Any) -> NoReturn:
    raise InvalidInput("CBOR tags are not accepted.")


def _above(value: Any, *_: Any) -> int:
    return _bounded(_big(value))


def _below(value: Any, *_: Any) -> int:
    return _bounded(-1 - _big(value))


def _big(value: Any) -> int:
    """The number behind tag 2 or 3, which no shorter form may hold."""
    if not isinstance(value, bytes) or len(value) <= _WORD or not value[0]:
        raise InvalidInput("An integer of the body is not in its shortest form.")
    return int.from_bytes(value, "big")


def _bounded(number: int) -> int:
    if abs(number) >= _END:
        raise InvalidInput(f"A number of the body has more than {MAX_DIGITS} digits.")
    return number


#: Bytes of the integers that need no tag, and the first number that is too long.
_WORD = 8
_END: int = 10**MAX_DIGITS

#: Every tag that the library would otherwise interpret by itself.
_TAGS = dict.fromkeys(
    (0, 1, 4, 5, 25, 28, 29, 30, 35, 36, 37, 52, 54, 100, 256, 258, 260, 261, 1004, 43000,
     55799),
    _refuse_tag,
) | {2: _above, 3: _below}  # fmt: skip


def _check_types(value: Any) -> None:
    level = [value]
    while level:
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                if not all(isinstance(key, str) for key in item):
                    raise InvalidInput("The keys of a CBOR map must be text.")
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, float):
                if not math.isfinite(item):
                    raise InvalidInput("A number of the body is out of range.")
            elif not (item is None or isinstance(item, str | bool | int)):
                raise InvalidInput("The body holds a CBOR type that JSON does not have.")
        level = below
