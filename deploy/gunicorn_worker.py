"""gunicorn's thread worker, except that the head of a request has to arrive in time.

gunicorn reads the head in one of its threads, on a socket that may stay silent for ever; as many
half requests as there are threads would stop the whole server. Bodies have time-outs of their own
(`api.negotiation`).
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any

from gunicorn.workers.gthread import DEFAULT_WORKER_DATA_TIMEOUT, ThreadWorker

from api.deadlines import deadlines
from storage.settings import settings


class ApiWorker(ThreadWorker):
    """The worker class of `deploy.gunicorn_conf`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._reading = threading.local()

    def handle(self, conn: Any) -> Any:
        """Serve a connection; one whose head is not here in time is closed without an answer."""
        # the wait for the first byte, which gunicorn itself bounds, is within it
        seconds = DEFAULT_WORKER_DATA_TIMEOUT + settings().body_seconds
        with ExitStack() as head:
            head.enter_context(deadlines().of(conn.sock, seconds))
            self._reading.head = head
            return super().handle(conn)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer a request whose head is here: what follows has all the time it needs.

        A body that is too large is refused unread, and its client told that the connection ends.
        """
        self._reading.head.close()
        length = dict(req.headers).get("CONTENT-LENGTH", "")
        if length.isdecimal() and int(length) > settings().max_body_bytes:
            req.force_close()
        return super().handle_request(req, conn)
