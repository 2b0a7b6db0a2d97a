"""Commands that need a store but no `brainstem up` bring their own servers while they run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from deploy.embedded.folder import DataFolder
from deploy.embedded.process import processes_in
from storage.settings import PROJECT_ROOT

_USE = """
import sys
from pathlib import Path
from deploy.services import attached
with attached(Path(sys.argv[1])):
    import psycopg, redis
    from storage import migrations
    from storage.settings import settings
    with psycopg.connect(settings().database_url) as conn:
        conn.execute("create table if not exists seen (n int)")
        conn.execute("insert into seen values (1)")
        print(conn.execute("select count(*) from seen").fetchone()[0])
    with redis.Redis.from_url(settings().redis_url) as client:
        print(client.incr("seen"))
    current, newest = migrations.state()
    print(current == newest)
"""


def test_servers_of_a_command_s_own_start_migrated_and_stop_with_it(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    environment["PYTHONPATH"] = str(PROJECT_ROOT)
    folder = DataFolder(tmp_path / "data")
    sockets = folder.sockets()
    for expected in ("1", "2"):
        answer = subprocess.run(
            [sys.executable, "-c", _USE, str(folder.path)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert answer.returncode == 0, answer.stderr
        assert answer.stdout.split() == [expected, expected, "True"]
        assert not folder.is_locked()
        assert not processes_in(folder.postgres, "postgres")
        assert not processes_in(folder.valkey, "valkey-server")
        assert not sockets.exists()
