"""One Dramatiq actor per kind of job. An actor's argument is job ids, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import dramatiq

from jobs import housekeeping
from jobs.broker import LedgerBroker
from jobs.kinds import KINDS
from jobs.runner import Attempt, Pipeline, Runner
from pipelines.work import Effect


def formation(attempt: Attempt) -> Effect:
    """Captured messages to memory."""
    from pipelines.formation.encoders import encoder_for
    from pipelines.formation.run import run
    from pipelines.maintenance.threshold import counted

    return counted(attempt, run(attempt, encoder_for(attempt)))


def recall(attempt: Attempt) -> Effect:
    """A question to an answer with sources."""
    from pipelines.recall.run import run

    return run(attempt)


def briefing(attempt: Attempt) -> Effect:
    """A recall of the Memory Interface to a briefing."""
    from pipelines.briefing.run import run

    return run(attempt)


def maintenance(attempt: Attempt) -> Effect:
    """Keep a space's memory in order."""
    from pipelines.maintenance.run import run

    return run(attempt)


def shadow_eval(attempt: Attempt) -> Effect:
    """Recent questions under two policies."""
    from pipelines.maintenance.shadow import run

    return run(attempt)


def purge(attempt: Attempt) -> Effect:
    """Chosen elements are erased for good."""
    from pipelines.purge.run import run

    return run(attempt)


def forget(attempt: Attempt) -> Effect:
    """An erasure plan is carried out, and looked after."""
    from pipelines.forget.run import run

    return run(attempt)


def embed(attempt: Attempt) -> Effect:
    """Vectors for documents that have none."""
    from pipelines.embed.run import run

    return run(attempt)


#: Pipelines are imported at first use, so that a pool that never forms memory loads no encoder.
PIPELINES: dict[str, Pipeline] = {
    "formation": formation,
    "recall": recall,
    "briefing": briefing,
    "maintenance": maintenance,
    "shadow_eval": shadow_eval,
    "purge": purge,
    "forget": forget,
    "embed": embed,
    "noop": housekeeping.noop,
    "retention": housekeeping.retention,
    "sweep": housekeeping.sweep,
    "maintain_spaces": housekeeping.maintain_spaces,
}


def warm(queues: Sequence[str]) -> None:
    """Load what the first job of these queues would otherwise wait for."""
    if "memory" in queues:
        import_module("pipelines.formation.encoders")
    if "interactive" in queues or "knowledge" in queues:
        from pipelines.ports import embedder, tokens

        embedder.warm()
        import_module("pipelines.recall.run")
        import_module("pipelines.briefing.run")
        tokens.encoding()


def declare(broker: LedgerBroker, runner: Runner) -> None:
    """Declare the actor of every kind on `broker`; each hands its ids to `runner`."""
    for kind in KINDS.values():
        as_actor = dramatiq.actor(actor_name=kind.name, queue_name=kind.queue, broker=broker)
        as_actor(runner.run)
