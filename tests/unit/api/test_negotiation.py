import cbor2
import pytest
from flask import Flask

from api import negotiation
from storage.errors import InvalidInput, UnsupportedMediaType

app = Flask("test")


def _read(body, content_type, **headers):
    headers = {"Content-Type": content_type, **headers} if content_type else headers
    with app.test_request_context(method="POST", data=body, headers=headers):
        return negotiation.read_body(lambda text: {"text": text}, "messages")


def _preferred(accept):
    with app.test_request_context(headers={"Accept": accept} if accept is not None else {}):
        return negotiation.preferred()


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, negotiation.JSON),
        ("", negotiation.JSON),
        ("*/*", negotiation.JSON),
        ("application/json", negotiation.JSON),
        ("application/*", negotiation.JSON),
        ("application/cbor", negotiation.CBOR),
        ("text/markdown", negotiation.MARKDOWN),
        ("text/*", negotiation.MARKDOWN),
        ("application/json;q=0.5, application/cbor", negotiation.CBOR),
        ("application/cbor;q=0.2, text/markdown;q=0.9, */*;q=0.1", negotiation.MARKDOWN),
        ("text/html, application/xhtml+xml, */*;q=0.8", negotiation.JSON),
        ("text/html", negotiation.JSON),
        ("application/json;q=0, application/cbor;q=0.1", negotiation.CBOR),
        ("rubbish;;q=", negotiation.JSON),
        ("text/markdown; charset=utf-8", negotiation.MARKDOWN),
        ("text/markdown;variant=GFM;q=0.9, application/json;q=0.1", negotiation.MARKDOWN),
        ('Application/CBOR; x="a, b"', negotiation.CBOR),
        ("application/json; charset=utf-8", negotiation.JSON),
        ("application/cbor;q=0; x=1", negotiation.JSON),
        ("text/*;level=1", negotiation.MARKDOWN),
    ],
)
def test_accept_chooses_the_best_liked_format(accept, media):
    assert _preferred(accept) == media


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON"]
)
def test_json_is_read_with_and_without_a_charset(content_type):
    assert _read(b'{"a": 1}', content_type) == {"a": 1}


def test_cbor_is_read():
    assert _read(cbor2.dumps({"a": [1, 2]}), "application/cbor") == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("# Hello\n{", {"text": "# Hello\n{"}),
        ("{not json", {"text": "{not json"}),
        ('{"other": 1}', {"text": '{"other": 1}'}),
        ('["messages"]', {"text": '["messages"]'}),
        ('{"messages": []}', {"messages": []}),
        ("你好 😀", {"text": "你好 😀"}),
    ],
)
def test_markdown_is_text_unless_it_is_the_input_itself(body, found):
    assert _read(body.encode(), "text/markdown") == found


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "text/html",
        "application/xml",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
        "application/jsonp",
        "json",
    ],
)
def test_other_content_types_are_refused(content_type):
    with pytest.raises(UnsupportedMediaType):
        _read(b'{"a": 1}', content_type)


def test_a_content_encoding_is_refused():
    with pytest.raises(UnsupportedMediaType):
        _read(b"\x1f\x8b", "application/json", **{"Content-Encoding": "gzip"})


@pytest.mark.parametrize("content_type", ["application/json", "application/cbor"])
def test_an_empty_body_is_refused(content_type):
    with pytest.raises(InvalidInput):
        _read(b"", content_type)


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a\x00b"])
def test_markdown_that_cannot_be_kept_is_refused(body):
    with pytest.raises(InvalidInput):
        _read(body, "text/markdown")


def test_the_three_formats_of_an_answer():
    def answer(accept):
        with app.test_request_context(headers={"Accept": accept}):
            return negotiation.answer({"n": 2**53 + 1}, next_cursor="c", text="only text")

    assert answer("application/json").json == {"result": {"n": 2**53 + 1}, "next_cursor": "c"}
    cbor = answer("application/cbor")
    assert cbor2.loads(cbor.data) == {"result": {"n": 2**53 + 1}, "next_cursor": "c"}
    markdown = answer("text/markdown")
    assert markdown.content_type == "text/markdown; charset=utf-8"
    assert markdown.data == b"only text"
