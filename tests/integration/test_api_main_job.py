"""The main job over HTTP with a real worker: a conversation in, its receipt, an answer out."""

from __future__ import annotations

import json

from tests.services import ROOT
from tests.unit.api.calling import eventually

DATA = ROOT / "tests" / "data"


def test_what_was_formed_is_recalled_with_its_sources(start_api, worker, space):
    worker(queues="interactive,memory,knowledge")
    api = start_api()
    conversation = json.loads((DATA / "conversation.json").read_text(encoding="utf-8"))
    accepted = api.client.post(f"/v1/{space}/formation", json=conversation).json()["result"]
    path = f"/v1/{space}/jobs/{accepted['job']}"
    read = api.client.get

    def ended():
        job = read(path).json()["result"]
        return job if job["state"] not in ("accepted", "running") else None

    job = eventually(ended, seconds=60)
    assert job["state"] == "succeeded", job.get("error")
    assert job["receipt"] == accepted["receipt"]
    assert job["progress"]["phase"] == "available"
    assert job["progress"]["disposition"] == "formed"
    record = read(f"/v1/{space}/conversations/{accepted['conversation']}").json()["result"]
    assert record["status"] == "completed"
    assert record["messages"][: len(conversation["messages"])] == conversation["messages"]
    info = read(f"/v1/{space}/info").json()["result"]
    assert info["concepts"] > 0
    assert info["propositions"] > 0
    assert info["formation_processed_id"] == accepted["conversation"]

    for question in json.loads((DATA / "questions.json").read_text(encoding="utf-8")):
        response = api.client.post(f"/v1/{space}/recall", json={"query": question["query"]})
        assert response.status_code == 200, response.text
        answer = response.json()["result"]
        assert "failed_reason" not in answer
        for spellings in question["expect"]:
            assert any(word in answer["content"] for word in spellings), answer["content"]
        assert answer["sources"]
        run = read(f"/v1/{space}/conversations/{answer['conversation']}?collection=recall")
        assert run.json()["result"]["status"] == "completed"
