"""By what copies of erased content are known: ids, and digests of the words.

Taken before the words go and kept with the plan, so that a run that was cut short goes on, and so
that "nothing is left" can be looked up when nobody has the words any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from storage import source_identity
from storage.database import Scope, Transaction
from storage.erasure.quotations import NO_WORDS, Words
from storage.source_digests import is_message, message_digest


@dataclass(frozen=True, slots=True)
class Traces:
    """What to look for.

    `elements` are erased as a whole, `payloads` are evidence that stays without its payload,
    `sources` staged sources that go whole. `fingerprints` know messages wherever they are kept
    (SQL `message_fingerprint`), `texts` what the search index said of them, and `digests` what a
    source is refused by. `records` are the conversations, and `jobs` the jobs, that were found to
    hold copies. `words` know again what was said where nothing says whose it is.
    """

    elements: tuple[str, ...] = ()
    payloads: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    words: Words = NO_WORDS

    @property
    def refs(self) -> list[str]:
        """The elements of which no record may tell any more."""
        return [*self.elements, *self.payloads]

    def joined(self, other: Traces) -> Traces:
        """What either looks for."""
        merged = {
            name: tuple(dict.fromkeys([*getattr(self, name), *getattr(other, name)]))
            for name in _LISTS
        }
        return Traces(**merged, words=self.words.joined(other.words))

    def without_words(self) -> Traces:
        """The same once nothing is to be looked for any more."""
        return replace(self, words=NO_WORDS)

    def as_json(self) -> dict[str, Any]:
        """As the plan keeps them."""
        lists: dict[str, Any] = {name: list(getattr(self, name)) for name in _LISTS}
        return {**lists, **({"words": self.words.as_json()} if self.words else {})}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Traces:
        """As a plan kept them."""
        lists = {name: tuple(kept.get(name, ())) for name in _LISTS}
        return cls(**lists, words=Words.of(kept.get("words")))


_LISTS = tuple(one.name for one in fields(Traces) if one.name != "words")


def of(
    tx: Transaction,
    scope: Scope,
    *,
    elements: Collection[str],
    payloads: Collection[str],
    sources: Collection[str],
    also_refused: Iterable[str] = (),
    known: Traces | None = None,
) -> Traces:
    """Take the traces of what is about to go, beside those `known` of what has gone already.

    Words that evidence which stays says, too, are no trace: the copies may be that one's.
    `also_refused` are evidence that stays and whose source is to be refused all the same.
    """
    known = known or Traces()
    elements = {*elements, *_gone(tx, scope, known.elements)}
    evidence = sorted(id for id in {*elements, *payloads} if id[0] == "E")
    staged = tx.execute(
        """
        select s.source_digest, m.message, message_fingerprint(m.message)
          from staged_source s left join lateral jsonb_array_elements(s.messages) as m(message)
               on true
         where s.space_id = %s and s.ref = any(%s)
        """,
        (scope.space_id, sorted(sources)),
    ).fetchall()
    handed = tx.execute(
        "select source_digest, message_digests from staged_source"
        " where space_id = %s and ref = any(%s)",
        (scope.space_id, sorted(sources)),
    ).fetchall()
    held = _evidence(tx, scope, evidence)
    marks = {mark for *_, mark in (*staged, *held) if mark is not None} | {*known.fingerprints}
    digests = {digest for whole, each in handed for digest in (whole, *each)}
    refused = sorted(also_refused)
    for digest, payload, _ in (*held, *_evidence(tx, scope, refused)):
        digests.update(_digests(digest, payload))
    digests |= source_identity.digests_of(tx, scope, [*evidence, *refused])
    texts = tx.execute(
        "select encode(sha256(convert_to(text, 'UTF8')), 'hex') from search_document"
        " where space_id = %s and element_id = any(%s)",
        (scope.space_id, evidence),
    ).fetchall()
    return Traces(
        tuple(sorted(elements)),
        tuple(sorted(payloads)),
        tuple(sorted({*sources, *known.sources})),
        tuple(sorted(marks - _kept(tx, scope, marks, evidence))),
        tuple(sorted({text for (text,) in texts} | {*known.texts})),
        tuple(sorted(digests | {*known.digests})),
        known.records,
        known.jobs,
        known.words,
    )


def kept_elsewhere(tx: Transaction, scope: Scope, evidence: Collection[str]) -> dict[str, str]:
    """Of evidence, those whose very words other evidence says too, with the first of these."""
    rows = tx.execute(
        """
        select w.id, o.id from unnest(%(ids)s::text[]) as w(id)
          join lateral (select fingerprint from evidence e
                 where e.space_id = %(space)s and e.id = w.id limit 1) e on true
          join lateral (select id from evidence o where o.space_id = %(space)s
                 and o.fingerprint = e.fingerprint and o.id <> all(%(ids)s) limit 1) o on true
        """,
        {"space": scope.space_id, "ids": sorted(evidence)},
    )
    return dict(rows.fetchall())


def _evidence(
    tx: Transaction, scope: Scope, ids: Collection[str]
) -> list[tuple[str | None, Any, str | None]]:
    return tx.execute(
        "select content_digest, payload -> 'inline', fingerprint from evidence"
        " where space_id = %s and id = any(%s)",
        (scope.space_id, list(ids)),
    ).fetchall()


def _gone(tx: Transaction, scope: Scope, ids: Collection[str]) -> set[str]:
    """Those of elements that are erased."""
    rows = tx.execute(
        "select id from element where space_id = %s and id = any(%s) and purged_seq is not null",
        (scope.space_id, list(ids)),
    )
    return {id for (id,) in rows}


def _digests(content_digest: str | None, payload: Any) -> set[str]:
    found = set() if content_digest is None else {content_digest}
    if is_message(payload):
        found.add(message_digest(payload))
    return found


def _kept(
    tx: Transaction, scope: Scope, marks: Collection[str], evidence: Collection[str]
) -> set[str]:
    rows = tx.execute(
        """
        select w.mark from unnest(%(marks)s::text[]) as w(mark)
          join lateral (select id from evidence o where o.space_id = %(space)s
                 and o.fingerprint = w.mark and o.id <> all(%(ids)s) limit 1) o on true
        """,
        {"space": scope.space_id, "marks": sorted(marks), "ids": list(evidence)},
    )
    return {mark for (mark,) in rows}
