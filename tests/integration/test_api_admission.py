"""Who is let in: every route of a space, every kind of caller, own, foreign and unknown spaces.

The matrix is generated from the routes as they are declared, so that a new one is in it at once.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
import pytest

from api.admission import Admission
from api.app import FAMILIES
from api.routes import Operation
from storage import spaces
from storage.clock import from_millis
from storage.credentials import cwt, space_tokens
from storage.database import Database, Scope
from tests.services import Api, Services, running_api

SIGNING, PUBLIC = cwt.new_key()
STRANGER, _ = cwt.new_key()
OPERATIONS = [
    operation
    for family in FAMILIES
    for operation in family.operations
    if isinstance(operation.admits, Admission) and not operation.path.endswith("/watch")
]
PARTS = {"conversation_id": "1", "job_id": f"job-{uuid.UUID(int=0).hex}"}


@dataclass(frozen=True)
class World:
    """Two private spaces, a public one, and the callers' tokens."""

    api: Api
    own: str
    foreign: str
    public: str
    tokens: dict[str, str | None]

    def ask(self, operation: Operation, space_id: str, token: str | None) -> httpx2.Response:
        path = operation.path.replace("<space_id>", space_id)
        path = re.sub(r"<(?:\w+:)?(\w+)>", lambda m: PARTS.get(m[1], "1"), path)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        # admission comes before the body is read, and no run is to be started here
        body = b"{" if operation.body else None
        if body:
            headers["Content-Type"] = "application/json"
        return self.api.client.request(operation.method, path, headers=headers, content=body)


def token(audience: str, scope: str, *, key: str = SIGNING, seconds: float = 600) -> str:
    return cwt.mint(
        key, subject="ana", audience=audience, scope=scope, seconds=seconds, at=time.time()
    )


@pytest.fixture(scope="module")
def keyed_api(_services: Services) -> Iterator[Api]:
    """An API that asks for credentials."""
    with running_api(_services, {"ED25519_PUBKEYS": PUBLIC, "MANAGERS": "boss"}) as api:
        yield api


@pytest.fixture
def world(database: Database, keyed_api: Api) -> World:
    names = [f"adm_{uuid.uuid4().hex[:12]}" for _ in range(3)]
    tokens: dict[str, str | None] = {"nobody": None}
    for name in names:
        scope = Scope(name)
        with database.transaction(scope) as tx:
            spaces.create(tx, scope, owner="user:ana")
            if name == names[2]:
                spaces.update(tx, scope, public=True)
            if name == names[1]:
                tokens["token of another space"] = space_tokens.add(
                    tx, scope, name="x", token_scope="*"
                )[0]
            if name != names[0]:
                continue
            for kind in ("read", "write", "*"):
                value, _ = space_tokens.add(tx, scope, name=kind, token_scope=kind)
                tokens[f"token {kind}"] = value
            tokens["token labelled"] = space_tokens.add(
                tx, scope, name="labelled", token_scope="read", labels=["hr"]
            )[0]
            tokens["token revoked"] = space_tokens.add(tx, scope, name="old", token_scope="*")[0]
            space_tokens.revoke(tx, scope, name="old")
            tokens["token expired"] = space_tokens.add(
                tx, scope, name="late", token_scope="*", expires_at=from_millis(1)
            )[0]
    own, foreign, public = names
    tokens |= {f"cwt {kind}": token(own, kind) for kind in ("read", "write", "*")}
    tokens |= {
        "cwt of another space": token(foreign, "*"),
        "cwt expired": token(own, "*", seconds=-600),
        "cwt of a stranger": token(own, "*", key=STRANGER),
        "no token at all": "nonsense",
    }
    return World(keyed_api, own, foreign, public, tokens)


def expected(operation: Operation, caller: str) -> int:
    """What a caller of the private space meets; 200 stands for being let in."""
    assert isinstance(operation.admits, Admission)
    kind, _, rest = caller.partition(" ")
    if kind in ("nobody", "no") or rest in ("revoked", "expired", "of a stranger"):
        return 401
    if rest == "of another space":
        return 403 if kind == "cwt" else 401
    if not operation.admits.takes_space_tokens and kind == "token":
        return 403
    scope = "read" if rest == "labelled" else rest
    if scope not in ("*", operation.admits.scope):
        return 403
    # what spans all labels refuses a labelled token
    return 403 if rest == "labelled" and operation.across_labels else 200


def test_every_caller_meets_every_route_of_a_private_space_as_its_class_says(world: World) -> None:
    wrong = []
    for operation in OPERATIONS:
        for caller, value in world.tokens.items():
            got = world.ask(operation, world.own, value).status_code
            wanted = expected(operation, caller)
            if got != wanted if wanted >= 400 else got in (401, 403) or got >= 500:
                wrong.append((operation.method, operation.path, caller, got, wanted))
    assert not wrong


def test_a_foreign_space_answers_as_one_that_does_not_exist(world: World) -> None:
    for operation in OPERATIONS:
        for caller, value in world.tokens.items():
            if caller in ("cwt of another space", "token of another space"):
                continue
            foreign = world.ask(operation, world.foreign, value)
            unknown = world.ask(operation, "no_such_space", value)
            assert foreign.status_code == unknown.status_code, (operation.path, caller)
            assert foreign.content == unknown.content, (operation.path, caller)


def test_a_public_space_is_read_by_anyone_and_written_by_none(world: World) -> None:
    for operation in OPERATIONS:
        assert isinstance(operation.admits, Admission)
        for caller in ("nobody", "cwt expired", "cwt read"):
            got = world.ask(operation, world.public, world.tokens[caller]).status_code
            if operation.admits.open_to_public:
                assert got not in (401, 403), (operation.path, caller, got)
            else:
                assert got in (401, 403), (operation.path, caller, got)


def test_a_space_token_is_checked_on_a_public_space_except_where_reading_is_lenient(
    world: World,
) -> None:
    for operation in OPERATIONS:
        got = world.ask(operation, world.public, world.tokens["token revoked"]).status_code
        if operation.admits is Admission.LENIENT_READ:
            assert got not in (401, 403), operation.path
        else:
            assert got == 401, operation.path


def test_what_was_asked_in_a_public_space_is_not_shown_to_the_public(world: World) -> None:
    path = f"/v1/{world.public}/conversations?collection=recall"
    assert world.api.client.get(path).status_code == 403
    assert world.api.client.get(f"/v1/{world.public}/conversations").status_code == 200


def test_who_may_only_write_reads_a_public_space_as_the_public_does(
    world: World, database: Database
) -> None:
    with database.transaction(Scope(world.public)) as tx:
        writer, _ = space_tokens.add(tx, Scope(world.public), name="w", token_scope="write")
        reader, _ = space_tokens.add(tx, Scope(world.public), name="r", token_scope="read")
    path = f"/v1/{world.public}/conversations?collection=recall"
    for value, status in {
        writer: 403,
        token(world.public, "write"): 403,
        reader: 200,
        token(world.public, "read"): 200,
        token(world.public, "*"): 200,
    }.items():
        headers = {"Authorization": f"Bearer {value}"}
        assert world.api.client.get(path, headers=headers).status_code == status
        open_to_all = f"/v1/{world.public}/conversations"
        assert world.api.client.get(open_to_all, headers=headers).status_code == 200


def test_what_was_found_for_others_is_not_told_to_a_labelled_token(world: World) -> None:
    mine = {"Authorization": f"Bearer {world.tokens['cwt *']}", "Prefer": "respond-async"}
    asked = world.api.client.post(
        f"/v1/{world.own}/recall", headers=mine, json={"query": "who is paid what?"}
    )
    job = asked.json()["result"]["job"]
    for value, status in {"token labelled": 403, "token read": 200}.items():
        headers = {"Authorization": f"Bearer {world.tokens[value]}"}
        for path in ("jobs", f"jobs/{job}"):
            told = world.api.client.get(f"/v1/{world.own}/{path}", headers=headers)
            assert told.status_code == status, path
        upgrade = {**headers, "Upgrade": "websocket", "Connection": "Upgrade"}
        watched = world.api.client.get(f"/v1/{world.own}/jobs/watch", headers=upgrade)
        # the handshake is none, which is looked at when the caller was let in
        assert watched.status_code == (status if status == 403 else 400)
    labelled = {"Authorization": f"Bearer {world.tokens['token labelled']}"}
    followed = world.api.client.get(f"/v1/{world.own}/jobs/{job}/events", headers=labelled)
    assert followed.status_code == 403
    world.api.client.post(f"/v1/{world.own}/jobs/{job}/cancel", headers=mine)


def test_a_request_is_one_use_of_its_token(world: World) -> None:
    headers = {"Authorization": f"Bearer {world.tokens['token read']}"}
    body = {"kip_memory": "2.0", "operation": "recall", "input": {"mode": "attention"}}
    path = f"/v1/{world.own}/memory"
    assert world.api.client.post(path, headers=headers, json=body).status_code == 200
    # refused for what it asks, and again for what it is
    assert world.api.client.post(path, headers=headers, content=b"{").status_code == 415
    body["operation"] = "observe"
    assert world.api.client.post(path, headers=headers, json=body).status_code == 403
    listed = world.api.client.get(
        f"/v1/{world.own}/management/space_tokens",
        headers={"Authorization": f"Bearer {world.tokens['cwt *']}"},
    )
    assert {t["name"]: t["usage"] for t in listed.json()["result"]}["read"] == 3


def test_a_token_that_is_named_twice_is_the_same_one_or_none(world: World) -> None:
    client, headers = world.api.client, {"Authorization": f"Bearer {world.tokens['cwt *']}"}
    base = f"/v1/{world.own}/management"

    def revoke(**which: str | None) -> bool:
        answer = client.post(f"{base}/revoke_space_token", headers=headers, json=which)
        return bool(answer.json()["result"])

    made = [
        client.post(
            f"{base}/add_space_token", headers=headers, json={"scope": "read", "name": name}
        ).json()["result"]["token"]
        for name in ("one", "two")
    ]
    assert not revoke(token=made[0], name="two")
    assert not revoke(token=made[1], name="three")
    for value in made:
        reader = {"Authorization": f"Bearer {value}"}
        assert client.get(f"/v1/{world.own}/info", headers=reader).status_code == 200
    assert revoke(token=made[0], name="one")
    assert revoke(token=None, name="two")


def test_tokens_are_made_listed_used_and_revoked(world: World) -> None:
    client, headers = world.api.client, {"Authorization": f"Bearer {world.tokens['cwt *']}"}
    base = f"/v1/{world.own}/management"
    made = client.post(
        f"{base}/add_space_token", headers=headers, json={"scope": "read", "name": "reader"}
    ).json()["result"]
    assert made["token"].startswith("ST")
    assert "labels" not in made
    assert "expires_at" not in made
    reader = {"Authorization": f"Bearer {made['token']}"}
    assert client.get(f"/v1/{world.own}/info", headers=reader).status_code == 200
    listed = client.get(f"{base}/space_tokens", headers=headers).json()["result"]
    shown = next(token for token in listed if token["name"] == "reader")
    assert shown["usage"] == 1
    assert shown["token"] == f"{made['token'][:8]}…"
    again = client.post(
        f"{base}/add_space_token", headers=headers, json={"scope": "read", "name": "reader"}
    )
    assert again.status_code == 409
    for known in (True, False):
        answer = client.post(
            f"{base}/revoke_space_token", headers=headers, json={"token": made["token"]}
        )
        assert answer.json() == {"result": known}
    assert client.get(f"/v1/{world.own}/info", headers=reader).status_code == 401


@pytest.mark.parametrize(
    ("caller", "body", "status"),
    [
        ("cwt write", {"scope": "*", "name": "n"}, 403),
        ("cwt *", {"scope": "*", "name": "n"}, 200),
        ("cwt *", {"scope": "write", "name": "n", "labels": []}, 400),
        ("cwt *", {"scope": "read", "name": "n", "labels": []}, 200),
        ("cwt *", {"scope": "read", "name": " "}, 400),
        ("cwt *", {"scope": "admin", "name": "n"}, 400),
        ("cwt *", {"scope": "read", "name": "n", "expires_at": 1}, 400),
        ("cwt *", {"scope": "read"}, 400),
    ],
)
def test_a_token_is_no_more_than_its_maker(
    world: World, caller: str, body: dict[str, object], status: int
) -> None:
    headers = {"Authorization": f"Bearer {world.tokens[caller]}"}
    path = f"/v1/{world.own}/management/add_space_token"
    assert world.api.client.post(path, headers=headers, json=body).status_code == status


def test_spaces_are_made_by_managers_for_the_spaces_of_their_token(world: World) -> None:
    name = f"adm_{uuid.uuid4().hex[:12]}"
    body = {"user": "user:ana", "space_id": name, "tier": 1}

    def ask(path: str, subject: str, audience: str, scope: str = "write") -> httpx2.Response:
        value = cwt.mint(
            SIGNING,
            subject=subject,
            audience=audience,
            scope=scope,
            seconds=60,
            at=time.time(),
        )
        headers = {"Authorization": f"Bearer {value}"}
        return world.api.client.post(path, headers=headers, json=body)

    make, tier = "/admin/create_space", f"/admin/{name}/update_space_tier"
    assert world.api.client.post(make, json=body).status_code == 401
    assert ask(make, "ana", "*").status_code == 403
    assert ask(make, "boss", "*", "read").status_code == 403
    assert ask(make, "boss", "other").status_code == 403
    assert ask(tier, "boss", "*").status_code == 404
    assert ask(make, "boss", name).status_code == 200
    assert ask(make, "boss", "*").status_code == 409
    assert ask(tier, "boss", "*").json()["result"]["tier"] == 1


def test_a_space_is_renamed_and_made_public_by_its_management(world: World) -> None:
    headers = {"Authorization": f"Bearer {world.tokens['cwt write']}"}
    path = f"/v1/{world.own}/management/update_space"
    body = {"name": "Ours", "public": True}
    assert world.api.client.patch(path, headers=headers, json=body).json() == {"result": True}
    told = world.api.client.get(f"/v1/{world.own}/info").json()["result"]
    assert (told["name"], told["public"]) == ("Ours", True)
    later = world.api.client.patch(path, headers=headers, json={"wiki_digest": True})
    assert later.status_code == 501


def test_handles_belong_to_their_caller(world: World) -> None:
    body = {"messages": [{"role": "user", "content": "I live in Lyon."}]}
    jobs = []
    for caller in ("cwt *", "token *", "cwt *"):
        headers = {
            "Authorization": f"Bearer {world.tokens[caller]}",
            "Idempotency-Key": "the same",
        }
        answer = world.api.client.post(f"/v1/{world.own}/formation", headers=headers, json=body)
        jobs.append(answer.json()["result"]["job"])
    assert jobs[0] == jobs[2] != jobs[1]


def test_the_document_says_which_routes_need_a_token(world: World) -> None:
    told = world.api.client.get("/openapi.json").json()
    assert list(told["components"]["securitySchemes"]) == ["bearer"]
    paths = told["paths"]
    assert paths["/info"]["get"]["security"] == []
    assert paths["/v1/{space_id}/formation"]["post"]["security"] == [{"bearer": []}]
    assert paths["/v1/{space_id}/info"]["get"]["security"] == [{"bearer": []}, {}]
    assert paths["/admin/create_space"]["post"]["security"] == [{"bearer": []}]
