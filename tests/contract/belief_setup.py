"""Reads the setup texts of the belief cases: `MUTATE { UPSERT CONCEPT … ASSERT … }`, no more.

A reader for these texts alone, so that belief and the store can be tested before and apart from
the KIP language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from storage.clock import parse_text
from storage.graph.validity import ValidTime

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\?[a-z0-9]+|[A-Za-z_]+|[{}()\[\],:]')


@dataclass
class Upsert:
    """`UPSERT CONCEPT ?handle { MATCH {type, key} SET FIELDS {name} | SET ATTRIBUTES {…} }`."""

    handle: str
    type: str
    key: str
    fields: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass
class Assert:
    """`ASSERT ?handle (?s, "predicate", ?o) { by, mode, at, stance?, valid?, context?, key }`."""

    handle: str
    subject: str
    predicate: str
    object: str
    by: str
    mode: str
    at: datetime
    stance: str
    valid: ValidTime
    contexts: tuple[str, ...]
    key: str


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def take(self, expected: str | None = None) -> str:
        token = self.tokens[self.at]
        self.at += 1
        assert expected is None or token == expected, (expected, self.tokens[self.at - 3 : self.at])
        return token

    def value(self) -> Any:
        token = self.take()
        if token == "{":
            members = {}
            while self.tokens[self.at] != "}":
                name = self.take()
                self.take(":")
                members[name] = self.value()
                if self.tokens[self.at] == ",":
                    self.take()
            self.take("}")
            return members
        if token == "[":
            items = []
            while self.tokens[self.at] != "]":
                items.append(self.value())
                if self.tokens[self.at] == ",":
                    self.take()
            self.take("]")
            return items
        return token[1:-1] if token.startswith('"') else token


def read(text: str) -> tuple[list[Upsert], list[Assert]]:
    """The statements of a setup text."""
    reader = _Reader(text)
    upserts: list[Upsert] = []
    asserts: list[Assert] = []
    reader.take("MUTATE")
    reader.take("{")
    while (word := reader.take()) != "}":
        if word == "UPSERT":
            reader.take("CONCEPT")
            handle = reader.take()
            reader.take("{")
            reader.take("MATCH")
            match = reader.value()
            upsert = Upsert(handle, match["type"], match["key"])
            while reader.take() == "SET":
                what = reader.take()
                (upsert.fields if what == "FIELDS" else upsert.attributes).update(reader.value())
            upserts.append(upsert)
        else:
            assert word == "ASSERT", word
            handle = reader.take()
            reader.take("(")
            subject = reader.take()
            reader.take(",")
            predicate = reader.take()[1:-1]
            reader.take(",")
            target = reader.take()
            reader.take(")")
            body = reader.value()
            asserts.append(
                Assert(
                    handle,
                    subject,
                    predicate,
                    target,
                    body["by"],
                    body["mode"],
                    parse_text(body["at"]),
                    body.get("stance", "support"),
                    ValidTime.from_json(body.get("valid")),
                    tuple(body.get("context", ())),
                    body["key"],
                )
            )
    return upserts, asserts
