"""What one snapshot of memory holds on what is asked, channel by channel, within the scope.

The channels of constraints and commitments are exact: everything in scope is read. The others are
searches with a bound, for the question's own words; complete then means that the plan was carried
out, not that nothing like it exists. Every claim is told with what is believed of it in the
contexts, at the moment and at the state that are asked for, whatever the search thought of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pipelines.briefing import wording
from pipelines.briefing.asked import Asked
from pipelines.briefing.points import MOST_REFS, Channel, Point, unique
from pipelines.recall import phrases, questions
from pipelines.recall.answers import relevant_claims
from pipelines.recall.evidence import SCOPED_DEPTH, Query, gather, sources
from storage import attention, memory_scopes, scoped_memory
from storage.attention import Page
from storage.database import Scope, Transaction
from storage.graph import claims as graph
from storage.graph import finding
from storage.graph.belief import Question
from storage.graph.belief_dependencies import dependency_validity
from storage.graph.claims import ClaimView, Statement
from storage.graph.errors import NotFoundOrNotVisible
from storage.graph.finding import Wanted
from storage.graph.slots import takes_one
from storage.kip.query.documents import documents
from storage.kip.snapshot import Snapshot
from storage.scoped_memory import Record
from storage.search import bm25, index
from storage.search.analyser import terms
from storage.search.bm25 import Hit
from storage.search.fusion import Weights

#: Bounds of the plans: claims searched, those in scope whose beliefs are read, those told for want
#: of a fitting one, sources, and hits of each kind of concept.
_CLAIMS, _READ, _NAMED, _SOURCES, _HITS = 300, 60, 20, 20, 20
#: Standing instructions and commitments of a space that are read.
_EXACT = 10_000
#: Concepts that a search by words gives, and those of them that are told of.
_CONCEPTS = 300
_KINDS = ("Experience", "Event", "Insight", "Skill")
#: Concepts that are looked through for whether a scope holds any of a sort.
_LOOKED = 500
#: The share of the question's words that a concept must hold.
_LIKE = 0.3
_FAILED = ("failure", "partial", "aborted")
_ORDER = {"accepted": 0, "rejected": 1, "contested": 2, "uncertain": 3, "insufficient": 4}


@dataclass(frozen=True, slots=True)
class Plan:
    """How a channel was read. `reason` says why it is not complete; None: it is."""

    method: str
    selector: dict[str, Any]
    state: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """All that goes into a briefing. `required` are never left out, `ranked` come best first."""

    required: tuple[Point, ...]
    ranked: tuple[Point, ...]
    plans: Mapping[Channel, Plan]
    page: Page | None
    language: questions.Language
    contexts: frozenset[str]
    next_invalid_at: datetime | None
    warnings: tuple[str, ...]


def read(
    snapshot: Snapshot, asked: Asked, query: Query, weights: Weights, valid_at: datetime
) -> Found:
    """Read memory for `asked`; raises `NotFoundOrNotVisible` and `CursorInvalid`."""
    return _Reader.of(snapshot, asked, query, weights, valid_at).found()


@dataclass(slots=True)
class _Reader:
    snapshot: Snapshot
    tx: Transaction
    scope: Scope
    asked: Asked
    query: Query
    weights: Weights
    valid_at: datetime
    contexts: frozenset[str]
    warnings: list[str]
    #: Whether claims out of scope took places of the search.
    crowded: bool = False

    @classmethod
    def of(
        cls, snapshot: Snapshot, asked: Asked, query: Query, weights: Weights, valid_at: datetime
    ) -> _Reader:
        tx, scope = snapshot.tx, snapshot.scope
        known = memory_scopes.elements(tx, scope, asked.scope)
        warnings = [
            f"No memory was ever formed in the scope {handle!r}; it matches nothing of its own."
            for handle in asked.scope.handles
            if handle not in known
        ]
        contexts = scoped_memory.contexts_of(tx, scope, set(known.values()), snapshot.as_of)
        return cls(snapshot, tx, scope, asked, query, weights, valid_at, contexts, warnings)

    @property
    def seq(self) -> int | None:
        return self.snapshot.as_of

    @property
    def language(self) -> questions.Language:
        return self.query.asked.language

    def admitted(self, ids: Collection[str]) -> set[str]:
        return scoped_memory.admitted(self.tx, self.scope, ids, self.contexts, self.seq)

    def found(self) -> Found:
        page = None
        if self.asked.mode in ("attention", "resume"):
            page = attention.page(
                self.tx,
                self.scope,
                self.asked.cursor,
                attention.PAGE,
                seq=self.seq,
                admits=self.admitted,
            )
        if self.asked.mode == "attention":
            plans: dict[Channel, Plan] = {}
            return Found((), (), plans, page, self.language, self.contexts, None, self._warned())
        targets = self._targets()
        required, plans = self._exact()
        facts, ends = self._facts(targets)
        told = {ref for point in facts for ref in point.evidence}
        others = self._like_the_question(plans)
        messages = self._messages(plans, targets, told)
        plans["dependencies"] = Plan("exact", {"checked": "returned items"}, "complete")
        ranked = [*facts, *others, *messages]
        return Found(
            tuple(required),
            tuple(ranked),
            plans,
            page,
            self.language,
            self.contexts,
            ends,
            self._warned(),
        )

    def _warned(self) -> tuple[str, ...]:
        if self.asked.mode == "resume":
            self.warnings.append("No WorkingState is kept; this is a briefing with attention.")
        return tuple(self.warnings)

    def _targets(self) -> list[str]:
        """Elements that are told of whatever the question says."""
        wanted = list(self.asked.written)
        if self.asked.target is not None:
            found = documents(self.snapshot, [self.asked.target]).get(self.asked.target)
            state = (found or {}).get("_system", {}).get("state")
            if state not in ("active", "archived", "merged") or not self.admitted(
                [self.asked.target]
            ):
                raise NotFoundOrNotVisible("There is no such target here.")
            wanted.insert(0, self.asked.target)
        return wanted

    # --- exact channels -----------------------------------------------------------------------

    def _exact(self) -> tuple[list[Point], dict[Channel, Plan]]:
        rules = scoped_memory.rules(self.tx, self.scope, self.seq, _EXACT)
        promises = scoped_memory.promises(self.tx, self.scope, self.seq, _EXACT)
        seen = self.admitted({record.id for record in (*rules, *promises)})
        evidence = self.admitted({ref for record in (*rules, *promises) for ref in record.evidence})
        points = [
            self._point(record, "constraints", "constraint", "accepted", wording.rule, evidence)
            for record in rules
            if record.id in seen
        ]
        points += [
            self._point(
                record, "commitments", "warning", "not_applicable", wording.promise, evidence
            )
            for record in sorted(promises, key=_due)
            if record.id in seen
        ]
        plans: dict[Channel, Plan] = {}
        for channel, records, selector in (
            ("constraints", rules, {"type": "Insight", "insight_class": "constraint"}),
            ("commitments", promises, {"type": "Commitment", "status": list(scoped_memory.OPEN)}),
        ):
            whole = len(records) < _EXACT
            plans[channel] = Plan(  # type: ignore[index]
                "exact",
                selector,
                "complete" if whole else "incomplete",
                None if whole else "page_limit",
            )
        return points, plans

    def _point(
        self,
        record: Record,
        channel: Channel,
        role: Any,
        status: str,
        text: Callable[[Record, questions.Language], str],
        seen: Collection[str],
    ) -> Point:
        evidence = tuple(ref for ref in record.evidence if ref in seen)
        return Point(
            channel, role, text(record, self.language), status, evidence, (record.id, *evidence)
        )

    # --- claims -------------------------------------------------------------------------------

    def _facts(self, targets: Sequence[str]) -> tuple[list[Point], datetime | None]:
        """What is believed on what is asked, the settled first, and until when that holds."""
        asked = self.query.asked
        ids = self._searched()
        for target in targets:
            ids += scoped_memory.about(self.tx, self.scope, target, _CLAIMS)
        ids = list(dict.fromkeys(ids))
        question = Question(self.valid_at, self.contexts)
        now = graph.statements(self.tx, self.scope, assertions=ids)
        competing = {view.proposition for view in now if self._takes_one(view)}
        slots = {view.proposition for view in now}.union(
            scoped_memory.claims_at(self.tx, self.scope, competing, self.seq)
        )
        views = graph.claims_for(
            self.tx,
            self.scope,
            question,
            propositions=slots,
            schema=self.snapshot.schema,
            seq=self.seq,
        )
        seen = self.admitted({view.id for view in views})
        views = [view for view in views if view.id in seen and view.status == "active"]
        place = {id: n for n, id in enumerate(ids)}
        views.sort(key=lambda view: place.get(view.id, len(place)))
        chosen = self._chosen(asked, views, set(ids), targets)
        cited = self.admitted({ref for view in views for ref in view.evidence})
        validity = dependency_validity(
            self.tx, self.scope, {view.id for view in views if view.mode == "inferred"}, self.seq
        )
        points = [
            _fact([view for view in views if view.proposition == proposition], cited, self.language)
            for proposition in chosen
        ]
        points.sort(key=lambda point: _ORDER[point.status])
        for id, state in sorted(validity.items()):
            if state != "current" and any(id in point.elements for point in points):
                self.warnings.append(f"{id} was inferred from what has changed: {state}.")
        ends = [
            view.belief.next_invalid_at
            for view in views
            if view.proposition in set(chosen) and view.belief.next_invalid_at is not None
        ]
        return points, min(ends, default=None)

    def _searched(self) -> list[str]:
        asked = self.query.asked
        state = index.collections(self.tx, self.scope)
        if "claim" not in state or not state["claim"].documents:
            return []
        hits = bm25.search(
            self.tx, self.scope, "claim", asked.claim_terms, _CLAIMS, among=asked.specific
        )
        ids = [hit.element_id for hit in hits]
        seen = self.admitted(ids)
        self.crowded = len(ids) == _CLAIMS and len(seen) < _CLAIMS
        if self.seq is not None:
            # a claim that is found now leads to what was said in its place then
            return ids
        return [id for id in ids if id in seen][:_READ]

    def _chosen(
        self,
        asked: questions.Asked,
        views: Sequence[ClaimView],
        searched: Collection[str],
        targets: Sequence[str],
    ) -> list[str]:
        """Propositions that answer, with those that compete with them; the most fitting first."""
        texts = bm25.documents(
            self.tx, self.scope, sorted({ref for view in views for ref in view.evidence})
        )
        fitting = [view.proposition for view in relevant_claims(asked, views, texts)]
        about = set(targets)
        fitting += [
            view.proposition
            for view in views
            if about.intersection(
                (view.id, view.proposition, view.subject_id, view.object_id or "", *view.evidence)
            )
        ]
        if not fitting:
            known = [
                view
                for view in views
                if view.id in searched and view.belief.status != "insufficient"
            ]
            named = [view for view in known if asked.names(view.subject)] or [
                view for view in known if asked.names(view.object)
            ]
            close = [view for view in named if _words(view) & set(asked.terms)]
            if not close and not asked.predicates:
                # where it is known what is asked, not just anything of the named ones answers it
                close = named
            fitting = [view.proposition for view in close[:_NAMED]]
        chosen = dict.fromkeys(fitting)
        rivals = {self._slot(view) for view in views if view.proposition in chosen}
        for view in views:
            slot = self._slot(view)
            if slot is not None and slot in rivals and view.belief.status != "insufficient":
                chosen.setdefault(view.proposition)
        answered = {
            self._slot(view)
            for view in views
            if view.proposition in chosen and view.belief.status != "insufficient"
        }
        # what no longer holds is not told beside what does
        return [
            proposition
            for proposition in chosen
            if any(
                view.belief.status != "insufficient" or self._slot(view) not in answered - {None}
                for view in views
                if view.proposition == proposition
            )
        ]

    def _takes_one(self, view: Statement) -> bool:
        return takes_one(self.snapshot.schema.predicate(view.predicate_ref))

    def _slot(self, view: ClaimView) -> tuple[str, str, str] | None:
        """Where a claim's value competes with others; None where it has no rival."""
        predicate = self.snapshot.schema.predicate(view.predicate_ref)
        if not takes_one(predicate):
            return None
        kind = view.object_type if predicate.functional_by_type else ""
        return view.subject_id, predicate.lineage, kind

    # --- searches -----------------------------------------------------------------------------

    def _like_the_question(self, plans: dict[Channel, Plan]) -> list[Point]:
        """Failures, experiences and skills that share the question's words."""
        near: list[Record] = []
        if self.asked.question:
            wanted = Wanted("CONCEPT", self.asked.question, threshold=_LIKE)
            found = finding.find(self.tx, self.scope, self.snapshot.schema, wanted, limit=_CONCEPTS)
            ids = [hit.id for hit in found.hits]
            near = scoped_memory.some(self.tx, self.scope, _KINDS, self.seq, ids)
        failures = self._among(near, ("Experience", "Event"), lambda r: _status(r) in _FAILED)
        experiences = self._among(
            near,
            ("Experience", "Insight"),
            lambda r: (
                _status(r) not in _FAILED and r.attributes.get("insight_class") != "constraint"
            ),
        )
        skills = self._among(near, ("Skill",), lambda r: True)
        points: list[Point] = []
        told: tuple[tuple[Channel, tuple[list[Record], bool], Any], ...] = (
            ("failures", failures, "warning"),
            ("experiences", experiences, "experience"),
            ("skills", skills, "procedure"),
        )
        seen = self.admitted(
            {ref for _, (found, _), _ in told for r in found for ref in r.evidence}
        )
        for channel, (hits, present), role in told:
            for record in hits:
                text = (
                    wording.procedure(record) if role == "procedure" else wording.experience(record)
                )
                evidence = tuple(ref for ref in record.evidence if ref in seen)
                standing: Any = None
                if role == "procedure":
                    standing = "revoked" if _status(record) == "revoked" else "unproven"
                points.append(
                    Point(
                        channel,
                        role,
                        text,
                        "not_applicable",
                        evidence,
                        (record.id, *evidence),
                        standing,
                        record.moment("created_at") or record.moment("started_at"),
                    )
                )
            plans[channel] = self._plan(
                {"kind": channel, "concepts": _CONCEPTS, "limit": _HITS}, present=present
            )
        return points

    def _among(
        self, near: Sequence[Record], types: Sequence[str], passes: Callable[[Record], bool]
    ) -> tuple[list[Record], bool]:
        """The hits in scope, and whether the scope holds anything of the sort at all."""
        found = self._passing([record for record in near if record.type in types], passes)
        if found:
            return found[:_HITS], True
        first = scoped_memory.of_types(self.tx, self.scope, types, self.seq, _LOOKED)
        # beyond so many it is not worth the look: that there is something is the careful answer
        return [], len(first) == _LOOKED or bool(self._passing(first, passes))

    def _passing(self, records: Sequence[Record], passes: Callable[[Record], bool]) -> list[Record]:
        passing = [record for record in records if passes(record)]
        seen = self.admitted({record.id for record in passing})
        return [record for record in passing if record.id in seen]

    def _plan(self, selector: dict[str, Any], *, present: bool = True) -> Plan:
        if not present:
            return Plan("exact", selector, "not_applicable")
        if self.seq is not None:
            # the index is of the present: what has left it since is not found
            return Plan("approximate", selector, "incomplete", "index_lag")
        return Plan("approximate", selector, "complete")

    def _messages(
        self, plans: dict[Channel, Plan], targets: Sequence[str], told: Collection[str]
    ) -> list[Point]:
        """Messages on topic that no item cites already, each as what it is: a source."""
        state = index.collections(self.tx, self.scope).get("evidence")
        crowded = False

        def admits(ids: Set[str]) -> Set[str]:
            nonlocal crowded
            seen = self.admitted(ids)
            crowded = len(ids) >= SCOPED_DEPTH and len(seen) < min(_SOURCES, len(ids))
            return seen

        evidence = gather(self.tx, self.scope, self.query, self.weights, state, [], admits=admits)
        named = [id for id in targets if id.startswith("E-")]
        texts = bm25.documents(self.tx, self.scope, named)
        hits: dict[str, Hit] = {id: texts[id] for id in named if id in texts}
        for hit in evidence.supported:
            hits.setdefault(hit.element_id, hit)
        seen = self.admitted(set(hits)).difference(told)
        listed = sources(
            [hit for id, hit in hits.items() if id in seen][:_SOURCES], (), evidence.rarity
        )
        plan = self._plan({"lanes": ["claims", "words", "meaning"], "limit": _SOURCES})
        if plan.reason is None and not evidence.lexical_complete:
            plan = replace(plan, state="incomplete", reason="index_lag")
        if plan.reason is None and (crowded or self.crowded):
            # what others remember stood before what is in scope, as far as was looked
            plan = replace(plan, state="incomplete", reason="page_limit")
        plans["evidence"] = plan
        return [
            Point(
                "evidence",
                "source",
                _said(source),
                "not_applicable",
                (source["ref"],),
                (source["ref"],),
                at=hits[source["ref"]].at,
            )
            for source in listed
        ]


def _words(view: ClaimView) -> set[str]:
    """What a claim says of its subject, as terms."""
    return set(terms(f"{view.predicate.replace('_', ' ')} {view.object}"))


def _due(record: Record) -> tuple[bool, str]:
    due = record.attributes.get("due_at")
    return not isinstance(due, str), str(due)


def _status(record: Record) -> str | None:
    return record.attributes.get("status" if record.type == "Skill" else "outcome_status")


def _said(source: Mapping[str, Any]) -> str:
    day = f" ({source['at'][:10]})" if source["at"] else ""
    return wording.clipped(f"{source['speaker'] or '?'}{day}: {source['text']}")


def _fact(
    views: Sequence[ClaimView], cited: Collection[str], language: questions.Language
) -> Point:
    """A proposition with what is believed of it; `views` are all claims for and against it."""
    for_it = [view for view in views if view.stance == "support"] or list(views)
    best = max(for_it, key=lambda v: (v.subject_id == v.asserted_by_id, v.asserted_at, v.id))
    text = phrases.claim(replace(best, stance="support"), language)
    if best.stance == "support":
        text += phrases.said(best, language)
    evidence = unique(ref for view in views for ref in view.evidence if ref in cited)[:MOST_REFS]
    return Point(
        "evidence",
        "fact",
        wording.clipped(text),
        best.belief.status,
        evidence,
        unique((best.proposition, *(view.id for view in views), *evidence)),
        at=best.asserted_at,
    )
