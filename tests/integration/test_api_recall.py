"""`POST /v1/{space}/recall`: waits for its receipt, and says what came of it."""

from __future__ import annotations

import threading

import pytest

from storage import settings
from tests.unit.api.calling import claim, eventually, finish, new_client

ANSWER = {
    "content": "Ada lives in Utrecht.",
    "usage": {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 0, "requests": 1},
    "sources": [{"ref": "E-1", "text": "I live in Utrecht."}],
}


@pytest.fixture
def client(database):
    return new_client()


class Asking(threading.Thread):
    """A recall that waits in a thread of its own."""

    def __init__(self, space, **headers):
        super().__init__()
        self._space, self._headers = space, headers
        self.start()

    def run(self):
        self.response = new_client().post(
            f"/v1/{self._space}/recall", json={"query": "Where?"}, headers=self._headers
        )

    def answer(self):
        self.join(20)
        assert not self.is_alive()
        return self.response


def waiting_job(client, space):
    path = f"/v1/{space}/jobs?kind=recall&state=accepted"
    return eventually(lambda: client.get(path).json["result"])[0]["id"]


def test_the_request_waits_for_the_answer_of_its_job(client, space):
    asking = Asking(space)
    job_id = waiting_job(client, space)
    claim(space, job_id)
    assert asking.is_alive()
    finish(space, job_id, result=ANSWER)
    response = asking.answer()
    assert response.status_code == 200
    result = response.json["result"]
    assert {name: result[name] for name in ANSWER} == ANSWER
    assert result["job"] == job_id
    assert result["receipt"]["operation"] == "recall"
    kept = client.get(f"/v1/{space}/conversations/{result['conversation']}?collection=recall")
    assert kept.json["result"]["messages"] == [{"role": "user", "content": "Where?"}]


def test_markdown_is_the_answer_alone(client, space):
    asking = Asking(space, Accept="text/markdown")
    job_id = waiting_job(client, space)
    claim(space, job_id)
    finish(space, job_id, result=ANSWER)
    response = asking.answer()
    assert response.content_type == "text/markdown; charset=utf-8"
    assert response.data.decode() == ANSWER["content"]


def test_when_the_time_is_up_the_receipt_is_the_answer(client, space):
    response = client.post(
        f"/v1/{space}/recall", json={"query": "Where?"}, headers={"Prefer": "wait=0"}
    )
    assert response.status_code == 202
    result = response.json["result"]
    assert result["content"] == ""
    job = client.get(response.headers["Location"]).json["result"]
    assert job["receipt"] == result["receipt"]
    assert job["progress"]["phase"] == "recorded"


def test_the_servers_own_bound_ends_a_wait(client, space, monkeypatch):
    monkeypatch.setenv("BRAINSTEM_WAIT_SECONDS", "0.05")
    settings.reload()
    try:
        headers = {"Prefer": "wait=1000"}
        response = client.post(f"/v1/{space}/recall", json={"query": "x"}, headers=headers)
        assert response.status_code == 202
    finally:
        monkeypatch.undo()
        settings.reload()


def test_without_a_free_place_the_receipt_comes_at_once(client, space, monkeypatch):
    monkeypatch.setenv("BRAINSTEM_API_WAITS", "1")
    settings.reload()
    try:
        first = Asking(space)
        job_id = waiting_job(client, space)
        assert client.post(f"/v1/{space}/recall", json={"query": "x"}).status_code == 202
        claim(space, job_id)
        finish(space, job_id, result=ANSWER)
        assert first.answer().status_code == 200
    finally:
        monkeypatch.undo()
        settings.reload()


def test_a_failed_run_says_why_and_has_no_content(client, space):
    error = {"code": "model_rejected", "message": "The model provider refused the request."}
    asking = Asking(space)
    job_id = waiting_job(client, space)
    claim(space, job_id)
    finish(space, job_id, error=error)
    response = asking.answer()
    assert response.status_code == 200
    result = response.json["result"]
    assert result["content"] == ""
    assert result["failed_reason"] == error["message"]
    kept = client.get(f"/v1/{space}/conversations/{result['conversation']}?collection=recall")
    assert kept.json["result"]["status"] == "failed"
    assert kept.json["result"]["failed_reason"] == error["message"]


def test_a_failed_run_is_an_error_where_the_format_cannot_say_so(client, space):
    asking = Asking(space, Accept="text/markdown")
    job_id = waiting_job(client, space)
    claim(space, job_id)
    finish(space, job_id, error={"code": "model_rejected", "message": "Refused."})
    response = asking.answer()
    assert response.status_code == 500
    assert response.json == {
        "message": "Refused.",
        "data": {"code": "run_failed", "reason": "model_rejected", "job": job_id},
    }


def test_a_cancelled_run_ends_the_wait(client, space):
    asking = Asking(space)
    job_id = waiting_job(client, space)
    assert client.post(f"/v1/{space}/jobs/{job_id}/cancel").status_code == 200
    assert asking.answer().json["result"]["failed_reason"] == "The job was cancelled."


def test_a_repeated_question_with_its_key_gets_the_first_answer(client, space):
    key = {"Idempotency-Key": "q1"}
    asking = Asking(space, **key)
    job_id = waiting_job(client, space)
    claim(space, job_id)
    finish(space, job_id, result=ANSWER)
    first = asking.answer()
    again = client.post(f"/v1/{space}/recall", json={"query": "Where?"}, headers=key)
    assert again.status_code == 200
    assert again.json == first.json


def test_a_null_budget_is_none(client, space):
    body = {"query": "x", "budget": None, "context": {"counterparty": "ada"}}
    response = client.post(f"/v1/{space}/recall", json=body, headers={"Prefer": "wait=0"})
    assert response.status_code == 202


def test_a_markdown_question_is_taken_verbatim(client, space):
    response = client.post(
        f"/v1/{space}/recall",
        data="Where does *Ada* live?",
        headers={"Content-Type": "text/markdown", "Prefer": "wait=0"},
    )
    assert response.status_code == 202
    number = response.json["result"]["conversation"]
    kept = client.get(f"/v1/{space}/conversations/{number}?collection=recall").json["result"]
    assert kept["messages"] == [{"role": "user", "content": "Where does *Ada* live?"}]
