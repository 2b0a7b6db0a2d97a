"""The embedded PostgreSQL: durable, private, and never in its own way."""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from deploy.embedded.folder import DataFolder
from deploy.embedded.postgres import PostgresServer
from deploy.embedded.process import ServerFailed, processes_in
from deploy.services import postgres_of
from storage.settings import PROJECT_ROOT
from tests.services import wait_for


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[DataFolder]:
    folder = DataFolder(tmp_path / "data")
    folder.make()
    yield folder
    for path in folder.sockets().iterdir():
        path.unlink()
    folder.sockets().rmdir()


@pytest.fixture
def server(folder: DataFolder) -> Iterator[PostgresServer]:
    server = postgres_of(folder)
    yield server
    server.stop("immediate")


def count(url: str) -> int:
    with psycopg.connect(url) as conn:
        row = conn.execute("select count(*) from kept").fetchone()
        assert row is not None
        return int(row[0])


def kill_all(server: PostgresServer) -> None:
    """Kill the postmaster and every backend; one that followed another into death counts, too."""
    for pid in processes_in(server.cluster, "postgres"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def fill(url: str, rows: int) -> None:
    with psycopg.connect(url) as conn:
        conn.execute("create table if not exists kept (n int)")
        conn.execute("insert into kept select generate_series(1, %s)", [rows])


def test_committed_rows_survive_kill_9_of_the_server_and_all_its_backends(
    server: PostgresServer,
) -> None:
    server.start()
    fill(server.url, 1000)
    kill_all(server)
    server.start()
    assert count(server.url) == 1000


def children_of(server: PostgresServer) -> dict[str, int]:
    """The lasting processes of the server itself, by their titles."""
    assert server.process is not None
    pid = server.process.pid
    found = {}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(OSError):
            title = Path(f"/proc/{child}/cmdline").read_text().rstrip("\0 ")
            if "autovacuum worker" not in title and "brainstem" not in title:
                found[title] = int(child)
    return found


def test_it_recovers_from_kill_9_of_any_process_of_its_own(server: PostgresServer) -> None:
    server.start()
    fill(server.url, 10)
    for title in children_of(server):
        wait_for(lambda title=title: title in children_of(server), what=title)  # type: ignore[misc]
        killed = children_of(server)[title]
        os.kill(killed, signal.SIGKILL)
        wait_for(
            lambda title=title, killed=killed: children_of(server).get(title, killed) != killed,  # type: ignore[misc]
            what=f"another {title}",
        )
        wait_for(server.is_ready, what=f"recovery from the death of {title}")
        assert count(server.url) == 10


def test_it_starts_again_after_kill_9_of_the_postmaster_alone(server: PostgresServer) -> None:
    server.start()
    fill(server.url, 10)
    assert server.process is not None
    with psycopg.connect(server.url) as idle:
        server.process.kill()
        server.process.wait()
        server.start()
        assert count(server.url) == 10
        with pytest.raises(psycopg.OperationalError):
            idle.execute("select 1")


def test_it_writes_through_and_opens_no_port(server: PostgresServer) -> None:
    server.start()
    with psycopg.connect(server.url) as conn:
        rows = conn.execute(
            "select name, setting from pg_settings where name = any(%s)",
            [["fsync", "full_page_writes", "synchronous_commit", "listen_addresses"]],
        ).fetchall()
    assert dict(rows) == {
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "listen_addresses": "",
    }


def test_brainstem_logs_in_as_the_owner_who_is_no_superuser(server: PostgresServer) -> None:
    server.start()
    with psycopg.connect(server.url) as conn:
        row = conn.execute(
            "select rolsuper, rolbypassrls from pg_roles where rolname = current_user"
        ).fetchone()
        extensions = {name for (name,) in conn.execute("select extname from pg_extension")}
    assert row == (False, False)
    assert {"vector", "pg_trgm", "pg_stat_statements"} <= extensions


def test_a_half_made_cluster_is_made_anew(server: PostgresServer) -> None:
    draft = server.cluster.with_name("postgres.new")
    draft.mkdir()
    (draft / "PG_VERSION").write_text("18\n")
    server.start()
    assert server.is_ready()
    assert not draft.exists()


def test_a_stale_pid_file_that_names_a_living_stranger_blocks_nothing(
    server: PostgresServer,
) -> None:
    server.start()
    fill(server.url, 5)
    pid_file = server.cluster / "postmaster.pid"
    content = pid_file.read_text().splitlines()
    kill_all(server)
    assert server.process is not None
    server.process.wait()
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        pid_file.write_text("\n".join([str(stranger.pid), *content[1:]]) + "\n")
        server.start()
        assert count(server.url) == 5
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_cluster_of_another_major_version_is_refused(server: PostgresServer) -> None:
    server.cluster.mkdir(parents=True, mode=0o700)
    (server.cluster / "PG_VERSION").write_text("12\n")
    with pytest.raises(ServerFailed, match="PostgreSQL 12"):
        server.start()


def test_a_server_that_cannot_start_says_what_its_log_says(server: PostgresServer) -> None:
    server.options["shared_buffers"] = "nonsense"
    with pytest.raises(ServerFailed, match="shared_buffers"):
        server.start()


def test_a_deep_data_folder_still_has_short_socket_paths(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / ("deep" * 30) / ("deeper" * 20))
    folder.make()
    server = postgres_of(folder)
    try:
        server.start()
        assert server.is_ready()
        sockets = [
            path for path in folder.sockets().iterdir() if stat.S_ISSOCK(path.stat().st_mode)
        ]
        assert sockets
        assert all(len(os.fsencode(path)) < 107 for path in sockets)
    finally:
        server.stop("immediate")
        for path in folder.sockets().iterdir():
            path.unlink()
        folder.sockets().rmdir()


def test_no_parent_folder_is_opened_to_others(server: PostgresServer, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    server.start()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.cluster.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.sockets.stat().st_mode) == 0o700


def test_it_runs_under_a_borrowed_account_where_root_has_no_user_namespace(
    server: PostgresServer, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root borrows an account")
    tmp_path.chmod(0o700)
    server.run_as = "nobody"
    server.start()
    fill(server.url, 3)
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    assert f"\nUid:\t{pwd.getpwnam('nobody').pw_uid}\t" in status
    kill_all(server)
    server.start()
    assert count(server.url) == 3


def test_it_ends_with_a_starter_that_is_killed_and_the_next_start_finds_all_rows(
    server: PostgresServer, folder: DataFolder
) -> None:
    code = (
        "import sys, time\n"
        "from deploy.embedded.folder import DataFolder\n"
        "from deploy.services import postgres_of\n"
        "server = postgres_of(DataFolder(sys.argv[1]))\n"
        "server.start()\n"
        "print('started', flush=True)\n"
        "time.sleep(600)\n"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", code, str(folder.path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PROJECT_ROOT)},
    )
    with starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"started\n"
        fill(server.url, 7)
        starter.kill()
    wait_for(lambda: not processes_in(server.cluster, "postgres"), what="the end of PostgreSQL")
    server.start()
    assert count(server.url) == 7
