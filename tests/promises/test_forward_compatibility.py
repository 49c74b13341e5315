"""What a provider says tomorrow goes back to it as it was said: the analysis' round trip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard import Text, image, tool, user
from hansard.record import views
from hansard.sealing import Keyring
from hansard.testing import ScriptedModel, call, raw, say
from tests.support.wired import DIALECTS

if TYPE_CHECKING:
    from tests.support.talkers import Talkers

ODD = (
    r'"zz":~[1e5,~1.50,-0.0,~123456789012345678901,"\/\u00e9\ud800é",'
    r'{"b":~1,"a":~2,"":[]}],"yy":null'
).encode()
"""Members that no dialect knows, spelled as no library would. A tilde is a space on the wire."""


def odd(text: bytes) -> bytes:
    return text.replace(b"ODD", ODD)


ANSWERS = {
    "openai": odd(
        b'{~"content":~[{"type":"text","text":"Hi.",~ODD},{"type":"hologram","beam":[1.0]}],'
        b'"role":"assistant","reasoning_content":~"A greeting.","refusal":null,ODD}'
    ),
    "openai-responses": odd(
        b'[{"type":"reasoning","id":"rs_1","summary":[],~"encrypted_content":"c2ln",ODD},'
        b'{"type":"hologram","id":"h_1",ODD},{"role":"assistant","type":"message","id":"msg_1",'
        b'"status":"completed","phase":~"final","content":~[{"text":"Hi.","type":"output_text",'
        b'"annotations":[],ODD}]}]'
    ),
    "anthropic": odd(
        b'{"role":"assistant","content":~[{"type":"thinking","thinking":"Hm.","signature":"c2ln",'
        b'ODD},{"type":"hologram","beam":~[1.0]},{"text":"Hi.","type":"text",ODD}]}'
    ),
    "gemini": odd(
        b'{"parts":~[{"thought":true,"text":"Hm.","thoughtSignature":"c2ln"},{"hologram":{ODD}},'
        b'{"text":"Hi.",~ODD}],"role":"model",ODD}'
    ),
}
BODIES = {
    "openai": b'{"choices":[{"index":0,~"message":%b,"finish_reason":"stop"}]}',
    "openai-responses": b'{"id":"r_1",~"output":%b,"status":"completed"}',
    "anthropic": b'{"id":"msg_1","type":"message",%b,"stop_reason":"end_turn"}',
    "gemini": b'{"candidates":[{~"content":%b,"finishReason":"STOP"}]}',
}


def wire(dialect: str, message: bytes) -> bytes:
    """The whole answer with this message, as it stands on the wire."""
    inner = message[1:-1] if dialect == "anthropic" else message
    return (BODIES[dialect] % inner).replace(b"~", b" \n")


def sent(dialect: str, message: bytes) -> bytes:
    """The same message as it has to stand in the next request."""
    compact = message.replace(b"~", b"")
    return compact[1:-1] if dialect == "openai-responses" else compact


KEYRING = Keyring({"k": bytes(range(32))}, current="k")
KEPT: dict[str, dict[str, Any]] = {
    "plain": {},
    "gzip": {"compress": "gzip"},
    "sealed": {"keyring": KEYRING},
    "sealed gzip": {"keyring": KEYRING, "compress": "gzip"},
}


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_with_fields_that_nobody_knows_goes_back_byte_for_byte(
    plain_talker: Talkers, dialect: str, kept: str
) -> None:
    """B.round_trip: answered, stored, loaded, sent: every byte of every field, however kept."""
    owner = {"owner": "user-7"} if "keyring" in KEPT[kept] else {}
    model = ScriptedModel(raw(wire(dialect, ANSWERS[dialect])), "Yes.", dialect=dialect)
    chat = plain_talker(model, **KEPT[kept])
    reply = chat.send(None, "Hello", **owner)
    assert reply.text == "Hi."
    chat.send(bytes(reply.state), "And now?", **owner)
    assert sent(dialect, ANSWERS[dialect]) in model.requests[1].body


HOLOGRAM = b'{"type":"hologram","id":"h_1","mood":0.950,ODD}'
HI = (
    b'{"type":"message","id":"msg_1","role":"assistant","status":"completed",'
    b'"content":[{"type":"output_text","text":"Hi.","annotations":[]}]}'
)
NOTHING_YET = b'{"type":"text","text":"","mood":0.950,ODD}'
STREAMS: dict[str, tuple[bytes, ...]] = {
    "openai": (
        b'{"choices":[{"index":0,"delta":{"role":"assistant","content":"H","mood":0.950}}]}',
        b'{"choices":[{"index":0,"delta":{"content":"i.","reasoning_content":"A "}}]}',
        b'{"choices":[{"index":0,"delta":{"reasoning_content":"greeting.",ODD}}]}',
        b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
        b"[DONE]",
    ),
    "openai-responses": (
        b'{"type":"response.output_item.done","output_index":0,"item":%b}' % HOLOGRAM,
        b'{"type":"response.output_item.done","output_index":1,"item":%b}' % HI,
        b'{"type":"response.completed","response":{"id":"r_1","status":"completed","output":[]}}',
    ),
    "anthropic": (
        b'{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}',
        b'{"type":"content_block_start","index":0,"content_block":%b}' % NOTHING_YET,
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"H"}}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"i."}}',
        b'{"type":"content_block_stop","index":0}',
        b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}',
        b'{"type":"message_stop"}',
    ),
    "gemini": (
        b'{"candidates":[{"content":{"role":"model","parts":[{"text":"H"}],"mood":0.950}}]}',
        b'{"candidates":[{"content":{"role":"model","parts":[{"text":"i."}]}}]}',
        b'{"candidates":[{"content":{"parts":[{"hologram":{ODD}}]},"finishReason":"STOP"}]}',
    ),
}


@pytest.mark.parametrize("size", [None, 1, 7])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_streamed_answer_keeps_what_nobody_knows(
    plain_talker: Talkers, dialect: str, size: int | None
) -> None:
    """B.round_trip_streamed: fields that nobody knows survive a stream, however it is cut."""
    events = [b"data: %b\n\n" % odd(data).replace(b"~", b" ") for data in STREAMS[dialect]]
    body = b"".join(events)
    pieces = [body[at : at + size] for at in range(0, len(body), size)] if size else events
    model = ScriptedModel(raw(*pieces), "Yes.", dialect=dialect)
    chat = plain_talker(model)
    reply = chat.stream(None, "Hello").finish()
    assert reply.text == "Hi."
    chat.send(bytes(reply.state), "And now?")
    assert b'"mood":0.950' in model.requests[1].body
    assert ODD.replace(b"~", b"") in model.requests[1].body
    if dialect == "openai":
        assert b'"reasoning_content":"A greeting."' in model.requests[1].body


CALLS = {
    "openai": b'{"role":"assistant","content":"","reasoning_content":"","tool_calls":[{"id":"a",'
    b'"type":"function","function":{"name":"look","arguments":"{ }"},'
    b'"extra_content":{"google":{"thought_signature":"c2ln"}},ODD}]}',
    "openai-responses": b'[{"type":"reasoning","id":"rs_1","summary":[],'
    b'"encrypted_content":"c2ln"},{"type":"function_call","id":"fc_1","call_id":"a",'
    b'"name":"look","arguments":"{ }",ODD}]',
    "anthropic": b'{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"look",'
    b'"input":{},"caller":{"type":"direct"},ODD}]}',
    "gemini": b'{"role":"model","parts":[{"functionCall":{"name":"look","args":{},ODD},'
    b'"thoughtSignature":"c2ln"}]}',
}


@tool
def look() -> str:
    """Look around."""
    return "a tree"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_goes_back_with_all_that_came_with_it(plain_talker: Talkers, dialect: str) -> None:
    """B.calls_whole: in its turn and in all later ones, a call is sent as the model made it."""
    message = odd(CALLS[dialect])
    model = ScriptedModel(raw(wire(dialect, message)), "Seen.", "Yes.", dialect=dialect)
    chat = plain_talker(model, tools=[look])
    chat.send(chat.send(None, "Look").state, "Really?")
    for request in model.requests[1:]:
        assert sent(dialect, message) in request.body


@pytest.mark.parametrize("dialect", DIALECTS)
def test_structured_content_is_kept_and_sent_again(talker: Talkers, dialect: str) -> None:
    """B.content_arrays: text and images in one message are the same bytes in every request."""
    model = ScriptedModel("A tree.", "An oak.", dialect=dialect)
    chat = talker(model)
    picture = image(b"PNG", "image/png")
    reply = chat.send(None, user("What is", Text("this?"), picture))
    chat.send(bytes(reply.state), "Which?")
    [first, *_] = model.requests[1].messages
    assert first == model.requests[0].messages[0]
    assert first.raw in model.requests[1].body or dialect == "openai-responses"
    assert (first.text, first.parts[-1]) == ("What isthis?", picture)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_reading_a_message_changes_nothing(plain_talker: Talkers, dialect: str) -> None:
    """B.one_truth: what is read of a message is a view; what is sent is the message."""
    model = ScriptedModel(raw(wire(dialect, ANSWERS[dialect])), "Yes.", dialect=dialect)
    chat = plain_talker(model)
    reply = chat.send(None, "Hello")
    for message in (reply.message, *views.curated(chat.load(reply.state))):
        assert message is not None
        assert message.role in ("user", "assistant")
        _ = (message.text, message.parts, message.tool_calls, message.thoughts, message.extra)
    chat.send(reply.state, "And now?")
    assert sent(dialect, ANSWERS[dialect]) in model.requests[1].body


@pytest.mark.parametrize("dialect", DIALECTS)
def test_fields_that_nobody_knows_can_be_read(plain_talker: Talkers, dialect: str) -> None:
    """B.extra: scores and sources of tomorrow can be shown, by their path in the message."""
    chat = plain_talker(ScriptedModel(raw(wire(dialect, ANSWERS[dialect])), dialect=dialect))
    message = chat.send(None, "Hello").message
    assert message is not None
    found = [value for path, value in message.extra.items() if path.split(".")[-1] == "zz"]
    natives = [part.value for part in message.parts if isinstance(part, hansard.Native)]
    assert found
    assert all([isinstance(value, list) and value[:2] == [1e5, 1.5] for value in found])
    assert "hologram" in repr(natives)


@pytest.mark.parametrize("other", DIALECTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_foreign_conversation_is_rebuilt_and_ones_own_is_sent_as_it_is(
    talker: Talkers, dialect: str, other: str
) -> None:
    """B.foreign_rebuilt: foreign messages are rebuilt from their views, one's own never."""
    first = say(calls=[call("look", id="call_1")])
    theirs = ScriptedModel(first, "A tree.", dialect=other)
    state = talker(theirs, tools=[look]).send(None, "Look").state
    model = ScriptedModel("Yes.", dialect=dialect)
    reply = talker(model, tools=[look], convert=True).send(state, "Really?")
    assert reply.rejected is None
    request = model.requests[0]
    assert [message.text for message in request.messages if message.text] == [
        "Look",
        "A tree.",
        "Really?",
    ]
    [made] = [each for message in request.messages for each in message.tool_calls]
    [result] = [each for message in request.messages for each in message.tool_results]
    assert (made.name, made.parsed, result.text) == ("look", {}, "a tree")
    assert made.id == result.call_id
    if other == dialect:
        assert request.messages[:-1] == (*theirs.requests[1].messages, *request.messages[-2:-1])
        assert not reply.losses
