"""Every type of seed 003 against real answers of each route, and against the served document.

A tour of the API takes one answer or more of every route from a server with keys and a worker; each
is held against the type that the seed names for it: required members are there, none has another
JSON type (null is no way to leave out an optional member), enumerations have no other value. The
wiki's and MCP's own types are left out by name; they come with those.
"""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from storage.credentials import cwt
from tests.contract.seed_document import Reader
from tests.contract.seed_types import SEED, Types
from tests.integration.test_runtime_outcomes import World as Runtime
from tests.integration.test_runtime_outcomes import world as runtime  # noqa: F401
from tests.providers import Answer, Provider, Status, running
from tests.services import Api, Services, running_api, wait_for

pytestmark = pytest.mark.skipif(not SEED.is_file(), reason="the seed is not at hand")

SIGNING, PUBLIC = cwt.new_key()
#: Who may do everything here, everywhere.
BOSS = cwt.mint(SIGNING, subject="boss", audience="*", scope="*", seconds=7200, at=time.time())
S = "/v1/{space_id}"

#: What the seed says that each route answers with, in its own words.
ANSWERS: dict[str, str] = {
    "GET /info": "ServiceInfo",
    f"POST {S}/memory": "MemoryResponse",
    f"POST {S}/memory/sources": "RpcResponse<StagedSourceRef>",
    f"GET {S}/memory/receipts/{{receipt_ref}}": (
        "RpcResponse<{ receipt: MemoryResponse['receipt']; progress: MemoryResponse['progress'];"
        " result: unknown; warnings: string[] }>"
    ),
    f"GET {S}/memory/plans/{{plan_ref}}": (
        "RpcResponse<{ plan_ref: string; receipt_ref: string; plan: object;"
        " host_surfaces: unknown }>"
    ),
    f"POST {S}/formation": "RpcResponse<AgentOutput>",
    f"POST {S}/recall": "RpcResponse<AgentOutput>",
    f"POST {S}/recall_structured": "RpcResponse<RecallOutput>",
    f"POST {S}/maintenance": "RpcResponse<AgentOutput>",
    f"POST {S}/memory/pin": "RpcResponse<MemoryPinOutput>",
    f"POST {S}/memory/forget": "RpcResponse<MemoryForgetReport>",
    f"GET {S}/memory/attention": "RpcResponse<AttentionRecall>",
    f"GET {S}/schema/drafts": "RpcResponse<SchemaDrafts>",
    f"POST {S}/schema/promote": (
        "RpcResponse<{ promoted: string; to: string; schema_environment_version: number }>"
    ),
    f"GET {S}/memory_status": "RpcResponse<MemoryStatus>",
    f"POST {S}/execute_kip_readonly": "KipResponse<unknown>",
    f"POST {S}/get_or_init_user": "RpcResponse<Concept>",
    f"GET {S}/info": "RpcResponse<SpaceInfo>",
    f"GET {S}/status": "RpcResponse<SpaceInfo>",
    f"POST {S}/probe": "RpcResponse<ProbeOutput>",
    f"GET {S}/formation_status": "RpcResponse<FormationStatus>",
    f"GET {S}/conversations/{{conversation_id}}": "RpcResponse<Conversation>",
    f"GET {S}/conversations/{{conversation_id}}/delta": "RpcResponse<ConversationDelta>",
    f"GET {S}/conversations": "RpcResponse<Conversation[]>",
    f"GET {S}/management/space_tokens": "RpcResponse<SpaceToken[]>",
    f"POST {S}/management/add_space_token": "RpcResponse<SpaceToken>",
    f"POST {S}/management/revoke_space_token": "RpcResponse<boolean>",
    f"PATCH {S}/management/update_space": "RpcResponse<true>",
    f"POST {S}/management/shadow_eval": "RpcResponse<ShadowReport>",
    f"PATCH {S}/management/restart_formation": "RpcResponse<true>",
    f"GET {S}/management/space_byok": "RpcResponse<ModelConfig>",
    f"PATCH {S}/management/space_byok": "RpcResponse<true>",
    "POST /admin/create_space": "RpcResponse<SpaceInfo>",
    "POST /admin/{space_id}/update_space_tier": "RpcResponse<SpaceTier>",
    f"GET {S}/attention": "RpcResponse<AttentionPage>",
    f"POST {S}/attention/{{id}}/responses": "RpcResponse<ResponseReceipt>",
    f"POST {S}/outcomes": "RpcResponse<ObservationReceipt>",
    f"GET {S}/runtime/status": "RpcResponse<RuntimeStatus>",
}

#: What the seed says that each route reads.
REQUESTS: dict[str, str] = {
    f"POST {S}/memory": "MemoryRequest",
    f"POST {S}/memory/sources": "StageSourceInput",
    f"POST {S}/formation": "FormationInput",
    f"POST {S}/recall": "RecallInput",
    f"POST {S}/recall_structured": "RecallInput",
    f"POST {S}/maintenance": "MaintenanceInput",
    f"POST {S}/memory/pin": "MemoryPinInput",
    f"POST {S}/memory/forget": "MemoryForgetInput",
    f"POST {S}/schema/promote": (
        "{ kind: 'ConceptType' | 'PredicateType'; from: string; to: string }"
    ),
    f"POST {S}/get_or_init_user": "GetOrInitUserInput",
    f"POST {S}/probe": "ProbeInput",
    f"POST {S}/management/add_space_token": "AddSpaceTokenInput",
    f"POST {S}/management/revoke_space_token": "RevokeSpaceTokenInput",
    f"PATCH {S}/management/update_space": "UpdateSpaceInput",
    f"POST {S}/management/shadow_eval": "ShadowEvalInput",
    f"PATCH {S}/management/restart_formation": "FormationRestartInput",
    f"PATCH {S}/management/space_byok": "ModelConfig",
    "POST /admin/create_space": "CreateOrUpdateSpaceInput",
    "POST /admin/{space_id}/update_space_tier": "CreateOrUpdateSpaceInput",
    f"POST {S}/outcomes": "OutcomeInput",
}

#: Members that no answer of ours has, and why.
NEVER: dict[str, str] = {
    "RpcResponse.error": "errors are an RpcError at the top level, with their status",
    **dict.fromkeys(
        (
            "Conversation.ancestors",
            "Conversation.child",
            "Conversation.follow_up_messages",
            "Conversation.steering_messages",
            "ConversationDelta.child",
        ),
        "a record is one run, which nobody steers or continues",
    ),
    **dict.fromkeys(
        ("KipOperationResult.extensions", "KipResponse.extensions"), "no extension is spoken"
    ),
    **dict.fromkeys(
        ("KipOperationResult.receipt", "KipResponse.receipt"), "reading has no receipt"
    ),
    "KipResponse.next_cursor": "each operation has its own",
    "KipResponse.request_id": "the id of a request is a header over HTTP",
    **dict.fromkeys(
        (
            "MemorySettlementReport.correction_scan_error",
            "SkillSettlement.error",
            "WatchSettlement.error",
        ),
        "nothing failed",
    ),
    "AgentOutput.model": "the built-in recall has none; test_recall_model has one",
    "AttentionItem.priority": "no Watch of the tour has one",
    "Concept.canonical_id": "nobody was merged",
    "Conversation.label": "nobody labels runs",
    "KipOperationResult.warnings": "the tour asks nothing that warns",
    "KipResponse.warnings": "the tour asks nothing that warns",
    "MemoryDescriptor.default_scope": "no scope is the default",
    "ObservationReceipt.safety_evaluation_ref": "no learning controller is installed",
}
#: Types that belong to what comes later.
LATER = frozenset({"LearningRuntimeStatus", "SemanticAttentionStatus", "TrustRuntimeStatus"})
#: What the document says otherwise than the seed, and why.
OTHERWISE: dict[str, str] = {
    "RpcResponse.error is not documented": "errors are an RpcError, with their own status",
    "RpcResponse.next_cursor is not documented": "a configuration has no pages",
    "MemoryDescriptor.default_scope is not documented": "no scope is the default",
    "MemoryResponse.operation may be absent": "one that could not be read is not made up",
    "MemoryResponse.operation may be another text than"
    " ['feedback', 'forget', 'observe', 'recall', 'revise']": "what was asked for is echoed",
    "KipOperationResult.extensions is not documented": "no extension is spoken",
    "KipResponse.extensions is not documented": "no extension is spoken",
    "KipResponse.receipt is not documented": "reading has no receipt",
    "Conversation.steering_messages is not documented": "a record is one run, which none steers",
    "Conversation.follow_up_messages is not documented": "a record is one run",
    "Conversation.child is not documented": "a record is one run",
    "Conversation.ancestors is not documented": "a record is one run",
    "ConversationDelta.child is not documented": "a record is one run",
    "RecallBudget.tokenizer may be another text than ['o200k_base@tiktoken-rs-0.12']": (
        "a policy is told as it was given, with the older spelling too"
    ),
    "ShadowReport.samples[].reason is not documented": "the judge's words may quote memory",
    "MessageContentPart.text is not documented": "a part may have any member",
    "UpdateSpaceInput.wiki_digest is not documented": "there is no wiki yet",
    "UpdateSpaceInput.wiki_audit_reads is not documented": "there is no wiki yet",
    "UpdateSpaceInput.wiki_acl_defaults is not documented": "there is no wiki yet",
}


#: A policy with every member that the seed names.
POLICY = {
    "version": 1,
    "memory_strength_decay_factor": 0.9,
    "recall_reinforcement": 0.1,
    "correction_penalty": 0.2,
    "decay_floor": 0.1,
    "stale_event_threshold_days": 30,
    "unconsolidated_max_backlog": 50,
    "orphan_max_count": 20,
    "self_test_queries_per_cycle": 2,
    "self_test_token_budget": 2_000,
    "recall_search_threshold": 0.5,
    "recall_max_rounds": 2,
    "recall_budget": {
        "tokenizer": "o200k_base@tiktoken-rs-0.12",
        "max_tokens": 1,
        "context_tokens": 4_096,
    },
    "shadow_replay_sample": 2,
}


class Tour:
    """The answers that were taken, by route."""

    def __init__(self, api: Api, space: str, provider: Provider) -> None:
        self.api, self.space, self.provider = api, space, provider
        self.answers: dict[str, list[Any]] = {}
        self.errors: list[httpx2.Response] = []

    def send(self, route: str, body: Any = None, query: str = "", **parts: Any) -> httpx2.Response:
        """The response of a route, whatever it is."""
        method, path = route.split(" ", 1)
        for name, value in {"space_id": self.space, **parts}.items():
            path = path.replace("{" + name + "}", str(value))
        headers = {"Authorization": f"Bearer {BOSS}"}
        options = {} if body is None else {"json": body}
        return self.api.client.request(method, path + query, headers=headers, **options)

    def take(self, route: str, body: Any = None, query: str = "", **parts: Any) -> Any:
        """The answer of a route, kept; it is one of success."""
        response = self.send(route, body, query, **parts)
        assert response.status_code == 200, f"{route}: {response.text}"
        told = response.json()
        self.answers.setdefault(route, []).append(told)
        return told["result"] if ANSWERS[route].startswith("RpcResponse") else told

    def refuse(self, route: str, body: Any = None, query: str = "", **parts: Any) -> None:
        """An answer that is an error, kept."""
        response = self.send(route, body, query, **parts)
        assert response.status_code >= 400, response.text
        self.errors.append(response)

    def done(self, told: Any) -> Any:
        """The job of an answer, once it has ended."""
        path = f"/v1/{self.space}/jobs/{told['job']}"
        headers = {"Authorization": f"Bearer {BOSS}"}

        def job() -> Any:
            return self.api.client.get(path, headers=headers).json()["result"]

        states = ("succeeded", "failed", "cancelled")
        wait_for(lambda: job()["state"] in states, seconds=60, what=f"the end of {path}")
        return job()


def _walk(tour: Tour) -> None:
    """All routes but those of the runtime inbox."""
    tour.take("GET /info")
    space = {"user": "boss", "space_id": tour.space, "tier": 0}
    tour.take("POST /admin/create_space", space)
    tour.refuse("POST /admin/create_space", space)
    tour.take("POST /admin/{space_id}/update_space_tier", {**space, "tier": 2})
    _manage(tour)
    _remember(tour)
    _ask(tour)
    _keep_house(tour)
    _speak_kip(tour)
    _intend(tour)
    _judge(tour)
    for route in ("info", "status", "formation_status"):
        tour.take(f"GET {S}/{route}")


def _manage(tour: Tour) -> None:
    policy = {"recall_max_rounds": 2, "stale_event_threshold_days": 30}
    body = {"name": "Tour", "description": "All of it.", "public": False, "memory_policy": policy}
    tour.take(f"PATCH {S}/management/update_space", body)
    add = f"POST {S}/management/add_space_token"
    later = int((time.time() + 3600) * 1000)
    tour.take(add, {"scope": "read", "name": "reads", "expires_at": later, "labels": ["a"]})
    value = tour.take(add, {"scope": "*", "name": "all"})["token"]
    tour.refuse(add, {"scope": "*", "name": "all"})
    tour.take(f"GET {S}/management/space_tokens")
    revoke = f"POST {S}/management/revoke_space_token"
    assert tour.take(revoke, {"token": value}) is True
    assert tour.take(revoke, {"name": "all"}) is False
    tour.take(f"GET {S}/management/space_tokens")


def _remember(tour: Tour) -> None:
    said: list[dict[str, Any]] = [
        {"role": "user", "name": "Ana", "content": "I live in Tartu. I am allergic to nuts."},
        {"role": "assistant", "content": [{"type": "text", "text": "Noted."}, "Anything else?"]},
        {
            "role": "user",
            "name": "Ana",
            "user": "ana-1",
            "content": "I promise to send the report by 2026-02-01.",
            "timestamp": 1_768_000_000_000,
        },
    ]
    context = {"counterparty": "ana-1", "agent": "bot", "source": "thread-1", "topic": "home"}
    body = {"messages": said, "context": context, "timestamp": "2026-01-10T12:00:00+02:00"}
    first = tour.take(f"POST {S}/formation", body)
    assert tour.done(first)["state"] == "succeeded"
    second = tour.take(
        f"POST {S}/formation", {"messages": [{**said[0], "content": "I own a cat."}]}
    )
    assert tour.done(second)["state"] == "succeeded"
    number = first["conversation"]
    tour.take(f"GET {S}/conversations/{{conversation_id}}", conversation_id=number)
    delta = f"GET {S}/conversations/{{conversation_id}}/delta"
    tour.take(delta, query="?messages_offset=1&artifacts_offset=0", conversation_id=number)
    listed = f"GET {S}/conversations"
    tour.take(listed, query="?limit=1&collection=formation")
    assert tour.answers[listed][-1]["next_cursor"]
    tour.refuse(listed, query="?collection=dreams")
    tour.refuse(f"GET {S}/conversations/{{conversation_id}}", conversation_id=999_999)


def _ask(tour: Tour) -> None:
    for route in ("recall", "recall_structured"):
        for query in ("Where does Ana live?", "Who flies the zeppelin?"):
            tour.take(f"POST {S}/{route}", {"query": query})
        budget = {"max_tokens": 2048}
        tour.take(f"POST {S}/{route}", {"query": "Where does Ana live?", "budget": budget})
        tour.take(f"POST {S}/{route}", {"query": "What?", "budget": {"max_tokens": 1}})
        tour.refuse(f"POST {S}/{route}", {"query": " "})
        tour.take(f"GET {S}/conversations", query="?collection=recall")
    for query in ("Tartu", "zeppelin", "zeppelin"):
        tour.take(f"POST {S}/probe", {"query": query, "limit": 8})
    user = f"POST {S}/get_or_init_user"
    tour.take(user, {"user": "ana-1"})
    tour.take(user, {"user": "bo-1", "name": "Bo"})


def _keep_house(tour: Tour) -> None:
    run = tour.take(f"POST {S}/maintenance", {"trigger": "on_demand", "scope": "full"})
    assert tour.done(run)["state"] == "succeeded"
    tour.take(f"GET {S}/conversations", query="?collection=maintenance")
    tour.take(f"GET {S}/memory/attention")
    tour.refuse(f"GET {S}/memory/attention", query="?limit=99")
    drafts = tour.take(f"GET {S}/schema/drafts")["symbols"]
    draft = next(one for one in drafts if one["kind"] == "ConceptType")
    promoted = {"kind": draft["kind"], "from": draft["name"], "to": "Topic"}
    tour.take(f"POST {S}/schema/promote", promoted)
    tour.refuse(f"POST {S}/schema/promote", promoted)
    tour.take(f"GET {S}/schema/drafts")
    tour.take(f"POST {S}/memory/pin", {"entity": "C-1"})
    tour.take(f"POST {S}/memory/pin", {"entity": "C-1", "pinned": False})
    forget = f"POST {S}/memory/forget"
    tour.take(forget, {"entities": ["A-1"], "dry_run": True})
    tour.take(forget, {"entities": ["A-1", "A-999999", "nonsense"]})
    tour.take(f"GET {S}/memory_status")


def _speak_kip(tour: Tour) -> None:
    kip = f"POST {S}/execute_kip_readonly"
    tour.take(kip, {"command": "DESCRIBE PRIMER"})
    tour.take(kip, "LIST TYPES LIMIT 1")
    page = "FIND(?p) WHERE { ?p CONCEPT {type: :type} } LIMIT 1"
    tour.take(kip, {"command": page, "parameters": {"type": "Person"}})
    tour.take(kip, {"operations": ["DESCRIBE PRIMER", {"command": "FIND("}]})
    both = [{"op_id": "a", "language": "META", "command": "DESCRIBE PRIMER"}, {"command": "FIND("}]
    tour.take(kip, {"operations": both, "execution": {"mode": "independent"}})
    tour.take(kip, {"operations": both[::-1], "execution": {"mode": "sequence"}})
    tour.take(kip, {"command": 'SEARCH CONCEPT "Ana" LIMIT 1'})
    tour.take(kip, {"command": 'CREATE CONCEPT ?t { TYPE "Topic" NAME "x" }'})


def _intend(tour: Tour) -> None:
    message = {"role": "user", "name": "Ana", "content": "I speak Estonian."}
    order = {"stream_ref": "s", "event_ref": "e", "ordinal": 1}
    body = {
        "messages": [message],
        "observed_at": "2026-03-01T08:00:00Z",
        "kind": "message",
        "order": order,
        "idempotency_key": "tour",
    }
    staged = tour.take(f"POST {S}/memory/sources", body)
    tour.refuse(f"POST {S}/memory/sources", {**body, "kind": "artifact"})

    def intend(operation: str, key: str | None = None, **more: Any) -> Any:
        request: dict[str, Any] = {
            "kip_memory": "2.0",
            "request_id": f"r-{operation}",
            "operation": operation,
        }
        budget = more.pop("budget", {"deadline_ms": 20_000})
        keyed = {} if key is None else {"idempotency_key": key}
        request |= {"budget": budget, "space": {"id": tour.space}, **keyed, "input": more}
        return tour.take(f"POST {S}/memory", request)

    observed = intend("observe", "o", source_ref=staged["source_ref"])
    assert observed["status"] == "succeeded", observed
    receipt = observed["receipt"]["receipt_ref"]
    intend("recall", query="What does Ana speak?", after=[receipt])
    intend("recall", mode="attention")
    failed = intend("observe", "x", source_ref="src-" + "0" * 32)
    assert failed["status"] == "failed"
    intend("revise", "r", source_ref=staged["source_ref"], change_kind="misrecorded")
    tour.take(f"GET {S}/memory/receipts/{{receipt_ref}}", receipt_ref=receipt)
    forgotten = intend("forget", "f", target_ref=staged["source_ref"], mode="payload_only")
    tour.take(f"GET {S}/memory/receipts/{{receipt_ref}}", receipt_ref=receipt)
    plan = forgotten["result"]["plan_ref"]
    tour.take(f"GET {S}/memory/plans/{{plan_ref}}", plan_ref=plan)
    tour.refuse(f"GET {S}/memory/receipts/{{receipt_ref}}", receipt_ref="rcp-" + "0" * 32)


def _judge(tour: Tour) -> None:
    """What needs a model of the space's own, last of all."""
    config = tour.provider.config()
    byok = {
        "family": config.family,
        "model": config.model,
        "api_base": config.api_base,
        "api_key": config.api_key,
        "disabled": False,
        "label": "scripted",
        "effort": "low",
        "bearer_auth": False,
        "stream": False,
        "context_window": 32_000,
        "max_output": 2_000,
    }
    tour.take(f"PATCH {S}/management/space_byok", byok)
    tour.take(f"GET {S}/management/space_byok")
    tour.provider.otherwise = Answer({"winner": "first", "reason": "It says more."})
    tour.take(f"POST {S}/management/shadow_eval", {"policy": POLICY, "replay_sample": 2})
    tour.take(f"GET {S}/memory_status")
    tour.provider.otherwise = Status(400)
    body = {"messages": [{"role": "user", "content": "I moved to Narva."}]}
    failed = tour.take(f"POST {S}/formation", body)
    assert tour.done(failed)["state"] == "failed"
    number = failed["conversation"]
    tour.take(f"GET {S}/conversations/{{conversation_id}}", conversation_id=number)
    tour.take(f"GET {S}/conversations/{{conversation_id}}/delta", conversation_id=number)
    tour.take(f"PATCH {S}/management/restart_formation", {"conversation": number})
    tour.refuse(f"PATCH {S}/management/restart_formation", {"conversation": 999_999})


@pytest.fixture(scope="module")
def types() -> Types:
    return Types.of_seed()


@pytest.fixture(scope="module")
def tour(_services: Services) -> Iterator[Tour]:
    space = f"tour_{uuid.uuid4().hex[:12]}"
    env = {
        "ED25519_PUBKEYS": PUBLIC,
        "MANAGERS": "boss",
        "BRAINSTEM_BYOK_PRIVATE": "true",
        "BRAINSTEM_EMBEDDER": "none",
        "BRAINSTEM_RETRY_BASE_SECONDS": "0.1",
        "BRAINSTEM_WAIT_SECONDS": "300",
    }
    with running_api(_services, env) as api, running() as provider, contextlib.ExitStack() as ends:
        worker = _services.spawn("worker", ["-m", "jobs.worker", "--threads", "2"], env=env)
        ends.callback(worker.close)
        made = Tour(api, space, provider)
        _walk(made)
        yield made


@pytest.fixture(scope="module")
def answers(tour: Tour, runtime: Runtime) -> dict[str, list[Any]]:  # noqa: F811
    """All answers of the tour, and those of the runtime inbox."""
    taken = dict(tour.answers)

    def get(route: str, caller: str) -> Any:
        headers = {"Authorization": f"Bearer {runtime.tokens[caller]}"}
        told = runtime.api.client.get(f"/v1/{runtime.space}/{route}", headers=headers)
        assert told.status_code == 200, told.text
        return told.json()

    outcome = runtime.send(runtime.body(runtime.act()))
    assert outcome.status_code == 200, outcome.text
    page = get("attention?limit=20", "ana")
    statement = {"kind": "agent_statement", "event_key": "k", "statement": "The rent was paid."}
    responded = runtime.api.client.post(
        f"/v1/{runtime.space}/attention/{page['result']['items'][0]['id']}/responses",
        headers={"Authorization": f"Bearer {runtime.tokens['ana']}"},
        json=statement,
    )
    assert responded.status_code == 200, responded.text
    taken[f"POST {S}/outcomes"] = [outcome.json()]
    taken[f"GET {S}/attention"] = [page, get("attention?limit=50", "ana")]
    taken[f"POST {S}/attention/{{id}}/responses"] = [responded.json()]
    taken[f"GET {S}/runtime/status"] = [get("runtime/status", "ana"), get("runtime/status", "bot")]
    taken[f"GET {S}/memory/attention"] = [
        *taken[f"GET {S}/memory/attention"],
        get("memory/attention?limit=5", "ana"),
    ]
    return taken


@pytest.mark.parametrize("route", ANSWERS)
def test_the_answers_of_a_route_are_of_the_seeds_type(
    types: Types, answers: dict[str, list[Any]], route: str
) -> None:
    assert answers[route]
    for told in answers[route]:
        wrong = types.wrong(ANSWERS[route], told)
        assert not wrong, f"{wrong} in {json.dumps(told)[:4000]}"


def test_every_error_is_the_seeds_error_at_the_top_level(types: Types, tour: Tour) -> None:
    assert len(tour.errors) > 5
    for response in tour.errors:
        assert response.headers["content-type"] == "application/json"
        assert types.wrong("RpcError", response.json()) == []


def test_every_member_that_the_seed_names_was_in_an_answer_or_is_left_out_by_name(
    tour: Tour, answers: dict[str, list[Any]]
) -> None:
    types = Types.of_seed()
    for route, taken in answers.items():
        for one in taken:
            types.wrong(ANSWERS[route], one)
    for response in tour.errors:
        types.wrong("RpcError", response.json())
    told = {name for expression in ANSWERS.values() for name in types.reached(expression)}
    named = types.members(told)
    never = sorted(one for one in named - types.seen if one.split(".")[0] not in LATER)
    assert never == sorted(NEVER), "\n".join(never)


@pytest.fixture(scope="module")
def document(tour: Tour) -> Any:
    return tour.api.client.get("/openapi.json").json()


def _schema(document: Any, route: str, *, answer: bool) -> Any:
    method, path = route.split(" ", 1)
    operation = document["paths"][path.replace("{id}", "{wake_id}")][method.lower()]
    place = operation["responses"]["200"] if answer else operation["requestBody"]
    return place["content"]["application/json"]["schema"]


@pytest.mark.parametrize("route", ANSWERS)
def test_the_document_answers_with_the_seeds_type(types: Types, document: Any, route: str) -> None:
    reader = Reader(types, document, answer=True)
    wrong = reader.differences(ANSWERS[route], _schema(document, route, answer=True))
    assert [one for one in wrong if one not in OTHERWISE] == []


@pytest.mark.parametrize("route", REQUESTS)
def test_the_document_takes_all_that_the_seeds_type_may_be(
    types: Types, document: Any, route: str
) -> None:
    reader = Reader(types, document, answer=False)
    wrong = reader.differences(REQUESTS[route], _schema(document, route, answer=False))
    assert [one for one in wrong if one not in OTHERWISE] == []


def test_no_type_of_the_seed_is_unknown_but_one_that_it_leaves_open(types: Types) -> None:
    assert types.undeclared() == {"ContributionWitness"}
