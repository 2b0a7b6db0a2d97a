"""How fast memory answers and takes writes: a space of 500,000 elements, over HTTP.

    ./deploy/bench graph [--quick] [--json] [--elements N] [--data DIR] [--direct] [--only WORD …]

One space is filled through `storage.graph.commit` (so the rows are those of real commits), 100
elements a commit: people, places, organisations, topics, events, insights; propositions,
assertions, evidence, activities and their references; some events change, some insights are
archived, some claims retracted. Then each shape of query is asked one after the other with changing
parameters, by `POST /v1/{space}/execute_kip_readonly` on a real gunicorn, in turn of the present
and `AS OF` a sequence in the middle of the history. The peer of a shape is a hand-written statement
for the same question, by psycopg on one connection, without row-level security. Commits (an
evidence, a proposition, an assertion) come from 8 threads in two processes; their peer is a one-row
insert.

`--data` keeps the filled cluster for the next run; `--direct` asks in this process, without HTTP.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psycopg

from storage import spaces
from storage.database import Scope, database
from storage.graph.changes import (
    Change,
    ChangeSet,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    EnsureProposition,
    Link,
    Transition,
    UpdateConcept,
    Value,
)
from storage.graph.commit import commit
from storage.graph.state import NOW
from storage.graph.validity import UNSTATED, ValidTime
from storage.kip.language.command import read
from tests.benchmarks import kip_parse
from tests.services import ROOT, Api, Services, free_port, started_services

SPACE = "graph_bench"
#: Elements of one commit while the space is filled, and how many of them are of which kind.
_BATCH = 100
_CONCEPTS = (
    ("Person", 3), ("Place", 1), ("Organization", 1), ("Topic", 1), ("Event", 8), ("Insight", 4)
)  # fmt: skip
_PROPOSITIONS, _ASSERTIONS, _EVIDENCE, _ACTIVITIES = 24, 32, 20, 6
_PREDICATES = (
    ("lives_in", "Place"), ("works_for", "Organization"), ("knows", "Person"), ("knows", "Person"),
    ("interested_in", "Topic"), ("speaks", None),
)  # fmt: skip
_SYLLABLES = (
    *("ka", "lo", "mi", "ren", "tas", "vor", "el", "ni", "sha", "dru"),
    *("pe", "quo", "bi", "lan", "far", "gus", "hel", "ix", "jor", "ulm"),
)
_LANGUAGES = ("en", "de", "fr", "zh", "es", "pt", "ja", "ar")
_OUTCOMES = ("success", "partial", "failure", "aborted")
_START = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass
class Filled:
    """What the space holds, as far as questions need it: things that the middle knew already."""

    middle: int
    head: int
    elements: int
    people: list[tuple[str, str, str]] = field(default_factory=list)  # id, key, name
    words: list[str] = field(default_factory=list)
    seconds: float = 0.0


class _Filler:
    """Writes the space, commit after commit, by a fixed seed."""

    def __init__(self, scope: Scope) -> None:
        self.scope, self.rnd = scope, random.Random(50)
        self.known: dict[str, list[str]] = {name: [] for name, _ in _CONCEPTS}
        self.people: list[tuple[str, str, str]] = []
        self.evidence: list[str] = []
        self.claims: list[str] = []
        self.words: list[str] = []
        self.number = 0

    def word(self) -> str:
        return "".join(self.rnd.choices(_SYLLABLES, k=3))

    def fill(self, elements: int) -> Filled:
        """Commit until there are that many elements."""
        begun, made, middle, seq = time.monotonic(), 0, 0, 0
        while made < elements:
            with database().transaction(self.scope) as tx:
                done = commit(
                    tx,
                    self.scope,
                    "bench",
                    ChangeSet(tuple(self._changes())),
                    tx_class="bench",
                    at=_START + timedelta(minutes=self.number),
                )
            self._remember(done.ids)
            made, seq, self.number = made + len(done.created), done.head_seq, self.number + 1
            if made < elements / 2:
                middle, people, words = seq, len(self.people), len(self.words)
            print(f"{made} elements", end="\r", file=sys.stderr, flush=True)
        seconds = time.monotonic() - begun
        return Filled(middle, seq, made, self.people[:people], self.words[:words], seconds)

    def _changes(self) -> Iterator[Change]:
        rnd, at = self.rnd, _START + timedelta(minutes=self.number)
        self.handles: list[tuple[str, str]] = []
        fresh: dict[str, list[str]] = {name: [] for name, _ in _CONCEPTS}
        self.named: dict[str, tuple[str, str]] = {}
        for type_name, count in _CONCEPTS:
            for place in range(count):
                handle = f"?{type_name}{place}"
                fresh[type_name].append(handle)
                name = f"{self.word()} {self.word()}"
                key = f"{type_name.lower()}:{self.number}:{place}:{name}"
                self.named[handle] = (key, name)
                attributes: dict[str, Any] = {"n": rnd.randrange(1000)}
                links: tuple[Link, ...] = ()
                if type_name in ("Event", "Insight"):
                    attributes["summary"] = " ".join(self.word() for _ in range(8))
                if type_name == "Event":
                    attributes["outcome_status"] = rnd.choice(_OUTCOMES)
                    people = {self._one("Person", fresh) for _ in range(2)}
                    links = tuple(Link("involves", person) for person in sorted(people))
                yield CreateConcept(
                    handle, type_name, name, key, attributes=attributes, links=links
                )
        for place in range(_EVIDENCE):
            text = " ".join(self.word() for _ in range(12))
            yield CreateEvidence(
                f"?e{place}", "message", text, media_type="text/plain", observed_at=at
            )
        for place in range(_PROPOSITIONS):
            predicate, object_type = rnd.choice(_PREDICATES)
            end = (
                Value(rnd.choice(_LANGUAGES))
                if object_type is None
                else self._one(object_type, fresh)
            )
            yield EnsureProposition(f"?p{place}", self._one("Person", fresh), predicate, end)
        for place in range(_ASSERTIONS):
            yield CreateAssertion(
                f"?a{place}",
                f"?p{place % _PROPOSITIONS}",
                self._one("Person", fresh),
                "stated",
                "reject" if rnd.random() < 0.1 else "support",
                0.9,
                at,
                ValidTime(at) if rnd.random() < 0.3 else UNSTATED,
                citations=(Citation(f"?e{place % _EVIDENCE}"),),
            )
        for place in range(_ACTIVITIES):
            yield CreateActivity(
                f"?x{place}",
                "reflection",
                "completed",
                inputs=(f"?e{place}",),
                outputs=(f"?a{place}",),
            )
        for event in rnd.sample(self.known["Event"], min(4, len(self.known["Event"]))):
            yield UpdateConcept(event, attributes={"n": rnd.randrange(1000, 2000)})
        if self.known["Insight"]:
            old = self.known["Insight"].pop(rnd.randrange(len(self.known["Insight"])))
            yield Transition(old, "archived")
        if len(self.claims) > 100:
            yield Transition(self.claims.pop(rnd.randrange(len(self.claims))), "retracted")

    def _one(self, type_name: str, fresh: dict[str, list[str]]) -> str:
        return self.rnd.choice(self.rnd.choice((self.known[type_name], ())) or fresh[type_name])

    def _remember(self, ids: Any) -> None:
        for handle, (key, name) in self.named.items():
            type_name = handle[1:].rstrip("0123456789")
            self.known[type_name].append(ids[handle])
            if type_name == "Person":
                self.people.append((ids[handle], key, name))
                self.words.append(name.split()[0])
        self.claims.extend(ids[f"?a{place}"] for place in range(_ASSERTIONS))


@dataclass(frozen=True)
class Shape:
    """A kind of question. `goal` is a p95 in ms; `peer` the same by hand."""

    name: str
    command: str
    goal: float | None = None
    peer: str | None = None
    history: bool = True


SHAPES = (
    Shape(
        "point by id",
        "FIND(?x.name, ?x.attributes.n) WHERE { ?x {id: :id} }",
        5.0,
        "select v.name, v.doc #> '{attributes,n}' from element e join element_ver v"
        " using (space_id, id) where e.space_id = %(space)s and e.kind = 'C' and e.id = %(id)s"
        " and v.state = 'active' and {at:v}",
    ),
    Shape(
        "point by type, key",
        'FIND(?x.id, ?x.name) WHERE { ?x {type: "Person", key: :key} }',
        5.0,
        "select v.id, v.name from element e join element_ver v using (space_id, id)"
        " where e.space_id = %(space)s and e.kind = 'C' and e.key = %(key)s and"
        " e.type_lineage = 'kip://profiles/cognitive-memory/Person' and v.state = 'active'"
        " and {at:v}",
    ),
    Shape(
        "point by name",
        'FIND(?x.id) WHERE { ?x {type: "Person", name: :name} }',
        5.0,
        "select v.id from element_ver v join element e using (space_id, id) where"
        " v.space_id = %(space)s and v.name = %(name)s and e.kind = 'C' and"
        " e.type_lineage = 'kip://profiles/cognitive-memory/Person' and v.state = 'active'"
        " and {at:v}",
    ),
    Shape(
        "type and filter",
        'FIND(?x.id) WHERE { ?x {type: "Event"} FILTER(?x.attributes.n == :n) }',
        None,
        "select v.id from element e join element_ver v using (space_id, id) where"
        " e.space_id = %(space)s and e.kind = 'C' and"
        " e.type_lineage = 'kip://profiles/cognitive-memory/Event' and v.state = 'active'"
        " and v.doc #> '{attributes,n}' = to_jsonb(%(n)s::int) and {at:v}",
    ),
    Shape(
        "slot, live claims",
        'FIND(?o.name, ?a.id, ?a.stance) WHERE { ?p ({id: :id}, "lives_in", ?o)'
        ' ?a ASSERTION {proposition: ?p, lifecycle: {status: "active"}} }',
        5.0,
        "select o.name, a.id, a.stance from proposition p"
        " join assertion a on a.space_id = p.space_id and a.proposition_id = p.id"
        " join element_ver v on v.space_id = a.space_id and v.id = a.id and v.status = 'active'"
        " join element_ver o on o.space_id = p.space_id and o.id = p.object_id and {at:o}"
        " where p.space_id = %(space)s and p.subject_id = %(id)s and"
        " p.predicate_lineage = 'kip://domains/general/lives_in' and {at:v}",
    ),
    *(
        Shape(
            f"path, {hops} hop{'s' if hops > 1 else ''}",
            f'FIND(?y.name) WHERE {{ ({{id: :id}}, "knows"{{1,{hops}}}, ?y) }}',
            None,
            "with recursive walk(id, hops) as (select %(id)s::text, 0 union"
            " select p.object_id, w.hops + 1 from walk w join proposition p"
            " on p.space_id = %(space)s and p.subject_id = w.id"
            " and p.predicate_lineage = 'kip://domains/general/knows'"
            " join element_ver s on s.space_id = p.space_id and s.id = p.id"
            f" and s.state = 'active' and {{at:s}} where w.hops < {hops})"
            " select distinct v.id, v.name from walk w join element_ver v"
            " on v.space_id = %(space)s and v.id = w.id where w.hops > 0 and {at:v}",
        )
        for hops in (1, 2, 3, 4)
    ),
    Shape(
        "NOT over a type",
        'FIND(COUNT(?x)) WHERE { ?x {type: "Person"} NOT { (?x, "works_for", ?o) } }',
        None,
        "select count(*) from element e join element_ver v using (space_id, id) where"
        " e.space_id = %(space)s and e.kind = 'C' and v.state = 'active' and"
        " e.type_lineage = 'kip://profiles/cognitive-memory/Person' and {at:v} and not exists ("
        "select from proposition p join element_ver s on s.space_id = p.space_id and s.id = p.id"
        " and s.state = 'active' and {at:s} where p.space_id = e.space_id and p.subject_id = e.id"
        " and p.predicate_lineage = 'kip://domains/general/works_for')",
    ),
    Shape(
        "grouped aggregate",
        "FIND(?a.stance, COUNT(?a)) WHERE { ?a ASSERTION {} } ORDER BY ?a.stance",
        None,
        "select a.stance, count(*) from assertion a join element_ver v using (space_id, id)"
        " where a.space_id = %(space)s and v.state = 'active' and {at:v} group by 1 order by 1",
    ),
    Shape("keyword search", "SEARCH CONCEPT :word LIMIT 10", None, None, history=False),
    Shape(
        "belief of a slot",
        'FIND(?b.status, ?b.accepted_values) WHERE { ?b BELIEF SLOT ({id: :id}, "lives_in") }',
    ),
)


def parameters(filled: Filled, rnd: random.Random) -> dict[str, Any]:
    """Values for one question."""
    element, key, name = rnd.choice(filled.people)
    return {
        "id": element,
        "key": key,
        "name": name,
        "n": rnd.randrange(1000),
        "word": rnd.choice(filled.words),
    }


def asked(command: str, values: dict[str, Any], seq: int | None) -> dict[str, Any]:
    """The request of one question."""
    if seq is not None:
        where, _, order = command.partition(" ORDER BY ")
        command = f"{where} AS OF SEQ :seq" + (f" ORDER BY {order}" if order else "")
        values = {**values, "seq": seq}
    needed = read(command).parameters
    return {"command": command, "parameters": {name: values[name] for name in needed}}


Ask = Callable[[dict[str, Any]], Any]


def over_http(api: Api) -> Ask:
    """Ask by one HTTP connection that stays open."""

    def ask(request: dict[str, Any]) -> Any:
        answer = api.client.post(f"/v1/{SPACE}/execute_kip_readonly", json=request)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert body["status"] == "succeeded", body
        return body["results"][0].get("result")

    return ask


def in_process() -> Ask:
    """Ask the protocol in this process."""
    from storage.kip.binding import bind
    from storage.kip.language.ast_kql import Find
    from storage.kip.query.find import find
    from storage.kip.snapshot import open_snapshot

    def ask(request: dict[str, Any]) -> Any:
        statement = bind(read(request["command"]).statement, request["parameters"])
        assert isinstance(statement, Find), "only FIND is asked directly"
        with database().transaction(Scope(SPACE), snapshot=True) as tx:
            snapshot = open_snapshot(tx, Scope(SPACE), as_of=request["parameters"].get("seq"))
            return find(snapshot, statement, caller="bench").rows

    return ask


def timed(ask: Callable[[], Any]) -> tuple[float, Any]:
    """How long an answer takes, in ms, and the answer."""
    begun = time.perf_counter()
    answer = ask()
    return (time.perf_counter() - begun) * 1000, answer


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which that share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def measure(
    shape: Shape, ask: Ask, peer: psycopg.Connection, filled: Filled, seconds: float
) -> dict[str, Any]:
    """One shape: now, as of the middle, and by hand; as many rounds as the time allows, ≤ 300."""
    rnd = random.Random(7)
    took: dict[str, list[float]] = {"now": [], "then": [], "peer": []}
    rows, begun = 0, time.monotonic()
    for number in range(310):
        values = parameters(filled, rnd)
        found = {}
        for when, seq in (("now", None), ("then", filled.middle)):
            if when == "now" or shape.history:
                request = asked(shape.command, values, seq)
                ms, answer = timed(lambda request=request: ask(request))  # type: ignore[misc]
                found[when] = ms
                rows += len(answer) if isinstance(answer, list) else 1
        if shape.peer is not None:
            statement = shape.peer
            for alias in ("v", "o", "s"):
                statement = statement.replace(f"{{at:{alias}}}", f"{alias}.seq_to = {NOW}")
            given = {"space": SPACE, **values}
            found["peer"], _ = timed(
                lambda statement=statement, given=given: peer.execute(  # type: ignore[misc]
                    statement, given
                ).fetchall()
            )
        if number >= 10:  # the first rounds warm up
            for when, ms in found.items():
                took[when].append(ms)
        if number >= 20 and time.monotonic() - begun > seconds:
            break
    result: dict[str, Any] = {"shape": shape.name, "rounds": len(took["now"]), "goal": shape.goal}
    for when, values_ in took.items():
        if values_:
            result[f"{when}_p50"] = round(quantile(values_, 0.5), 2)
            result[f"{when}_p95"] = round(quantile(values_, 0.95), 2)
    if took["then"]:
        result["then_by_now"] = round(result["then_p50"] / result["now_p50"], 2)
    if took["peer"]:
        result["now_by_peer"] = round(result["now_p50"] / result["peer_p50"], 2)
    result["rows"] = rows
    return result


# commits


def _remember(scope: Scope, rnd: random.Random, number: int) -> None:
    changes = (
        CreateEvidence("?e", "message", f"{number} {rnd.random()}", media_type="text/plain"),
        EnsureProposition("?p", "C-1", "speaks", Value(f"{rnd.random()}")),
        CreateAssertion(
            "?a", "?p", "C-1", "stated", citations=(Citation("?e"),), asserted_at=_START
        ),
    )
    with database().transaction(scope) as tx:
        commit(tx, scope, "bench", ChangeSet(changes), tx_class="bench")


def _write(names: Sequence[str], seconds: float) -> int:
    """Commit from one thread for each name, until time is over; how many commits there were."""

    def work(place: int) -> int:
        rnd, done, until = random.Random(os.getpid() + place), 0, time.monotonic() + seconds
        while time.monotonic() < until:
            _remember(Scope(names[place]), rnd, done)
            done += 1
        return done

    with ThreadPoolExecutor(len(names)) as threads:
        return sum(threads.map(work, range(len(names))))


def commits(spaces_: int, seconds: float) -> float:
    """Commits a second of 8 threads in two processes, spread over that many spaces."""
    names = [f"graph_bench_{time.time_ns()}_{number}" for number in range(spaces_)]
    for name in names:
        with database().transaction(Scope(name)) as tx:
            spaces.create(tx, Scope(name), owner="bench")
        with database().transaction(Scope(name)) as tx:
            person = ChangeSet((CreateConcept("?c", "Person", "Ann"),))
            commit(tx, Scope(name), "bench", person, tx_class="bench")
    threads = [names[place % spaces_] for place in range(8)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        # both are up before they are measured
        list(processes.map(_write, [threads[:1], threads[:1]], [0.2, 0.2]))
        begun = time.monotonic()
        done = sum(processes.map(_write, [threads[::2], threads[1::2]], [seconds, seconds]))
        return done / (time.monotonic() - begun)


def inserts(url: str, seconds: float) -> float:
    """Durable transactions a second of one connection that inserts one row in each."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("drop table if exists bench_peer")
        conn.execute("create table bench_peer (id bigint primary key, body text)")
        done, begun = 0, time.monotonic()
        while time.monotonic() - begun < seconds:
            conn.execute("insert into bench_peer values (%s, %s)", (done, "x" * 200))
            done += 1
        rate = done / (time.monotonic() - begun)
        conn.execute("drop table bench_peer")
        return rate


# servers and space


def filled_space(services: Services, elements: int, notes: Path) -> Filled:
    """The space, filled now or by an earlier run that left its notes."""
    if notes.exists():
        known = json.loads(notes.read_text(encoding="utf-8"))
        return Filled(**{**known, "people": [tuple(one) for one in known["people"]]})
    scope = Scope(SPACE)
    with database().transaction(scope) as tx:
        spaces.create(tx, scope, owner="anonymous")
    filled = _Filler(scope).fill(elements)
    with psycopg.connect(services.admin_url, autocommit=True) as conn:
        conn.execute("vacuum analyze")
    notes.write_text(json.dumps(filled.__dict__), encoding="utf-8")
    return filled


@contextlib.contextmanager
def started_api(services: Services) -> Iterator[Api]:
    """A gunicorn of two processes."""
    port = free_port()
    environment = {"BRAINSTEM_PORT": str(port), "BRAINSTEM_API_PROCESSES": "2"}
    config = str(ROOT / "deploy" / "gunicorn_conf.py")
    process = services.spawn(
        "api", ["-m", "gunicorn", "-c", config, "api.app:create_app()"], env=environment
    )
    api = Api(process, f"http://127.0.0.1:{port}")
    try:
        api.wait_ready()
        yield api
    finally:
        api.close()


def run(services: Services, options: argparse.Namespace) -> dict[str, Any]:
    """Fill, ask, write."""
    notes = services.data / f"graph-bench-{options.elements}.json"
    filled = filled_space(services, options.elements, notes)
    shapes = [
        shape
        for shape in SHAPES
        if not options.only or any(word in shape.name for word in options.only)
    ]
    figures: dict[str, Any] = {
        "elements": filled.elements,
        "head_seq": filled.head,
        "middle_seq": filled.middle,
        "filled_elements_per_s": round(filled.elements / filled.seconds),
    }
    with contextlib.ExitStack() as stack:
        peer = stack.enter_context(psycopg.connect(services.admin_url, autocommit=True))
        peer.execute("set jit = off")
        peer.prepare_threshold = 0
        if options.direct:
            ask = in_process()
            shapes = [shape for shape in shapes if shape.command.startswith("FIND")]
        else:
            ask = over_http(stack.enter_context(started_api(services)))
        figures["shapes"] = [measure(shape, ask, peer, filled, options.seconds) for shape in shapes]
    if not options.only:
        seconds = min(options.seconds, 5.0)
        figures["commits_per_s_one_space"] = round(commits(1, seconds))
        figures["commits_per_s_8_spaces"] = round(commits(8, seconds))
        figures["one_row_inserts_per_s"] = round(inserts(services.admin_url, seconds))
        texts = kip_parse.commands()
        figures["commands_read_per_s"] = round(kip_parse.rate(read, texts, seconds))
    return figures


def told(figures: dict[str, Any]) -> str:
    """The figures as one table."""
    timings = ("now_p50", "now_p95", "then_p50", "then_p95", "peer_p50")
    columns = (*timings, "then_by_now", "now_by_peer")
    lines = [
        f"{figures['elements']:,} elements, {figures['head_seq']:,} commits,"
        f" filled with {figures['filled_elements_per_s']:,} elements/s; ms",
        f"{'':<20}" + "".join(f"{name:>12}" for name in columns) + "  goal",
    ]
    for row in figures["shapes"]:
        cells = "".join(f"{row.get(name, ''):>12}" for name in columns)
        goal = ""
        if row["goal"] is not None:
            goal = "met" if row["now_p95"] <= row["goal"] else f"missed: p95 <= {row['goal']:g} ms"
        lines.append(f"{row['shape']:<20}{cells}  {goal}")
    lines += [f"{name}: {value:,}" for name, value in figures.items() if "_per_s" in name]
    return "\n".join(lines)


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    parser = argparse.ArgumentParser(description="Queries and commits over a large space.")
    parser.add_argument("--quick", action="store_true", help="20,000 elements, 2 s a shape")
    parser.add_argument("--json", action="store_true", help="print the JSON line alone")
    parser.add_argument("--elements", type=int, default=500_000)
    parser.add_argument("--seconds", type=float, default=15.0, help="at most, for each shape")
    parser.add_argument("--data", type=Path, help="keep the filled cluster in this folder")
    parser.add_argument("--direct", action="store_true", help="ask in this process")
    parser.add_argument("--only", nargs="+", default=[], help="shapes whose name has a word")
    options = parser.parse_args()
    if options.quick:
        options.elements, options.seconds = min(options.elements, 20_000), 2.0
    with started_services(options.data) as services:
        figures = run(services, options)
    if not options.json:
        print(told(figures))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
