"""Search documents of the elements that a commit writes: what is committed is found at once.

`storage.graph.commit` calls `index` once, after it has written the elements and in its transaction;
nothing else writes search documents of elements. Each kind of document is a collection of its own
(`storage.search.documents`): a claim is found as `claim`, a message as `evidence`, a concept by its
type as `commitment`, `constraint`, `event` or plain `concept`.

Found are elements in force: active ones, and merged concepts (which `storage.graph.finding` follows
to what they were merged into). What is archived, tombstoned or purged leaves the index, as do a
claim that is retracted or superseded and evidence that is corrected or whose payload was erased.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from storage.database import Scope, Transaction, sql
from storage.graph import wording as words
from storage.graph.planning.planned import Planned
from storage.graph.state import NOW
from storage.graph.wording import Wording
from storage.search import index as search_index
from storage.search.documents import Document, DocumentKind

#: What changes of a concept change the words that it is found by.
_WORDED = ("name", "aliases", "attributes.", "fields.name", "fields.aliases")
#: Elements that one round of `catch_up` brings in.
_BATCH = 200
#: Statements about one renamed element that a commit words anew at most.
MAX_REWORDED = 2000
#: How deep a statement about statements is spelled out.
_DEPTH = 2


def index(
    tx: Transaction,
    scope: Scope,
    elements: Iterable[Planned],
    *,
    at: datetime,
    wording: Mapping[str, Wording] | None = None,
) -> None:
    """Bring the index up to what a commit has just written, in its transaction.

    `elements` are those that the commit created or changed, `at` is its time, and `wording` has, by
    element id, the texts of a writer that knows better ones than those made of the element itself.
    The name of an erased element goes from the texts of statements about it, too; a new name takes
    the place of the old one in them, unless there are more than `MAX_REWORDED`.
    """
    given = wording or {}
    gone: list[str] = []
    erased: list[str] = []
    renamed: list[str] = []
    made: list[str] = []
    seen: list[_Seen] = []
    for element in elements:
        if element.erased or not _in_force(element.kind, element.state, element.status):
            if not element.new:
                gone.append(element.id)
            if element.erased == "element":
                erased.append(element.id)
        elif element.new or element.id in given or _reworded(element):
            seen.append(_Seen.of(element, at))
            if element.new:
                made.append(element.id)
            if element.kind == "C" and not element.new and "fields.name" in element.touched:
                renamed.append(element.id)
    if gone:
        search_index.remove(tx, scope, gone)
    if erased:
        seen += _about(tx, scope, erased)
    if renamed:
        known = {one.id for one in seen}.union(given)
        about = [one for one in _about(tx, scope, renamed) if one.id not in known]
        seen += about if len(about) <= MAX_REWORDED else []
    documents = _documents(tx, scope, seen, given)
    search_index.put(tx, scope, documents, fresh=frozenset(made))


def catch_up(tx: Transaction, scope: Scope) -> int | None:
    """Index the next elements of a space that was filled before elements were indexed as such.

    Returns how many were looked at, None when nothing is left. Elements that are indexed already
    keep their texts. One batch a transaction, and a batch may be repeated: a row of
    `search_backlog` says how far it has come.
    """
    row = tx.execute(
        "select after from search_backlog where space_id = %s for update", (scope.space_id,)
    ).fetchone()
    if row is None:
        return None
    found = _after(tx, scope, row[0])
    if found:
        fresh = [seen for seen in found if seen.absent and seen.in_force]
        search_index.put(tx, scope, _documents(tx, scope, fresh, {}))
        tx.execute(
            "update search_backlog set after = %s where space_id = %s",
            (found[-1].id, scope.space_id),
        )
        return len(found)
    tx.execute("delete from search_backlog where space_id = %s", (scope.space_id,))
    return None


def complete(tx: Transaction, scope: Scope) -> bool:
    """Whether every element of the space is in the index (see `catch_up`)."""
    row = tx.execute(
        "select true from search_backlog where space_id = %s", (scope.space_id,)
    ).fetchone()
    return row is None


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a document is made of."""

    id: str
    kind: str
    at: datetime | None
    type_lineage: str | None = None
    key: str | None = None
    name: str | None = None
    doc: Mapping[str, Any] | None = None
    proposition: str | None = None
    stance: str | None = None
    payload: Any = None
    activity_class: str | None = None
    absent: bool = True
    in_force: bool = True

    @classmethod
    def of(cls, element: Planned, at: datetime) -> _Seen:
        said, evidence = element.said, element.evidence
        when: datetime | None = at
        if element.kind == "A" and said is not None:
            when = said.asserted_at
        elif element.kind == "E" and evidence is not None:
            when = evidence.observed_at or at
        return cls(
            element.id,
            element.kind,
            when,
            element.type_lineage,
            element.key,
            element.name,
            element.doc,
            element.id if element.kind == "P" else said.proposition if said else None,
            said.stance if said else None,
            evidence.payload if evidence else None,
            element.activity_class,
        )


def _in_force(kind: str, state: str, status: str | None) -> bool:
    if kind == "C" and state == "merged":
        return True
    return state == "active" and (kind not in "AE" or status in (None, "active"))


def _reworded(element: Planned) -> bool:
    """Whether a change of an element in force changes how it is found, or brings it back."""
    before = element.before
    if before is None or not _in_force(before.kind, before.state, before.status):
        return True
    match element.kind:
        case "C":
            return any(path.startswith(_WORDED) for path in element.touched)
        case "X":
            return any(path.startswith("facets.") for path in element.touched)
    return False


def _documents(
    tx: Transaction, scope: Scope, seen: Sequence[_Seen], given: Mapping[str, Wording]
) -> list[Document]:
    stated = {one.proposition for one in seen if one.proposition and one.id not in given}
    statements = _statements(tx, scope, sorted(stated))
    documents = []
    for one in seen:
        own = given.get(one.id) or _wording(one, statements)
        if own is None:
            continue
        documents.append(
            Document(
                one.id,
                _collection(one),
                own.text,
                own.text if own.embed_text is None else own.embed_text,
                own.at,
            )
        )
    return documents


def _wording(one: _Seen, statements: Mapping[str, tuple[str, str, str]]) -> Wording | None:
    doc = one.doc or {}
    match one.kind:
        case "C":
            text = words.of_concept(one.name, one.key, doc)
            return Wording(text, at=words.happened_at(doc) or one.at)
        case "E":
            return Wording(words.of_evidence(one.payload), at=one.at)
        case "X":
            return Wording(words.of_activity(one.activity_class or "", doc), at=one.at)
    parts = statements.get(one.proposition or "")
    if parts is None:
        return None  # its proposition was erased
    return Wording(words.of_statement(*parts, rejected=one.stance == "reject"), at=one.at)


def _collection(one: _Seen) -> DocumentKind:
    match one.kind:
        case "P":
            return "proposition"
        case "A":
            return "claim"
        case "E":
            return "evidence"
        case "X":
            return "activity"
    return _collection_of(one.type_lineage, (one.doc or {}).get("attributes", {}))


def _collection_of(type_lineage: str | None, attributes: Mapping[str, Any]) -> DocumentKind:
    match (type_lineage or "").rpartition("/")[2]:
        case "Commitment":
            return "commitment"
        case "Event":
            return "event"
        case "Insight" if attributes.get("insight_class") == "constraint":
            return "constraint"
    return "concept"


def _statements(
    tx: Transaction, scope: Scope, propositions: Sequence[str], depth: int = 0
) -> dict[str, tuple[str, str, str]]:
    """Subject, predicate and object of propositions, in words."""
    if not propositions:
        return {}
    rows = tx.execute(
        sql(
            f"""
            select p.id, p.subject_id, p.predicate_ref, p.object_id, p.object_lit,
                   {_name("p.subject_id")}, {_name("p.object_id")}
              from unnest(%(ids)s::text[]) as w(id)
              join lateral (select * from proposition p
                     where p.space_id = %(space)s and p.id = w.id limit 1) p on true
            """
        ),
        {"space": scope.space_id, "ids": list(propositions)},
    ).fetchall()
    inner: set[str] = set()
    if depth < _DEPTH:
        for _, subject, _, value, _, _, _ in rows:
            inner.update(end for end in (subject, value) if end and end.startswith("P-"))
    nested = {
        id: words.of_statement(*parts)
        for id, parts in _statements(tx, scope, sorted(inner), depth + 1).items()
    }
    return {
        id: (
            nested.get(subject) or subject_name or subject,
            predicate,
            words.of_literal(literal)
            if value is None
            else nested.get(value) or value_name or value,
        )
        for id, subject, predicate, value, literal, subject_name, value_name in rows
    }


def _name(element: str) -> str:
    """The present name of an element, else its key, as a column; null for what has neither."""
    return f"""coalesce(
        (select v.name from element_ver v where v.space_id = %(space)s and v.id = {element}
            and v.seq_to = {NOW} limit 1),
        (select e.key from element e where e.space_id = %(space)s and e.id = {element} limit 1))"""


def _about(tx: Transaction, scope: Scope, ids: Sequence[str], depth: int = 0) -> list[_Seen]:
    """Propositions that have one of the elements in them, and the claims that they are so."""
    rows = tx.execute(
        sql(
            f"""
            select p.id from unnest(%(ids)s::text[]) as w(id)
              join lateral (
                select id from proposition p where p.space_id = %(space)s and p.subject_id = w.id
                union all
                select id from proposition p where p.space_id = %(space)s
                   and p.object_key = 'e:' || w.id offset 0) p on true
              join lateral (select state from element_ver v where v.space_id = %(space)s
                     and v.id = p.id and v.seq_to = {NOW} limit 1) v on v.state = 'active'
            """
        ),
        {"space": scope.space_id, "ids": list(ids)},
    )
    statements = sorted({id for (id,) in rows}.difference(ids))
    if not statements:
        return []
    claims = tx.execute(
        sql(
            f"""
            select a.id, a.asserted_at, a.proposition_id, a.stance, v.state, v.status
              from unnest(%(ids)s::text[]) as w(id)
              join lateral (select * from assertion a where a.space_id = %(space)s
                     and a.proposition_id = w.id offset 0) a on true
              join lateral (select state, status from element_ver v where v.space_id = %(space)s
                     and v.id = a.id and v.seq_to = {NOW} and v.recording = 'valid'
                     limit 1) v on true
            """
        ),
        {"space": scope.space_id, "ids": statements},
    )
    seen = [_Seen(id, "P", None, proposition=id) for id in statements]
    seen += [
        _Seen(id, "A", at, proposition=proposition, stance=stance)
        for id, at, proposition, stance, state, status in claims
        if _in_force("A", state, status)
    ]
    deeper = _about(tx, scope, statements, depth + 1) if depth < _DEPTH else []
    known = {one.id for one in seen}
    return [*seen, *(one for one in deeper if one.id not in known)]


def _after(tx: Transaction, scope: Scope, after: str) -> list[_Seen]:
    """The next elements by id, as they are now, and whether the index lacks them."""
    rows = tx.execute(
        sql(
            f"""
            select e.id, e.kind::text,
                   coalesce(a.asserted_at, o.observed_at, e.created_at), e.type_lineage, e.key,
                   v.name, v.doc, case when e.kind = 'P' then e.id else a.proposition_id end,
                   a.stance, o.payload -> 'inline', x.activity_class,
                   (select true from search_document d where d.space_id = %(space)s
                       and d.element_id = e.id limit 1) is null, v.state, v.status
              from (select * from element e where e.space_id = %(space)s and e.id > %(after)s
                     order by e.id limit %(limit)s) e
              left join lateral (select * from element_ver v where v.space_id = %(space)s
                     and v.id = e.id and v.seq_to = {NOW} and v.recording = 'valid'
                     limit 1) v on true
              left join lateral (select * from assertion a where a.space_id = %(space)s
                     and a.id = e.id limit 1) a on e.kind = 'A'
              left join lateral (select * from evidence o where o.space_id = %(space)s
                     and o.id = e.id limit 1) o on e.kind = 'E'
              left join lateral (select * from activity x where x.space_id = %(space)s
                     and x.id = e.id limit 1) x on e.kind = 'X'
             order by e.id
            """
        ),
        {"space": scope.space_id, "after": after, "limit": _BATCH},
    )
    found = []
    for *facts, state, status in rows:
        one = _Seen(*facts)
        in_force = state is not None and _in_force(one.kind, state, status)
        found.append(replace(one, in_force=in_force))
    return found
