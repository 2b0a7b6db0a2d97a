"""The served OpenAPI document: complete, valid, and true of what the server answers."""

from __future__ import annotations

import re

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    missing_required_header,
    negative_data_rejection,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from api.app import FAMILIES
from storage import settings
from tests.unit.api.calling import MESSAGE, new_client

SPACE = "contract"
#: Seed 003 sections 4.1, 4.2 and 4.5, as far as they are served.
SEED_ROUTES = {
    "GET /favicon.ico",
    "GET /info",
    "POST /v1/{space_id}/formation",
    "POST /v1/{space_id}/recall",
    "POST /v1/{space_id}/recall_structured",
    "POST /v1/{space_id}/maintenance",
    "GET /v1/{space_id}/info",
    "GET /v1/{space_id}/status",
    "GET /v1/{space_id}/formation_status",
    "GET /v1/{space_id}/conversations",
    "GET /v1/{space_id}/conversations/{conversation_id}",
    "GET /v1/{space_id}/conversations/{conversation_id}/delta",
    "POST /v1/{space_id}/execute_kip_readonly",
    "GET /v1/{space_id}/schema/drafts",
    "POST /v1/{space_id}/schema/promote",
    "POST /v1/{space_id}/probe",
    "POST /v1/{space_id}/get_or_init_user",
    "POST /v1/{space_id}/memory/pin",
    "POST /v1/{space_id}/memory/forget",
    "POST /admin/create_space",
    "GET /v1/{space_id}/jobs",
    "GET /v1/{space_id}/jobs/{job_id}",
    "POST /v1/{space_id}/jobs/{job_id}/cancel",
    "POST /v1/{space_id}/jobs/{job_id}/retry",
    "GET /v1/{space_id}/jobs/{job_id}/events",
    "GET /v1/{space_id}/jobs/watch",
    "GET /healthz",
    "GET /readyz",
    "GET /metrics",
    "GET /openapi.json",
    "GET /docs",
}


@pytest.fixture
def client(database):
    return new_client()


@pytest.fixture
def document(client):
    return client.get("/openapi.json").json


def braced(rule):
    """A Flask rule as OpenAPI writes a path."""
    return re.sub(r"<(\w+)>", r"{\1}", rule)


def documented(document):
    return {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_every_route_is_documented_and_nothing_else(client, document):
    served = {
        f"{method} {braced(rule.rule)}"
        for rule in client.application.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    assert set(documented(document)) == served
    assert served >= SEED_ROUTES


def test_every_error_of_a_route_is_documented_with_its_code(document):
    operations = {
        f"{operation.method} {braced(operation.path)}": operation
        for family in FAMILIES
        for operation in family.operations
    }
    for name, told in documented(document).items():
        for error in operations[name].errors:
            response = told["responses"][str(error.status)]
            if str(error.status) not in map(str, operations[name].answers):
                assert f"`{error.code}`" in response["description"], name
        assert told["summary"], name
        assert told["description"], name


def test_operation_ids_are_unique(document):
    ids = [operation["operationId"] for operation in documented(document).values()]
    assert len(ids) == len(set(ids))


def test_every_schema_is_a_schema_and_every_reference_leads_somewhere(document):
    for name, schema in document["components"]["schemas"].items():
        whole = {**schema, "components": document["components"]}
        jsonschema_rs.Draft202012Validator(whole, validate_formats=False)
        jsonschema_rs.meta.validate(schema)
        assert name
    references = re.findall(r"'\$ref': '#/components/schemas/([^']+)'", str(document))
    assert references
    assert set(references) <= set(document["components"]["schemas"])


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
    negative_data_rejection,
    missing_required_header,
    unsupported_method,
]


def validate(case, response, checks):
    """Hold a response against the document. 501 is no fault: it says what is not offered here."""
    if response.status_code == 501 and response.json()["data"]["code"] == "unsupported":
        checks = [one for one in checks if one is not not_a_server_error]
    case.validate_response(response, checks=checks)


@pytest.fixture
def served(database, monkeypatch):
    """The document as served, a space with something in it, and recalls that do not wait."""
    monkeypatch.setenv("BRAINSTEM_WAIT_SECONDS", "0.01")
    settings.reload()
    yield schemathesis.openapi.from_wsgi("/openapi.json", new_client().application)
    monkeypatch.undo()
    settings.reload()


@pytest.fixture
def known(client):
    """Ids that exist, so that not every answer is 404."""
    body = {"user": "ada", "space_id": SPACE, "tier": 0}
    assert client.post("/admin/create_space", json=body).status_code in (200, 409)
    made = client.post(f"/v1/{SPACE}/formation", json={"messages": [MESSAGE]}).json["result"]
    return {
        "space_id": SPACE,
        "job_id": made["job"],
        "conversation_id": made["conversation"],
    }


#: The two streams have no end, and tests of their own.
OPERATIONS = [
    (braced(operation.path), operation.method, mode)
    for family in FAMILIES
    for operation in family.operations
    for mode in GenerationMode
    if not operation.path.endswith(("/events", "/watch"))
    and (mode == GenerationMode.POSITIVE or operation.body or operation.query)
]


@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_the_server_answers_as_the_document_says(served, known, path, method, mode):
    @hypothesis_settings(
        max_examples=30,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=served[path][method].as_strategy(generation_mode=mode), real=st.booleans())
    def hold(case, real):
        if mode == GenerationMode.POSITIVE and real:
            case.path_parameters.update(
                {name: value for name, value in known.items() if name in case.path_parameters}
            )
        # any text is Markdown, and KIP says in its own answer what is wrong with a request
        any_goes = case.media_type == "text/markdown" or path.endswith("/execute_kip_readonly")
        checks = [one for one in CHECKS if not (any_goes and one is negative_data_rejection)]
        validate(case, case.call(), checks)

    hold()
