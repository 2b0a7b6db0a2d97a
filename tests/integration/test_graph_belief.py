"""The belief cases answered out of the store: written by a commit, read back by the slot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from storage.database import Database, Scope
from storage.graph import claims, slots
from storage.graph.belief import SlotBelief
from storage.graph.changes import (
    Change,
    ChangeSet,
    CreateAssertion,
    EnsureProposition,
    UpsertConcept,
)
from storage.graph.commit import commit
from tests.contract.belief_setup import Assert, Upsert, read
from tests.contract.test_belief_cases import cases, differences, question


def by_concept_key(slot: SlotBelief, keys: dict[str, str]) -> SlotBelief:
    """The slot with its candidates named by the key of their concept."""

    def name(candidate: str) -> str:
        return keys[candidate.removeprefix("e:")]

    return replace(
        slot,
        accepted=tuple(map(name, slot.accepted)),
        candidates={name(candidate): belief for candidate, belief in slot.candidates.items()},
    )


def change_set(upserts: list[Upsert], asserts: list[Assert]) -> ChangeSet:
    changes: list[Change] = [
        UpsertConcept(
            u.handle, type=u.type, key=u.key, name=u.fields.get("name"), attributes=u.attributes
        )
        for u in upserts
    ]
    for a in asserts:
        proposition = f"?p_{a.handle[1:]}"
        changes.append(EnsureProposition(proposition, a.subject, a.predicate, a.object))
        changes.append(
            CreateAssertion(
                a.handle,
                proposition,
                a.by,
                a.mode,  # type: ignore[arg-type]
                a.stance,  # type: ignore[arg-type]
                asserted_at=a.at,
                valid=a.valid,
                contexts=a.contexts,
                client_key=a.key,
            )
        )
    return ChangeSet(tuple(changes))


def test_all_belief_cases_share_a_space_and_are_answered_out_of_it(
    database: Database, space: str
) -> None:
    scope = Scope(space)
    wrong: list[str] = []
    checks = 0
    scenarios = [(case, *read(case["setup"])) for case in cases()]
    with database.transaction(scope) as tx:
        for _, upserts, asserts in scenarios:
            commit(tx, scope, "tester", change_set(upserts, asserts), tx_class="test")
    with database.transaction(scope, snapshot=True) as tx:
        for case, upserts, _ in scenarios:
            by_key = claims.concepts(tx, scope, [(u.type, u.key) for u in upserts])
            keys = {element_id: key for (_, key), element_id in by_key.items()}
            kinds: dict[str, Any] = {u.key: u.type for u in upserts}
            ids = {key: by_key[kinds[key], key] for key in kinds}
            for check in case["checks"]:
                asked, ask = question(check, ids)
                slot = slots.slot_of(
                    tx,
                    scope,
                    ids[asked["subject"]],
                    asked["predicate"],
                    ask,
                    object_id=ids[asked["object"]],
                )
                named = by_concept_key(slot.belief, keys)
                checks += 1
                wrong += [
                    f"{case['id']} {ask.policy} {asked['at']}: {difference}"
                    for difference in differences(check, asked["object"], named)
                ]
    assert checks == 640
    assert not wrong, f"{len(wrong)} differences, first: {wrong[:5]}"
