"""How gunicorn serves the API (design section 11): threads for waiting requests and streams.

The application is made after the fork, so that pools, listeners and loops belong to one process.
"""

from __future__ import annotations

import ipaddress
import os
from typing import Any

from storage.credentials import cwt
from storage.errors import Unavailable
from storage.settings import settings


def _address() -> str:
    """Host and port; refuses an address that others can reach, while nothing asks who calls.

    Also refuses keys that cannot be read, before the first request meets them.
    """
    host = settings().host
    keys = cwt.public_keys(settings().ed25519_pubkeys)
    loopback = host == "localhost"
    if not loopback:
        try:
            loopback = ipaddress.ip_address(host).is_loopback
        except ValueError:
            loopback = False
    if not loopback and not keys:
        raise Unavailable(
            f"Without ED25519_PUBKEYS nobody is asked who they are, and the API binds to loopback "
            f"only; {host} is not loopback. `brainstem keys new` makes a pair of keys."
        )
    return f"[{host}]:{settings().port}" if ":" in host else f"{host}:{settings().port}"


bind = _address()
worker_class = "deploy.gunicorn_worker.ApiWorker"
workers = settings().api_processes
threads = settings().api_threads
# Requests that wait for a receipt beat by themselves; this is for a process that hangs whole.
timeout = 60
graceful_timeout = 5
keepalive = 30
preload_app = False
control_socket_disable = True
loglevel = settings().log_level.lower()
errorlog = "-"
accesslog = None
# The beat file in memory: a slow disk must not look like a hanging process.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def on_starting(server: Any) -> None:
    """Import once for all processes; what belongs to one process is made after the fork."""
    import api.app  # noqa: F401


def post_fork(server: Any, worker: Any) -> None:
    """Size the pools of the new process before its first statement."""
    from storage.database import size_pools

    size_pools(settings().api_pool_size)


def worker_exit(server: Any, worker: Any) -> None:
    """Give the connections back at once rather than when the server notices."""
    from storage.database import database

    database().close()
