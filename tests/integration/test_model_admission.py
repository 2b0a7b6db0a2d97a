"""The limit on model calls that all processes share, on a real PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import LiteralString

import psycopg
import pytest
from pydantic import BaseModel

from pipelines.ports.admission import CLASS, Slots
from pipelines.ports.models import Question, language_model
from pipelines.ports.pydantic_ai_models import PydanticAIModel
from storage.errors import Cancelled, DatabaseUnavailable, ModelUnavailable
from storage.settings import reload, settings
from tests import providers
from tests.providers import Answer, Held, Provider, Status
from tests.services import ROOT, Api, Process, Services, wait_for

provider = providers.provider


class Empty(BaseModel):
    """Nothing."""


QUESTION = Question("i", "p", Empty)

#: holds a slot and says so, until its input ends
HOLDER = """
import sys
from pipelines.ports.admission import Slots
with Slots(int(sys.argv[1])).slot() as i:
    print("holding", i, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def slots(services: Services) -> Iterator[Callable[[int], Slots]]:
    """Makes a limit as another process would see it: with a connection of its own."""
    made: list[Slots] = []

    def make(limit: int) -> Slots:
        made.append(Slots(limit))
        return made[-1]

    yield make
    for each in made:
        each.close()


def held(services: Services) -> int:
    with psycopg.connect(services.admin_url, autocommit=True) as conn:
        row = conn.execute(
            "select count(*) from pg_locks where locktype = 'advisory' and classid = %s"
            " and database = (select oid from pg_database where datname = current_database())",
            (CLASS,),
        ).fetchone()
    assert row is not None
    return int(row[0])


@contextlib.contextmanager
def holder(services: Services, limit: int) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds a slot."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(limit)],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": services.database_url},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("holding")
        yield process
    finally:
        process.kill()
        process.communicate()


def expect_full(slots: Slots) -> None:
    """A waiter tries a few times, gets nothing and gives up when told so."""
    tries: list[int] = []

    def checkpoint() -> None:
        tries.append(1)
        if len(tries) > 4:
            raise Cancelled

    with pytest.raises(Cancelled), slots.slot(checkpoint):
        raise AssertionError("a slot beyond the limit")


def test_never_more_than_the_limit_run_at_once_over_all_holders(
    services: Services, slots: Callable[[int], Slots]
) -> None:
    limit, processes = 3, [slots(3), slots(3)]
    running, peak, lock = 0, 0, threading.Lock()

    def call(number: int) -> int:
        nonlocal running, peak
        with processes[number % 2].slot() as slot:
            with lock:
                running += 1
                peak = max(peak, running)
            expect_full(Slots(0))  # some work, during which others try
            with lock:
                running -= 1
            return slot

    with ThreadPoolExecutor(12) as pool:
        used = list(pool.map(call, range(60)))
    assert set(used) <= set(range(limit))
    assert peak <= limit
    assert held(services) == 0


def test_a_slot_is_free_after_an_error_and_goes_to_a_waiter_of_the_same_process(
    slots: Callable[[int], Slots],
) -> None:
    one = slots(1)
    entered = threading.Event()

    def wait() -> int:
        with one.slot(entered.set) as slot:
            return slot

    def fail() -> None:
        with one.slot():
            waiters.append(pool.submit(wait))
            assert entered.wait(20)
            raise KeyError

    with ThreadPoolExecutor(1) as pool:
        waiters: list[Future[int]] = []
        with pytest.raises(KeyError):
            fail()
        assert waiters[0].result(20) == 0


def test_a_full_limit_makes_waiters_wait_and_waiting_can_be_cancelled(
    services: Services, slots: Callable[[int], Slots]
) -> None:
    mine, theirs = slots(1), slots(1)
    with theirs.slot():
        expect_full(mine)
        assert held(services) == 1
    with mine.slot():
        expect_full(theirs)


def test_a_killed_holder_leaves_no_slot_behind(
    services: Services, slots: Callable[[int], Slots]
) -> None:
    mine = slots(2)
    with holder(services, 2) as first, holder(services, 2):
        assert held(services) == 2
        expect_full(mine)
        first.kill()
        first.wait()
        with mine.slot():
            assert held(services) == 2
    wait_for(lambda: held(services) == 0, what="the end of the last holder's session")


def test_no_transaction_is_open_while_a_slot_is_held(
    services: Services, slots: Callable[[int], Slots]
) -> None:
    with slots(2).slot(), psycopg.connect(services.admin_url) as conn:
        rows = conn.execute(
            "select state, xact_start from pg_stat_activity"
            " where application_name = 'brainstem-models'"
        ).fetchall()
    # other tests of this process may have left a session of theirs open
    assert rows
    assert set(rows) == {("idle", None)}


def test_a_restart_of_postgres_loses_no_slot_for_good(
    services: Services, slots: Callable[[int], Slots]
) -> None:
    mine, theirs = slots(2), slots(2)
    with mine.slot():
        services.restart_postgres("immediate")
        # the broken connection shows at the next use; what is still held is locked anew
        with pytest.raises(DatabaseUnavailable), mine.slot():
            raise AssertionError("a slot over a broken connection")
        with mine.slot():
            assert held(services) == 2
            expect_full(theirs)
    assert held(services) == 0


def test_without_a_database_the_failure_is_one_that_passes(
    services: Services, slots: Callable[[int], Slots], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    reload()
    try:
        with pytest.raises(DatabaseUnavailable) as caught, slots(1).slot():
            raise AssertionError("a slot without a database")
    finally:
        monkeypatch.undo()
        reload()
    assert caught.value.retry


@pytest.mark.parametrize("family", ["openai", "anthropic", "gemini"])
def test_calls_of_several_processes_stay_within_the_limit_at_the_provider(
    services: Services, slots: Callable[[int], Slots], provider: Provider, family: str
) -> None:
    go = threading.Event()
    provider.script(*[Held(go, Answer({}))] * 2)
    provider.otherwise = Answer({})
    models = [
        PydanticAIModel("space", provider.config(family), timeout=30, slots=slots(2))
        for _ in range(3)
    ]
    with ThreadPoolExecutor(9) as pool:
        asked = [pool.submit(models[i % 3].ask, QUESTION) for i in range(18)]
        provider.wait_for_requests(2)
        assert held(services) == 2
        go.set()
        for each in asked:
            each.result(60)
    assert provider.peak == 2
    assert len(provider.requests) == 18
    assert held(services) == 0


def test_two_servers_with_two_workers_stay_within_the_limit_at_the_provider(
    services: Services,
    clean: None,
    start_api: Callable[..., Api],
    worker: Callable[..., Process],
    provider: Provider,
) -> None:
    go = threading.Event()
    empty = Answer(
        {"claims": [], "retractions": [], "commitments": [], "constraints": [], "summary": ""}
    )
    provider.script(*[Held(go, empty)] * 2)
    provider.otherwise = empty
    env = {
        "LLM_MAX_CONCURRENCY": "2",
        "BRAINSTEM_MODEL_FAMILY": "openai",
        "BRAINSTEM_MODEL_NAME": "m-1",
        "BRAINSTEM_MODEL_API_BASE": f"{provider.url}/v1",
        "BRAINSTEM_MODEL_API_KEY": "k",
    }

    def counted(query: LiteralString) -> int:
        with psycopg.connect(services.admin_url) as conn:
            row = conn.execute(query).fetchone()
        assert row is not None
        return int(row[0])

    servers = [start_api(env=env) for _ in range(2)]
    for _ in range(2):
        worker(queues="memory", threads=4, env=env)
    said = {"messages": [{"role": "user", "name": "Ana", "content": "I live in Utrecht."}]}
    # who comes late finds the queue in the other's hands
    wait_for(lambda: counted("select count(*) from worker") == 2, seconds=90, what="two workers")
    for number in range(16):
        # formations of one space run one after the other: each has a space of its own
        client, space = servers[number % 2].client, f"limited_{number}"
        client.post("/admin/create_space", json={"user": "a", "space_id": space, "tier": 0})
        assert client.post(f"/v1/{space}/formation", json=said).status_code == 200

    # both have more under way than may ask a model
    under_way = (
        "select count(*) from (select from job where state = 'running' and kind = 'formation'"
        " group by lease_owner having count(*) > 2) as busy"
    )
    wait_for(lambda: counted(under_way) == 2, seconds=90, what="runs in both workers")
    provider.wait_for_requests(2, seconds=90)
    assert held(services) == 2
    go.set()
    done = "select count(*) from job where state = 'succeeded' and kind = 'formation'"
    wait_for(lambda: counted(done) == 16, seconds=120, what="their ends")
    assert provider.peak == 2
    assert len(provider.requests) >= 16


def test_a_failed_call_gives_its_slot_back(
    services: Services, slots: Callable[[int], Slots], provider: Provider
) -> None:
    provider.script(Status(500))
    with pytest.raises(ModelUnavailable):
        PydanticAIModel("space", provider.config(), timeout=30, slots=slots(1)).ask(QUESTION)
    assert held(services) == 0


def test_the_model_of_a_space_is_behind_the_limit_of_the_settings(
    services: Services, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_MAX_CONCURRENCY", "1")
    reload()
    go = threading.Event()
    provider.script(Held(go, Answer({})))
    provider.otherwise = Answer({})
    try:
        model = language_model("space", provider.config(), settings())
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(model.ask, QUESTION) for _ in range(4)]
            provider.wait_for_requests(1)
            assert held(services) == 1
            go.set()
            for each in asked:
                each.result(60)
    finally:
        monkeypatch.undo()
        reload()
    assert provider.peak == 1
    assert len(provider.requests) == 4


def test_a_session_that_was_cut_off_while_it_rested_costs_no_call(
    services: Services, slots: Callable[[int], Slots]
) -> None:
    mine = slots(2)
    with mine.slot():
        pass
    services.restart_postgres("immediate")
    with mine.slot():
        assert held(services) == 1
