"""What goes with a target that is to be erased, what stays although it tells of it, and why.

- A claim goes with its tuple, every assertion about it, the evidence of those that nothing else
  rests on, and what is recorded as derived from any of them (seed 003 section 3, `forget`).
- A staged source goes with the evidence of its words, the claims that rest on nothing else, and the
  events, insights, experiences and commitments that its processing trace proves it made. People and
  other concepts stay: they are shared.
- Any other element goes alone, and only when nothing but the record of what was done refers to it.
- `payload_only` takes the bytes of evidence, and summaries that quote them, and no claim.

Everything is read in one transaction; under the lock of the space nobody changes it meanwhile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from storage import staging
from storage.database import Scope, Transaction, sql
from storage.erasure import traces
from storage.graph import state
from storage.graph.errors import NotFoundOrNotVisible, PurgeDenied
from storage.graph.state import NOW, Stored, version
from storage.kip.errors import InvalidRequestEnvelope, ResultLimitExceeded
from storage.memory_scopes import EVENT_CLASS
from storage.staging import StagedSource

Mode = Literal["payload_only", "semantic"]

#: Elements that a plan of the Memory Interface erases at most.
MAX_ELEMENTS = 4096
#: Types that a formation makes for itself alone; all others are shared.
_OWN_TYPES = frozenset({"Event", "Insight", "Experience", "Commitment"})
#: Classes of evidence that somebody said or measured anew, whatever it was an answer to.
_OTHERS_OWN = frozenset({"user_statement", "outcome"})
#: Characters in a row that make a summary a quotation.
_QUOTED = 20
#: Referrers that a refusal names.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Open:
    """Something that a plan cannot do or cannot know, so that it is not complete.

    `surface` is of what stays; None where nothing stays and only the knowledge is missing.
    """

    ref: str
    why: str
    surface: Literal["element", "payload", "blob"] | None = None


@dataclass(frozen=True, slots=True)
class Closure:
    """What a plan erases.

    `summaries` are those of `elements` that retell evidence. `sources` go whole, `mentioned` are
    staged sources that the erased evidence came from. `refused` are evidence that stays and whose
    source must not be taken in again. `held` keep everything from going. `orphans` are concepts
    that nothing refers to once the rest is gone.
    """

    mode: Mode
    elements: tuple[str, ...] = ()
    payloads: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    open_points: tuple[Open, ...] = ()
    orphans: tuple[str, ...] = ()


def compute(
    tx: Transaction,
    scope: Scope,
    caller: str,
    target: str,
    mode: Mode,
    *,
    planned: Collection[str] | None = None,
    erased_seq: int | None = None,
    most: int = MAX_ELEMENTS,
) -> Closure:
    """The closure of a target as memory is now.

    With `planned`, a plan that named these elements is being carried out: what is gone by then is
    no error, and where the target itself is gone, the rest goes all the same. With `erased_seq`,
    it has erased some of them up to that sequence, and all that is left of them goes. Raises
    `NotFoundOrNotVisible`, also for a source of somebody else's, `ResultLimitExceeded` for more
    than `most` elements, `PurgeDenied` for an element that others need, and
    `InvalidRequestEnvelope` for a target that the mode does not fit.
    """
    found = _Search(tx, scope, mode, planned, most=most, since=erased_seq)
    if target.startswith("src-"):
        source = staging.get(tx, scope, caller, target)
        if source is None:
            raise NotFoundOrNotVisible("There is no such source here.")
        found.source(source)
    else:
        found.element(target)
    return found.closure()


def standing_on(tx: Transaction, scope: Scope, claim: str) -> tuple[str, ...]:
    """The evidence that is for a claim alone, and the summaries that retell nothing else.

    That is what goes out of sight with a claim that is put away.
    """
    found = _Search(tx, scope, "semantic", going={claim})
    evidence = found.exclusive_sources()
    return tuple(sorted(evidence | found.retelling(evidence)))


@dataclass(slots=True)
class _Search:
    """A closure while it grows."""

    tx: Transaction
    scope: Scope
    mode: Mode
    planned: Collection[str] | None = None
    most: int = MAX_ELEMENTS
    since: int | None = None
    going: set[str] = field(default_factory=set)
    payloads: set[str] = field(default_factory=set)
    summaries: set[str] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    made_of_them: set[str] = field(default_factory=set)
    open_points: list[Open] = field(default_factory=list)

    # --- targets ------------------------------------------------------------------------------

    def source(self, source: StagedSource) -> None:
        self.sources.add(source.ref)
        evidence = {*self._existing(source.evidence_refs), *self._same_words(source.ref)}
        if self.mode == "payload_only":
            self._payloads(evidence)
            return
        known = source.state == "erased" and self._refused_already(source.source_digest)
        if known and not evidence and self.planned is None:
            raise NotFoundOrNotVisible("There is no such source here.")
        self.going |= evidence | self._begun()
        self._missing_trace(evidence)
        self._grow(by_source=True)

    def element(self, target: str) -> None:
        kind = target[0] if target[:1] in tuple("CPAEX") and target[1:2] == "-" else ""
        stored = state.load(self.tx, self.scope, [target]).get(target) if kind else None
        if stored is None:
            if self.planned is not None:
                self._rest(self._existing(self.planned))
                return
            raise NotFoundOrNotVisible(f"There is no element {target!r} here.")
        if self.mode == "payload_only":
            if kind != "E":
                raise InvalidRequestEnvelope(
                    "payload_only takes an evidence or a staged source; a claim has no payload."
                )
            self._payloads({target})
        elif kind in "PA":
            about = target if stored.assertion is None else stored.assertion.proposition
            # of a claim whose tuple is gone, the claim is left
            self.going |= {target, *self._existing([about]), *self._claims([about])}
            self.going |= self._begun()
            self._grow(by_source=False)
        else:
            self._alone(target)
            if kind == "E":
                self.going |= self._summaries_of({target})
                self.going |= self._exclusive(self._worded())
            self.going |= self._begun()
            self._shared(self.made_of_them)

    def _rest(self, planned: set[str]) -> None:
        """What was planned with a target that has been erased meanwhile."""
        if self.mode == "semantic":
            self._as_planned(planned)
            self._grow(by_source=False)

    def _begun(self) -> set[str]:
        """What is left of a plan that has begun: what led to it may have gone already."""
        if self.since is None or self.planned is None:
            return set()
        self._as_planned(self._existing(self.planned))
        return self.going

    def _as_planned(self, planned: set[str]) -> None:
        evidence = {ref for ref in planned if ref[0] == "E"}
        self.going |= planned - evidence
        self.going |= self._exclusive(evidence)

    def _alone(self, target: str) -> None:
        """One element; the record of what was done, and what retells evidence, need not stay."""
        retelling = self._summaries_of({target}) if target[0] == "E" else set()
        referrers = state.referrers(self.tx, self.scope, [target]).get(target, set())
        needing = sorted(ref for ref in referrers - retelling if ref[0] != "X")
        if needing:
            named = ", ".join(needing[:_NAMED]) + (" and others" if len(needing) > _NAMED else "")
            raise PurgeDenied(
                f"{named} still refer to {target}; forget those first.",
                data={"references": len(needing)},
            )
        self.going.add(target)

    def _payloads(self, evidence: set[str]) -> None:
        quoting = self._quoting(evidence)
        made = {ref for ref in quoting if ref[0] == "E"}
        self.payloads |= evidence | made
        self.going |= quoting - made
        self.summaries |= quoting - made

    # --- growth -------------------------------------------------------------------------------

    def _grow(self, *, by_source: bool) -> None:
        """Add what says nothing, or cannot be known, without what is going, until nothing is new.

        `by_source`: claims go with the evidence that they rest on alone; else evidence goes with
        the claims that it is for alone.
        """
        size = -1
        while size != len(self.going):
            size = len(self.going)
            if size > self.most:
                return
            self.going |= self._parts()
            evidence = {ref for ref in self.going if ref[0] == "E"}
            if by_source:
                self.going |= self._resting_on(evidence)
            else:
                self.going |= self._exclusive(self._cited())
            evidence = {ref for ref in self.going if ref[0] == "E"}
            self.going |= self._made_of(evidence, everything=by_source)
            self.going |= self._derived()
            self.going |= self._exclusive(self._worded())
            self.going |= self._empty_tuples()
        self._shared(self.made_of_them if by_source else self._cited() | self.made_of_them)
        if not by_source:
            self._unsourced()

    def _parts(self) -> set[str]:
        """Statements about what is going, and claims of statements that are going."""
        ids = sorted(ref for ref in self.going if ref[0] in "PAE")
        return self._column(
            """
            select p.id from unnest(%(ids)s::text[]) as w(id) cross join lateral (
                select id from proposition where space_id = %(space)s and subject_id = w.id
                 limit %(most)s) p
            union
            select p.id from unnest(%(ids)s::text[]) as w(id) cross join lateral (
                select id from proposition where space_id = %(space)s
                   and object_key = 'e:' || w.id limit %(most)s) p
            union
            select a.id from unnest(%(ids)s::text[]) as w(id) cross join lateral (
                select id from assertion where space_id = %(space)s and proposition_id = w.id
                 limit %(most)s) a
            """,
            ids,
        )

    def _claims(self, propositions: Iterable[str]) -> set[str]:
        return self._column(
            """
            select a.id from unnest(%(ids)s::text[]) as w(id) cross join lateral (
                select id from assertion where space_id = %(space)s and proposition_id = w.id
                 limit %(most)s) a
            """,
            sorted(propositions),
        )

    def _cited(self) -> set[str]:
        """The evidence of the claims that are going."""
        claims = sorted(ref for ref in self.going if ref[0] == "A")
        return self._existing(self._targets(claims, "evidence"))

    def _exclusive(self, evidence: set[str]) -> set[str]:
        """The evidence on which nothing rests but what is going."""
        return {ref for ref, users in self._users(evidence).items() if users <= self.going}

    def _users(self, evidence: set[str]) -> dict[str, set[str]]:
        """Claims that cite evidence, and promises, rules and experiences that came of it."""
        users: dict[str, set[str]] = {ref: set() for ref in evidence}
        for ref, claim in self._sources(evidence, "evidence"):
            if claim[0] == "A":
                users[ref].add(claim)
        for ref, made, type_name, _ in self._products(evidence):
            if type_name in _OWN_TYPES - {"Event"}:
                users[ref].add(made)
        return users

    def _resting_on(self, evidence: set[str]) -> set[str]:
        """The claims that cite nothing but evidence that is going."""
        claims = {claim for _, claim in self._sources(evidence, "evidence") if claim[0] == "A"}
        cited: dict[str, set[str]] = defaultdict(set)
        for claim, ref in self._edges(claims, "evidence"):
            cited[claim].add(ref)
        return {claim for claim in claims if cited[claim] <= self.going}

    def _made_of(self, evidence: set[str], *, everything: bool) -> set[str]:
        """What a recorded process made of evidence that is going.

        Summaries retell it. With `everything`, what the process made for itself goes, too, where
        all that it was made of goes.
        """
        found = self._summaries_of(evidence)
        if everything:
            for _, made, type_name, inputs in self._products(evidence):
                if type_name in _OWN_TYPES and inputs <= self.going:
                    found.add(made)
        return found

    def exclusive_sources(self) -> set[str]:
        """The evidence of the claims that are going, as far as nothing else in force needs it."""
        users = self._users(self._cited())
        there = state.load(self.tx, self.scope, set().union(*users.values()))
        return {
            ref
            for ref, needing in users.items()
            if {one for one in needing if one in there and _in_force(there[one])} <= self.going
        }

    def retelling(self, evidence: set[str]) -> set[str]:
        """The summaries that were made of nothing but this evidence."""
        return {
            made
            for _, made, type_name, inputs in self._products(evidence)
            if type_name == "Event" and inputs <= evidence
        }

    def _summaries_of(self, evidence: set[str]) -> set[str]:
        found = {made for _, made, type_name, _ in self._products(evidence) if type_name == "Event"}
        self.summaries |= found
        return found

    def _derived(self) -> set[str]:
        """Claims and concepts of a process's own that were inferred from what is going."""
        claims = {ref for ref in self.going if ref[0] in "AP"}
        concepts = {ref for ref in self.going if ref[0] == "C"}
        found = {
            made
            for _, made, type_name, _ in self._products(claims | concepts)
            if made[0] == "A" or type_name in _OWN_TYPES
        }
        return found | self._pinning(claims)

    def _worded(self) -> set[str]:
        """Evidence that a process made in words of its own of what is going, as a gate does.

        What people say in answer, and what is measured, is their own.
        """
        found = {
            made
            for _, made, class_name, _ in self._products(self.going)
            if made[0] == "E" and class_name not in _OTHERS_OWN
        }
        self.made_of_them |= found
        return found

    def _pinning(self, claims: set[str]) -> set[str]:
        """What was inferred on a recorded basis that pins one of the claims.

        Bases are looked through, since no index leads to them; of a plan that has begun, only what
        was written since.
        """
        activities = self._column(
            f"""
            select v.id from element_ver v
             where v.space_id = %(space)s and v.seq_to = {NOW} and v.seq_from > %(since)s
               and v.id like 'X-%%' and v.doc ? 'facets'
               and exists (
                 select from jsonb_path_query(v.doc -> 'facets', '$.*.groups[*].pins[*].id') p(id)
                  where p.id #>> '{{}}' in (select unnest(%(ids)s::text[])))
            """,
            sorted(claims),
        )
        return {
            ref
            for ref in self._existing(self._targets(sorted(activities), "outputs"))
            if ref[0] == "A" or (ref[0] == "C" and self._types([ref]).get(ref) in _OWN_TYPES)
        }

    def _empty_tuples(self) -> set[str]:
        """Propositions that nobody claims any more."""
        claims = sorted(ref for ref in self.going if ref[0] == "A")
        about = self._column(
            """
            select a.proposition_id from unnest(%(ids)s::text[]) as w(id)
              join lateral (select proposition_id from assertion where space_id = %(space)s
                     and id = w.id limit 1) a on true
            """,
            claims,
        )
        rows = self.tx.execute(
            """
            select a.proposition_id, a.id from unnest(%s::text[]) as w(id)
              join lateral (select * from assertion where space_id = %s
                     and proposition_id = w.id offset 0) a on true
            """,
            (sorted(about), self.scope.space_id),
        )
        claimed = {proposition for proposition, claim in rows if claim not in self.going}
        referrers = state.referrers(self.tx, self.scope, about - claimed)
        needed = {
            proposition
            for proposition, refs in referrers.items()
            if any(ref[0] != "X" and ref not in self.going for ref in refs)
        }
        return about - claimed - needed

    # --- what cannot be known or done -----------------------------------------------------------

    def _shared(self, evidence: set[str]) -> None:
        """Evidence that others need."""
        users = self._users(evidence - self.going)
        for ref in sorted(users):
            others = sorted(users[ref] - self.going)
            self.refused.add(ref)
            self.open_points.append(
                Open(ref, f"it also supports {', '.join(others[:_NAMED])}, and stays", "payload")
            )

    def _unsourced(self) -> None:
        """Claims that cite nothing: where they came from cannot be told, nor refused."""
        claims = {ref for ref in self.going if ref[0] == "A"}
        sourced = {claim for claim, _ in self._edges(claims, "evidence")}
        for claim in sorted(claims - sourced):
            self.open_points.append(Open(claim, "it cites no evidence, so its source is unknown"))

    def _missing_trace(self, evidence: set[str]) -> None:
        """Whatever was written with the evidence and that no process on record made."""
        rows = self.tx.execute(
            sql(
                f"""
                select distinct c.id, c.schema_ref, c.kind::text, c.purged_seq is not null
                  from unnest(%(ids)s::text[]) as w(id)
                  join lateral (select created_seq from element e where e.space_id = %(space)s
                         and e.id = w.id limit 1) e on true
                  join lateral (select changes from commit_record r where r.space_id = %(space)s
                         and r.space_seq = e.created_seq limit 1) r on true
                  cross join lateral jsonb_array_elements(r.changes) as x(entry)
                  join lateral (select * from element c where c.space_id = %(space)s
                         and c.id = x.entry ->> 'id' limit 1) c on c.created_seq = e.created_seq
                  left join {version("v", "c.id")} on true
                 where c.kind in ('C', 'X')
                   and coalesce(v.doc #>> '{{attributes,event_class}}', '') <> %(scope_class)s
                """
            ),
            {
                "space": self.scope.space_id,
                "ids": sorted(evidence),
                "scope_class": EVENT_CLASS,
            },
        ).fetchall()
        made = {target for target, _ in self._sources({id for id, *_ in rows}, "outputs")}
        for id, schema_ref, kind, purged in sorted(rows):
            if kind == "X" and purged:
                self.open_points.append(Open(id, "the record of this processing is gone"))
            elif kind == "C" and not purged and _local(schema_ref) in _OWN_TYPES and id not in made:
                self.open_points.append(Open(id, "no record says what it was made of", "element"))

    def _quoting(self, evidence: set[str]) -> set[str]:
        """Summaries, and evidence made of it, that quote the words of evidence."""
        quoting = set()
        for ref, made, type_name, _ in self._products(evidence):
            if made[0] == "E" and type_name not in _OTHERS_OWN:
                told = self._words(made)
            elif type_name == "Event":
                told = self._told(made)
            else:
                continue
            if _quotes(told, self._words(ref)):
                quoting.add(made)
        return quoting

    # --- the end --------------------------------------------------------------------------------

    def closure(self) -> Closure:
        """The result; raises `ResultLimitExceeded`."""
        size = len(self.going | self.payloads)
        if size > self.most:
            raise ResultLimitExceeded(
                f"More than {self.most} elements would go; forget parts of it first.",
                data={"max_elements": self.most},
            )
        evidence = {ref for ref in {*self.going, *self.payloads} if ref[0] == "E"}
        for ref, other in sorted(traces.kept_elsewhere(self.tx, self.scope, evidence).items()):
            self.open_points.append(Open(ref, f"{other} says the same words, and stays"))
        for ref in sorted(self._external(evidence)):
            self.open_points.append(Open(ref, "its bytes are kept by somebody else", "blob"))
        if self.mode == "payload_only":
            # one that is purged already is done, and its copies are looked for all the same
            self.payloads = evidence - self.going
        return Closure(
            self.mode,
            tuple(sorted(self.going)),
            tuple(sorted(self.payloads)),
            tuple(sorted(self.summaries & self.going)),
            tuple(sorted(self.sources)),
            tuple(sorted(self._staged_as(evidence) - self.sources)),
            tuple(sorted(self.refused)),
            tuple(sorted(self._held())),
            tuple(self.open_points),
            tuple(sorted(self._orphans())),
        )

    def _held(self) -> set[str]:
        return self._column(
            f"""
            select w.id from unnest(%(ids)s::text[]) as w(id)
              join {version("v", "w.id")} on (v.doc #>> '{{retention,legal_hold}}') = 'true'
            """,
            sorted(self.going | self.payloads),
        )

    def _external(self, evidence: set[str]) -> set[str]:
        return self._column(
            """
            select w.id from unnest(%(ids)s::text[]) as w(id)
              join lateral (select payload from evidence e where e.space_id = %(space)s
                     and e.id = w.id limit 1) e on e.payload ->> 'mode' = 'external'
            """,
            sorted(evidence),
        )

    def _staged_as(self, evidence: set[str]) -> set[str]:
        return self._column(
            "select ref from staged_source where space_id = %(space)s and evidence_refs && %(ids)s",
            sorted(evidence),
        )

    def _orphans(self) -> set[str]:
        """Concepts that the tuples that go are about, and that nothing else refers to."""
        propositions = sorted(ref for ref in self.going if ref[0] == "P")
        ends = self._column(
            """
            select e.id from unnest(%(ids)s::text[]) as w(id)
              join lateral (select subject_id, object_id from proposition
                     where space_id = %(space)s and id = w.id limit 1) p on true
              cross join lateral (values (p.subject_id), (p.object_id)) as e(id)
             where e.id like 'C-%%'
            """,
            propositions,
        )
        referrers = state.referrers(self.tx, self.scope, ends)
        return {
            end
            for end in ends - self.going
            if not {r for r in referrers.get(end, set()) if r[0] != "X"} - self.going
        }

    # --- look-ups -------------------------------------------------------------------------------

    def _existing(self, ids: Iterable[str]) -> set[str]:
        return self._column(
            """
            select w.id from unnest(%(ids)s::text[]) as w(id)
              join lateral (select id from element e where e.space_id = %(space)s
                     and e.id = w.id and e.purged_seq is null limit 1) e on true
            """,
            sorted(set(ids)),
        )

    def _same_words(self, source: str) -> set[str]:
        """Evidence of the words of a staged source, whichever way it came."""
        return self._column(
            """
            select e.id from unnest(%(ids)s::text[]) as w(ref)
              join lateral (select messages from staged_source s where s.space_id = %(space)s
                     and s.ref = w.ref limit 1) s on true
              cross join lateral jsonb_array_elements(s.messages) as m(message)
              cross join lateral (select id from evidence e where e.space_id = %(space)s
                     and e.fingerprint = message_fingerprint(m.message) limit %(most)s) e
            """,
            [source],
        )

    def _products(
        self, inputs: Collection[str]
    ) -> list[tuple[str, str, str | None, frozenset[str]]]:
        """(input, output, type of the output, all inputs) where a process made the output anew.

        The type of an evidence is its class.
        """
        if not inputs:
            return []
        rows = self.tx.execute(
            sql(
                f"""
                select w.id, o.target_id, coalesce(e.schema_ref, (
                       select evidence_class from evidence m where m.space_id = %(space)s
                          and m.id = e.id limit 1)), array(
                       select i.target_id from edge i where i.space_id = %(space)s
                          and i.source_id = x.id and i.field_lineage = 'inputs')
                  from unnest(%(ids)s::text[]) as w(id)
                  join lateral (select d.source_id from edge d where d.space_id = %(space)s
                         and d.target_id = w.id and d.field_lineage = 'inputs' offset 0) d on true
                  join lateral (select * from element x where x.space_id = %(space)s
                         and x.id = d.source_id limit 1) x on true
                  join lateral (select o.target_id from edge o where o.space_id = %(space)s
                         and o.source_id = x.id and o.field_lineage = 'outputs' offset 0) o on true
                  join lateral (select * from element e where e.space_id = %(space)s
                         and e.id = o.target_id limit 1) e
                       on e.created_seq = x.created_seq and e.purged_seq is null
                  left join {version("v", "e.id")} on true
                 where coalesce(v.doc #>> '{{attributes,event_class}}', '') <> %(scope_class)s
                """
            ),
            {
                "space": self.scope.space_id,
                "ids": sorted(inputs),
                "scope_class": EVENT_CLASS,
            },
        )
        return [
            (ref, made, None if schema_ref is None else _local(schema_ref), frozenset(all_inputs))
            for ref, made, schema_ref, all_inputs in rows
        ]

    def _types(self, ids: Iterable[str]) -> dict[str, str]:
        rows = self.tx.execute(
            "select id, schema_ref from element where space_id = %s and id = any(%s)"
            " and schema_ref is not null",
            (self.scope.space_id, sorted(ids)),
        )
        return {id: _local(ref) for id, ref in rows}

    def _edges(self, sources: Collection[str], lineage: str) -> list[tuple[str, str]]:
        found = state.edges_from(self.tx, self.scope, sources, [lineage])
        return [(edge.source, edge.target) for edge in found]

    def _targets(self, sources: Collection[str], lineage: str) -> set[str]:
        return {target for _, target in self._edges(sources, lineage)}

    def _sources(self, targets: Collection[str], lineage: str) -> list[tuple[str, str]]:
        """(target, source) of the present references to some elements."""
        if not targets:
            return []
        return self.tx.execute(
            sql(
                f"""
                select w.id, d.source_id from unnest(%(ids)s::text[]) as w(id)
                  join lateral (select source_id from edge d where d.space_id = %(space)s
                         and d.target_id = w.id and d.field_lineage = %(lineage)s
                         and d.seq_to = {NOW} offset 0) d on true
                """
            ),
            {"space": self.scope.space_id, "ids": sorted(targets), "lineage": lineage},
        ).fetchall()

    def _refused_already(self, digest: str) -> bool:
        return bool(state.suppressed(self.tx, self.scope, {digest}))

    def _told(self, concept: str) -> str:
        """All that the versions of a concept say."""
        rows = self.tx.execute(
            "select name, doc -> 'attributes' from element_ver where space_id = %s and id = %s",
            (self.scope.space_id, concept),
        )
        return "\n".join(text for row in rows for text in _strings(list(row)))

    def _words(self, evidence: str) -> str:
        row = self.tx.execute(
            "select payload -> 'inline' from evidence where space_id = %s and id = %s",
            (self.scope.space_id, evidence),
        ).fetchone()
        payload = None if row is None else row[0]
        content = payload.get("content") if isinstance(payload, dict) else payload
        return "\n".join(_strings(content))

    def _column(self, text: str, ids: list[str]) -> set[str]:
        """The first column of a statement about `ids`; at most one more than a plan may erase."""
        if not ids:
            return set()
        values: dict[str, Any] = {
            "space": self.scope.space_id,
            "ids": ids,
            "most": self.most + 1,
            "since": -1 if self.since is None else self.since,
        }
        return {id for (id,) in self.tx.execute(sql(text), values)}


def _in_force(stored: Stored) -> bool:
    return stored.state == "active" and stored.status in (None, "active")


def _local(schema_ref: str) -> str:
    return schema_ref.rpartition("/")[2]


def _quotes(told: str, words: str) -> bool:
    """Whether a text repeats a stretch of another, or all of a short one."""
    words = words.strip()
    if not words:
        return False
    if len(words) <= _QUOTED:
        return words in told
    return any(told[at : at + _QUOTED] in words for at in range(len(told) - _QUOTED + 1))


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in _strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return []
