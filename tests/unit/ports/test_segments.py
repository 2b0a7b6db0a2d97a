"""What a deployment adds to our instructions: only ever after them, and never anything odd."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from pipelines.formation import prompts
from pipelines.ports.segments import with_segment
from storage import prompt_segments, settings
from storage.prompt_segments import MAX_BYTES

SEGMENT = "# A. Our house\nWe call the office 'the barn'."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("BRAINSTEM_PROMPTS", str(tmp_path))
    yield tmp_path
    monkeypatch.undo()
    settings.reload()


def test_a_segment_follows_our_instructions_and_takes_nothing_away(folder: Path) -> None:
    (folder / "formation.md").write_text(f"{SEGMENT}\n\n", encoding="utf-8")
    settings.reload()
    assert with_segment("ours", "formation") == f"ours\n{SEGMENT}\n"
    assert with_segment("ours", "recall") == "ours"
    assert prompts.instructions(None) == f"{prompts.INSTRUCTIONS}\n{SEGMENT}\n"


def test_segments_stay_as_they_were_when_the_process_began(folder: Path) -> None:
    file = folder / "recall.md"
    file.write_text(SEGMENT)
    settings.reload()
    file.write_text("# A. Another")
    assert with_segment("ours", "recall").endswith(f"{SEGMENT}\n")


def test_without_a_folder_there_is_none() -> None:
    settings.reload()
    assert with_segment("ours", "maintenance") == "ours"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("formation.md", b"Our house"),
        ("formation.md", b" # A. Our house"),
        ("formation.md", b"# B. Our house"),
        ("formation.md", b""),
        ("recall.md", b"# A. " + b"x" * (MAX_BYTES - 4)),
        ("recall.md", b"# A. \xff"),
        ("Recall.md", b"# A. Our house"),
    ],
)
def test_a_wrong_segment_stops_the_process_before_it_starts(
    folder: Path, name: str, content: bytes
) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(ValidationError) as caught:
        settings.reload()
    assert name in str(caught.value)


def test_a_segment_may_be_as_long_as_the_limit(folder: Path) -> None:
    (folder / "recall.md").write_bytes(b"# A. " + b"x" * (MAX_BYTES - 5))
    settings.reload()
    assert len(prompt_segments.read(folder)["recall"]) == MAX_BYTES


def test_a_folder_that_is_not_there_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRAINSTEM_PROMPTS", str(folder / "nowhere"))
    with pytest.raises(ValidationError):
        settings.reload()
