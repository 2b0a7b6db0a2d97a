"""`/v1/{space}/management/…`: its tokens, its description, and formations to run again.

For signed tokens that may write; space tokens cannot manage (seed 003 section 4.4).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from flask import Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from api import request_id
from api.admission import Admission
from api.errors import RunFailed
from api.memory.inputs import MAX_NAME_CHARS, Name
from api.memory.outputs import ZERO_USAGE, AgentOutput, RpcResponse, Usage
from api.memory.runs import follow, location
from api.negotiation import answer
from api.routes import Answer, Routes
from api.waiting import PREFER, wait_for_end
from jobs import dispatch, ledger
from storage import byok, conversations, memory_policy, spaces
from storage.clock import from_millis, now, to_millis
from storage.credentials import space_tokens
from storage.database import Scope, database
from storage.errors import Conflict, InvalidInput, NotAuthorized, NotFound, Unsupported
from storage.jobs import Job
from storage.memory_policy import MAX_REPLAYED, MemoryPolicy
from storage.principals import Principal
from storage.settings import settings

routes = Routes("management", tag="management")

MAX_LABELS = 64
_STRICT = ConfigDict(strict=True, extra="ignore")
_LATER = ("wiki_digest", "wiki_audit_reads", "wiki_acl_defaults")

TokenScope = Literal["read", "write", "*"]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise InvalidInput("A name needs a visible character.", field="name")
    return text


TokenName = Annotated[Name, Field(min_length=1), AfterValidator(_not_blank)]


class SpaceTokenView(BaseModel):
    """A space token; `token` is its beginning, except in the answer that makes it."""

    token: str
    name: str
    scope: TokenScope
    usage: int
    created_at: int
    updated_at: int
    expires_at: int | None = None
    labels: list[str] | None = None


class AddSpaceTokenInput(BaseModel):
    """A token to be made. `labels` limits what a reader sees of the wiki."""

    model_config = _STRICT
    scope: TokenScope
    name: TokenName
    expires_at: int | None = None
    labels: Annotated[list[Name] | None, Field(max_length=MAX_LABELS)] = None


class RevokeSpaceTokenInput(BaseModel):
    """The token to be revoked: by its full value or its name; if both are said, it has both."""

    model_config = _STRICT
    token: Annotated[str | None, Field(max_length=MAX_NAME_CHARS)] = None
    name: Annotated[str | None, Field(max_length=MAX_NAME_CHARS)] = None

    @model_validator(mode="after")
    def _says_which(self) -> RevokeSpaceTokenInput:
        # clients send an empty text for the one that they do not mean
        self.token, self.name = self.token or None, self.name or None
        if self.token is None and self.name is None:
            raise ValueError("say token or name")
        return self


class UpdateSpaceInput(BaseModel):
    """What to change about a space; members that are not given stay."""

    model_config = ConfigDict(strict=True, extra="allow")
    name: Name | None = None
    description: Annotated[str | None, Field(max_length=10_000)] = None
    public: bool | None = None
    memory_policy: MemoryPolicy | None = None


class ShadowEvalInput(BaseModel):
    """A candidate policy; `replay_sample` recent recalls are answered under it and the present."""

    model_config = _STRICT
    policy: MemoryPolicy
    replay_sample: Annotated[int | None, Field(ge=1, le=MAX_REPLAYED)] = None


class ShadowSample(BaseModel):
    """One question and whose answer was better; the query is told while its record is there."""

    query: str
    winner: Literal["baseline", "candidate", "tie", "error"]


class ShadowReport(BaseModel):
    """How often either policy's answers were better. An error is a comparison that failed."""

    compared_at: int
    replayed: int
    baseline_wins: int
    candidate_wins: int
    ties: int
    judge_errors: int
    candidate_policy: MemoryPolicy
    usage: Usage
    samples: list[ShadowSample] | None = None


class FormationRestartInput(BaseModel):
    """The conversation whose formation failed."""

    model_config = _STRICT
    conversation: Annotated[int, Field(ge=1, le=2**53 - 1)]


@routes.add(
    "GET",
    "/v1/<space_id>/management/space_tokens",
    summary="List the tokens of a space",
    answers={200: Answer(RpcResponse[list[SpaceTokenView]], "The tokens, the oldest first.")},
    admits=Admission.MANAGEMENT,
)
def list_space_tokens(caller: Principal) -> Response:
    """`token` shows how a value begins, never more."""
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        tokens = space_tokens.listed(tx, scope)
    return answer([_view(token) for token in tokens])


@routes.add(
    "POST",
    "/v1/<space_id>/management/add_space_token",
    summary="Make a space token",
    body=AddSpaceTokenInput,
    answers={200: Answer(RpcResponse[SpaceTokenView], "The token, shown in full this once.")},
    raises=(Conflict,),
    admits=Admission.MANAGEMENT,
)
def add_space_token(caller: Principal, body: AddSpaceTokenInput) -> Response:
    """Only `*` may make `*`, only readers have labels, and a name is used once."""
    if body.scope == "*" and "*" not in caller.scopes:
        raise NotAuthorized("A token that may do everything is made by one that may.")
    if body.labels is not None and body.scope != "read":
        raise InvalidInput("Only a read token has labels.", field="labels")
    expires_at = None if body.expires_at is None else from_millis(body.expires_at)
    if expires_at is not None and expires_at <= now():
        raise InvalidInput("expires_at has passed; it is in Unix milliseconds.", field="expires_at")
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        value, token = space_tokens.add(
            tx,
            scope,
            name=body.name,
            token_scope=body.scope,
            labels=body.labels,
            expires_at=expires_at,
        )
    return answer({**_view(token), "token": value})


@routes.add(
    "POST",
    "/v1/<space_id>/management/revoke_space_token",
    summary="Revoke a space token",
    body=RevokeSpaceTokenInput,
    answers={200: Answer(RpcResponse[bool], "Whether there was such a token.")},
    admits=Admission.MANAGEMENT,
)
def revoke_space_token(caller: Principal, body: RevokeSpaceTokenInput) -> Response:
    """From the next request on it opens nothing."""
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        revoked = space_tokens.revoke(tx, scope, name=body.name, value=body.token)
    return answer(revoked)


@routes.add(
    "PATCH",
    "/v1/<space_id>/management/update_space",
    summary="Change a space",
    body=UpdateSpaceInput,
    answers={200: Answer(RpcResponse[bool], "Done.")},
    raises=(Unsupported,),
    admits=Admission.MANAGEMENT,
)
def update_space(caller: Principal, body: UpdateSpaceInput) -> Response:
    """Name, description, whether anyone may read it, and its memory policy; the wiki comes later.

    A policy takes the place of the one before as a whole: what it leaves out has the default.
    """
    given: dict[str, Any] = body.model_extra or {}
    for name in _LATER:
        if given.get(name) is not None:
            raise Unsupported(f"{name} is not offered yet; nothing was changed.")
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.update(tx, scope, name=body.name, description=body.description, public=body.public)
        if body.memory_policy is not None:
            memory_policy.write(tx, scope, body.memory_policy)
    return answer(True)


@routes.add(
    "POST",
    "/v1/<space_id>/management/shadow_eval",
    summary="Compare a candidate policy with the present one",
    body=ShadowEvalInput,
    headers=(PREFER,),
    answers={
        200: Answer(RpcResponse[ShadowReport], "What a model said of the answers, blind."),
        202: Answer(RpcResponse[AgentOutput], "Not done yet: the receipt, and no content."),
    },
    raises=(Unsupported, RunFailed),
    admits=Admission.MANAGEMENT,
)
def shadow_eval(caller: Principal, body: ShadowEvalInput) -> Response:
    """Replays recent recalls on snapshots that cannot write, and has the space's model judge.

    It takes several model calls and changes neither memory nor the policy. 501 where no model is
    configured.
    """
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        present = memory_policy.read(tx, scope)
        own = byok.find(tx, scope)
        if (own is None or own.disabled) and not settings().model_name:
            raise Unsupported("No model is configured that could judge; nothing was replayed.")
        job = ledger.accept(
            tx,
            caller,
            "shadow_eval",
            {
                "policy": body.policy.model_dump(mode="json", exclude_unset=True),
                "replay_sample": body.replay_sample or present.shadow_replay_sample,
            },
            request_id=request_id.current(),
        ).job
    dispatch.announce([job])
    return _shadow_outcome(wait_for_end(job))


def _shadow_outcome(job: Job) -> Response:
    headers = {"Location": location(job)}
    if not job.terminal:
        result = {"content": "", "usage": ZERO_USAGE, **follow(job)}
        return answer(result, status=202, text="", headers=headers)
    if job.state != "succeeded":
        error = job.error or {"code": job.state, "message": f"The job was {job.state}."}
        raise RunFailed(error["message"], data={"reason": error["code"], "job": job.id})
    report = dict(job.result or {})
    scope = Scope(job.space_id)
    samples = []
    with database().transaction(scope) as tx:
        for sample in report.pop("samples", []):
            record = conversations.get(tx, scope, sample["conversation"], "recall")
            asked = [m for m in record.messages if m.get("role") == "user"] if record else []
            if asked:
                query = str(asked[-1]["content"])
                samples.append({"query": query, "winner": sample["winner"]})
    return answer({**report, "samples": samples}, headers=headers)


@routes.add(
    "PATCH",
    "/v1/<space_id>/management/restart_formation",
    summary="Run a failed formation again",
    body=FormationRestartInput,
    answers={200: Answer(RpcResponse[bool], "It is accepted.")},
    raises=(Conflict,),
    admits=Admission.MANAGEMENT,
)
def restart_formation(caller: Principal, body: FormationRestartInput) -> Response:
    """A new job takes it up; the failed one keeps its receipt. One that is under way goes on."""
    scope = Scope(caller.space_id)
    with database().transaction(scope) as tx:
        spaces.get(tx, scope)
        record = conversations.get(tx, scope, body.conversation, "formation")
        if record is None or record.job_id is None:
            raise NotFound("There is no such formation in this space.")
        if not ledger.get(tx, scope, record.job_id).terminal:
            return answer(True)
        accepted = ledger.retry(tx, caller, record.job_id)
    if accepted.created:
        dispatch.announce([accepted.job])
    return answer(True)


def _view(token: space_tokens.SpaceToken) -> dict[str, Any]:
    told: dict[str, Any] = {
        "token": f"{token.shown}…",
        "name": token.name,
        "scope": token.scope,
        "usage": token.usage,
        "created_at": to_millis(token.created_at),
        "updated_at": to_millis(token.updated_at),
    }
    if token.expires_at is not None:
        told["expires_at"] = to_millis(token.expires_at)
    if token.labels is not None:
        told["labels"] = token.labels
    return told
