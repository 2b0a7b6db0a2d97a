"""Watches held against the change stream, from the commit that armed them on.

A delta Watch fires at the first change that its condition matches; a silence Watch when the whole
stream up to its `due_at` held none. A delta Watch whose time passed without a match has expired; a
silence Watch that saw one is disarmed. Firing is one commit: the Watch under a guard, and a
`watch_fire` Activity with the key `watch_fire:<id>:<arm>:<seq>` or `…:silence:<due_at>`, so that
nothing fires twice. It grants nothing.

An arm begins with the version that made the Watch armed, or that changed its condition or class
while it was; it is read from the Watch's history and so is the same whoever settles, and when.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from storage.canonical import canonical_json
from storage.clock import parse_text, to_text
from storage.database import Scope, Transaction, sql
from storage.errors import InvalidInput
from storage.graph import state, transactions
from storage.graph.changes import Change, CreateActivity, Guard, UpdateConcept
from storage.graph.commit import lock
from storage.graph.schema import Schema, environment
from storage.graph.state import NOW
from storage.settlement.conditions import (
    Changes,
    Condition,
    condition_digest,
    proposition_of,
    read_all,
)
from storage.settlement.writing import commit_each

TYPE = "kip://profiles/cognitive-memory/Watch"
#: Transactions of the stream that one step reads, and that one run reads at most.
PAGE, MOST = 500, 50_000
#: Armed Watches that one run looks at.
WATCHES = 10_000
#: The observation that silence is concluded from: the settlement sees all of the space.
_VIEW = "space"
_Ending = Literal["fired", "expired", "disarmed"]


@dataclass(frozen=True, slots=True)
class _Armed:
    """An armed Watch in its present arm, and how far the stream was held against it."""

    id: str
    version: int
    watch_class: str
    given: Any
    due_at: datetime | None
    generation: int
    armed_seq: int
    consumed: int
    condition: Condition | None

    @property
    def decidable(self) -> bool:
        """Whether rule can decide it."""
        return self.condition is not None and (
            self.watch_class == "delta" or (self.watch_class == "silence" and bool(self.due_at))
        )


@dataclass(frozen=True, slots=True)
class _Verdict:
    """How an arm ends, and through which sequence the stream was read for it.

    `seq` and `element` are of the change that decided it.
    """

    watch: _Armed
    ending: _Ending
    covered: int
    seq: int | None = None
    element: str | None = None


def settle(
    tx: Transaction, scope: Scope, principal: str, at: datetime, told: dict[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Hold the next page of the stream against all armed Watches.

    Returns the counts so far (`fired`, `conflicted`, `disarmed`, which includes expired, and
    `deferred`) and whether the stream is read to its end.
    """
    told = {"fired": 0, "conflicted": 0, "disarmed": 0, "deferred": 0, "read": 0, **told}
    head = lock(tx, scope).head_seq
    schema = environment(tx, scope)
    refused = set(told.get("refused", ()))
    watches = [w for w in _armed(tx, scope, schema) if w.id not in refused]
    judged = [watch for watch in watches if watch.decidable]
    after = min((watch.consumed for watch in judged), default=head)
    page = transactions.between(tx, scope, after=after, limit=PAGE) if after < head else []
    through = head if len(page) < PAGE else page[-1].seq
    verdicts = _verdicts(tx, scope, judged, page, through, at)
    made, conflicted = _conclude(tx, scope, principal, verdicts, at)
    for verdict in verdicts:
        if verdict.watch.id in made:
            told["fired" if verdict.ending == "fired" else "disarmed"] += 1
    told["conflicted"] += len(conflicted)
    told["refused"] = sorted(refused | conflicted)
    _progress(tx, scope, judged, {verdict.watch.id for verdict in verdicts}, through)
    told["read"] += len(page)
    # what firing has just committed is part of the stream, too
    caught_up = through >= lock(tx, scope).head_seq and not made
    done = caught_up or told["read"] >= MOST or not judged
    undecided = _count(tx, scope) - len(judged) + len(made) - len(refused)
    told["deferred"] = undecided + (0 if caught_up or not judged else len(judged))
    told["complete"] = caught_up or not judged
    return told, done


def next_due(tx: Transaction, scope: Scope, at: datetime) -> datetime | None:
    """When the next armed Watch falls due after `at`."""
    row = tx.execute(
        sql(
            f"""
            select min(kip_instant(v.doc #>> '{{attributes,due_at}}')) from element_ver v
             where v.space_id = %s and v.seq_to = {NOW} and v.state = 'active'
               and v.doing = 'armed' and kip_instant(v.doc #>> '{{attributes,due_at}}') > %s
            """
        ),
        (scope.space_id, at),
    ).fetchone()
    return None if row is None else row[0]


def _armed(tx: Transaction, scope: Scope, schema: Schema) -> list[_Armed]:
    rows = tx.execute(
        sql(
            f"""
            select v.id, v.version, v.doc -> 'attributes', v.doc -> 'facets', p.generation,
                   p.consumed_seq
              from element_ver v
              join lateral (select true from element e where e.space_id = %(space)s
                     and e.id = v.id and e.type_lineage = %(type)s limit 1) e on true
              left join lateral (select generation, consumed_seq from watch_progress p
                     where p.space_id = %(space)s and p.watch_id = v.id limit 1) p on true
             where v.space_id = %(space)s and v.seq_to = {NOW} and v.state = 'active'
               and v.doing = 'armed' and not v.quarantined
             order by length(v.id), v.id limit %(limit)s
            """
        ),
        {"space": scope.space_id, "type": TYPE, "limit": WATCHES},
    ).fetchall()
    arms = _arms(tx, scope, [row[0] for row in rows])
    conditions = read_all(tx, scope, schema, [row[2].get("condition") for row in rows])
    found = []
    for row, condition in zip(rows, conditions, strict=True):
        watch_id, version, attributes, facets, generation, consumed = row
        arm, armed_seq = arms[watch_id]
        arm = max(arm, _stored_generation(facets))
        found.append(
            _Armed(
                watch_id,
                version,
                str(attributes.get("watch_class")),
                attributes.get("condition"),
                _time(attributes.get("due_at")),
                arm,
                armed_seq,
                max(armed_seq, consumed if generation == arm else 0),
                condition,
            )
        )
    return found


def _count(tx: Transaction, scope: Scope) -> int:
    """How many Watches are armed now."""
    row = tx.execute(
        sql(
            f"""
            select count(*) from element_ver v
              join lateral (select true from element e where e.space_id = %(space)s
                     and e.id = v.id and e.type_lineage = %(type)s limit 1) e on true
             where v.space_id = %(space)s and v.seq_to = {NOW} and v.state = 'active'
               and v.doing = 'armed' and not v.quarantined
            """
        ),
        {"space": scope.space_id, "type": TYPE},
    ).fetchone()
    return 0 if row is None else int(row[0])


def _arms(tx: Transaction, scope: Scope, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The number of each Watch's present arm, and the sequence that it began with."""
    rows = tx.execute(
        """
        select v.id, v.seq_from, v.doing, v.doc #> '{attributes,condition}',
               v.doc #>> '{attributes,watch_class}'
          from unnest(%s::text[]) as w(id)
          join lateral (select * from element_ver v where v.space_id = %s and v.id = w.id
                 offset 0) v on true
         order by v.id, v.seq_from
        """,
        (list(ids), scope.space_id),
    )
    arms: dict[str, tuple[int, int]] = {}
    before: dict[str, str | None] = {}
    for watch_id, seq, status, condition, watch_class in rows:
        armed = canonical_json([condition, watch_class]) if status == "armed" else None
        if armed is not None and armed != before.get(watch_id):
            arms[watch_id] = (arms.get(watch_id, (0, 0))[0] + 1, seq)
        before[watch_id] = armed
    return arms


def _stored_generation(facets: Mapping[str, Any] | None) -> int:
    """The arm that a WatchState says; a runtime may have counted more than history shows."""
    for ref, values in (facets or {}).items():
        if ref.endswith("/WatchState") and isinstance(values.get("arm_generation"), int):
            return int(values["arm_generation"])
    return 0


def _time(text: Any) -> datetime | None:
    try:
        return parse_text(text) if isinstance(text, str) else None
    except InvalidInput:
        return None


def _verdicts(
    tx: Transaction,
    scope: Scope,
    watches: Sequence[_Armed],
    page: Sequence[transactions.Record],
    through: int,
    at: datetime,
) -> list[_Verdict]:
    by_slot = any(watch.condition and watch.condition.slot for watch in watches)
    slots = _slots(tx, scope, page) if by_slot else {}
    changes = Changes()
    for record in page:
        for entry in record.changes:
            changes.add(record.seq, entry, slots)
    due_seqs = {
        due_at: transactions.seq_at(tx, scope, due_at)
        for due_at in {watch.due_at for watch in watches}
        if due_at is not None and due_at <= at
    }
    verdicts = (
        _judge(watch, changes, due_seqs.get(watch.due_at) if watch.due_at else None, through)
        for watch in watches
    )
    return [verdict for verdict in verdicts if verdict is not None]


def _judge(watch: _Armed, changes: Changes, due_seq: int | None, through: int) -> _Verdict | None:
    assert watch.condition is not None
    met = watch.condition.first(changes, after=watch.consumed, through=due_seq, besides=watch.id)
    if met is not None:
        ending: _Ending = "fired" if watch.watch_class == "delta" else "disarmed"
        return _Verdict(watch, ending, met.seq, met.seq, met.element)
    if due_seq is None or through < due_seq:
        return None
    return _Verdict(watch, "fired" if watch.watch_class == "silence" else "expired", due_seq)


def _slots(
    tx: Transaction, scope: Scope, page: Iterable[transactions.Record]
) -> dict[str, tuple[str, str]]:
    """Subject and predicate lineage of the propositions that a page of changes is about."""
    wanted = {proposition_of(entry) for record in page for entry in record.changes} - {None}
    rows = tx.execute(
        """
        select p.id, p.subject_id, p.predicate_lineage from unnest(%s::text[]) as w(id)
          join lateral (select * from proposition p where p.space_id = %s and p.id = w.id
                 limit 1) p on true
        """,
        (sorted(id for id in wanted if id), scope.space_id),
    )
    return {id: (subject, predicate) for id, subject, predicate in rows}


def _conclude(
    tx: Transaction,
    scope: Scope,
    principal: str,
    verdicts: Sequence[_Verdict],
    at: datetime,
) -> tuple[set[str], set[str]]:
    """Write how arms end; returns the Watches that ended and those that could not."""
    named = {verdict.element for verdict in verdicts if verdict.element}
    # of the inputs, the Watch that fired is the only Watch
    there = {
        element: found
        for element, found in state.load(tx, scope, sorted(named)).items()
        if found.type_lineage != TYPE
    }
    made, refused = commit_each(
        tx,
        scope,
        principal,
        {verdict.watch.id: tuple(_changes(verdict, there, at)) for verdict in verdicts},
    )
    return set(made), set(refused)


def _changes(verdict: _Verdict, there: Collection[str], at: datetime) -> Iterable[Change]:
    watch = verdict.watch
    fired = verdict.ending == "fired"
    attributes: dict[str, Any] = {"status": verdict.ending}
    if fired:
        attributes["fired_at"] = to_text(at)
    facts = {
        "arm_generation": watch.generation,
        "armed_seq": watch.armed_seq,
        "condition_digest": condition_digest(watch.given),
        "authorization_view": _VIEW,
        "consumed_seq": verdict.covered,
        "matched": verdict.seq is not None,
    }
    yield UpdateConcept(
        watch.id,
        attributes=attributes,
        facets={"WatchState": facts},
        guards=(Guard(watch.version),),
    )
    if not fired:
        return
    reason = verdict.seq
    if reason is None:
        assert watch.due_at is not None
        key = f"watch_fire:{watch.id}:{watch.generation}:silence:{to_text(watch.due_at)}"
    else:
        key = f"watch_fire:{watch.id}:{watch.generation}:{reason}"
    changed = () if verdict.element is None or verdict.element not in there else (verdict.element,)
    yield CreateActivity(
        f"?fire-{watch.id}",
        "watch_fire",
        "completed",
        at,
        at,
        inputs=(watch.id, *changed),
        client_key=key,
    )


def _progress(
    tx: Transaction, scope: Scope, judged: Sequence[_Armed], ended: set[str], through: int
) -> None:
    """Keep how far the stream was held against those that go on."""
    going = [watch for watch in judged if watch.id not in ended and watch.consumed < through]
    tx.execute(
        "insert into watch_progress (space_id, watch_id, generation, consumed_seq)"
        " select %s, w.id, w.generation, %s from unnest(%s::text[], %s::int[])"
        " as w(id, generation) on conflict (space_id, watch_id)"
        " do update set generation = excluded.generation, consumed_seq = excluded.consumed_seq",
        (
            scope.space_id,
            through,
            [watch.id for watch in going],
            [watch.generation for watch in going],
        ),
    )
    tx.execute(
        "delete from watch_progress where space_id = %s and watch_id = any(%s)",
        (scope.space_id, sorted(ended)),
    )
