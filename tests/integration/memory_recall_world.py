"""A space with memory, callers who recall, and a worker, for tests of the Memory Interface."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema_rs

from jobs import dispatch, ledger
from jobs.actors import PIPELINES
from jobs.ledger import Idempotency
from jobs.runner import Runner
from storage import jobs as table
from storage import memory_scopes
from storage.database import Database, Scope
from storage.graph.changes import (
    Change,
    ChangeSet,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    DefineSymbol,
    EnsureProposition,
    Link,
    Stance,
    UpsertConcept,
    Value,
)
from storage.graph.commit import Commit, commit
from storage.graph.keys import person_key
from storage.graph.validity import UNSTATED, ValidTime
from storage.jobs import Ending
from storage.memory_scopes import MemoryScope, is_handle
from storage.principals import Principal, anonymous
from tests.unit.api.calling import new_client

AT = datetime(2026, 9, 1, 9, tzinfo=UTC)
FACET = "kip://profiles/cognitive-memory@2.0.0/MemoryScope"


def _response() -> Any:
    """The wire shape of responses, where the shared schemas are beside this checkout."""
    path = Path(__file__).resolve().parents[3] / "shared/kip/schemas/memory-interface.schema.json"
    if not path.exists():
        return None
    schema = json.loads(path.read_text(encoding="utf-8"))
    return jsonschema_rs.Draft202012Validator({**schema, "$ref": "#/$defs/Response"})


_RESPONSE = _response()


@contextmanager
def working(database: Database) -> Iterator[None]:
    """A worker for briefings in this process, as long as the block lasts."""
    runner, over = Runner(PIPELINES, queues=("interactive",)), threading.Event()
    runner.start()

    def work() -> None:
        while not over.is_set():
            with database.ledger() as tx:
                rows = tx.execute(
                    "select id from job where kind = 'briefing' and state = 'accepted'"
                    " and available_at <= now() order by seq limit 1"
                ).fetchall()
            if rows:
                runner.run([id for (id,) in rows])
            else:
                over.wait(0.01)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        runner.stop()


class World:
    """One space."""

    def __init__(self, database: Database, space: str) -> None:
        self.database, self.space, self.scope = database, space, Scope(space)
        self.client = new_client()
        self._n = 0

    # writing

    def write(self, *changes: Change) -> Commit:
        """Commit changes."""
        with self.database.transaction(self.scope) as tx:
            return commit(tx, self.scope, "tester", ChangeSet(changes), tx_class="test")

    def define(self, name: str, *, functional: bool = False) -> None:
        """A predicate of persons and literals of its own."""
        definition = {
            "description": name,
            "functional": functional,
            "temporal_conflict": "overlapping_valid_time",
            "subject": {"kinds": ["Concept"]},
            "object": {"literal_types": ["string"]},
        }
        self.write(DefineSymbol("predicate", name, definition, if_absent=True))

    def _scoped(
        self, scope: dict[str, Any] | None
    ) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
        """The facet that names a scope's concepts, and their ids; they are made where needed."""
        wanted = MemoryScope.of(scope)
        if not wanted.handles:
            return {}, ()
        ids = {handle: handle for handle in wanted.handles}
        named = {handle: f"?s{n}" for n, handle in enumerate(filter(is_handle, wanted.handles))}
        if named:
            made = self.write(*(memory_scopes.upsert(handle, ref) for handle, ref in named.items()))
            ids |= {handle: made.ids[ref] for handle, ref in named.items()}
        facet = {
            "task_ref": None if wanted.task is None else ids[wanted.task],
            "context_refs": [ids[handle] for handle in wanted.contexts],
        }
        return {FACET: facet}, tuple(ids.values())

    def say(
        self,
        text: str,
        *,
        by: str = "Alice",
        at: datetime = AT,
        scope: dict[str, Any] | None = None,
        evidence_class: str = "user_statement",
    ) -> str:
        """A message that was captured; its evidence's id."""
        facets, _ = self._scoped(scope)
        self._n += 1
        made = self.write(
            UpsertConcept("?by", type="Person", key=person_key(by), initial_name=by),
            CreateEvidence(
                "?e",
                evidence_class,
                {"role": "user", "content": text, "n": self._n},
                media_type="application/json",
                observed_at=at,
                facets=facets,
                links=(Link("source", "?by"),),
            ),
        )
        return made.ids["?e"]

    def claim(
        self,
        subject: str,
        predicate: str,
        value: str | tuple[str, str],
        *,
        by: str | None = None,
        at: datetime = AT,
        scope: dict[str, Any] | None = None,
        stance: Stance = "support",
        valid: ValidTime = UNSTATED,
    ) -> str:
        """A claim with the message that it was taken from; the assertion's id.

        `value` is a literal, or (type, name) of a concept.
        """
        by = by or subject
        said = self.say(f"{subject} {predicate} {value}", by=by, at=at, scope=scope)
        facets, contexts = self._scoped(scope)
        changes: list[Change] = [
            UpsertConcept("?s", type="Person", key=person_key(subject), initial_name=subject),
        ]
        actor = "?s"
        if by != subject:
            actor = "?by"
            changes.append(UpsertConcept("?by", type="Person", key=person_key(by), initial_name=by))
        target: Any = "?o"
        if isinstance(value, str):
            target = Value(value)
        else:
            kind, name = value
            definition = {"description": kind, "attributes": {"open": True, "fields": {}}}
            if kind not in ("Person", "Place", "Organization", "Topic"):
                changes.append(DefineSymbol("concept_type", kind, definition, if_absent=True))
            changes.append(
                UpsertConcept("?o", type=kind, key=f"{kind}:{name}".lower(), initial_name=name)
            )
        changes += [
            EnsureProposition("?p", "?s", predicate, target),
            CreateAssertion(
                "?a",
                "?p",
                actor,
                "stated",
                stance=stance,
                asserted_at=at,
                valid=valid,
                contexts=contexts,
                citations=(Citation(said),),
                facets=facets,
            ),
        ]
        return self.write(*changes).ids["?a"]

    def derive(self, subject: str, predicate: str, value: str, basis: dict[str, Any]) -> str:
        """A claim that was inferred on a basis; the assertion's id."""
        said = self.say(f"notes about {subject}", by=subject)
        made = self.write(
            UpsertConcept("?s", type="Person", key=person_key(subject), initial_name=subject),
            EnsureProposition("?p", "?s", predicate, Value(value)),
            CreateAssertion(
                "?a", "?p", "?s", "inferred", asserted_at=AT, citations=(Citation(said),)
            ),
            CreateActivity(
                "?x",
                "inference",
                "completed",
                started_at=AT,
                ended_at=AT,
                outputs=("?a",),
                facets={"DependencyBasis": basis},
            ),
        )
        return made.ids["?a"]

    def concept(
        self, type_: str, attributes: dict[str, Any], *, scope: dict[str, Any] | None = None
    ) -> str:
        """A concept of a profile's type; its id."""
        facets, _ = self._scoped(scope)
        made = self.write(CreateConcept("?c", type_, attributes=attributes, facets=facets))
        return made.ids["?c"]

    def rule(self, text: str, **named: Any) -> str:
        """A standing instruction."""
        return self.concept("Insight", {"summary": text, "insight_class": "constraint"}, **named)

    def promise(self, text: str, **named: Any) -> str:
        """A pending commitment."""
        return self.concept("Commitment", {"summary": text, "status": "pending"}, **named)

    def skill(self, text: str) -> str:
        """A way to do something, proposed, with its first revision."""
        behaviour = {
            "task_family": "announcing",
            "procedure": ["write", "send"],
            "behavior_digest": "sha256:" + "a" * 64,
        }
        standing = {"skill_class": "workflow", "summary": text, "status": "proposed"}
        made = self.write(
            CreateConcept(
                "?s", "Skill", attributes=standing, links=(Link("current_revision", "?r"),)
            ),
            CreateConcept(
                "?r", "SkillRevision", attributes=behaviour, links=(Link("revision_of", "?s"),)
            ),
        )
        return made.ids["?s"]

    def watch(self, text: str, target: str, **named: Any) -> str:
        """A watch of an element."""
        scope = named.pop("scope", None)
        facets, _ = self._scoped(scope)
        made = self.write(
            CreateConcept(
                "?w",
                "Watch",
                attributes={
                    "watch_class": "delta",
                    "summary": text,
                    "condition": {"element": target},
                    "status": "armed",
                    **named,
                },
                facets=facets,
                links=(Link("watches", target),),
            )
        )
        return made.ids["?w"]

    def raise_(self, *raised: tuple[str, str, str]) -> Commit:
        """One commit that raises (class, element, key) to attention."""
        return self.write(
            *(
                CreateActivity(
                    f"?x{n}",
                    activity_class,
                    status="completed",
                    started_at=AT,
                    ended_at=AT + timedelta(seconds=1),
                    inputs=(element,),
                    client_key=key,
                )
                for n, (activity_class, element, key) in enumerate(raised)
            )
        )

    # receipts

    def receipt(self, key: str, caller: Principal | None = None) -> table.Job:
        """A job that stands for an accepted change of memory."""
        caller = caller or anonymous(self.space)
        with self.database.transaction(self.scope) as tx:
            return ledger.accept(
                tx,
                caller,
                "noop",
                {},
                operation="observe",
                idempotency=Idempotency(key, {"key": key}),
            ).job

    def end(
        self, job: table.Job, *, refs: Sequence[str] = (), error: dict[str, Any] | None = None
    ) -> None:
        """The change is done, or has failed."""
        with self.database.ledger() as tx:
            table.claim(tx, [job.id], "wrk-test", 60.0, isolated=True)
        with self.database.transaction(self.scope) as tx:
            head = self.head()
            ending = Ending(
                job.id,
                result={"summary": "Done.", "memory_refs": list(refs)},
                disposition="formed",
                resolved_seq=head,
                available_seq=head,
            )
            state = "succeeded" if error is None else "failed"
            ended = table.end(tx, [ending], state, error=error)  # type: ignore[arg-type]
        dispatch.announce(ended)

    def head(self) -> int:
        """The space's sequence."""
        with self.database.transaction(self.scope) as tx:
            row = tx.execute(
                "select head_seq from space where space_id = %s", (self.space,)
            ).fetchone()
        assert row is not None
        return int(row[0])

    # recalling

    def recall(
        self,
        query: str | None = None,
        *,
        scope: dict[str, Any] | None = None,
        budget: dict[str, Any] | None = None,
        **given: Any,
    ) -> dict[str, Any]:
        """The Response to a recall."""
        body: dict[str, Any] = {"kip_memory": "2.0", "operation": "recall", "input": given}
        if query is not None:
            given["query"] = query
        if scope is not None:
            body["scope"] = scope
        if budget is not None:
            body["budget"] = budget
        response = self.client.post(f"/v1/{self.space}/memory", json=body)
        answer: dict[str, Any] = json.loads(response.data)
        assert response.status_code == 200, answer
        if _RESPONSE is not None:
            _RESPONSE.validate(answer)
        return answer

    def attention(self, **query: Any) -> tuple[int, dict[str, Any]]:
        """Status and body of a look at what came up."""
        path = f"/v1/{self.space}/memory/attention"
        response = self.client.get(path, query_string=query)
        return response.status_code, json.loads(response.data)

    def raised(self, **query: Any) -> dict[str, Any]:
        """A page of what came up."""
        status, body = self.attention(**query)
        assert status == 200, body
        page: dict[str, Any] = body["result"]
        return page
