"""A run's stages, each a series of fenced batches whose counts are kept with what they did.

A run that ends in the middle is taken up where it stood: a stage that is done is not done again,
one that is not goes on from its last batch, and what they have counted is counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import structlog

from pipelines.work import Work
from storage import maintenance_runs
from storage.database import Transaction, is_outage
from storage.errors import BrainError
from storage.graph.errors import KipError
from storage.maintenance_runs import Stage

log = structlog.get_logger(__name__)

#: One batch: takes what the stage has told so far, gives what it tells now and whether that is all.
Step = Callable[[Transaction, dict[str, Any]], tuple[dict[str, Any], bool]]


@dataclass(frozen=True, slots=True)
class Planned:
    """A stage to run."""

    name: str
    step: Step


def run_stages(work: Work, planned: Sequence[Planned]) -> dict[str, dict[str, Any]]:
    """Run the stages in order; what each came to, by name.

    A stage that the graph or the data refuses ends with `error` and hinders no other; the batch
    that failed has written nothing. What may pass (an outage, a lost lease, a cancel) ends the run.
    """
    with work.read() as tx:
        known = maintenance_runs.stages(tx, work.scope, work.job_id)
    told = {}
    for number, stage in enumerate(planned, start=1):
        found = known.get(stage.name, Stage(stage.name, {}, False))
        told[stage.name] = found.told if found.done else _run(work, stage, found.told)
        work.progress(number, len(planned), stage.name)
    return told


def keep(work: Work, name: str, apply: Callable[[Transaction], dict[str, Any]]) -> dict[str, Any]:
    """Run a stage of one batch, unless it is done: what it came to."""
    return run_stages(work, [Planned(name, lambda tx, _: (apply(tx), True))])[name]


def done(work: Work, name: str) -> dict[str, Any] | None:
    """What a stage that is done came to; None while it is not."""
    with work.read() as tx:
        found = maintenance_runs.stages(tx, work.scope, work.job_id).get(name)
    return found.told if found is not None and found.done else None


def _run(work: Work, stage: Planned, told: dict[str, Any]) -> dict[str, Any]:
    finished = False
    while not finished:
        try:
            told, finished = _batch(work, stage.name, told, stage.step)
        except (KipError, psycopg.Error, ArithmeticError, LookupError, TypeError, ValueError) as e:
            if is_outage(e):
                raise
            log.exception("maintenance.stage_failed", stage=stage.name, job=work.job_id)
            failure = e.code if isinstance(e, BrainError) else "internal_error"
            told, finished = _batch(
                work,
                stage.name,
                {**told, "error": f"{failure}: {stage.name} was left off; see the log."},
                lambda _, told: (told, True),
            )
        work.checkpoint()
    return told


def _batch(
    work: Work, name: str, told: Mapping[str, Any], step: Step
) -> tuple[dict[str, Any], bool]:
    def apply(tx: Transaction) -> tuple[dict[str, Any], bool]:
        after, finished = step(tx, dict(told))
        maintenance_runs.drop_stages(tx, work.scope, other_than=work.job_id)
        stage = Stage(name, after, finished)
        maintenance_runs.keep_stage(tx, work.scope, work.job_id, stage)
        return after, finished

    return work.commit_batch(apply, {**(work.cursor or {}), "stage": name})
