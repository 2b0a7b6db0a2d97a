"""The Memory Interface as its callers have it, and the scenarios' JSON blocks.

A `World` has the API and the workers in this process: `work()` runs what waits, one job after the
other, as a worker would. Scenarios are read from `shared/scenarios/memory-interface.md`; in what
they expect, `"*"` is any value that is not empty, and only the members that are named count.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from jobs.actors import PIPELINES
from jobs.runner import Attempt, Runner
from pipelines.work import Effect
from storage import spaces
from storage.clock import from_millis, now, to_text
from storage.credentials import cwt, space_tokens
from storage.database import Database, Scope
from storage.graph import claims
from storage.graph.belief import Question
from storage.graph.schema import local_name
from storage.kip.query.documents import documents
from storage.kip.snapshot import open_snapshot
from storage.settings import reload
from tests.providers import Provider
from tests.services import ROOT
from tests.unit.api.calling import new_client

SCENARIOS = ROOT.parent / "shared" / "scenarios" / "memory-interface.md"
SCHEMA = ROOT.parent / "shared" / "kip" / "schemas" / "memory-interface.schema.json"
_BLOCK = re.compile(r"```json ([a-z-]+)\n(.*?)```", re.DOTALL)
SIGNING, PUBLIC = cwt.new_key()
#: Quick retries, no vectors: what is tested is neither.
ENVIRONMENT = {"BRAINSTEM_RETRY_BASE_SECONDS": "0", "BRAINSTEM_EMBEDDER": "none"}


@cache
def scenario(name: str) -> dict[str, list[Any]]:
    """The JSON blocks of a scenario, by their kind, in order; skips where there is no such file."""
    if not SCENARIOS.exists():
        pytest.skip("shared/scenarios/memory-interface.md is not here")
    text = Path(SCENARIOS).read_text()
    start = text.index(f"### {name} ")
    end = text.find("\n### ", start)
    found: dict[str, list[Any]] = {}
    for kind, block in _BLOCK.findall(text[start : end if end > 0 else None]):
        found.setdefault(kind, []).append(json.loads(block))
    return found


@cache
def _shape() -> Any:
    if not SCHEMA.exists():
        return None
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return jsonschema_rs.Draft202012Validator({**schema, "$ref": "#/$defs/Response"})


def well_formed(response: Any) -> None:
    """Fails unless it is a Response as the shared schema has it, where that is beside us.

    The schema has no shape for the answer to a request whose operation could not be read.
    """
    shape = _shape() if "operation" in response else None
    wrong = [] if shape is None else [str(one) for one in shape.iter_errors(response)]
    assert not wrong, f"{wrong} in {response}"


def filled(value: Any, **known: str) -> Any:
    """A block with `$name` replaced by what was captured, and `sp1` by the world's space."""
    text = json.dumps(value)
    for name, captured in sorted(known.items(), key=lambda one: -len(one[0])):
        text = text.replace(f'"${name}"', json.dumps(captured))
        if name == "sp1":
            text = text.replace('"sp1"', json.dumps(captured))
    return json.loads(text)


def matches(expected: Any, actual: Any, path: str = "$") -> None:
    """Fails unless `actual` has what is expected of it."""
    if expected == "*":
        assert actual not in (None, "", [], {}), f"{path} is empty"
    elif isinstance(expected, Mapping):
        assert isinstance(actual, Mapping), f"{path} is {actual!r}"
        for name, value in expected.items():
            assert name in actual, f"{path} has no {name}: {actual!r}"
            matches(value, actual[name], f"{path}.{name}")
    elif isinstance(expected, list):
        assert isinstance(actual, list), f"{path} is {actual!r}"
        if not expected:
            assert actual == [], f"{path} is {actual!r}"
        assert len(actual) >= len(expected), f"{path} is {actual!r}"
        for index, value in enumerate(expected):
            matches(value, actual[index], f"{path}[{index}]")
    else:
        assert actual == expected, f"{path} is {actual!r}, not {expected!r}"


@dataclass
class Caller:
    """One caller of one space."""

    world: World
    space: str
    token: str | None = None

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The response of a route of the space."""
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return new_client().open(
            f"/v1/{self.space}/{path}", method=method, json=body, headers=headers
        )

    def stage(self, *said: str | dict[str, Any], key: str | None = None, **more: Any) -> str:
        """Stage messages (a text is a user's) and answer the handle."""
        messages = [
            one if isinstance(one, dict) else {"role": "user", "content": one} for one in said
        ]
        body = {"messages": messages, "idempotency_key": key or uuid.uuid4().hex, **more}
        return self.stage_block(body)

    def stage_block(self, body: Any) -> str:
        """Stage a whole request and answer the handle."""
        response = self.call("POST", "memory/sources", body)
        assert response.status_code == 200, response.text
        return str(response.json["result"]["source_ref"])

    def ask(self, body: Any) -> Any:
        """The response to a request of the Memory Interface, which HTTP always calls well."""
        response = self.call("POST", "memory", body)
        assert response.status_code == 200, response.text
        well_formed(response.json)
        return response.json

    def do(self, operation: str, key: str | None = None, **members: Any) -> Any:
        """One intent: `scope`, `budget`, `requires`, and the members of its input."""
        outside = {n: members.pop(n) for n in ("scope", "budget", "requires") if n in members}
        return self.ask(
            {
                "kip_memory": "2.0",
                "operation": operation,
                "idempotency_key": key or uuid.uuid4().hex,
                **outside,
                "input": members,
            }
        )

    def done(self, operation: str, **members: Any) -> Any:
        """One intent and the work that it takes; the view of its receipt after it."""
        told = self.do(operation, **members)
        assert "receipt" in told, told
        self.world.work()
        return self.receipt(told["receipt"]["receipt_ref"])

    def receipt(self, ref: str) -> Any:
        """The view of a receipt."""
        response = self.call("GET", f"memory/receipts/{ref}")
        assert response.status_code == 200, response.text
        return response.json["result"]


@dataclass
class World:
    """A private space `sp1`, an empty one `sp2`, and who may call."""

    database: Database
    sp1: str
    sp2: str
    runner: Runner
    tokens: dict[str, str] = field(default_factory=dict)
    #: What happens between a formation's reading and its writing, once.
    between: Callable[[], Any] | None = None

    @property
    def scope(self) -> Scope:
        """The scope of `sp1`."""
        return Scope(self.sp1)

    def caller(self, name: str | None = None, space: str | None = None) -> Caller:
        """A caller by name; None is nobody in particular."""
        return Caller(self, space or self.sp1, self.tokens.get(name or ""))

    def work(self) -> None:
        """Run every job that waits, also those that others lead to and those to be tried again."""
        while ids := self._waiting():
            for job_id in ids:
                self.runner.run([job_id])

    def _waiting(self) -> list[str]:
        rows = self.query(
            "select id from job where space_id = any(%s) and state = 'accepted'"
            " and available_at <= now() order by seq",
            [self.sp1, self.sp2],
        )
        return [job_id for (job_id,) in rows]

    def query(self, text: str, *params: Any) -> list[tuple[Any, ...]]:
        """What the database holds, behind the API's back."""
        with self.database.ledger() as tx:
            return tx.execute(text, params).fetchall()

    def rows(self, text: str, *params: Any) -> list[tuple[Any, ...]]:
        """What `sp1` holds; `%s` in the text is first the space."""
        with self.database.transaction(self.scope) as tx:
            return tx.execute(text, (self.sp1, *params)).fetchall()

    def element(self, element_id: str, at: int | None = None) -> Any:
        """An element as a whole, now or as of a sequence."""
        with self.database.transaction(self.scope, snapshot=True) as tx:
            snapshot = open_snapshot(tx, self.scope, as_of=at)
            return documents(snapshot, [element_id]).get(element_id)

    def scope_of(self, element_id: str) -> Any:
        """What the MemoryScope facet of an element says; None for one without a scope."""
        facets = self.element(element_id)["facets"]
        return next((v for ref, v in facets.items() if local_name(ref) == "MemoryScope"), None)

    def status(self, element_id: str, at: int | None = None) -> str:
        """The lifecycle of a claim."""
        return str(self.element(element_id, at)["lifecycle"]["status"])

    def claims(self) -> list[str]:
        """The ids of all claims, oldest first."""
        rows = self.rows("select id from assertion where space_id = %s order by length(id), id")
        return [element_id for (element_id,) in rows]

    def believed(
        self, *, valid_at: datetime | None = None, seq: int | None = None, contexts: Any = ()
    ) -> dict[str, str]:
        """What is believed of every claim ever made, by "subject predicate object"."""
        with self.database.transaction(self.scope, snapshot=True) as tx:
            ids = tx.execute("select id from assertion where space_id = %s", (self.sp1,)).fetchall()
            question = Question(valid_at or now(), contexts=frozenset(contexts))
            found = claims.claims_for(
                tx, self.scope, question, assertions=[i for (i,) in ids], seq=seq
            )
        return {f"{c.subject} {c.predicate} {c.object}": c.belief.status for c in found}

    @property
    def head(self) -> int:
        """The space's sequence."""
        [(seq,)] = self.rows("select head_seq from space where space_id = %s")
        return int(seq)

    @property
    def jobs(self) -> int:
        """How many jobs the space has."""
        [(count,)] = self.rows("select count(*) from job where space_id = %s")
        return int(count)


@pytest.fixture
def world(database: Database, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two spaces without authentication, and a worker in this process."""
    yield from _world(database, monkeypatch, {})


@pytest.fixture
def keyed_world(database: Database, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same with callers that say who they are: ana, eve, bot, bot2."""
    yield from _world(database, monkeypatch, {"ED25519_PUBKEYS": PUBLIC})


def with_model(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """Form with the scripted provider from now on."""
    config = provider.config()
    for name, value in (
        ("FAMILY", config.family),
        ("NAME", config.model),
        ("API_BASE", config.api_base),
        ("API_KEY", config.api_key),
    ):
        monkeypatch.setenv(f"BRAINSTEM_MODEL_{name}", value)
    reload()


def _world(database: Database, monkeypatch: pytest.MonkeyPatch, env: Mapping[str, str]) -> Any:
    for name, value in {**ENVIRONMENT, **env}.items():
        monkeypatch.setenv(name, value)
    reload()
    made = World(database, _space(database), _space(database), Runner(PIPELINES))

    def formation(attempt: Attempt) -> Effect:
        effect = PIPELINES["formation"](attempt)
        if made.between is not None:
            meanwhile, made.between = made.between, None
            meanwhile()
        return effect

    made.runner = Runner({**PIPELINES, "formation": formation})
    if env:
        at = time.time()
        for name, audience in (("ana", "*"), ("eve", made.sp1)):
            made.tokens[name] = cwt.mint(
                SIGNING, subject=name, audience=audience, scope="*", seconds=600, at=at
            )
        with database.transaction(made.scope) as tx:
            for name in ("bot", "bot2"):
                made.tokens[name], _ = space_tokens.add(tx, made.scope, name=name, token_scope="*")
    made.runner.start()
    yield made
    made.runner.stop()
    monkeypatch.undo()
    reload()


def _space(database: Database) -> str:
    scope = spaces.scope_of(f"mis_{uuid.uuid4().hex[:12]}")
    with database.transaction(scope) as tx:
        spaces.create(tx, scope, owner="user:ana")
    return scope.space_id


def said_at(millis: int) -> str:
    """A message's time as memory writes it."""
    return to_text(from_millis(millis))
