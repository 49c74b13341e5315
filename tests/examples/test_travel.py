"""The trip is planned in every dialect, by hand, as the strictest provider wants it."""

from __future__ import annotations

import pytest

from examples.travel import ASKED, CHOSEN, SCRIPT, SYSTEM, TOOLS, main
from hansard.testing import ScriptedModel, WireServer
from tests.support.travel import DIALECTS, travel_model


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_request_is_one_that_the_strict_provider_takes(dialect: str) -> None:
    """Over real HTTP: calls in parallel, their signatures, results with words beside them."""
    with (
        WireServer(dialect, *SCRIPT) as server,
        travel_model(dialect, base_url=server.url, api_key="k", retries=0) as model,
    ):
        reply = main(model)
    assert server.refusals == []
    assert len(server.requests) == len(SCRIPT)
    assert reply.text == "Both are booked. Have a good trip!"
    assert reply.finish_reason == "stop"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_call_gets_its_own_result_and_the_users_words_come_after_them(dialect: str) -> None:
    model = ScriptedModel(*SCRIPT, dialect=dialect)
    main(model)
    asked, weather, hotels, booked = model.requests
    assert asked.system == SYSTEM
    assert asked.text == ASKED
    assert asked.tools == tuple(TOOLS)

    tokyo, paris, flights = weather.results
    assert "cloudy" in tokyo.text
    assert "rainy" in paris.text
    assert "Tokyo-Paris" in flights.text

    (found,) = hotels.results
    assert "Hotel Paris" in found.text
    assert hotels.text == CHOSEN
    assert [result.text for result in booked.results] == [
        "Booked: JAL at 10:00.",
        "Booked: Hotel Paris, 3 nights.",
    ]


def test_no_tool_runs_but_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    main(ScriptedModel(*SCRIPT, dialect="gemini"))
    printed = capsys.readouterr().out
    assert printed.count("→") == 6
    assert printed.index("Shall I book") < printed.index(CHOSEN) < printed.index("book_flight")
