"""The lock files: complete, pinned by hash, and of no particular machine."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from storage.settings import PROJECT_ROOT

LOCKS = ("requirements.lock", "requirements-dev.lock")
_ENTRY = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", re.M)


def pins(name: str) -> dict[str, str]:
    text = (PROJECT_ROOT / "deploy" / name).read_text()
    return {canonicalize_name(package): version for package, version in _ENTRY.findall(text)}


def project() -> dict:
    with (PROJECT_ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


@pytest.mark.parametrize("name", LOCKS)
def test_every_entry_has_a_hash_and_none_an_address(name: str) -> None:
    text = (PROJECT_ROOT / "deploy" / name).read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    packages = [entry for entry in entries if not entry.startswith("#")]
    assert packages
    assert all("--hash=sha256:" in entry for entry in packages)
    assert not re.search(r"://|--index-url|--find-links|^-e", text, re.M)


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_holds_what_the_project_asks_for(name: str) -> None:
    wanted = list(project()["project"]["dependencies"])
    if name == "requirements-dev.lock":
        wanted += project()["dependency-groups"]["dev"]
    locked = pins(name)
    for requirement in map(Requirement, wanted):
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not in {name}"
        assert requirement.specifier.contains(version), f"{requirement} is {version} in {name}"


def test_both_locks_agree() -> None:
    runtime, development = (pins(name) for name in LOCKS)
    assert runtime.items() <= development.items()
