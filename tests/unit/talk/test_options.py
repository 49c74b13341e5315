"""Options: what a call does not set is as the chat has it, and what could never work is refused."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from hansard import Invalid, Tool, ToolSpec, tool
from hansard.talk.options import CallOptions, Options, split_options
from hansard.turn.rules import Rules

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


@tool(policy="reads")
def look() -> str:
    """Look."""
    return "a tree"


def walk(steps: int) -> str:
    """Walk."""
    return f"{steps} steps"


# -- options and parameters -----------------------------------------------------------------------


def test_what_is_no_option_is_a_request_parameter() -> None:
    named, parameters = split_options({"max_rounds": 3, "temperature": 0.5, "zz_new": [1]})
    assert named == {"max_rounds": 3}
    assert parameters == {"temperature": 0.5, "zz_new": [1]}


def test_parameters_whose_names_clash_with_options_go_by_themselves() -> None:
    named, parameters = split_options({"strict": True, "parameters": {"strict": False}})
    assert named == {"strict": True}
    assert parameters == {"strict": False}


def test_a_parameter_that_is_given_in_both_ways_is_the_explicit_one() -> None:
    _, parameters = split_options({"temperature": 0.1, "parameters": {"temperature": 0.9}})
    assert parameters == {"temperature": 0.9}


def test_a_request_parameter_that_is_none_is_not_given_but_may_be_null_on_purpose() -> None:
    assert split_options({"stop": None}) == ({}, {})
    assert split_options({"parameters": {"stop": None}}) == ({}, {"stop": None})


def test_no_parameters_are_none() -> None:
    assert split_options({}) == ({}, {})
    assert split_options({"parameters": None}) == ({}, {})


def test_splitting_changes_nothing_that_was_given() -> None:
    given = {"strict": True, "seed": 1, "parameters": {"n": 1}}
    split_options(given)
    assert given == {"strict": True, "seed": 1, "parameters": {"n": 1}}


def test_every_option_can_be_given_to_a_call() -> None:
    assert {each.name for each in fields(Options)} <= set(CallOptions.__annotations__)


# -- of one call ----------------------------------------------------------------------------------

CHAT = Options(max_rounds=5, tools=[look], system="Be terse.", parameters={"seed": 1, "top_p": 0.5})


def test_a_call_that_sets_nothing_has_the_chats_own_options() -> None:
    assert CHAT.but({}) is CHAT


def test_what_a_call_sets_stands_in_for_what_the_chat_has() -> None:
    options = CHAT.but({"max_rounds": 2, "tools": [walk], "run_tools": False})
    assert (options.max_rounds, list(options.toolbox), options.run_tools) == (2, ["walk"], False)
    assert options.system == "Be terse."
    assert (CHAT.max_rounds, list(CHAT.toolbox)) == (5, ["look"])


def test_what_is_none_in_a_call_stays_as_the_chat_has_it() -> None:
    options = CHAT.but({"max_rounds": None, "tools": None, "system": None, "observers": None})
    assert options == CHAT


def test_what_there_can_be_none_of_is_taken_back_by_a_call() -> None:
    given: dict[str, Any] = {
        "tool_choice": "required",
        "output": int,
        "timeout_s": 5.0,
        "on_action": print,
        "checkpoint": print,
    }
    nothing = dict.fromkeys(given)
    assert Options(**given).but(nothing) == Options()


def test_retries_of_a_tool_that_runs_once_by_default_are_refused() -> None:
    again = tool(look.function, retries=1)
    with pytest.raises(Invalid, match="no retries= of look, which runs once, as nothing else"):
        Options(tools=[again])
    with pytest.raises(Invalid, match="no retries= of look"):
        Options(tools=[again], default_policy="reads").but({"default_policy": "once"})
    assert Options(tools=[again], default_policy="keyed").toolbox["look"].retries == 1


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"tools": ()}, {}),
        ({"system": ""}, {"system": ""}),
        ({"retries": 0}, {"retries": 0}),
        ({"strict": False}, {"strict": False}),
    ],
)
def test_what_is_empty_in_a_call_is_set_all_the_same(given: Any, found: dict[str, Any]) -> None:
    options = Options(tools=[look], system="Be terse.", retries=2, strict=True).but(given)
    if "tools" in given:
        assert options.toolbox == found
    for name, value in found.items():
        assert getattr(options, name) == value


def test_the_parameters_of_a_call_are_added_to_the_chats_one_by_one() -> None:
    options = CHAT.but({"seed": 2, "parameters": {"n": 1}})
    assert options.parameters == {"seed": 2, "top_p": 0.5, "n": 1}
    assert CHAT.parameters == {"seed": 1, "top_p": 0.5}


def test_a_call_is_checked_like_a_chat() -> None:
    with pytest.raises(Invalid, match="max_rounds"):
        CHAT.but({"max_rounds": 0})
    with pytest.raises(Invalid, match="two named look"):
        CHAT.but({"tools": [look, look]})


# -- checks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"max_rounds": 0}, "max_rounds= of 1 or more, found 0"),
        ({"max_rounds": 1.5}, "max_rounds= of 1 or more, found 1.5"),
        ({"retries": -1}, "retries= of 0 or more, found -1"),
        ({"max_concurrent": 0}, "max_concurrent= of 1 or more, found 0"),
        ({"max_concurrent": "8"}, "max_concurrent= of 1 or more, found '8'"),
        ({"timeout_s": 0}, "timeout_s= above 0, found 0"),
        ({"timeout_s": -1.0}, "timeout_s= above 0, found -1.0"),
        ({"timeout_s": float("nan")}, "timeout_s= above 0, found nan"),
        ({"parameters": {"top_p": float("inf")}}, "the request parameter top_p= to be JSON"),
        ({"default_policy": "never"}, "found 'never'"),
        ({"tools": [look, look]}, "found two named look"),
        ({"tools": [look, tool(walk, name="look")]}, "found two named look"),
        ({"tools": ["look"]}, "a function to make a tool of, found 'look'"),
    ],
)
def test_what_could_never_work_is_refused_where_it_is_written(wrong: Any, words: str) -> None:
    with pytest.raises(Invalid) as error:
        Options(**wrong)
    assert words in str(error.value)


@pytest.mark.parametrize(
    "fine", [{"max_rounds": 1}, {"retries": 0}, {"max_concurrent": 1}, {"timeout_s": 0.001}]
)
def test_the_least_of_each_is_allowed(fine: Any) -> None:
    assert Options(**fine).rules is not None


# -- tools ----------------------------------------------------------------------------------------


def test_functions_become_tools_and_tools_stay_as_they_are() -> None:
    by_hand = Tool("pay", "Pay.", NOTHING)
    box = Options(tools=[walk, look, by_hand]).toolbox
    assert list(box) == ["walk", "look", "pay"]
    assert isinstance(box["walk"], Tool)
    assert box["look"] is look
    assert box["pay"] is by_hand


def test_a_function_becomes_one_tool_for_all_that_ask() -> None:
    options = Options(tools=[walk])
    assert options.toolbox["walk"] is options.rules.tools["walk"]


def test_the_providers_own_tools_are_declared_and_never_run() -> None:
    search = ToolSpec("search", native=b'{"type":"web_search"}')
    options = Options(tools=[search, look])
    assert list(options.toolbox) == ["look"]
    assert [spec.name for spec in options.specs] == ["look", "search"]
    assert options.specs[1] is search


def test_the_model_is_told_the_name_description_and_schema_of_a_tool() -> None:
    [spec] = Options(tools=[walk]).specs
    assert (spec.name, spec.description) == ("walk", "Walk.")
    assert spec.parameters["properties"] == {"steps": {"type": "integer"}}


# -- rules ----------------------------------------------------------------------------------------


def test_the_rules_say_all_that_the_machine_has_to_know() -> None:
    rules = Options(
        tools=[look],
        default_policy="keyed",
        max_rounds=3,
        retries=1,
        max_concurrent=2,
        run_tools=False,
    ).rules
    assert (rules.default_policy, rules.rounds_max, rules.retries) == ("keyed", 3, 1)
    assert (rules.concurrent_max, rules.run_tools) == (2, False)
    assert rules.tools == {"look": look}
    assert rules.policy(look) == "reads"
    assert rules.policy(tool(walk)) == "keyed"


def test_without_any_options_the_rules_are_the_machines_own() -> None:
    assert Options().rules == Rules()
