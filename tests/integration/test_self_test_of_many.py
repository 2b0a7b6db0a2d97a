"""The self-test where a question has many answers."""

from __future__ import annotations

from datetime import UTC, datetime

from pipelines.formation.alone import form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.maintenance.self_test import grounded, host_question
from storage.clock import now
from storage.database import Database
from storage.graph.belief import Question
from storage.graph.claims import claims_for
from tests.integration.test_recall_answers import new_space

LIKED = ("pizza", "sushi", "pasta", "curry", "tofu", "cheese", "honey", "rice", "soup", "olives")


def test_each_of_many_things_that_somebody_likes_is_found(database: Database) -> None:
    scope = new_space(database)
    at = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp() * 1000)
    talk = [
        {"role": "user", "name": "Ana", "content": f"I like {one}.", "timestamp": at}
        for one in LIKED
    ]
    form(database, scope, talk, BuiltinEncoder())
    with database.transaction(scope) as tx:
        rows = tx.execute("select id from assertion where space_id = %s", (scope.space_id,))
        views = claims_for(
            tx, scope, Question(valid_at=now()), assertions=[id for (id,) in rows.fetchall()]
        )
        assert [view.object for view in views if not view.stands] == []
        assert len(views) == len(LIKED)
        for view in views:
            assert grounded(tx, scope, view, host_question(view)), view.object
