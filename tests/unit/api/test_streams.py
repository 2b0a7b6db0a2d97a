import signal

import pytest

from api.errors import TooManyStreams
from api.streams import Places, end_at_sigterm
from storage import settings


@pytest.fixture
def two_places(monkeypatch):
    monkeypatch.setenv("BRAINSTEM_API_STREAMS", "2")
    settings.reload()
    yield Places(lambda: settings.settings().api_streams)
    monkeypatch.undo()
    settings.reload()


def test_only_so_many_places_are_given_and_a_left_one_is_given_again(two_places):
    first, _ = two_places.take(), two_places.take()
    with pytest.raises(TooManyStreams) as refused:
        two_places.take()
    assert refused.value.status == 503
    first.leave()
    first.leave()
    assert two_places.count == 1
    with two_places.taken():
        assert two_places.count == 2
    assert two_places.count == 1


def test_closing_wakes_every_stream_and_lets_no_more_in(two_places):
    woken = []
    place = two_places.take()
    place.wake = lambda: woken.append(True)
    two_places.close()
    assert place.closing
    assert woken == [True]
    with pytest.raises(TooManyStreams):
        two_places.take()


def test_a_process_that_does_not_handle_sigterm_is_left_alone():
    before = signal.getsignal(signal.SIGTERM)
    assert not callable(before)
    end_at_sigterm()
    assert signal.getsignal(signal.SIGTERM) is before
