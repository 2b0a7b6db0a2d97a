import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import cursors
from api.errors import CursorInvalid
from storage import settings
from storage.principals import Principal, anonymous

FILTERS = {"state": ["failed"], "kind": []}


@pytest.fixture(autouse=True)
def configured_key(monkeypatch):
    monkeypatch.setenv("BRAINSTEM_CURSOR_KEY", "a key of the operator")
    settings.reload()
    yield
    monkeypatch.undo()
    settings.reload()


def test_a_cursor_opens_to_the_position_it_was_made_for():
    cursor = cursors.seal(anonymous("a"), "jobs", FILTERS, 2**62)
    assert cursors.opened(anonymous("a"), "jobs", FILTERS, cursor) == 2**62
    assert cursors.opened(anonymous("a"), "jobs", FILTERS, None) is None


def test_a_cursor_tells_nothing_of_its_position():
    made = {cursors.seal(anonymous("a"), "jobs", FILTERS, 7) for _ in range(5)}
    assert len(made) == 5


@pytest.mark.parametrize(
    ("caller", "route", "filters"),
    [
        (anonymous("b"), "jobs", FILTERS),
        (Principal("eve", "token", "a", frozenset()), "jobs", FILTERS),
        (anonymous("a"), "conversations", FILTERS),
        (anonymous("a"), "jobs", {"state": [], "kind": []}),
        (anonymous("a"), "jobs", {"state": ["failed"], "kind": ["failed"]}),
    ],
)
def test_a_cursor_is_good_only_for_its_own_list(caller, route, filters):
    cursor = cursors.seal(anonymous("a"), "jobs", FILTERS, 1)
    with pytest.raises(CursorInvalid):
        cursors.opened(caller, route, filters, cursor)


def test_each_changed_bit_is_noticed():
    sealed = base64.urlsafe_b64decode(cursors.seal(anonymous("a"), "jobs", FILTERS, 123))
    for bit in range(len(sealed) * 8):
        changed = bytearray(sealed)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CursorInvalid):
            cursors.opened(
                anonymous("a"), "jobs", FILTERS, base64.urlsafe_b64encode(changed).decode()
            )


@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda b: base64.b64encode(b).decode()))
def test_no_other_text_is_a_cursor(text):
    with pytest.raises(CursorInvalid):
        cursors.opened(anonymous("a"), "jobs", FILTERS, text)


def test_a_cursor_of_another_key_is_not_ours(monkeypatch):
    cursor = cursors.seal(anonymous("a"), "jobs", FILTERS, 1)
    monkeypatch.setenv("BRAINSTEM_CURSOR_KEY", "another key")
    settings.reload()
    with pytest.raises(CursorInvalid):
        cursors.opened(anonymous("a"), "jobs", FILTERS, cursor)
