"""The copies of memory that the house keeps beside it: cleaning them, and looking again.

A surface is a kind of record. `SURFACES` has, for each, what still holds a copy (`look`) and how it
is taken out (`clean`); both read the rows anew, and cleaning twice is cleaning once. Records keep
their ids, numbers and times, and jobs their receipts; the words in them go.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from psycopg.types.json import Jsonb

from storage import probe_cache, recall_bases, staging
from storage.database import Scope, Transaction, sql
from storage.erasure import redaction
from storage.erasure.quotations import Reader, Words
from storage.erasure.redaction import redacted
from storage.erasure.traces import Traces
from storage.runtime import product_requests

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
#: Jobs in which nobody's words are looked for: what a formation says is of its own source.
_PLAIN_WORDS = (*_PLAIN_JOBS, "formation")
#: Whether a JSON value has one of the refs anywhere in it, also in JSON that is kept as a string;
#: all its ids are held against the refs at once.
_MENTIONS = (
    r"""exists (select from regexp_matches({}::text, '"([CPAEX]-[0-9]{{1,18}})\\*"', 'g') m(id)"""
    " where m.id[1] in (select unnest(%(refs)s::text[])))"
)
#: What an outcome that is kept is known by.
_KEY = "jsonb_build_array(principal, op_class, key)::text"
#: Rows that are read for words in one go.
_PAGE = 200


@dataclass(frozen=True, slots=True)
class Found:
    """A row that holds a copy, and how to write it without."""

    ref: str
    change: Callable[[Transaction], object]


class Readings:
    """What one run has read for erased words and need not read again, as long as it is the same.

    Of rows that have none of the words, the version in which they were read.
    """

    def __init__(self) -> None:
        self._read: dict[tuple[str, str], str] = {}
        self._reader = Reader(Words())

    def quoting(
        self,
        tx: Transaction,
        scope: Scope,
        words: Words,
        table: Literal["conversation", "job", "idem", "product_request"],
        key: str,
        columns: Collection[str],
        which: str,
    ) -> list[str]:
        """The keys of those rows that have the words in one of the columns.

        `key` and `which` are SQL: what a row is known by, and the condition on rows.
        """
        if not words:
            return []
        if self._reader.words != words:
            self._read.clear()
            self._reader = Reader(words)
        rows = tx.execute(
            sql(f"select {key}, xmin::text from {table} where space_id = %s and {which}"),
            (scope.space_id,),
        ).fetchall()
        unread = {row: at for row, at in rows if self._read.get((table, row)) != at}
        pending = sorted(unread)
        found = []
        for start in range(0, len(pending), _PAGE):
            page = tx.execute(
                sql(
                    f"select {key}, to_jsonb(array[{', '.join(f'to_jsonb({c})' for c in columns)}])"
                    f" from {table} where space_id = %s and {which} and {key} = any(%s)"
                ),
                (scope.space_id, pending[start : start + _PAGE]),
            ).fetchall()
            for row, value in page:
                if self._reader.finds(value):
                    found.append(row)
                else:
                    self._read[table, row] = unread[row]
        return found


Finder = Callable[[Transaction, Scope, Traces, Readings], Iterator[Found]]


def clean(
    tx: Transaction, scope: Scope, surface: Surface, traces: Traces, readings: Readings
) -> tuple[list[str], Traces]:
    """Take the copies out of one surface; the refs of what held any, and what to look for now."""
    refs = []
    for found in list(SURFACES[surface](tx, scope, traces, readings)):
        found.change(tx)
        refs.append(found.ref)
    return refs, _wider(surface, refs, traces)


def look(
    tx: Transaction, scope: Scope, surface: Surface, traces: Traces, readings: Readings
) -> list[str]:
    """The refs of what still holds a copy."""
    return [found.ref for found in SURFACES[surface](tx, scope, traces, readings)]


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


def _staged(tx: Transaction, scope: Scope, traces: Traces, readings: Readings) -> Iterator[Found]:
    """Staged sources: the named ones whole, of others the messages that are erased."""
    rows = tx.execute(
        """
        select s.ref, s.messages, array(
                 select n::int from jsonb_array_elements(s.messages)
                        with ordinality as m(message, n)
                  where message_fingerprint(m.message) in (select unnest(%(marks)s::text[])))
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


def _formation(
    tx: Transaction, scope: Scope, traces: Traces, readings: Readings
) -> Iterator[Found]:
    """Records of formations: the erased messages, and what was said of them."""
    rows = tx.execute(
        f"""
        select c.id, c.messages, c.artifacts, c.extra, c.label, c.thread, c.failed_reason, array(
                 select n::int from jsonb_array_elements(c.messages)
                        with ordinality as m(message, n)
                  where message_fingerprint(m.message) in (select unnest(%(marks)s::text[])))
               as places
          from conversation c
         where c.space_id = %(space)s and c.collection = 'formation'
           and (exists (select from jsonb_array_elements(c.messages) as m(message)
                         where message_fingerprint(m.message)
                            in (select unnest(%(marks)s::text[])))
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


def _recall(tx: Transaction, scope: Scope, traces: Traces, readings: Readings) -> Iterator[Found]:
    """Records of other runs that told of an erased element, or in its words: the whole of it.

    A question that still waits for its answer is not taken from who asks it.
    """
    values = _values(scope, traces)
    values["records"] += [
        int(number)
        for number in readings.quoting(
            tx,
            scope,
            traces.words,
            "conversation",
            "id::text",
            ("messages", "artifacts", "extra", "label", "thread", "failed_reason"),
            "collection <> 'formation' and final_status is not null",
        )
    ]
    rows = tx.execute(
        f"""
        select c.id, c.messages, c.artifacts, c.extra, c.label, c.thread, c.failed_reason
          from conversation c
         where c.space_id = %(space)s and c.collection <> 'formation'
           and ({_MENTIONS.format("c.artifacts")} or c.id = any(%(records)s))
         order by c.id
        """,
        values,
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


def _jobs(tx: Transaction, scope: Scope, traces: Traces, readings: Readings) -> Iterator[Found]:
    """Ended jobs of those records, and what else names an erased element, or has its words."""
    values = _values(scope, traces)
    values["jobs"] = [
        *traces.jobs,
        *recall_bases.briefing_jobs_citing(tx, scope, traces.refs),
        *readings.quoting(
            tx,
            scope,
            traces.words,
            "job",
            "id",
            ("payload", "result", "error", "progress", "cursor"),
            f"finished_at is not null and kind <> all('{{{','.join(_PLAIN_WORDS)}}}')",
        ),
    ]
    rows = tx.execute(
        f"""
        select j.id, j.kind, j.payload, j.result, j.error, j.progress, j.cursor from job j
         where j.space_id = %(space)s and j.finished_at is not null
           and j.kind <> all(%(plain)s)
           and (j.id in (select unnest(%(jobs)s::text[])) or {_MENTIONS.format("j.result")}
                or (j.payload ->> 'conversation')::bigint = any(%(records)s)
                or j.payload #>> '{{intent,source_ref}}' = any(%(named)s))
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


def _outcomes(tx: Transaction, scope: Scope, traces: Traces, readings: Readings) -> Iterator[Found]:
    """Outcomes that are kept for retries of keyed requests, and changes that were prepared."""
    values = _values(scope, traces)
    values["quoting"] = readings.quoting(
        tx, scope, traces.words, "idem", _KEY, ("outcome",), "true"
    )
    rows = tx.execute(
        f"select principal, op_class, key, outcome from idem where space_id = %(space)s"
        f" and ({_MENTIONS.format('outcome')} or {_KEY} = any(%(quoting)s))"
        " order by principal, op_class, key",
        values,
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
    for ref in readings.quoting(
        tx,
        scope,
        traces.words,
        "product_request",
        "jsonb_build_array(caller, operation_id)::text",
        ("request", "preview"),
        "state = 'prepared'",
    ):
        caller, operation_id = json.loads(ref)
        yield Found(
            f"product:{operation_id}",
            partial(
                product_requests.end,
                scope=scope,
                caller=caller,
                operation_id=operation_id,
                state="voided",
            ),
        )


def _exposures(
    tx: Transaction, scope: Scope, traces: Traces, readings: Readings
) -> Iterator[Found]:
    """What was shown to whom."""
    rows = tx.execute(
        "select distinct element_id from exposure where space_id = %s and element_id = any(%s)"
        " order by 1",
        (scope.space_id, list(traces.elements)),
    ).fetchall()
    for (ref,) in rows:
        yield Found(ref, _deleter(scope, ref))


def _misses(tx: Transaction, scope: Scope, traces: Traces, readings: Readings) -> Iterator[Found]:
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


def _bases(tx: Transaction, scope: Scope, traces: Traces, readings: Readings) -> Iterator[Found]:
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
        "refs": traces.refs,
        "records": [int(number) for number in traces.records],
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
