"""Plans of erasures: what is to go, how far that is, and what was found afterwards.

Table `erasure_plan` (migration 0011). A plan belongs to the caller who asked for it; to anybody
else it does not exist. It is written before anything is erased and holds no content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from storage import jobs
from storage.clock import now, to_text
from storage.database import Scope, Transaction, sql
from storage.ids import is_id

PlanScope = Literal["payload_only", "semantic"]
Status = Literal["pending", "partial", "blocked", "completed"]
#: Entries that the wire form has at most: of a list of refs, of the targets, of the surfaces.
_MOST, _MOST_TARGETS, _MOST_SURFACES = 128, 512, 512
_COLUMNS = (
    "ref, caller, job_id, receipt_ref, scope, target_ref, basis_seq, erased_seq, status,"
    " source_refs, targets, host_surfaces, external_exports, receipts, traces, open_points,"
    " orphans, readers, created_at, updated_at"
)


@dataclass(frozen=True, slots=True)
class ErasurePlan:
    """A plan as it is kept.

    `targets` are `{ref, surface, state}`, `host_surfaces` `{surface, ref, state, verified_at}`,
    `open_points` `{ref, why}` that keep it from being complete. `basis_seq` is the state that it
    was made on, `erased_seq` the last commit that erased, if one was needed. `orphans` are concepts
    that nothing refers to any more, `readers` the jobs (id to fence) that ran when it was erased.
    """

    ref: str
    caller: str
    job_id: str
    receipt_ref: str
    scope: PlanScope
    target_ref: str
    basis_seq: int
    erased_seq: int | None
    status: Status
    source_refs: list[str]
    targets: list[dict[str, Any]]
    host_surfaces: list[dict[str, Any]]
    external_exports: list[str]
    receipts: list[str]
    traces: dict[str, Any]
    open_points: list[dict[str, str]]
    orphans: list[str]
    readers: dict[str, int]
    created_at: datetime
    updated_at: datetime

    def as_json(self) -> dict[str, Any]:
        """The wire form, seed 003 `{plan_ref, receipt_ref, plan, host_surfaces}`.

        The plan's lists are bounded there: what is not erased comes first, and the numbers of all
        stand beside the plan.
        """
        return {
            "plan_ref": self.ref,
            "receipt_ref": self.receipt_ref,
            "plan": {
                "scope": self.scope,
                "basis_seq": self.basis_seq,
                "source_event_refs": self.source_refs[:_MOST],
                "targets": _open_first(self.targets, _MOST_TARGETS),
                "external_exports": self.external_exports[:_MOST],
                "status": self.status,
                "receipts": self.receipts[-_MOST:],
            },
            "host_surfaces": _open_first(self.host_surfaces, _MOST_SURFACES),
            "source_event_refs_total": len(self.source_refs),
            "targets_total": len(self.targets),
            "external_exports_total": len(self.external_exports),
            "receipts_total": len(self.receipts),
            "host_surfaces_total": len(self.host_surfaces),
        }


def _open_first(entries: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    return sorted(entries, key=lambda entry: bool(entry["state"] == "erased"))[:most]


def create(
    tx: Transaction,
    scope: Scope,
    ref: str,
    *,
    caller: str,
    job_id: str,
    receipt_ref: str,
    mode: PlanScope,
    target_ref: str,
    basis_seq: int,
    status: Status,
    source_refs: Sequence[str],
    targets: Sequence[Mapping[str, Any]],
    traces: Mapping[str, Any],
    open_points: Sequence[Mapping[str, str]],
    erased_seq: int | None = None,
) -> None:
    """Keep a new plan, in the transaction that accepts its job.

    `erased_seq` is of one that goes on with what another has begun to erase.
    """
    at = now()
    tx.execute(
        "insert into erasure_plan (space_id, ref, caller, job_id, receipt_ref, scope, target_ref,"
        " basis_seq, erased_seq, status, source_refs, targets, traces, open_points, created_at,"
        " updated_at)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (
            scope.space_id,
            ref,
            caller,
            job_id,
            receipt_ref,
            mode,
            target_ref,
            basis_seq,
            erased_seq,
            status,
            list(source_refs),
            Jsonb(list(targets)),
            Jsonb(dict(traces)),
            Jsonb(list(open_points)),
            at,
            at,
        ),
    )


def get(tx: Transaction, scope: Scope, caller: str, ref: str) -> ErasurePlan | None:
    """The caller's plan of that handle; None for an unknown one and for anybody else's."""
    plan = find(tx, scope, ref) if is_id(ref, "pln") else None
    return plan if plan is not None and plan.caller == caller else None


def find(tx: Transaction, scope: Scope, ref: str) -> ErasurePlan | None:
    """A plan of the space, whosever it is: for the job that carries it out."""
    cursor = tx.cursor(row_factory=class_row(ErasurePlan))
    return cursor.execute(
        sql(f"select {_COLUMNS} from erasure_plan where space_id = %s and ref = %s"),
        (scope.space_id, ref),
    ).fetchone()


def unfinished(
    tx: Transaction, scope: Scope, caller: str, target_ref: str, mode: PlanScope
) -> ErasurePlan | None:
    """The caller's last plan for a target, if its job has ended and left something undone."""
    cursor = tx.cursor(row_factory=class_row(ErasurePlan))
    plan = cursor.execute(
        sql(
            f"select {_COLUMNS} from erasure_plan where space_id = %s and caller = %s"
            " and target_ref = %s and scope = %s order by created_at desc, ref desc limit 1"
        ),
        (scope.space_id, caller, target_ref, mode),
    ).fetchone()
    if plan is None or plan.status == "completed":
        return None
    if plan.status == "blocked" and plan.erased_seq is None:
        return None
    job = jobs.get(tx, scope, plan.job_id)
    entries = [*plan.targets, *plan.host_surfaces]
    undone = not plan.open_points or any(entry["state"] == "pending" for entry in entries)
    return plan if undone and (job is None or job.terminal) else None


def update(tx: Transaction, scope: Scope, ref: str, **changed: Any) -> None:
    """Set columns of a plan; lists and objects are kept as JSON where their column is."""
    as_json = {"targets", "host_surfaces", "traces", "open_points", "readers"}
    plain = {"status", "erased_seq", "source_refs", "external_exports", "receipts", "orphans"}
    unknown = changed.keys() - as_json - plain
    if unknown:
        raise TypeError(f"no column of a plan that changes: {sorted(unknown)}")
    values = {name: Jsonb(v) if name in as_json else v for name, v in changed.items()}
    sets = ", ".join(f"{name} = %({name})s" for name in values)
    tx.execute(
        sql(
            f"update erasure_plan set {sets}, updated_at = %(at)s"
            " where space_id = %(space)s and ref = %(ref)s"
        ),
        {**values, "at": now(), "space": scope.space_id, "ref": ref},
    )


def surface(name: str, ref: str, state: str, verified_at: datetime | None) -> dict[str, Any]:
    """One entry of `host_surfaces`."""
    at = None if verified_at is None else to_text(verified_at)
    return {"surface": name, "ref": ref, "state": state, "verified_at": at}
