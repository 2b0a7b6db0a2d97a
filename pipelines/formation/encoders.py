"""Which encoder forms a space's memory: its language model, or the built-in rules."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.formation.builtin import BuiltinEncoder
from pipelines.formation.intents import Intent
from pipelines.formation.model_encoder import ModelEncoder, Remembered
from pipelines.formation.proposal import Encoder, KnownClaim
from pipelines.formation.proposal import Usage as ModelUsage
from pipelines.formation.reading import known_claims
from pipelines.ports import models
from pipelines.work import Usage, Work
from storage.clock import from_millis
from storage.database import Transaction
from storage.memory_scopes import contexts_of, elements, of_elements
from storage.search import bm25
from storage.search.analyser import terms
from storage.settings import settings

_BUILTIN = BuiltinEncoder()
_FOUND = 8
#: So many times as many hits are looked at, since some may be of other scopes.
_SPARE = 4


def encoder_for(work: Work) -> Encoder:
    """The encoder of this run's space.

    Raises `InvalidInput` when a model is configured that cannot be used: forming memory by rules
    where an operator asked for a model would be a silent change of meaning.
    """
    model = models.model_of(work, settings())
    if model is None:
        return _BUILTIN

    def charge(spent: ModelUsage) -> None:
        work.charge(
            Usage(
                "formation",
                spent.input_tokens,
                spent.output_tokens,
                spent.cached_tokens,
                spent.requests,
            )
        )

    return ModelEncoder(
        model,
        memory=_Memory(work),
        checkpoint=work.checkpoint,
        charge=charge,
    )


class _Memory:
    """What a model may look up in its space while it encodes, a snapshot a call.

    Passages are those that a recall in the run's scope would find, claims those of that very scope.
    """

    def __init__(self, work: Work) -> None:
        self._work = work

    def search_memory(self, query: str) -> Sequence[Remembered]:
        """Messages that match the words of `query`, the best first."""
        with self._work.read() as tx:
            hits = bm25.search(tx, self._work.scope, "evidence", terms(query), _FOUND * _SPARE)
            sets = of_elements(tx, self._work.scope, [hit.element_id for hit in hits])
            contexts = self._contexts(tx) or frozenset()
        seen = {element for element, found in sets.items() if found <= contexts}
        hits = [hit for hit in hits if hit.element_id in seen][:_FOUND]
        oldest = from_millis(0)
        found = []
        for hit in hits:
            speaker, separator, words = hit.text.partition(": ")
            found.append(Remembered(words if separator else speaker, speaker, hit.at or oldest))
        return found

    def read_claims(self, person: str) -> Sequence[KnownClaim]:
        """What memory holds about `person`."""
        with self._work.read() as tx:
            return known_claims(tx, self._work.scope, person, self._contexts(tx))

    def _contexts(self, tx: Transaction) -> frozenset[str] | None:
        wanted = Intent.of(self._work.payload).scope
        return contexts_of(wanted, elements(tx, self._work.scope, wanted))
