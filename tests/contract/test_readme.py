"""The README says of the language what the server itself says of it."""

from __future__ import annotations

from storage.kip.meta.capabilities import markdown
from tests.services import ROOT


def test_the_capabilities_in_the_readme_are_those_of_describe_capabilities() -> None:
    assert markdown() in (ROOT / "README.md").read_text(encoding="utf-8")
