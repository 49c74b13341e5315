"""What a chat sends, stores and gives back when all goes well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hansard import Invalid, InvalidMessage, Rejected, event, system, user
from hansard.record import views
from hansard.testing import ScriptedModel, call, say

if TYPE_CHECKING:
    from tests.support.talkers import Talkers

DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")


def said(model: ScriptedModel, number: int = -1) -> list[tuple[str, str]]:
    """Give what a request said, as roles and texts."""
    return [(message.role, message.text) for message in model.requests[number].messages]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_conversation_goes_on_from_the_state_that_a_reply_gave(
    talker: Talkers, dialect: str
) -> None:
    model = ScriptedModel("Good day.", "Harrogate.", dialect=dialect)
    chat = talker(model)
    first = chat.send(None, user("Hello"))
    second = chat.send(first.state, user("Where am I?"))
    assert (first.text, second.text) == ("Good day.", "Harrogate.")
    assert said(model) == [("user", "Hello"), ("assistant", "Good day."), ("user", "Where am I?")]


def test_plain_text_is_the_users(talker: Talkers) -> None:
    model = ScriptedModel("Yes.")
    talker(model).send(None, "Hello")
    assert said(model) == [("user", "Hello")]


def test_a_state_survives_any_store_of_bytes(talker: Talkers) -> None:
    model = ScriptedModel("One.", "Two.")
    chat = talker(model)
    state = bytes(bytearray(chat.send(None, "1?").state))
    assert chat.send(state, "2?").text == "Two."
    assert said(model)[0] == ("user", "1?")


def test_nothing_to_say_is_an_error(talker: Talkers) -> None:
    with pytest.raises(Invalid, match="expected something to say"):
        talker(ScriptedModel("Yes.")).send(None)


def test_a_list_of_messages_is_refused_with_what_to_do(talker: Talkers) -> None:
    with pytest.raises(InvalidMessage, match="one by one"):
        talker(ScriptedModel("Yes.")).send(None, [user("Hello")])


# -- system messages ------------------------------------------------------------------------------


def test_leading_system_messages_are_sent_and_never_stored(talker: Talkers) -> None:
    model = ScriptedModel("Yes.", "No.")
    chat = talker(model)
    reply = chat.send(None, system("You are terse."), user("Hello"))
    assert model.requests[0].system == "You are terse."
    assert b"terse" not in bytes(reply.state)
    chat.send(reply.state, user("And now?"))
    assert model.requests[1].system == ""


def test_leading_system_messages_are_given_afresh_with_each_call(talker: Talkers) -> None:
    model = ScriptedModel("Yes.", "No.")
    chat = talker(model)
    reply = chat.send(None, system("It is Monday."), user("Hello"))
    chat.send(reply.state, system("It is Tuesday."), system("It rains."), user("And now?"))
    assert model.requests[1].system == "It is Tuesday.\n\nIt rains."


def test_a_calls_leading_system_messages_stand_in_for_the_chats(talker: Talkers) -> None:
    model = ScriptedModel("Yes.", "No.")
    chat = talker(model, system="You are terse.")
    reply = chat.send(None, user("Hello"))
    chat.send(reply.state, system("You are chatty."), user("And now?"))
    assert [request.system for request in model.requests] == ["You are terse.", "You are chatty."]


def test_a_system_message_after_another_is_stored_in_its_place(talker: Talkers) -> None:
    model = ScriptedModel("Yes.", "No.")
    chat = talker(model)
    reply = chat.send(None, user("Hello"), system("Be brief."), user("Well?"))
    chat.send(reply.state, user("And now?"))
    assert said(model) == [
        ("user", "Hello"),
        ("system", "Be brief."),
        ("user", "Well?"),
        ("assistant", "Yes."),
        ("user", "And now?"),
    ]


def test_append_stores_leading_system_messages_too(talker: Talkers) -> None:
    model = ScriptedModel("Yes.")
    chat = talker(model)
    state = chat.append(None, system("Stays."))
    chat.send(state, system("Goes."), user("Hello"))
    assert b"Stays." in model.requests[0].body
    assert b"Goes." in model.requests[0].body
    assert b"Stays." in bytes(chat.append(state, user("Later.")))


# -- events ---------------------------------------------------------------------------------------


def test_an_event_reaches_the_next_request_in_the_users_role(talker: Talkers) -> None:
    model = ScriptedModel("Good day.", "At the theatre.")
    chat = talker(model)
    reply = chat.send(None, user("Hello"))
    state = chat.append(reply.state, event("User has checked in at Harrogate Theatre"))
    chat.send(state, user("Where am I?"))
    assert said(model)[2:] == [
        ("user", "User has checked in at Harrogate Theatre"),
        ("user", "Where am I?"),
    ]


def test_events_and_prompts_keep_the_order_in_which_they_are_given(talker: Talkers) -> None:
    model = ScriptedModel("Yes.")
    talker(model).send(None, event("It rains."), user("Hello"), event("It stops."))
    assert [text for _, text in said(model)] == ["It rains.", "Hello", "It stops."]


def test_append_asks_the_model_nothing(talker: Talkers) -> None:
    model = ScriptedModel()
    state = talker(model).append(None, event("One."), event("Two."))
    assert not model.requests
    assert b"One." in bytes(state)


def test_what_is_appended_while_calls_are_pending_stands_after_their_results(
    talker: Talkers,
) -> None:
    model = ScriptedModel(say(calls=[call("look", id="a")]), "Seen.")
    chat = talker(model, tools=[look], run_tools=False)
    waiting = chat.send(None, user("Look!"))
    state = chat.append(waiting.state, event("It got dark."))
    reply = chat.send_tool_results(state, [waiting.tool_calls[0].answer("a tree")])
    assert reply.text == "Seen."
    roles = [message.role for message in model.requests[1].messages]
    assert roles == ["user", "assistant", "tool", "user"]


def look() -> str:
    """Look around."""
    return "a tree"


# -- states ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("junk", [b"{}", b"nonsense", b'{"version":9}', b"\x00\xff"])
def test_a_state_that_cannot_be_used_is_set_aside_and_told(talker: Talkers, junk: bytes) -> None:
    told: list[Rejected] = []
    model = ScriptedModel("Hello again.")
    chat = talker(model, on_rejected=told.append)
    reply = chat.send(junk, user("Hello"))
    assert [rejected.blob for rejected in told] == [junk]
    assert reply.rejected == told[0] == chat.check(junk)
    assert reply.text == "Hello again."
    assert said(model) == [("user", "Hello")]


def test_a_good_state_is_not_rejected(talker: Talkers) -> None:
    chat = talker(ScriptedModel("Yes.", "No."))
    reply = chat.send(None, "Hello")
    assert reply.rejected is None
    assert chat.check(reply.state) is None
    assert chat.check(None) is None


def test_a_state_of_another_dialect_is_refused_unless_it_is_to_be_converted(
    talker: Talkers,
) -> None:
    state = talker(ScriptedModel("Good day.", dialect="anthropic")).send(None, "Hello").state
    refused = talker(ScriptedModel("Yes.", dialect="gemini"))
    assert refused.send(state, "And now?").rejected is not None
    model = ScriptedModel("Yes.", dialect="gemini")
    reply = talker(model, convert=True).send(state, "And now?")
    assert reply.rejected is None
    assert said(model)[:2] == [("user", "Hello"), ("assistant", "Good day.")]


def test_a_version_1_state_can_be_written_and_read(talker: Talkers) -> None:
    model = ScriptedModel("Yes.", "No.")
    chat = talker(model, state_version=1)
    state = chat.send(None, "Hello").state
    assert b'"version":1' in state.replace(b" ", b"")
    assert chat.send(state, "And now?").text == "No."
    assert said(model)[0] == ("user", "Hello")


def test_compressed_states_are_smaller_and_read_by_any_chat(talker: Talkers) -> None:
    model = ScriptedModel("Yes.", "Yes.", "No.")
    prompt = "Hello, hello. " * 200
    plain = talker(model).send(None, prompt).state
    small = talker(model, compress="gzip").send(None, prompt).state
    assert len(small) < len(plain) / 5
    assert talker(model).send(small, "And now?").text == "No."


# -- the reply ------------------------------------------------------------------------------------


def test_a_reply_has_the_answer_its_cost_and_the_record(talker: Talkers) -> None:
    reply = talker(ScriptedModel(say("Hi.", thoughts="A greeting."), dialect="anthropic")).send(
        None, "Hello"
    )
    assert (reply.text, reply.thought_text, reply.has_thoughts) == ("Hi.", "A greeting.", True)
    assert reply.finish_reason == "stop"
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (10, 5)
    assert reply.valid
    assert not reply.problems
    assert reply.message == views.context(reply.record)[-1]
    assert "Hi." in repr(reply)


def test_a_turn_costs_what_its_calls_of_the_model_cost_together(talker: Talkers) -> None:
    model = ScriptedModel(say(calls=[call("look")]), "A tree.")
    reply = talker(model, tools=[look]).send(None, "Look!")
    assert [usage.total_tokens for usage in reply.usages] == [15, 15]
    assert reply.usage.total_tokens == 30


def test_request_parameters_reach_the_provider_those_of_a_call_first(talker: Talkers) -> None:
    model = ScriptedModel("Yes.", "No.")
    chat = talker(model, temperature=0.5, seed=7)
    reply = chat.send(None, "Hello", temperature=0)
    chat.send(reply.state, "And now?")
    assert [request.json["temperature"] for request in model.requests] == [0, 0.5]
    assert [request.json["seed"] for request in model.requests] == [7, 7]


# -- turn ids -------------------------------------------------------------------------------------


def test_the_same_turn_id_again_gives_the_same_reply_and_calls_nobody(talker: Talkers) -> None:
    model = ScriptedModel("Booked.", "Anything else?")
    chat = talker(model)
    first = chat.send(None, "Book it", turn_id="wamid.123")
    again = chat.send(first.state, "Book it", turn_id="wamid.123")
    assert again.text == "Booked."
    assert len(model.requests) == 1
    assert again.state == first.state


def test_an_earlier_turn_is_found_by_its_id_too(talker: Talkers) -> None:
    model = ScriptedModel("One.", "Two.")
    chat = talker(model)
    first = chat.send(None, "1?", turn_id="a")
    second = chat.send(first.state, "2?", turn_id="b")
    again = chat.send(second.state, "1?", turn_id="a")
    assert again.text == "One."
    assert len(model.requests) == 2


def test_the_same_turn_id_with_other_words_is_refused(talker: Talkers) -> None:
    model = ScriptedModel("Booked.")
    chat = talker(model)
    first = chat.send(None, "Book it", turn_id="wamid.123")
    with pytest.raises(Invalid, match="same input as before"):
        chat.send(first.state, "Cancel it", turn_id="wamid.123")
