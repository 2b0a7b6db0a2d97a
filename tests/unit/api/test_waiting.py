import pytest
from flask import Flask

from api.waiting import preferred_seconds
from storage.settings import settings

app = Flask("test")


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        (None, "default"),
        ("wait=0", 0.0),
        ("wait=3", 3.0),
        ("Wait = 3", 3.0),
        ('wait="3"', 3.0),
        ("respond-async, wait=7", 7.0),
        ("handling=lenient; wait=2", 2.0),
        ("respond-async", 0.0),
        ("Respond-Async; x=y", 0.0),
        ("wait=999999999", "default"),
        ("wait=-1", "default"),
        ("wait=1.5", "default"),
        ("wait=soon", "default"),
        ("await=1", "default"),
        ("return=minimal", "default"),
    ],
)
def test_prefer_shortens_the_wait_and_never_lengthens_it(prefer, seconds):
    headers = {} if prefer is None else {"Prefer": prefer}
    with app.test_request_context(headers=headers):
        found = preferred_seconds()
    assert found == (settings().wait_seconds if seconds == "default" else seconds)
