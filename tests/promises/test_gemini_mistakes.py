"""What the Gemini guide and the official client get wrong. Each test fails where it is repeated."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hansard import ProviderError, TooManyRounds, user
from hansard.dialects.events import TextDelta
from hansard.record import views
from hansard.record.entries import Said
from hansard.testing import ScriptedModel, WireServer, call, forever, raw, say
from tests.support.travel import ASKED, SYSTEM, answers_of, guide_server, travel_model, travel_tools
from tests.support.wired import DIALECTS, reach

if TYPE_CHECKING:
    from hansard import ToolCall
    from tests.support.talkers import Talkers


def weather_of(city: str) -> dict[str, str]:
    """Tell the weather."""
    return {"of": city}


def gemini(*answers: Any) -> ScriptedModel:
    return ScriptedModel(*answers, dialect="gemini")


def contents(model: ScriptedModel, number: int = -1) -> list[Any]:
    """Give what a request said, as it stands on the wire."""
    found = model.requests[number].json["contents"]
    assert isinstance(found, list)
    return found


def chunks(*candidates: bytes) -> Any:
    """Answer with a stream of these."""
    return raw(*[b"data: %b\n\n" % candidate for candidate in candidates])


def part(*parts: bytes, more: bytes = b"") -> bytes:
    said = b",".join(parts)
    return b'{"candidates":[{"content":{"role":"model","parts":[%b]}%b}]}' % (said, more)


STOP = b',"finishReason":"STOP"'
FIGURES = b',"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3,"totalTokenCount":12}}'


# -- the guide ----------------------------------------------------------------------------------


def signed_calls(*cities: str) -> Any:
    """Call in parallel, as the newest models do: the first of the calls is signed, alone."""
    calls = [
        call("weather_of", id=f"call_{city}", city=city, signature=None if at else "c2ln")
        for at, city in enumerate(cities)
    ]
    return say(calls=calls)


def test_the_signature_of_a_call_goes_back_on_that_call(talker: Talkers) -> None:
    """C.mistake.signature_on_thought: each signature is sent on the call it came on."""
    steps = [signed_calls("a", "b"), signed_calls("c")]
    with (
        WireServer("gemini", *steps, "Cold.", "Yes.") as server,
        closing(talker(reach(server), tools=[weather_of])) as chat,
    ):
        chat.send(chat.send(None, "Weather?").state, "Really?")
    assert server.refusals == []
    last: Any = server.requests[-1].json["contents"]
    calls = [part for said in last for part in said["parts"] if "functionCall" in part]
    assert [part.get("thoughtSignature") for part in calls] == ["c2ln", None, "c2ln"]


def test_a_history_without_signatures_on_calls_is_refused_and_not_lost(talker: Talkers) -> None:
    """C.mistake.unsigned_history: the guide's own example is refused, and its state is there."""
    with guide_server(strict=True) as server:
        model = travel_model("gemini", base_url=server.url, api_key="k", retries=0)
        options = {"tools": travel_tools("gemini"), "run_tools": False, "system": SYSTEM}
        with closing(talker(model, **options)) as chat:
            first = chat.send(None, user(ASKED))
            with pytest.raises(ProviderError, match="missing a thought_signature") as refused:
                chat.send_tool_results(first.state, answers_of(first.tool_calls))
            record = chat.load(refused.value.state)
    assert len(server.refusals) == 1
    assert len(views.curated(record)[-1].tool_results) == 3


def city_of(made: ToolCall) -> str:
    assert isinstance(made.parsed, dict)
    return str(made.parsed["city"])


def test_calls_need_no_ids(talker: Talkers) -> None:
    """C.mistake.ids_required: calls without ids are run, and answered without any, in order."""
    model = gemini(say(calls=[call("weather_of", city=city) for city in "ab"]), "Cold.")
    talker(model, tools=[weather_of]).send(None, "Weather?")
    answered = [part["functionResponse"] for part in contents(model)[2]["parts"]]
    assert answered == [{"name": "weather_of", "response": {"of": city}} for city in "ab"]


@pytest.mark.parametrize("run_tools", [True, False], ids=["run here", "the caller's"])
def test_ids_may_repeat(talker: Talkers, *, run_tools: bool) -> None:
    """C.mistake.ids_unique: calls of one id, in one turn or in two, each get their own result."""
    rounds = [
        say(calls=[call("weather_of", id="call_0", city=city) for city in cities])
        for cities in ("ab", "cd")
    ]
    model = gemini(rounds[0], "Cold.", rounds[1], "Colder.")
    chat = talker(model, tools=[weather_of], run_tools=run_tools)
    state = None
    for question in ("1?", "2?"):
        reply = chat.send(state, question)
        if not run_tools:
            results = [each.answer({"of": city_of(each)}) for each in reply.tool_calls]
            reply = chat.send_tool_results(reply.state, results)
        state = bytes(reply.state)
    for said, cities in ((contents(model)[2], "ab"), (contents(model)[6], "cd")):
        assert [part["functionResponse"] for part in said["parts"]] == [
            {"id": "call_0", "name": "weather_of", "response": {"of": city}} for city in cities
        ]


# -- the official client: streams ---------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_streamed_answer_is_one_message(plain_talker: Talkers, dialect: str) -> None:
    """C.mistake.chunk_per_message: however many chunks come, they are one message of one text."""
    words = "One two three four five."
    model = ScriptedModel(words, "Yes.", dialect=dialect)
    chat = plain_talker(model)
    with chat.stream(None, "Count") as stream:
        pieces = [event for event in stream if isinstance(event, TextDelta)]
    assert len(pieces) > 3
    record = chat.load(stream.reply.state)
    assert [message.text for message in views.curated(record)] == ["Count", words]
    assert len(views.curated(record)[1].parts) == 1
    chat.send(stream.reply.state, "More?")
    said = model.requests[1].messages
    assert [message.text for message in said] == ["Count", words, "More?"]


LAST = {
    "only usage": (part(b'{"text":"Hi."}', more=STOP), b'{"candidates":[]}'),
    "no candidates": (part(b'{"text":"Hi."}', more=STOP), b'{"modelVersion":"m"}'),
    "no parts": (part(b'{"text":"Hi."}'), part(more=STOP)),
    "an empty text": (part(b'{"text":"Hi."}'), part(b'{"text":""}', more=STOP)),
    "no content": (part(b'{"text":"Hi."}'), b'{"candidates":[{"finishReason":"STOP"}]}'),
    "parts left out": (
        part(b'{"text":"Hi."}'),
        b'{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}',
    ),
}


@pytest.mark.parametrize("last", LAST)
def test_what_the_last_chunk_lacks_does_not_cost_the_turn(plain_talker: Talkers, last: str) -> None:
    """C.mistake.last_chunk_drops_turn: a last chunk of usage alone, or no parts, loses nothing."""
    first, end = LAST[last]
    model = gemini(chunks(first, end[:-1] + FIGURES), "Yes.")
    chat = plain_talker(model)
    reply = chat.stream(None, "Hello").finish()
    assert (reply.text, reply.valid, reply.finish_reason) == ("Hi.", True, "stop")
    assert reply.usage.total_tokens == 12
    chat.send(reply.state, "And now?")
    assert [message.text for message in model.requests[1].messages] == ["Hello", "Hi.", "And now?"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_leaving_a_stream_keeps_the_prompt_and_what_came(
    plain_talker: Talkers, dialect: str
) -> None:
    """C.mistake.leaving_early: the prompt and the part of the answer that came are on record."""
    model = ScriptedModel("One two three four.", "Again: one.", dialect=dialect)
    chat = plain_talker(model)
    with chat.stream(None, "Count") as stream:
        next(event for event in stream if event.text)
    said = [entry for entry in chat.load(stream.state).entries() if isinstance(entry, Said)]
    assert [entry.author for entry in said] == ["input", "model"]
    assert b"One " in bytes(said[1].raw)
    assert b"four" not in bytes(said[1].raw)
    assert chat.resume(stream.state).text == "Again: one."
    assert [message.text for message in model.requests[1].messages] == ["Count"]


# -- the official client: calls -----------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls_that_are_run_here_are_answered_with_their_ids(talker: Talkers, dialect: str) -> None:
    """C.mistake.answered_without_ids: a result has its call's id, also where we run the tool."""
    ids = ["call_a", "call_b"]
    calls = [call("weather_of", id=each, city=each) for each in ids]
    model = ScriptedModel(say(calls=calls), "Cold.", dialect=dialect)
    talker(model, tools=[weather_of]).send(None, "Weather?")
    results = model.requests[1].results
    assert [result.call_id for result in results] == ids
    assert [each in result.text for each, result in zip(ids, results, strict=True)] == [True, True]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_call_is_left_unanswered_at_the_limit(talker: Talkers, dialect: str) -> None:
    """C.mistake.unanswered_at_limit: after too many rounds, what comes next is accepted."""
    signature = "c2ln" if dialect == "gemini" else None
    calling = [
        say(calls=[call("weather_of", id=f"call_{at}", city="Rome", signature=signature)])
        for at in range(2)
    ]
    with (
        WireServer(dialect, *calling, forever("Hello.")) as server,
        closing(talker(reach(server), tools=[weather_of], max_rounds=2)) as chat,
    ):
        with pytest.raises(TooManyRounds) as error:
            chat.send(None, "Weather?")
        assert chat.send(error.value.state, "Hello?").text == "Hello."
    assert server.refusals == []
    assert b"call_1" in server.requests[-1].body
    assert b"was not run: the limit of rounds" in server.requests[-1].body


# -- the official client: parsing ---------------------------------------------------------------

UNKNOWN = (
    b'{"text":"Hi.","novel":{"n":1e5}}',
    b'{"functionCall":{"name":"weather_of","args":{"city":"a","n":1.50},"mood":[0.950]}}',
    b'{"hologram":{"z":1,"a":2}}',
)


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
def test_fields_that_nobody_knows_are_kept(plain_talker: Talkers, *, streamed: bool) -> None:
    """C.mistake.unknown_fields_dropped: unknown fields and parts go back as they were spelled."""
    body = part(*UNKNOWN, more=STOP)
    model = gemini(chunks(body) if streamed else raw(body), "Yes.")
    chat = plain_talker(model, tools=[weather_of], run_tools=False)
    reply = chat.stream(None, "Hello").finish() if streamed else chat.send(None, "Hello")
    results = [each.answer("cold") for each in reply.tool_calls]
    chat.send_tool_results(bytes(reply.state), results)
    assert b'"parts":[' + b",".join(UNKNOWN) + b"]" in model.requests[1].body


SIGNATURES = {
    "URL-safe": b'"_-8="',
    "unpadded": b'"c2ln_w"',
    "with escapes": rb'"a\/b\u002bcg=="',
    "with spare bits": b'"QR=="',
}


@pytest.mark.parametrize("spelled", SIGNATURES)
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
def test_signatures_are_sent_as_they_were_spelled(
    plain_talker: Talkers, spelled: str, *, streamed: bool
) -> None:
    """C.mistake.signatures_rewritten: base64 is not decoded and spelled anew on its way back."""
    said = b'{"text":"Hi.","thoughtSignature":%b}' % SIGNATURES[spelled]
    body = part(said, more=STOP)
    model = gemini(chunks(body) if streamed else raw(body), "Yes.")
    chat = plain_talker(model)
    reply = chat.stream(None, "Hello").finish() if streamed else chat.send(None, "Hello")
    chat.send(bytes(reply.state), "And now?")
    assert said in model.requests[1].body
