"""The forget job: carry out an erasure plan, and say that it is done only after having looked.

    memory, one commit a batch → the copies, surface by surface → whoever read before is done
      → look at everything; clean what came late → look again where the job ends

Each step is a batch under the job's fence with a durable cursor, so that a run that is cut short
goes on where it was; doing a step twice is doing it once.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Literal

from pipelines.work import Effect, FollowUp, Result, Work
from storage import erasure_plans, spaces
from storage.clock import now
from storage.database import Transaction
from storage.erasure import closure as closures
from storage.erasure import copies, elements, planning, quotations, readers
from storage.erasure.copies import Readings, Surface
from storage.erasure.traces import Traces
from storage.erasure_plans import ErasurePlan
from storage.errors import NotFound
from storage.graph.commit import lock
from storage.graph.errors import KipError, LegalHoldConflict
from storage.runtime import product_requests
from storage.settings import settings

#: Elements that one commit erases at most, concepts aside.
BATCH = 1000
#: Rounds of looking and cleaning; what still turns up then is reported.
_ROUNDS = 3
#: How long runs that began before the erasure are waited for, in seconds.
_READERS_SECONDS = 120.0
_PAUSE_SECONDS = 0.1
_EMBED = FollowUp("embed", {}, coalesce_key="embed")
#: Entries of a list that the wire form has at most.
_MOST = 128
#: Surfaces in the order in which one leads to the next.
_ORDER: tuple[Surface, ...] = (
    "staged_bytes",
    "formation_record",
    "recall_record",
    "job_payload",
    "retained_outcome",
    "usage_ledger",
    "probe_cache",
    "retained_basis",
)
#: Surfaces that a plan tells of among its targets.
_TARGETS: dict[Surface, str] = {"retained_outcome": "replay"}


def run(work: Work) -> Effect:
    """Carry out the plan that `payload.plan` names.

    Raises `NotFound` when it is gone, `LegalHoldConflict` when a hold forbids it by now,
    `ResultLimitExceeded` when the closure has outgrown a plan, and `PurgeDenied` when others need
    the target by now; then nothing more is erased than the plan says.
    """
    errand = _Errand(work, str(work.payload["plan"]))
    errand.memory()
    errand.copies()
    errand.readers()
    for _ in range(_ROUNDS):
        if not errand.look():
            break
        errand.clean_again()
    return Effect(errand.end)


@dataclass(slots=True)
class _Errand:
    """One run of one plan."""

    work: Work
    ref: str
    readings: Readings = field(default_factory=Readings)

    @property
    def _step(self) -> int:
        return int((self.work.cursor or {}).get("step", 0))

    def _plan(self, tx: Transaction) -> ErasurePlan:
        plan = erasure_plans.find(tx, self.work.scope, self.ref)
        if plan is None:
            raise NotFound("There is no such plan.")
        return plan

    # --- memory ---------------------------------------------------------------------------------

    def memory(self) -> None:
        """Erase what memory holds, as it is now, in as many commits as that takes.

        Each reads the closure anew, under the lock of the space, and begins at its outer end.
        """
        try:
            for part in itertools.count(int((self.work.cursor or {}).get("part", 0)) + 1):
                if self._step > 0:
                    return
                # whether that was all is known in the transaction; the step is told after it
                if self.work.commit_batch(self._erase, {"step": 0, "part": part}):
                    self.work.commit_batch(lambda tx: None, {"step": 1})
                self.work.checkpoint()
        except KipError as refusal:
            if refusal.retry:
                raise
            held = refusal.data.get("held", ())
            self.work.commit_batch(lambda tx: self._give_up(tx, held), {"step": 0})
            raise

    def _erase(self, tx: Transaction) -> bool:
        """Erase the next part, and say whether it was the last."""
        scope = self.work.scope
        lock(tx, scope)
        plan = self._plan(tx)
        known = Traces.of(plan.traces)
        closure = closures.compute(
            tx,
            scope,
            plan.caller,
            plan.target_ref,
            plan.scope,
            planned=known.elements,
            erased_seq=plan.erased_seq,
        )
        if closure.held:
            begun = plan.erased_seq is not None
            raise LegalHoldConflict(
                planning.hold_message(closure, begun=begun), data={"held": list(closure.held)}
            )
        traces = planning.traces_of(tx, scope, closure, known)
        going = [*closure.elements, *closure.payloads]
        part = elements.next_part(tx, scope, going, plan.target_ref, BATCH)
        read = quotations.read(tx, scope, part, closure.sources, {*going, *known.refs})
        traces = replace(traces, words=traces.words.joined(read))
        if plan.scope == "semantic":
            elements.refuse(tx, scope, traces.digests, plan.ref)
        payloads = frozenset(closure.payloads)
        made = elements.erase(
            tx,
            scope,
            self.work.principal,
            elements=[ref for ref in part if ref not in payloads],
            payloads=[ref for ref in part if ref in payloads],
        )
        product_requests.void_touching(tx, scope, part)
        erasure_plans.update(
            tx,
            scope,
            plan.ref,
            traces=traces.as_json(),
            targets=planning.with_gone(planning.targets(closure), plan.targets, traces),
            source_refs=list(dict.fromkeys([*plan.source_refs, *planning.source_refs(closure)])),
            open_points=planning.open_points(
                closure, plan.open_points, begun=plan.erased_seq is not None
            ),
            orphans=list(dict.fromkeys([*plan.orphans, *closure.orphans])),
            external_exports=list(
                dict.fromkeys([*plan.external_exports, *copies.delivered(tx, scope, traces)])
            ),
            receipts=[*plan.receipts, *([] if made.tx_id is None else [made.tx_id])],
            erased_seq=plan.erased_seq if made.seq is None else made.seq,
            readers={**plan.readers, **readers.running(tx, scope, but=self.work.job_id)},
        )
        return len(part) == len(going)

    def _give_up(self, tx: Transaction, held: Collection[str]) -> None:
        """Nothing more is erased. If nothing was, what was refused for it is allowed again."""
        plan = self._plan(tx)
        if plan.erased_seq is None:
            elements.allow_again(tx, self.work.scope, plan.ref)
        erasure_plans.update(
            tx,
            self.work.scope,
            plan.ref,
            status="blocked" if held else "partial",
            targets=[
                {**entry, "state": "held" if entry["ref"] in held else entry["state"]}
                for entry in plan.targets
            ],
        )

    # --- copies ---------------------------------------------------------------------------------

    def copies(self) -> None:
        """Clean surface after surface, each in a batch of its own."""
        for step, surface in enumerate(_ORDER, start=2):
            if self._step < step:
                self.work.commit_batch(partial(self._clean, surfaces=(surface,)), {"step": step})
            self.work.progress(step, len(_ORDER) + 2, "erasing")

    def clean_again(self) -> None:
        """Clean what came late, once more."""
        self.work.commit_batch(partial(self._clean, surfaces=_ORDER), {"step": self._step})

    def _clean(self, tx: Transaction, surfaces: Sequence[Surface]) -> None:
        plan = self._plan(tx)
        known = traces = Traces.of(plan.traces)
        told = {(entry["surface"], entry["ref"]): entry for entry in plan.host_surfaces}
        targets = list(plan.targets)
        for surface in surfaces:
            refs, traces = copies.clean(tx, self.work.scope, surface, traces, self.readings)
            for ref in refs:
                if surface in _TARGETS:
                    entry = {"ref": ref, "surface": _TARGETS[surface], "state": "pending"}
                    targets += [entry] if entry not in targets else []
                else:
                    told[surface, ref] = erasure_plans.surface(surface, ref, "pending", None)
        if traces != known:
            erasure_plans.update(tx, self.work.scope, plan.ref, traces=traces.as_json())
        if len(told) > len(plan.host_surfaces) or len(targets) > len(plan.targets):
            erasure_plans.update(
                tx,
                self.work.scope,
                plan.ref,
                host_surfaces=list(told.values()),
                targets=targets,
            )

    # --- looking --------------------------------------------------------------------------------

    def readers(self) -> None:
        """Wait until no run is left that may have read before the erasure and writes after it."""
        until = time.monotonic() + _READERS_SECONDS
        while time.monotonic() < until:
            self.work.checkpoint()
            with self.work.read() as tx:
                if not readers.still_running(tx, self.work.scope, self._plan(tx).readers):
                    return
            time.sleep(_PAUSE_SECONDS)

    def look(self) -> bool:
        """Whether anything is left."""
        with self.work.read() as tx:
            plan = self._plan(tx)
            memory, host = self._left(tx, plan)
        self.work.checkpoint()
        return any(memory.values()) or any(host.values())

    def _left(
        self, tx: Transaction, plan: ErasurePlan
    ) -> tuple[dict[str, list[str]], dict[Surface, list[str]]]:
        traces = Traces.of(plan.traces)
        memory = elements.left(
            tx,
            self.work.scope,
            elements=traces.elements,
            payloads=traces.payloads,
            texts=traces.texts,
        )
        host = {
            surface: copies.look(tx, self.work.scope, surface, traces, self.readings)
            for surface in _ORDER
        }
        return memory, host

    # --- the end --------------------------------------------------------------------------------

    def end(self, tx: Transaction) -> Result:
        """Look once more, in the transaction that ends the job, and say what is so."""
        scope = self.work.scope
        head = spaces.get(tx, scope).head_seq
        plan = self._plan(tx)
        traces = Traces.of(plan.traces)
        memory, host = self._left(tx, plan)
        late = readers.still_running(tx, scope, plan.readers)
        working = readers.processing(tx, scope, traces.sources)
        at = now()
        surfaces = _verified(plan, host, at)
        targets = planning.settled(plan.targets, {**memory, "replay": host["retained_outcome"]})
        clean = not any(memory.values()) and not any(host.values()) and not late and not working
        done = clean and not plan.open_points
        status: Literal["completed", "partial"] = "completed" if done else "partial"
        told = copies.delivered(tx, scope, traces)
        erasure_plans.update(
            tx,
            scope,
            plan.ref,
            status=status,
            targets=targets,
            host_surfaces=surfaces,
            external_exports=list(dict.fromkeys([*plan.external_exports, *told])),
            # what is done needs no marks of the words; what is not goes on by them
            traces=(traces.without_words() if clean else traces).as_json(),
        )
        warnings = [f"{point['ref']}: {point['why']}." for point in plan.open_points]
        warnings += planning.orphan_warning(plan.orphans)
        if late or working:
            warnings.append("Work that may hold a copy had not ended; forget it once more later.")
        elif not clean:
            warnings.append("Some copies could not be cleaned; forget it once more.")
        result = {
            "forget": {
                "status": status,
                "plan_ref": plan.ref,
                "summary": _summary(plan, done),
                "coverage_ref": plan.ref,
            },
            "partial": not done,
            "warnings": list(dict.fromkeys(warnings))[:_MOST],
        }
        return Result(
            result,
            "erased" if done else "skipped",
            resolved_seq=plan.erased_seq,
            available_seq=head,
            # what was embedded together with erased words is embedded anew
            follow_ups=(_EMBED,) if settings().embedder != "none" else (),
        )


def _verified(
    plan: ErasurePlan, left: Mapping[Surface, Collection[str]], at: datetime
) -> list[dict[str, Any]]:
    """Every surface that was looked at: what held copies, else the surface as such."""
    told = [entry for entry in plan.host_surfaces if entry["surface"] not in _TARGETS]
    known = {(entry["surface"], entry["ref"]) for entry in told}
    for surface in (surface for surface in _ORDER if surface not in _TARGETS):
        refs = [*left[surface]]
        if surface == "retained_basis":
            refs += plan.external_exports
        if not refs and not any(entry["surface"] == surface for entry in told):
            refs = [plan.target_ref]
        told += [
            erasure_plans.surface(surface, ref, "pending", None)
            for ref in refs
            if (surface, ref) not in known
        ]
    return [
        erasure_plans.surface(
            entry["surface"],
            entry["ref"],
            "pending" if entry["ref"] in left[entry["surface"]] else "erased",
            at,
        )
        for entry in told
    ]


def _summary(plan: ErasurePlan, done: bool) -> str:
    elements = {entry["ref"] for entry in plan.targets if entry["surface"] != "replay"}
    what = f"{len(elements)} element{'s' * (len(elements) != 1)} of memory"
    how = "the bytes of" if plan.scope == "payload_only" else "all of"
    if done:
        return f"Erased {how} {what}, with every copy in this space; all surfaces were looked at."
    return f"Erased what could be of {what}; something stays, see the warnings and the plan."
