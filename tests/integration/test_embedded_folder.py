"""The data folder: one Brainstem at a time, and nothing left behind by a kill."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.embedded.folder import AlreadyRunning, DataFolder, UnsafeFolder
from storage.settings import PROJECT_ROOT

_HOLD = """
import sys, time
from deploy.embedded.folder import DataFolder
folder = DataFolder(sys.argv[1])
with folder.locked():
    folder.write_state({"pid": 4711, "base_url": "http://127.0.0.1:1"})
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_holder_is_told_who_runs_and_where(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    assert not folder.is_locked()
    environment = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT)}
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path)], stdout=subprocess.PIPE, env=environment
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert folder.is_locked()
        with pytest.raises(AlreadyRunning, match=r"4711.*http://127.0.0.1:1"), folder.locked():
            pass
        holder.kill()
    with folder.locked():
        assert folder.is_locked()


def test_state_is_private_and_survives_rubbish(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.make()
    folder.write_state({"a": 1})
    file = tmp_path / "run" / "state.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert folder.read_state() == {"a": 1}
    file.write_text("{half")
    assert folder.read_state() == {}


def test_a_socket_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    sockets = DataFolder(tmp_path).sockets()
    try:
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        sockets.chmod(0o755)
        with pytest.raises(UnsafeFolder):
            DataFolder(tmp_path).sockets()
    finally:
        sockets.rmdir()


def test_a_link_in_place_of_the_socket_folder_is_refused(tmp_path: Path) -> None:
    sockets = DataFolder(tmp_path).sockets()
    sockets.rmdir()
    sockets.symlink_to(tmp_path)
    try:
        with pytest.raises(UnsafeFolder):
            DataFolder(tmp_path).sockets()
    finally:
        sockets.unlink()


def test_different_data_folders_have_different_sockets(tmp_path: Path) -> None:
    one, two = DataFolder(tmp_path / "one").sockets(), DataFolder(tmp_path / "two").sockets()
    assert one != two
    one.rmdir()
    two.rmdir()


def test_a_data_folder_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnsafeFolder, match="--data"):
        DataFolder(tmp_path / "file" / "data").make()
