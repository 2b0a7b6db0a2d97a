"""What the server tells of itself: info, health, metrics, its document, and every answer's head."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from prometheus_client.parser import text_string_to_metric_families

from storage.version import VERSION
from tests.unit.api.calling import MESSAGE, claim, finish, new_client, traces


@pytest.fixture
def client(database):
    return new_client()


def test_info_claims_only_what_is_served(client):
    response = client.get("/info")
    assert response.status_code == 200
    assert response.json["name"] == "brainstem"
    assert response.json["version"] == VERSION
    assert response.json["sharding"] == 0
    assert response.json["memory_interface"]["bundles"] == ["memory_basic"]
    assert "default_space" not in response.json["memory_interface"]


def test_a_space_is_made_once_and_tells_of_itself(client, services):
    body = {"user": "ada", "space_id": "made-by.Ada_1", "tier": 3}
    made = client.post("/admin/create_space", json=body)
    assert made.status_code == 200
    info = made.json["result"]
    assert (info["id"], info["owner"], info["tier"]["tier"]) == ("made-by.Ada_1", "ada", 3)
    assert info["public"] is False
    before = traces(services)
    again = client.post("/admin/create_space", json={**body, "user": "eve"})
    assert again.status_code == 409
    assert again.json["data"]["code"] == "conflict"
    assert traces(services) == before
    assert client.get("/v1/made-by.Ada_1/info").json["result"] == info
    assert client.get("/v1/made-by.Ada_1/status").json["result"] == info


def test_the_formation_status_follows_the_work(client, space):
    def status():
        return client.get(f"/v1/{space}/formation_status").json["result"]

    assert status()["conversations"] == 0
    body = {"messages": [MESSAGE]}
    made = client.post(f"/v1/{space}/formation", json=body).json["result"]
    claim(space, made["job"])
    assert status()["conversations"] == 1
    assert status()["formation_processing"] is True
    finish(space, made["job"], error={"code": "x", "message": "No."})
    assert status()["formation_processing"] is False
    assert status()["formation_processed_id"] == made["conversation"]


def test_the_last_maintenance_is_told_by_scope(client, space):
    run = client.post(f"/v1/{space}/maintenance", json={"scope": "quick"}).json["result"]
    claim(space, run["job"])
    at = client.get(f"/v1/{space}/formation_status").json["result"]["maintenance_at"]
    assert at["start_at"] > 1_700_000_000_000
    assert at["quick"] == 0
    finish(space, run["job"], result={})
    at = client.get(f"/v1/{space}/formation_status").json["result"]["maintenance_at"]
    assert at["quick"] >= at["start_at"]
    assert (at["full"], at["daydream"]) == (0, 0)


def test_metrics_count_requests_and_open_jobs(client, space):
    def samples():
        text = client.get("/metrics").data.decode()
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def count(found, status):
        labels = (("method", "POST"), ("route", "/v1/<space_id>/formation"), ("status", status))
        return found.get(("brainstem_http_requests_total", labels), 0)

    before = samples()
    client.post(f"/v1/{space}/formation", json={"messages": [MESSAGE]})
    client.post(f"/v1/{space}/formation", json={})
    client.get("/what/ever/this/is")
    after = samples()
    assert count(after, "200") == count(before, "200") + 1
    assert count(after, "400") == count(before, "400") + 1
    unmatched = (("method", "GET"), ("route", "unmatched"), ("status", "404"))
    assert after[("brainstem_http_requests_total", unmatched)] >= 1
    labels = (("kind", "formation"), ("queue", "memory"), ("state", "accepted"))
    assert after[("brainstem_jobs_open", labels)] >= 1
    assert after[("brainstem_jobs_oldest_waiting_seconds", (("queue", "memory"),))] >= 0
    assert after[("brainstem_workers_alive", (("role", "worker"),))] >= 0
    assert after[("brainstem_database_up", ())] == 1
    route = ("route", "/v1/<space_id>/formation")
    buckets = [
        (float(dict(labels)["le"]), value)
        for (name, labels), value in after.items()
        if name == "brainstem_http_request_seconds_bucket" and route in labels
    ]
    counts = [value for _, value in sorted(buckets)]
    assert counts == sorted(counts)
    assert counts[-1] == after[("brainstem_http_request_seconds_count", (route,))]


def test_all_processes_of_a_server_are_counted_whichever_is_asked(start_api, space):
    api = start_api(env={"BRAINSTEM_API_PROCESSES": "2"})
    for _ in range(20):
        assert api.client.get("/info", headers={"Connection": "close"}).status_code == 200
    pattern = re.compile(r'http_requests_total\{method="GET",route="/info",status="200"\} (\d+)')

    def told():
        text = api.client.get("/metrics", headers={"Connection": "close"}).text
        found = pattern.search(text)
        return int(float(found[1])) if found else 0

    from tests.services import wait_for

    wait_for(lambda: [told() for _ in range(6)] == [20] * 6, what="the same sum from both")


class Links(HTMLParser):
    """Every address that a page names."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("src", "href")]


def test_the_rendered_document_needs_no_outside_host(client):
    page = client.get("/docs")
    assert page.content_type.startswith("text/html")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    links = Links()
    links.feed(page.data.decode())
    assert "/docs/docs.js" in links.found
    for link in links.found:
        assert link.startswith("/")
        assert not link.startswith("//")
        assert client.get(link).status_code == 200
    script = client.get("/docs/docs.js").data.decode()
    assert "://" not in script
    assert "innerHTML" not in script


def test_the_icon_is_an_icon(client):
    response = client.get("/favicon.ico")
    assert response.content_type == "image/x-icon"
    assert response.data[:6] == b"\x00\x00\x01\x00\x01\x00"


def test_head_and_options_are_answered_without_a_body(client, space):
    for path in ("/info", f"/v1/{space}/info", f"/v1/{space}/jobs", "/healthz"):
        head = client.head(path)
        assert head.status_code == 200
        assert head.data == b""
    options = client.options(f"/v1/{space}/formation")
    assert options.status_code == 200
    assert set(options.headers["Allow"].split(", ")) == {"OPTIONS", "POST"}
    preflight = client.options(
        f"/v1/{space}/formation",
        headers={"Origin": "http://localhost:3000", "Access-Control-Request-Method": "POST"},
    )
    assert not [name for name, _ in preflight.headers if name.lower().startswith("access-control")]


def test_every_answer_has_a_request_id_and_is_not_sniffed_or_stored(client, space):
    for response in (client.get("/info"), client.get("/nope"), client.get(f"/v1/{space}/jobs")):
        assert re.fullmatch(r"req-[0-9a-f]{32}", response.headers["X-Request-Id"])
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("given", "kept"),
    [("abc-1", True), ("~" * 128, True), ("x" * 129, False), ("a b", False), ("", False)],
)
def test_a_callers_request_id_is_kept_where_it_has_the_shape_of_one(client, given, kept):
    response = client.get("/info", headers={"X-Request-Id": given})
    assert (response.headers["X-Request-Id"] == given) is kept


@pytest.mark.parametrize("name", ["Shard-Id", "X-Shard"])
def test_a_request_for_another_shard_is_refused(client, space, services, name):
    before = traces(services)
    for value in ("1", "-0", "x", "00"):
        response = client.post(
            f"/v1/{space}/formation", json={"messages": [MESSAGE]}, headers={name: value}
        )
        assert response.status_code == 400
        assert response.json["data"]["code"] == "wrong_shard"
    assert traces(services) == before
    assert client.get(f"/v1/{space}/info", headers={name: "0"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "brain.example"},
        {"Host": "brain.example:8042"},
        {"Host": "localhost.evil.example"},
        {"Host": "10.0.0.7:8042"},
        {"Host": "[::ffff:10.0.0.7]:8042"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_web_pages_of_other_origins_change_nothing(client, space, services, headers):
    before = traces(services)
    for path, body in (
        ("/v1/{}/formation", {"messages": [MESSAGE]}),
        ("/v1/{}/maintenance", {}),
        ("/admin/create_space", {"user": "eve", "space_id": "eves", "tier": 0}),
    ):
        response = client.post(path.format(space), json=body, headers=headers)
        assert response.status_code == 403
        assert response.json["data"]["code"] == "foreign_origin"
    assert traces(services) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "localhost"},
        {"Host": "127.0.0.1:8042"},
        {"Host": "[::1]:8042"},
        {"Host": "localhost:8042", "Origin": "http://localhost:8042"},
        {"Sec-Fetch-Site": "same-origin"},
    ],
)
def test_callers_on_this_machine_are_admitted(client, space, headers):
    body = {"messages": [MESSAGE]}
    assert client.post(f"/v1/{space}/formation", json=body, headers=headers).status_code == 200
