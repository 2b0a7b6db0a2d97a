"""Names whose last word carries a digit are kept whole."""

import pytest

from tests.unit.formation.spoken import formed


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("I live in Sector7.", "Ann lives_in Sector7"),
        ("I live in District9.", "Ann lives_in District9"),
        ("I live in Place0.", "Ann lives_in Place0"),
        ("I live in Sector7b.", "Ann lives_in Sector7b"),
        ("I live in Neo-Tokyo3.", "Ann lives_in Neo-Tokyo3"),
        ("I'm from Block12.", "Ann comes_from Block12"),
        ("I live in Area51, near Reno.", "Ann lives_in Area51"),
        ("My boss is User7.", "Ann reports_to User7"),
        ("I have a cat named Neo2.", "Ann has_pet Neo2"),
        ("I work at Studio54.", "Ann works_for Studio54"),
    ],
)
def test_a_name_with_a_digit_is_kept_whole(text: str, claim: str) -> None:
    assert formed(text) == {claim}


def test_a_number_after_a_name_is_no_part_of_it() -> None:
    assert formed("I live in Oslo 3 years now.") == {"Ann lives_in Oslo"}
