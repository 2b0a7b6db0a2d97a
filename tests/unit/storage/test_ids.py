"""Ids: their shape, their order."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

from storage.ids import is_id, new_id


def test_an_id_is_a_prefix_and_a_uuid_of_version_7():
    value = uuid.UUID(new_id("job").removeprefix("job-"))
    assert value.version == 7
    assert value.variant == uuid.RFC_4122


def test_ids_of_one_process_grow_and_never_repeat():
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: [new_id("job") for _ in range(500)], range(8)))
    assert len({one for part in parts for one in part}) == 4000
    for part in parts:
        assert part == sorted(part)


def test_only_the_right_shape_is_an_id():
    assert is_id(new_id("rcp"), "rcp")
    for text in ("", "job-", "job-xyz", new_id("rcp"), new_id("job") + "0", new_id("job").upper()):
        assert not is_id(text, "job")
