"""A KIP response for people: tables in Markdown, and errors in words.

The rows of a query have the expressions that it projects as column names. A cell that is itself an
object or a list is written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from storage.graph.errors import KipError
from storage.kip.language.ast_kql import Find
from storage.kip.language.command import parse
from storage.kip.language.printer import printed

#: What a command that failed, or has no rows of its own, may be asked for.
_NOTHING = "Nothing was found."


def markdown(request: Any, response: Mapping[str, Any]) -> str:
    """The whole response; `request` is what was asked, in whatever form it came."""
    parts: list[str] = []
    if "error" in response:
        parts.append(_error(response["error"]))
    results = response["results"]
    for number, result in enumerate(results):
        if len(results) > 1:
            parts.append(f"## {result.get('op_id') or number + 1}: {result['status']}")
        parts.append(_result(result, _columns(_command(request, number))))
    return "\n\n".join(parts) + "\n"


def _result(result: Mapping[str, Any], columns: Sequence[str]) -> str:
    if "error" in result:
        return _error(result["error"])
    if "result" not in result:
        return f"{str(result['status']).capitalize()}."
    parts = [_value(result["result"], columns)]
    parts += [_warning(warning) for warning in result.get("warnings", ())]
    if "next_cursor" in result:
        parts.append(f"More with `CURSOR {json.dumps(result['next_cursor'])}`.")
    return "\n\n".join(parts)


def _warning(warning: Mapping[str, Any]) -> str:
    return f"**{warning['code']}**: {_line(str(warning.get('message', '')))}"


def _error(error: Mapping[str, Any]) -> str:
    told = f"**{error['code']}**: {_line(str(error['message']))}"
    hint = error.get("hint")
    return f"{told}\n\nHint: {_line(str(hint))}" if hint else told


def _value(value: Any, columns: Sequence[str]) -> str:
    if isinstance(value, list):
        return _rows(value, columns)
    if isinstance(value, dict):
        return _object(value)
    return _cell(value)


def _rows(rows: Sequence[Any], columns: Sequence[str]) -> str:
    """One row a line: tuples by position, objects by the names of their members."""
    if not rows:
        return _NOTHING
    if len(columns) == 1 and not all(isinstance(row, dict) for row in rows):
        return _table(columns, [[row] for row in rows])
    if all(isinstance(row, list) for row in rows):
        width = max(len(row) for row in rows)
        heads = columns if len(columns) == width else [str(n + 1) for n in range(width)]
        return _table(heads, [[*row, *[None] * (width - len(row))] for row in rows])
    if all(isinstance(row, dict) for row in rows):
        names = list(dict.fromkeys(name for row in rows for name in row))
        return _table(names, [[row.get(name) for name in names] for row in rows])
    return _table(["value"], [[row] for row in rows])


def _object(value: Mapping[str, Any]) -> str:
    """Members that are rows as tables of their own, after the others."""
    tables = {
        name: member
        for name, member in value.items()
        if isinstance(member, list) and member and all(isinstance(row, dict) for row in member)
    }
    plain = [[name, member] for name, member in value.items() if name not in tables]
    parts = [_table(["member", "value"], plain)] if plain else []
    parts += [f"### {_line(name)}\n\n{_rows(rows, ())}" for name, rows in tables.items()]
    return "\n\n".join(parts) or _NOTHING


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [[_cell(head) for head in heads], ["---"] * len(heads)]
    lines += [[_cell(cell) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _line(text).replace("|", "\\|")


def _line(text: str) -> str:
    return " ".join(text.split())


def _command(request: Any, number: int) -> str:
    """The text of one operation of the request, empty where there is none."""
    found = request
    if isinstance(found, dict):
        several = found.get("operations", found.get("commands"))
        if isinstance(several, list) and number < len(several):
            found = several[number]
        if isinstance(found, dict):
            found = found.get("command")
    return found if isinstance(found, str) else ""


def _columns(text: str) -> list[str]:
    """What a query projects, in order; nothing for any other text."""
    try:
        statement = parse(text)
    except KipError:
        return []
    if not isinstance(statement, Find):
        return []
    return [printed(projection) for projection in statement.projections]
