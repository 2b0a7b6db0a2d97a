"""The copies of memory that the house keeps beside it: cleaning them, and looking again.

A surface is a kind of record. `SURFACES` has, for each, what still holds a copy (`look`) and how it
is taken out (`clean`); both read the rows anew, and cleaning twice is cleaning once. Records keep
their ids, numbers and times, and jobs their receipts; the words in them go.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from psycopg.types.json import Jsonb

from storage import probe_cache, recall_bases, staging
from storage.database import Scope, Transaction
from storage.erasure import redaction
from storage.erasure.redaction import redacted
from storage.erasure.traces import Traces

Surface = Literal[
    "staged_bytes",
    "formation_record",
    "recall_record",
    "usage_ledger",
    "probe_cache",
    "job_payload",
    "retained_basis",
    "retained_outcome",
]

#: Jobs whose rows name ids and nothing that they stand for.
_PLAIN_JOBS = ("forget", "purge", "embed")
#: Jobs whose payload names ids and nothing that they stand for.
_PLAIN_PAYLOADS = ("formation", "maintenance")
#: Whether a JSON value has one of the refs anywhere in it.
_MENTIONS = "jsonb_path_exists({}, '$.** ? (@ == $refs[*])', %(refs)s, true)"


@dataclass(frozen=True, slots=True)
class Found:
    """A row that holds a copy, and how to write it without."""

    ref: str
    change: Callable[[Transaction], object]


Finder = Callable[[Transaction, Scope, Traces], Iterator[Found]]


def clean(
    tx: Transaction, scope: Scope, surface: Surface, traces: Traces
) -> tuple[list[str], Traces]:
    """Take the copies out of one surface; the refs of what held any, and what to look for now."""
    refs = []
    for found in list(SURFACES[surface](tx, scope, traces)):
        found.change(tx)
        refs.append(found.ref)
    return refs, _wider(surface, refs, traces)


def look(tx: Transaction, scope: Scope, surface: Surface, traces: Traces) -> list[str]:
    """The refs of what still holds a copy."""
    return [found.ref for found in SURFACES[surface](tx, scope, traces)]


def _wider(surface: Surface, refs: list[str], traces: Traces) -> Traces:
    """Records and jobs that were found lead to further ones."""
    if surface in ("formation_record", "recall_record"):
        numbers = tuple(ref.rpartition(":")[2] for ref in refs)
        return traces.joined(replace(Traces(), records=numbers))
    if surface == "job_payload":
        return traces.joined(replace(Traces(), jobs=tuple(refs)))
    return traces


def delivered(tx: Transaction, scope: Scope, traces: Traces) -> list[str]:
    """The retained bases of briefings that told of what is erased: copies that left the house."""
    return recall_bases.delivered(tx, scope, traces.refs)


# --- surfaces -------------------------------------------------------------------------------------


def _staged(tx: Transaction, scope: Scope, traces: Traces) -> Iterator[Found]:
    """Staged sources: the named ones whole, of others the messages that are erased."""
    rows = tx.execute(
        """
        select s.ref, s.messages, array(
                 select n::int from jsonb_array_elements(s.messages)
                        with ordinality as m(message, n)
                  where message_fingerprint(m.message) = any(%(marks)s))
          from staged_source s
         where s.space_id = %(space)s and s.state <> 'erased' order by s.ref
        """,
        {"space": scope.space_id, "marks": list(traces.fingerprints)},
    ).fetchall()
    for ref, messages, places in rows:
        if ref not in traces.sources and not places:
            continue
        kept = _masked(messages, places)
        if ref in traces.sources or not any(message.get("content") for message in kept):
            yield Found(ref, _eraser(scope, ref))
        else:
            yield Found(ref, _updater("staged_source", scope, "ref", ref, messages=kept))


def _formation(tx: Transaction, scope: Scope, traces: Traces) -> Iterator[Found]:
    """Records of formations: the erased messages, and what was said of them."""
    rows = tx.execute(
        f"""
        select c.id, c.messages, c.artifacts, c.extra, c.label, c.thread, c.failed_reason, array(
                 select n::int from jsonb_array_elements(c.messages)
                        with ordinality as m(message, n)
                  where message_fingerprint(m.message) = any(%(marks)s)) as places
          from conversation c
         where c.space_id = %(space)s and c.collection = 'formation'
           and (exists (select from jsonb_array_elements(c.messages) as m(message)
                         where message_fingerprint(m.message) = any(%(marks)s))
                or {_MENTIONS.format("c.artifacts")} or c.id = any(%(records)s))
         order by c.id
        """,
        _values(scope, traces),
    ).fetchall()
    for number, messages, artifacts, extra, label, thread, reason, places in rows:
        before = (messages, artifacts, extra, label, thread, reason)
        after: tuple[Any, ...] = (
            _masked(messages, places),
            redacted(artifacts),
            {name: value for name, value in extra.items() if name != "context"},
            None,
            None,
            None if reason is None else redaction.ERASED,
        )
        if after != before:
            yield _record(scope, number, after)


def _recall(tx: Transaction, scope: Scope, traces: Traces) -> Iterator[Found]:
    """Records of other runs that told of an erased element: question, answer and all."""
    rows = tx.execute(
        f"""
        select c.id, c.messages, c.artifacts, c.extra, c.label, c.thread, c.failed_reason
          from conversation c
         where c.space_id = %(space)s and c.collection <> 'formation'
           and ({_MENTIONS.format("c.artifacts")} or c.id = any(%(records)s))
         order by c.id
        """,
        _values(scope, traces),
    ).fetchall()
    for number, *before in rows:
        messages, artifacts, _, _, _, reason = before
        after: tuple[Any, ...] = (
            _masked(messages, range(1, len(messages) + 1)),
            redacted(artifacts),
            {},
            None,
            None,
            None if reason is None else redaction.ERASED,
        )
        if after != tuple(before):
            yield _record(scope, number, after)


def _jobs(tx: Transaction, scope: Scope, traces: Traces) -> Iterator[Found]:
    """Ended jobs of those records, and whatever else names an erased element in its outcome.

    Outcomes may hold JSON within a string, so they are searched as text.
    """
    values = _values(scope, traces)
    values["jobs"] = [
        *traces.jobs,
        *recall_bases.briefing_jobs_citing(tx, scope, traces.refs),
    ]
    rows = tx.execute(
        """
        select j.id, j.kind, j.payload, j.result, j.error, j.progress, j.cursor from job j
         where j.space_id = %(space)s and j.finished_at is not null
           and j.kind <> all(%(plain)s)
           and (j.id = any(%(jobs)s) or j.result::text ~ %(quoted)s
                or (j.payload ->> 'conversation')::bigint = any(%(records)s)
                or j.payload #>> '{intent,source_ref}' = any(%(named)s))
         order by j.seq
        """,
        values,
    ).fetchall()
    for job, kind, *before in rows:
        payload, result, error, progress, cursor = before
        after = (
            payload if kind in _PLAIN_PAYLOADS else redacted(payload),
            redacted(result),
            redaction.error(error),
            redacted(progress),
            redacted(cursor),
        )
        if after != tuple(before):
            names = ("payload", "result", "error", "progress", "cursor")
            yield Found(
                job, _updater("job", scope, "id", job, **dict(zip(names, after, strict=True)))
            )


def _outcomes(tx: Transaction, scope: Scope, traces: Traces) -> Iterator[Found]:
    """Outcomes that are kept for retries of keyed requests."""
    rows = tx.execute(
        f"select principal, op_class, key, outcome from idem where space_id = %(space)s"
        f" and {_MENTIONS.format('outcome')} order by principal, op_class, key",
        _values(scope, traces),
    ).fetchall()
    gone = set(traces.refs)
    for principal, op_class, key, outcome in rows:
        after = {
            name: {k: v for k, v in value.items() if v not in gone}
            if name in ("handles", "minted") and isinstance(value, dict)
            else redacted(value)
            if name == "result"
            else value
            for name, value in outcome.items()
        }
        if after != outcome:
            yield Found(f"{op_class}:{key}", _outcome(scope, principal, op_class, key, after))


def _exposures(tx: Transaction, scope: Scope, traces: Traces) -> Iterator[Found]:
    """What was shown to whom."""
    rows = tx.execute(
        "select distinct element_id from exposure where space_id = %s and element_id = any(%s)"
        " order by 1",
        (scope.space_id, list(traces.elements)),
    ).fetchall()
    for (ref,) in rows:
        yield Found(ref, _deleter(scope, ref))


def _misses(tx: Transaction, scope: Scope, traces: Traces) -> Iterator[Found]:
    """Digests of questions from before the erasure, as far as any element went."""
    row = tx.execute(
        """
        select true from probe_miss m where m.space_id = %s and m.head_seq < (
            select max(e.purged_seq) from element e where e.space_id = %s and e.id = any(%s))
         limit 1
        """,
        (scope.space_id, scope.space_id, list(traces.elements)),
    ).fetchone()
    if row is not None:
        yield Found("probe_cache", lambda tx: probe_cache.forget_misses(tx, scope))


def _bases(tx: Transaction, scope: Scope, traces: Traces) -> Iterator[Found]:
    """Bases hold no text; none is to say more of an element than id, version and digest."""
    return iter(())


SURFACES: dict[Surface, Finder] = {
    "staged_bytes": _staged,
    "formation_record": _formation,
    "recall_record": _recall,
    "usage_ledger": _exposures,
    "probe_cache": _misses,
    "job_payload": _jobs,
    "retained_basis": _bases,
    "retained_outcome": _outcomes,
}


# --- rows -----------------------------------------------------------------------------------------


def _values(scope: Scope, traces: Traces) -> dict[str, Any]:
    return {
        "space": scope.space_id,
        "marks": list(traces.fingerprints),
        "refs": Jsonb({"refs": traces.refs}),
        "records": [int(number) for number in traces.records],
        "quoted": rf'\\*"({"|".join(traces.refs) or "-"})\\*"',
        "named": list(traces.sources),
        "plain": list(_PLAIN_JOBS),
    }


def _masked(messages: list[dict[str, Any]], places: Collection[int]) -> list[dict[str, Any]]:
    """Messages without the words of those at `places`, from 1: who spoke, and nothing said."""
    return [
        {name: message[name] for name in ("role", "timestamp") if name in message} | {"content": ""}
        if place in places
        else message
        for place, message in enumerate(messages, start=1)
    ]


def _record(scope: Scope, number: int, after: tuple[Any, ...]) -> Found:
    names = ("messages", "artifacts", "extra", "label", "thread", "failed_reason")
    change = _updater("conversation", scope, "id", number, **dict(zip(names, after, strict=True)))
    return Found(f"conversation:{number}", change)


def _updater(
    table: Literal["staged_source", "conversation", "job"],
    scope: Scope,
    by: Literal["ref", "id"],
    key: Any,
    **columns: Any,
) -> Callable[[Transaction], object]:
    """Write columns of one row; objects and lists go as JSON."""
    sets = ", ".join(f"{name} = %({name})s" for name in columns)
    values = {n: Jsonb(v) if isinstance(v, dict | list) else v for n, v in columns.items()}
    text = f"update {table} set {sets} where space_id = %(space_)s and {by} = %(key_)s"

    def change(tx: Transaction) -> object:
        return tx.execute(text, {**values, "space_": scope.space_id, "key_": key})  # type: ignore[call-overload]

    return change


def _eraser(scope: Scope, ref: str) -> Callable[[Transaction], object]:
    return lambda tx: staging.erase(tx, scope, [ref])


def _deleter(scope: Scope, element: str) -> Callable[[Transaction], object]:
    return lambda tx: tx.execute(
        "delete from exposure where space_id = %s and element_id = %s", (scope.space_id, element)
    )


def _outcome(
    scope: Scope, principal: str, op_class: str, key: str, after: dict[str, Any]
) -> Callable[[Transaction], object]:
    return lambda tx: tx.execute(
        "update idem set outcome = %s where space_id = %s and principal = %s and op_class = %s"
        " and key = %s",
        (json.dumps(after, ensure_ascii=False), scope.space_id, principal, op_class, key),
    )
