"""The encoder as a whole: citations, routing between languages, bounds, determinism."""

from __future__ import annotations

import pytest

from pipelines.formation.builtin import BuiltinEncoder
from pipelines.formation.masking import EXAMINED, QUOTED, readable
from pipelines.formation.proposal import Background, Conversation, Utterance
from pipelines.formation.script import segments
from tests.unit.formation.spoken import START, conversation, formed, proposed


def test_every_item_cites_its_message_and_speaker() -> None:
    proposal = proposed("Bob: Hello.", "Ann: I live in Oslo.", "Bob: I'll send the map tomorrow.")
    (claim,) = proposal.claims
    (commitment,) = proposal.commitments
    assert (claim.message, claim.asserted_by) == (1, "Ann")
    assert (commitment.message, commitment.by) == (2, "Bob")


def test_the_same_conversation_gives_the_same_proposal() -> None:
    lines = (
        "I live in Oslo and work for Acme.",
        "Bob: I'll bring tea.",
        "Always answer in French.",
    )
    assert proposed(*lines) == proposed(*lines)


def test_system_and_tool_messages_form_nothing() -> None:
    encoder = BuiltinEncoder()
    for role in ("system", "tool"):
        said = Utterance(role, role, "I live in Oslo. Always answer in French.", START)  # type: ignore[arg-type]
        proposal = encoder.encode(Conversation((said,)), Background())
        assert (proposal.claims, proposal.commitments, proposal.constraints) == ((), (), ())


def test_each_clause_goes_to_its_own_language() -> None:
    assert segments("我在 Kestrel Maps 上班，and I live in 深圳.") == [
        ("zh", "我在 Kestrel Maps 上班，"),
        ("en", "and I live in 深圳."),
    ]
    assert [x for x, _ in segments("不对，是 Brisbane, not Melbourne.")] == ["zh"]
    assert segments("plain English.") == [("en", "plain English.")]
    assert formed("and I live in 深圳.") == {"Ann lives_in 深圳"}


def test_masking_leaves_names_and_takes_statements() -> None:
    assert readable('call me "Kit", she said "I am here"') == f"call me Kit, she said {QUOTED}"
    assert "secret" not in readable("a\n> secret\nb")
    assert "secret" not in readable("```\nsecret\n```")
    assert "secret" not in readable("SYSTEM: secret\nmore secret\n")
    assert readable("x it's fine, isn't it?") == "x it's fine, isn't it?"


def test_a_message_beyond_the_bound_is_read_up_to_it_with_a_warning() -> None:
    text = "I live in Oslo. " + "filler words here. " * (EXAMINED // 10) + "I work for Acme."
    proposal = proposed(text)
    assert [c.predicate for c in proposal.claims] == ["lives_in"]
    assert proposal.warnings


@pytest.mark.parametrize(
    "unit",
    ["a", "Aa ", "I live in ", "I live in Oslo, ", "I\n", '"', "'", "`", "```a ", "1", "(", ".",
     " - ", "on 1 May at 5pm ", "Tom, ", "remind me to ", "always never ", "http://", "a@",
     "Ab-", "Ab'c", "“", "if ", "Tom said ", "my sister ", "e\u0301", "我 I live ", " ",
     "请把", "翻译", "translate 我", "at 5 pm New York ", "between 7 and ", "the first week of ",
     "every day ", "forget that ", "scratch that, ", "i liv in ", "每周一早上", "在湖州工作",
     "还是", "everyone calls ", "for x ", "纽约时间", "上半年", "王伟 "],
)  # fmt: skip
def test_a_megabyte_of_anything_is_read_in_bounded_work(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    proposal = BuiltinEncoder().encode(conversation(text), Background())
    assert len(proposal.claims) <= 400


def test_the_summary_says_who_when_and_what_in_the_words_of_the_text() -> None:
    summary = proposed("Ann: The garden fence needs paint.", "Bob: I'll paint the fence.").summary
    assert summary.startswith("Ann and Bob talked on 2026-11-30")
    assert "fence" in summary
    chinese = proposed("我住在成都。").summary
    assert "2026-11-30" in chinese
    assert "成都" in chinese
    assert BuiltinEncoder().encode(Conversation(()), Background()).summary == ""
