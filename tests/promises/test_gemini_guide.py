"""What the Gemini guide promises of a conversation in many turns, kept here."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hansard import (
    Message,
    Native,
    Text,
    Thought,
    Tool,
    ToolCall,
    assistant,
    image,
    user,
)
from hansard.record import views
from hansard.testing import ScriptedModel, call, empty, forever, raw, say
from tests.support.travel import (
    ASKED,
    BOOKED,
    DIALECTS,
    SYSTEM,
    answers_of,
    travel_model,
    travel_server,
    travel_tools,
)

if TYPE_CHECKING:
    from hansard import ToolResult
    from hansard.rawjson import JSONObject
    from tests.support.talkers import Talker, Talkers

CITY: JSONObject = {
    "type": "OBJECT",
    "properties": {"city": {"type": "STRING"}},
    "required": ["city"],
}
WEATHER = Tool("get_weather", "Get current weather for a city", CITY)
FLIGHTS = Tool("search_flights", "Search available flights", {"type": "OBJECT", "properties": {}})


def gemini(*answers: Any) -> ScriptedModel:
    return ScriptedModel(*answers, dialect="gemini")


def content(*parts: bytes) -> Any:
    """Answer with a content of these parts."""
    return raw(
        b'{"candidates":[{"content":{"role":"model","parts":[%b]},"finishReason":"STOP"}]}'
        % b",".join(parts)
    )


def contents(model: ScriptedModel, number: int = -1) -> list[Any]:
    """Give what a request said, as it stands on the wire."""
    found = model.requests[number].json["contents"]
    assert isinstance(found, list)
    return found


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages]


# -- two histories ------------------------------------------------------------------------------


def test_there_is_a_history_of_everything_and_one_of_what_is_valid(talker: Talkers) -> None:
    """C.two_histories: every answer is in the one, only those of valid turns are in the other."""
    reply = talker(gemini(empty(), "Hello.")).send(None, "Hi")
    everything = views.comprehensive(reply.record)
    assert [message.role for message in everything] == ["user", "assistant", "assistant"]
    assert texts(everything) == ["Hi", "", "Hello."]
    assert texts(views.curated(reply.record)) == ["Hi", "Hello."]


def test_only_what_is_valid_is_sent(talker: Talkers) -> None:
    """C.curated_sent: an invalid answer is never sent, nor the prompt that came to nothing else."""
    model = gemini("One.", empty(), "Three.")
    chat = talker(model, retries=0)
    first = chat.send(None, "1?")
    second = chat.send(first.state, "2?")
    assert not second.valid
    chat.send(second.state, "3?")
    assert texts(model.requests[2].messages) == ["1?", "One.", "3?"]


VALID = {
    "text": b'{"text":"Hi"}',
    "a call": b'{"functionCall":{"name":"get_weather","args":{"city":"Rome"}}}',
    "a response": b'{"functionResponse":{"name":"f","response":{}}}',
    "inline data": b'{"inlineData":{"mimeType":"image/png","data":"UE5H"}}',
    "file data": b'{"fileData":{"mimeType":"image/png","fileUri":"files/1"}}',
    "a thought": b'{"thought":true}',
    "a field of tomorrow": b'{"hologram":{"beam":1}}',
}
INVALID = {
    "no candidates": b"{}",
    "an empty list of candidates": b'{"candidates":[]}',
    "no content": b'{"candidates":[{"finishReason":"STOP"}]}',
    "no parts": b'{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}',
    "an empty list of parts": b'{"candidates":[{"content":{"role":"model","parts":[]}}]}',
    "an empty part": b'{"candidates":[{"content":{"role":"model","parts":[{}]}}]}',
    "one empty part among others": b'{"candidates":[{"content":{"role":"model",'
    b'"parts":[{"text":"Hi"},{}]}}]}',
}


@pytest.mark.parametrize("what", [*VALID, *INVALID])
def test_an_answer_is_valid_that_has_parts_of_which_none_is_empty(
    plain_talker: Talkers, what: str
) -> None:
    """C.valid: a candidate, with content, with parts, and no part empty; nothing else is valid."""
    answer = content(VALID[what]) if what in VALID else raw(INVALID[what])
    chat = plain_talker(gemini(answer), tools=[WEATHER], retries=0)
    reply = chat.send(None, "Hello")
    assert reply.valid is (what in VALID)
    assert len(views.curated(reply.record)) == (2 if what in VALID else 0)


def test_the_history_can_be_had_in_either_kind(plain_talker: Talkers) -> None:
    """C.history: history(), get_history(true) and get_history(false) are views of the record."""
    chat = plain_talker(gemini(empty(), "Hello."))
    record = chat.load(chat.send(None, "Hi").state)
    assert texts(views.curated(record)) == texts(views.context(record)) == ["Hi", "Hello."]
    assert views.curated(record)[1].raw == b'{"role":"model","parts":[{"text":"Hello."}]}'
    assert set(views.curated(record)) <= set(views.comprehensive(record))


def test_a_history_is_cleared_by_giving_no_state(talker: Talkers) -> None:
    """C.clear_history: without a state nothing of before is sent, and nothing else is changed."""
    model = gemini("One.", "Two.")
    chat = talker(model, system="Be terse.")
    chat.send(None, "1?")
    chat.send(None, "2?")
    assert texts(model.requests[1].messages) == ["2?"]
    assert model.requests[1].system == "Be terse."


def test_a_history_can_be_added_to_by_hand(talker: Talkers) -> None:
    """C.add_to_history: words of either side are put there, and sent with the next message."""
    model = gemini("Yes.")
    chat = talker(model)
    state = chat.append(None, user("Manual entry"), assistant("Noted."))
    chat.send(state, "Really?")
    assert contents(model) == [
        {"role": "user", "parts": [{"text": "Manual entry"}]},
        {"role": "model", "parts": [{"text": "Noted."}]},
        {"role": "user", "parts": [{"text": "Really?"}]},
    ]


# -- sending ------------------------------------------------------------------------------------


def test_a_chat_is_built_with_instruction_temperature_and_tools(talker: Talkers) -> None:
    """C.builder: system instruction, temperature and tools are set once, and sent each time."""
    model = gemini("One.", "Two.")
    chat = talker(model, system=SYSTEM, temperature=0.7, tools=[WEATHER])
    chat.send(chat.send(None, "1?").state, "2?")
    for request in model.requests:
        assert request.json["systemInstruction"] == {"parts": [{"text": SYSTEM}]}
        assert request.json["generationConfig"] == {"temperature": 0.7}
        assert request.tools == ("get_weather",)


def test_a_text_is_sent_as_the_users(talker: Talkers) -> None:
    """C.send_message: text goes out as one part of the user's, behind the history."""
    model = gemini("Hello.")
    assert talker(model).send(None, "Hello").text == "Hello."
    assert contents(model) == [{"role": "user", "parts": [{"text": "Hello"}]}]


def test_parts_of_any_kind_are_sent_together(talker: Talkers) -> None:
    """C.send_parts: text and bytes are parts of one message."""
    model = gemini("A tree.")
    talker(model).send(None, user("Describe this image", image(b"PNG", "image/png")))
    inline = {"inlineData": {"mimeType": "image/png", "data": "UE5H"}}
    assert contents(model) == [{"role": "user", "parts": [{"text": "Describe this image"}, inline]}]


def waiting(talkers: Talkers, model: ScriptedModel) -> tuple[Talker, bytes]:
    chat = talkers(model, tools=[WEATHER, FLIGHTS])
    return chat, bytes(chat.send(None, "Weather?").state)


def answer(name: str, result: object, call_id: str = "") -> ToolResult:
    """A result that is made from a name, and an id if there is one, without the call at hand."""
    return ToolCall(call_id, name).answer(result)


def test_a_response_can_be_sent_by_the_name_of_its_function(talker: Talkers) -> None:
    """C.function_response: a call is answered by name alone, in the shape that is demanded."""
    model = gemini(say(calls=[call("get_weather", city="Rome")]), "12 °C.")
    chat, state = waiting(talker, model)
    chat.send_tool_results(state, [answer("get_weather", {"temp": 12})])
    response = {"functionResponse": {"name": "get_weather", "response": {"temp": 12}}}
    assert contents(model)[2:] == [{"role": "user", "parts": [response]}]


def test_a_response_can_be_sent_by_the_id_of_its_call(talker: Talkers) -> None:
    """C.function_response_with_id: a call is answered by id, and the id goes with the response."""
    model = gemini(say(calls=[call("get_weather", id="call_1", city="Rome")]), "12 °C.")
    chat, state = waiting(talker, model)
    chat.send_tool_results(state, [answer("get_weather", {"temp": 12}, "call_1")])
    response = {"id": "call_1", "name": "get_weather", "response": {"temp": 12}}
    assert contents(model)[2:] == [{"role": "user", "parts": [{"functionResponse": response}]}]


def test_responses_can_be_sent_together_by_name(talker: Talkers) -> None:
    """C.function_responses: a batch by names is answered in one message."""
    calls = [call("get_weather", city="Rome"), call("search_flights")]
    model = gemini(say(calls=calls), "12 °C, two flights.")
    chat, state = waiting(talker, model)
    results = [answer("get_weather", {"temp": 12}), answer("search_flights", {"flights": [1, 2]})]
    chat.send_tool_results(state, results)
    [message] = contents(model)[2:]
    assert [part["functionResponse"]["response"] for part in message["parts"]] == [
        {"temp": 12},
        {"flights": [1, 2]},
    ]


def test_responses_can_be_sent_together_by_id_in_any_order(talker: Talkers) -> None:
    """C.function_responses_with_ids: each of a batch finds its call by id, and none gets lost."""
    ids = ("call_1", "call_2", "call_3")
    model = gemini(say(calls=[call("get_weather", id=each, city=each) for each in ids]), "Cold.")
    chat, state = waiting(talker, model)
    chat.send_tool_results(state, [answer("get_weather", {"of": each}, each) for each in ids[::-1]])
    [message] = contents(model)[2:]
    found = [part["functionResponse"] for part in message["parts"]]
    assert [(each["id"], each["response"]["of"]) for each in found] == list(
        zip(ids, ids, strict=True)
    )


# -- calls and responses ------------------------------------------------------------------------


def weather_of(city: str) -> dict[str, str]:
    """Tell the weather."""
    return {"of": city}


def test_a_response_carries_the_id_of_its_call(talker: Talkers) -> None:
    """C.response_ids: each response has the very id that its call came with."""
    ids = ("call_tokyo", "call_paris")
    model = gemini(say(calls=[call("weather_of", id=each, city=each) for each in ids]), "Cold.")
    talker(model, tools=[weather_of]).send(None, "Weather?")
    found = [part["functionResponse"] for part in contents(model)[2]["parts"]]
    assert [(each["id"], each["response"]["of"]) for each in found] == list(
        zip(ids, ids, strict=True)
    )


def test_parallel_calls_are_answered_in_one_message(talker: Talkers) -> None:
    """C.parallel: calls are parts of one message of the model's, responses of one of the user's."""
    model = gemini(say(calls=[call("weather_of", city=city) for city in "abc"]), "Cold.")
    talker(model, tools=[weather_of]).send(None, "Weather?")
    asked, called, answered = contents(model)
    assert [each["role"] for each in (asked, called, answered)] == ["user", "model", "user"]
    assert [part["functionCall"]["args"] for part in called["parts"]] == [
        {"city": city} for city in "abc"
    ]
    assert [part["functionResponse"]["response"] for part in answered["parts"]] == [
        {"of": city} for city in "abc"
    ]


def test_text_can_stand_beside_responses(talker: Talkers) -> None:
    """C.text_beside_results: the message with the responses may say something too."""
    model = gemini(say(calls=[call("get_weather", id="call_1", city="Rome")]), "Booked.")
    chat, state = waiting(talker, model)
    chat.send_tool_results(
        state, [answer("get_weather", {"temp": 12}, "call_1")], user("Be brief.")
    )
    [message] = contents(model)[2:]
    assert [list(part) for part in message["parts"]] == [["functionResponse"], ["text"]]
    assert message["parts"][1]["text"] == "Be brief."


# -- what an answer says ------------------------------------------------------------------------

HOTEL = b'{"id":"call_hotel_1","name":"search_hotels","args":{"nights":3}}'
TURN_2 = (
    b'{"thought":true,"text":"Got weather.","thoughtSignature":"c2lnMQ=="}',
    b'{"text":"Tokyo is cold. "}',
    b'{"thought":true,"text":" Check hotels."}',
    b'{"text":"Book one?"}',
    b'{"functionCall":%b,"thoughtSignature":"c2lnMg=="}' % HOTEL,
)


@pytest.fixture
def reply(plain_talker: Talkers) -> Any:
    """Give the guide's second answer: thoughts, text and a call."""
    hotels = Tool("search_hotels", "Search hotels", {"type": "OBJECT", "properties": {}})
    return plain_talker(gemini(content(*TURN_2)), tools=[hotels], run_tools=False).send(None, "Go")


def test_the_text_of_an_answer_leaves_thoughts_out(reply: Any) -> None:
    """C.text: text is what is said, without what is thought."""
    assert reply.text == "Tokyo is cold. Book one?"


def test_thoughts_can_be_read_by_themselves(reply: Any) -> None:
    """C.thought_text: what is thought, without what is said."""
    assert reply.thought_text == "Got weather. Check hotels."


def test_an_answer_says_whether_it_has_thoughts(reply: Any, plain_talker: Talkers) -> None:
    """C.has_thoughts: true where a part is a thought, false where none is."""
    assert reply.has_thoughts is True
    assert plain_talker(gemini("Hello.")).send(None, "Hi").has_thoughts is False


def test_signatures_can_be_read(reply: Any) -> None:
    """C.thought_signatures: all signatures of an answer, in order, as they are spelled."""
    assert reply.thought_signatures == ("c2lnMQ==", "c2lnMg==")


def test_calls_can_be_read(reply: Any) -> None:
    """C.function_calls: id, name and arguments of each call."""
    [made] = reply.tool_calls
    assert (made.id, made.name, made.parsed) == ("call_hotel_1", "search_hotels", {"nights": 3})
    assert made == reply.message.tool_calls[0]


def test_all_parts_can_be_read(reply: Any) -> None:
    """C.parts: everything in an answer, in order."""
    assert [type(part) for part in reply.parts] == [Thought, Text, Thought, Text, ToolCall]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_signatures_go_back_with_the_history(talker: Talkers, dialect: str) -> None:
    """C.signatures_go_back: nobody does anything for it, in this turn and in all later ones."""
    signed = say("Hm.", thoughts="I think.", signature="c2lnX2FiYzEyMw==")
    model = ScriptedModel(SIGNED.get(dialect, signed), forever("Yes."), dialect=dialect)
    chat = talker(model)
    state = chat.send(None, "1?").state
    for question in ("2?", "3?"):
        state = chat.send(bytes(state), question).state
    for request in model.requests[1:]:
        assert request.body.count(b"c2lnX2FiYzEyMw==") == 1


SIGNED = {
    "openai": say("Hm.", extra={"reasoning_details": [{"data": "c2lnX2FiYzEyMw=="}]}),
}


def test_a_signature_can_be_put_on_a_part_by_hand(talker: Talkers) -> None:
    """C.signature_by_hand: any part may be made with a signature, one without any text too."""
    model = gemini("Yes.", "Go on.")
    chat = talker(model)
    bare = Native("signature", b'{"thoughtSignature":"Qw=="}')
    here, empty_text = Text("here", thought_signature="QQ=="), Text("", thought_signature="Qg==")
    said = user("Continue", here, empty_text, bare)
    chat.send(chat.send(None, said).state, "And?")
    for number in (0, 1):
        assert contents(model, number)[0]["parts"] == [
            {"text": "Continue"},
            {"text": "here", "thoughtSignature": "QQ=="},
            {"text": "", "thoughtSignature": "Qg=="},
            {"thoughtSignature": "Qw=="},
        ]


# -- the whole ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_travel_example_is_played_to_the_letter(talker: Talkers, dialect: str) -> None:
    """C.travel: weather twice, flights, hotels, bookings, in the bodies that a server expects."""
    with travel_server(dialect) as server:
        model = travel_model(dialect, base_url=server.url, api_key="k", retries=0)
        options = {"tools": travel_tools(dialect), "run_tools": False, "system": SYSTEM}
        with closing(talker(model, **options)) as chat:
            first = chat.send(None, user(ASKED))
            second = chat.send_tool_results(first.state, answers_of(first.tool_calls))
            results = answers_of(second.tool_calls)
            third = chat.send_tool_results(second.state, results, user(BOOKED))
    assert server.refusals == []
    assert [[made.name for made in each.tool_calls] for each in (first, second, third)] == [
        ["get_weather", "get_weather", "search_flights"],
        ["search_hotels"],
        ["book_flight", "book_hotel"],
    ]
    assert len(server.requests) == 3
