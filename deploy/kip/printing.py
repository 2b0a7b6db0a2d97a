"""Answers of KIP as people read them at a terminal: a table of rows, or what went wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.json import JSON
from rich.table import Table
from rich.text import Text

from storage.kip.language.ast_kql import Find
from storage.kip.language.command import Command
from storage.kip.language.printer import printed
from storage.kip.protocol.answers import HANDLES


def show(console: Console, command: Command | None, result: Mapping[str, Any]) -> None:
    """Print one result of a response; `command` names the columns, None for a failed parse."""
    if error := result.get("error"):
        _error(console, error)
        return
    if result["status"] == "skipped":
        console.print(Text("skipped", style="yellow"))
        return
    value: Any = result.get("result")
    if command is not None and isinstance(command.statement, Find):
        _rows(console, [printed(one) for one in command.statement.projections], value)
    elif isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        _rows(console, sorted({name for row in value for name in row}), value)
    elif value is not None:
        console.print(JSON.from_data(value))
    if receipt := result.get("receipt"):
        _receipt(console, receipt, result.get("extensions", {}).get(HANDLES, {}))
    for warning in result.get("warnings", ()):
        told = f"{warning['code']}: {warning.get('message', '')}"
        console.print(Text(told, style="yellow"), soft_wrap=True)
    if cursor := result.get("next_cursor"):
        console.print(Text(f"More rows follow CURSOR {cursor}", style="dim"), soft_wrap=True)


def _error(console: Console, error: Mapping[str, Any]) -> None:
    details = error.get("details", {})
    place = f" (line {details['line']}, column {details['column']})" if "line" in details else ""
    console.print(Text(f"{error['code']}{place}: {error['message']}", style="red"), soft_wrap=True)
    if hint := error.get("hint"):
        console.print(Text(hint, style="dim"), soft_wrap=True)


def _rows(console: Console, columns: Sequence[str], rows: Sequence[Any]) -> None:
    table = Table(show_edge=False, header_style="bold")
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    for row in rows:
        if isinstance(row, dict):
            cells = [row.get(column) for column in columns]
        else:
            cells = row if len(columns) > 1 else [row]
        table.add_row(*(Text(_cell(cell)) for cell in cells))
    console.print(table)
    console.print(Text(f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}", style="dim"))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _receipt(console: Console, receipt: Mapping[str, Any], handles: Mapping[str, str]) -> None:
    if receipt["status"] != "committed":
        console.print(Text("Nothing changed.", style="dim"))
        return
    told = f"Committed as sequence {receipt['space_seq']}."
    if handles:
        told += " " + ", ".join(f"?{name} = {element}" for name, element in handles.items())
    console.print(Text(told, style="green"), soft_wrap=True)
