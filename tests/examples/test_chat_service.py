"""Whatever becomes of workers, every message is answered once, and every seat booked once."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING
from urllib.request import urlopen

import psycopg
import pytest

from examples.chat_service import SEATS, Service, book_seat, clerk, post, show
from hansard import Chat, open_store
from hansard.testing import ScriptedModel
from tests.support.postgres_server import shared_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def database(tmp_path: Path) -> str:
    url = shared_server().schema(str(tmp_path))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SEATS)
    return url


@pytest.fixture
def workers(database: str) -> Iterator[list[Service]]:
    """Two workers, each with a store of its own."""
    stores = [open_store(database) for _ in range(2)]
    made = [Service(Chat(ScriptedModel(clerk), tools=[book_seat]), store) for store in stores]
    threads = [threading.Thread(target=service.serve_forever) for service in made]
    for thread in threads:
        thread.start()
    yield made
    for service, thread, store in zip(made, threads, stores, strict=True):
        service.shutdown()
        thread.join()
        service.server_close()
        store.close()


def told(worker: Service) -> list[str]:
    with urlopen(f"{worker.url}/chats/ada") as answer:  # noqa: S310 - a server of our own
        return [message["text"] for message in json.load(answer)]


def test_it_shows_that_a_message_survives_the_worker_who_died_of_it(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show(database)
    printed = capsys.readouterr().out
    assert "None" in printed
    assert printed.count("Seat 7? It is yours.") == 2
    assert printed.count("Seat 7? It is taken.") == 1
    assert printed.endswith("Seats: [('7', 'ada')]\n")


def test_a_message_that_comes_twice_is_answered_once(workers: list[Service]) -> None:
    said = [post(worker.url, "ada", "message-1", "Seat 7") for worker in (*workers, *workers)]
    assert said == ["Seat 7? It is yours."] * 4
    assert told(workers[1]) == ["Seat 7", "Seat 7? It is yours."]


def test_what_a_user_says_at_once_is_answered_one_after_the_other(workers: list[Service]) -> None:
    said: list[str | None] = []
    threads = [
        threading.Thread(
            target=lambda n=n: said.append(post(workers[n % 2].url, "ada", f"m{n}", "Seat 7"))
        )
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 6
    assert None not in said
    assert len(told(workers[0])) == 12
