"""The sources at the root of evidence, on references as they were read."""

from __future__ import annotations

from storage.graph.belief_roots import Provenance, _bearing
from storage.graph.policies import DEFAULT, policies, policy_of


def known(**edges: str) -> Provenance:
    """`E_2="E_1 C_1"`: E-2 was made of E-1 and C-1."""
    made = {
        child.replace("_", "-"): set(parents.replace("_", "-").split())
        for child, parents in edges.items()
    }
    return Provenance(
        made_of={child: frozenset(parents) for child, parents in _bearing(made).items()},
        actors={"A-1": "C-9"},
    )


def test_what_was_made_of_something_stands_for_it() -> None:
    found = known(E_3="E_2", E_2="E_1", E_4="E_1 E_5")
    assert found.roots(["E-3"]) == {"E-1"}
    assert found.roots(["E-4"]) == {"E-1", "E-5"}
    assert found.roots(["E-6"]) == {"E-6"}


def test_a_cycle_has_the_roots_outside_of_it_or_none() -> None:
    assert known(E_1="E_2", E_2="E_1").roots(["E-1"]) == set()
    assert known(E_1="E_1").roots(["E-1"]) == set()
    assert known(E_1="E_2", E_2="E_1 E_3").roots(["E-1"]) == {"E-3"}


def test_things_that_say_nothing_are_no_sources_but_lead_to_them() -> None:
    assert known(E_1="C_1").roots(["E-1"]) == {"E-1"}
    assert known(E_1="C_1", C_1="C_2").roots(["E-1"]) == {"E-1"}
    assert known(E_1="C_1", C_1="E_2").roots(["E-1"]) == {"E-2"}


def test_a_claim_at_the_root_is_its_actors_testimony() -> None:
    assert known(E_1="A_1").roots(["E-1"]) == {"testimony:C-9"}


def test_every_policy_describes_itself() -> None:
    described = {policy.id: policy.described() for policy in policies()}
    assert set(described) >= {"kip:memory-default", "kip:structural", "test-deterministic"}
    assert [name for name, one in described.items() if one["default"]] == [DEFAULT]
    order = described["kip:memory-default"]["precedence"]["order"]
    assert order == ["context_specificity", "first_person_testimony", "recency"]
    assert policy_of("test-deterministic").weight("never heard of") is None
