"""The served OpenAPI document again, by a caller with a signed token that may do everything.

Fewer examples than in `test_openapi`, which asks a server without keys: here it is about what only
an authenticated caller reaches, and what one without a token is told.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from api.app import create_app
from storage import settings
from storage.credentials import cwt
from tests.contract.test_openapi import CHECKS, OPERATIONS, validate
from tests.services import Services
from tests.unit.api.calling import MESSAGE

SIGNING, PUBLIC = cwt.new_key()
SPACE = "contract_keyed"
_OPEN = ("/execute_kip_readonly", "/memory")


@pytest.fixture(scope="module")
def app(_services: Services) -> Iterator[Flask]:
    """An application that asks for tokens and lets recalls wait for nothing."""
    patch = pytest.MonkeyPatch()
    patch.setenv("ED25519_PUBKEYS", PUBLIC)
    patch.setenv("MANAGERS", "boss")
    patch.setenv("BRAINSTEM_WAIT_SECONDS", "0.01")
    settings.reload()
    try:
        yield create_app()
    finally:
        patch.undo()
        settings.reload()


@pytest.fixture(scope="module")
def token() -> dict[str, str]:
    value = cwt.mint(SIGNING, subject="boss", audience="*", scope="*", seconds=3600, at=time.time())
    return {"Authorization": f"Bearer {value}"}


@pytest.fixture(scope="module")
def known(app: Flask, token: dict[str, str]) -> dict[str, Any]:
    """Ids that exist, so that not every answer is 404."""
    client = app.test_client()
    body = {"user": "boss", "space_id": SPACE, "tier": 0}
    assert client.post("/admin/create_space", json=body, headers=token).status_code == 200
    said = {"messages": [MESSAGE]}
    made = client.post(f"/v1/{SPACE}/formation", json=said, headers=token).json["result"]
    staged = client.post(
        f"/v1/{SPACE}/memory/sources", json={**said, "idempotency_key": "k"}, headers=token
    ).json["result"]
    return {
        "space_id": SPACE,
        "job_id": made["job"],
        "conversation_id": made["conversation"],
        "receipt_ref": made["receipt"]["receipt_ref"],
        "source_ref": staged["source_ref"],
    }


@pytest.fixture(scope="module")
def document(app: Flask) -> Any:
    return schemathesis.openapi.from_wsgi("/openapi.json", app)


@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_the_server_answers_a_token_as_the_document_says(
    app: Flask,
    document: Any,
    token: dict[str, str],
    known: dict[str, Any],
    path: str,
    method: str,
    mode: GenerationMode,
) -> None:
    statuses = set()

    @hypothesis_settings(
        max_examples=6,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=document[path][method].as_strategy(generation_mode=mode),
        real=st.sampled_from((True, True, False)),
        signed=st.sampled_from((True, True, True, False)),
    )
    def hold(case: Any, real: bool, signed: bool) -> None:
        if mode == GenerationMode.POSITIVE and real:
            for name in case.path_parameters:
                case.path_parameters[name] = known.get(name, case.path_parameters[name])
        # our own token, or none: what the generator makes up is not what this is about
        case.headers.pop("Authorization", None)
        headers = token if signed else {}
        any_goes = case.media_type == "text/markdown" or path.endswith(_OPEN)
        checks = [
            one
            for one in CHECKS
            if one.__name__ != "negative_data_rejection" or not (any_goes or not signed)
        ]
        response = case.call(headers=headers)
        statuses.add((signed, response.status_code))
        validate(case, response, checks)

    hold()
    security = document.raw_schema["paths"][path][method.lower()]["security"]
    if security == [{"bearer": []}]:
        refused = {status for signed, status in statuses if not signed}
        assert refused <= {400, 401, 403, 415}, statuses
