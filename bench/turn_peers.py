"""The turns of `turn_overhead`, as its peers' users write them; see there what is compared.

A peer is imported when it is asked for: none of them is needed for anything else.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import count, cycle
from typing import TYPE_CHECKING, Any

import httpx2
import openai

from .texts import conversation
from .turn_task import (
    ANSWER,
    ARGUMENTS,
    QUESTION,
    WORD,
    bodies,
    get_weather,
    get_weather_later,
    pieces,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from .timing import Contender
    from .turn_task import Task

__all__ = ["PEERS"]


def _earlier(task: Task) -> list[dict[str, str]]:
    return [json.loads(message) for message in conversation(task.earlier)]


class _Answers:
    """Stands in for the network of an official client: the answers of a turn, again and again."""

    def __init__(self, task: Task) -> None:
        self._bodies = cycle(bodies(task))
        self._pieces = pieces(task) if task.chunks else []

    def give(self, _: httpx2.Request) -> httpx2.Response:
        if self._pieces:
            headers = {"content-type": "text/event-stream"}
            return httpx2.Response(200, headers=headers, stream=_Pieces(self._pieces))
        headers = {"content-type": "application/json"}
        return httpx2.Response(200, headers=headers, content=next(self._bodies))

    def client(self) -> openai.OpenAI:
        http = httpx2.Client(transport=httpx2.MockTransport(self.give))
        return openai.OpenAI(api_key="none", base_url="http://bench/v1", http_client=http)

    def async_client(self) -> openai.AsyncOpenAI:
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(self.give))
        return openai.AsyncOpenAI(api_key="none", base_url="http://bench/v1", http_client=http)


class _Pieces(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, given: list[bytes]) -> None:
        self._given = given

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._given)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._given:
            yield piece


# -- openai-agents ----------------------------------------------------------------------------


def _agents(task: Task) -> Contender:
    from agents import Agent, Runner, function_tool, set_tracing_disabled

    set_tracing_disabled(disabled=True)
    tools = [function_tool(get_weather_later, name_override="get_weather")] if task.rounds else []
    agent = Agent(name="bench", model=_agents_model(task), tools=tools)
    earlier = _earlier(task)

    async def turn() -> object:
        asked = [*earlier, {"role": "user", "content": QUESTION}]
        result = await Runner.run(agent, asked)
        return result.final_output, result.to_input_list()

    async def streamed() -> object:
        asked = [*earlier, {"role": "user", "content": QUESTION}]
        result = Runner.run_streamed(agent, asked)
        events = [event async for event in result.stream_events()]
        deltas = [each.data for each in events if each.type == "raw_response_event"]
        text = [delta.delta for delta in deltas if delta.type == "response.output_text.delta"]
        return "".join(text), result.to_input_list()

    return streamed if task.chunks else turn


def _agents_model(task: Task) -> Any:  # noqa: ANN401 - its type is imported here
    from agents import Model, ModelResponse, OpenAIChatCompletionsModel, Usage
    from openai.types import responses

    if task.wire:
        return OpenAIChatCompletionsModel("gpt-5-mini", _Answers(task).async_client())

    def says(text: str) -> list[Any]:
        content = responses.ResponseOutputText(text=text, annotations=[], type="output_text")
        said = {"id": "msg_1", "role": "assistant", "status": "completed", "type": "message"}
        return [responses.ResponseOutputMessage(**said, content=[content])]

    def calls(number: int) -> list[Any]:
        called = {"call_id": f"call_{number}", "name": "get_weather", "type": "function_call"}
        return [responses.ResponseFunctionToolCall(**called, arguments=ARGUMENTS)]

    answers = cycle([*[calls(number) for number in range(task.rounds)], says(ANSWER)])
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "logprobs": []}
    delta = responses.ResponseTextDeltaEvent(
        **place, delta=WORD, sequence_number=1, type="response.output_text.delta"
    )
    whole = responses.Response(
        id="resp_1",
        created_at=0,
        model="bench",
        object="response",
        output=says(WORD * task.chunks),
        parallel_tool_calls=True,
        tool_choice="auto",
        tools=[],
    )
    done = responses.ResponseCompletedEvent(
        response=whole, sequence_number=2, type="response.completed"
    )

    class Scripted(Model):
        async def get_response(self, *_: object, **__: object) -> ModelResponse:
            return ModelResponse(output=next(answers), usage=Usage(), response_id=None)

        async def stream_response(self, *_: object, **__: object) -> AsyncIterator[Any]:
            for _number in range(task.chunks):
                yield delta
            yield done

    return Scripted()


# -- pydantic-ai ------------------------------------------------------------------------------


def _pydantic_ai(task: Task) -> Contender:
    from pydantic_ai import Agent, Tool
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

    tools = [Tool(get_weather_later, name="get_weather")] if task.rounds else []
    agent = Agent(_pydantic_ai_model(task), tools=tools)
    earlier = [
        ModelRequest([UserPromptPart(message["content"])])
        if message["role"] == "user"
        else ModelResponse([TextPart(message["content"])])
        for message in _earlier(task)
    ]

    async def turn() -> object:
        result = await agent.run(QUESTION, message_history=earlier)
        return result.output, result.all_messages()

    async def streamed() -> object:
        async with agent.run_stream(QUESTION, message_history=earlier) as result:
            text = [part async for part in result.stream_text(delta=True, debounce_by=None)]
            return "".join(text), result.all_messages()

    return streamed if task.chunks else turn


def _pydantic_ai_model(task: Task) -> Any:  # noqa: ANN401 - its type is imported here
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models import Model, StreamedResponse
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    if task.wire:
        provider = OpenAIProvider(openai_client=_Answers(task).async_client())
        return OpenAIChatModel("gpt-5-mini", provider=provider)

    numbers = cycle(range(task.rounds + 1))

    class Streamed(StreamedResponse):
        model_name = "bench"
        provider_name = None
        provider_url = None
        timestamp = datetime.now(UTC)

        async def _get_event_iterator(self) -> AsyncIterator[Any]:
            for _number in range(task.chunks):
                for event in self._parts_manager.handle_text_delta(
                    vendor_part_id="content", content=WORD
                ):
                    yield event

        async def close_stream(self) -> None:
            """Nothing is held."""

    class Scripted(Model):
        model_name = "bench"
        system = "bench"

        async def request(self, *_: object) -> ModelResponse:
            number = next(numbers)
            if number == task.rounds:
                return ModelResponse([TextPart(ANSWER)])
            return ModelResponse([ToolCallPart("get_weather", ARGUMENTS, f"call_{number}")])

        @asynccontextmanager
        async def request_stream(
            self,
            _messages: object,
            _settings: object,
            parameters: Any,  # noqa: ANN401 - as above
            *_: object,
        ) -> AsyncIterator[Streamed]:
            yield Streamed(model_request_parameters=parameters)

    return Scripted()


# -- LangGraph --------------------------------------------------------------------------------


def _langgraph(task: Task) -> Contender:
    from langchain_core.messages import HumanMessage

    graph = _graph(task).compile()
    earlier = _langgraph_earlier(task)

    def turn() -> object:
        state = graph.invoke({"messages": [*earlier, HumanMessage(QUESTION)]}, _LIMIT)
        return state["messages"][-1].content, state

    def streamed() -> object:
        asked = {"messages": [*earlier, HumanMessage(QUESTION)]}
        return _langgraph_streamed(graph.stream(asked, _LIMIT, stream_mode=_MODES))

    return streamed if task.chunks else turn


def _langgraph_saved(task: Task) -> Contender:
    from langchain_core.messages import HumanMessage
    from langgraph.checkpoint.memory import InMemorySaver

    graph = _graph(task).compile(checkpointer=InMemorySaver())
    threads = count()
    earlier = _langgraph_earlier(task)
    old = {"configurable": {"thread_id": "old"}}
    saved = graph.update_state(old, {"messages": earlier}, as_node="model") if earlier else None

    def place() -> Any:  # noqa: ANN401 - the configuration of a run
        """Give the checkpoint after the earlier turns; without any, a new thread."""
        return {**(saved or {"configurable": {"thread_id": str(next(threads))}}), **_LIMIT}

    def turn() -> object:
        state = graph.invoke({"messages": [HumanMessage(QUESTION)]}, place())
        return state["messages"][-1].content, state

    def streamed() -> object:
        asked = {"messages": [HumanMessage(QUESTION)]}
        return _langgraph_streamed(graph.stream(asked, place(), stream_mode=_MODES))

    return streamed if task.chunks else turn


_LIMIT = {"recursion_limit": 100}
_MODES = ["custom", "values"]


def _langgraph_streamed(parts: Iterator[tuple[str, Any]]) -> object:
    text, state = [], None
    for mode, part in parts:
        if mode == "custom":
            text.append(part)
        else:
            state = part
    return "".join(text), state


def _langgraph_earlier(task: Task) -> list[Any]:
    from langchain_core.messages import AIMessage, HumanMessage

    kinds = {"user": HumanMessage, "assistant": AIMessage}
    return [
        kinds[message["role"]](message["content"], id=str(number))
        for number, message in enumerate(_earlier(task))
    ]


def _graph(task: Task) -> Any:  # noqa: ANN401 - its type is imported here
    from langchain_core.messages import ToolMessage
    from langgraph.graph import END, START, MessagesState, StateGraph

    def tools(state: Any) -> Any:  # noqa: ANN401 - the state of the graph
        calls = state["messages"][-1].tool_calls
        return {
            "messages": [
                ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"]) for call in calls
            ]
        }

    def next_node(state: Any) -> str:  # noqa: ANN401 - the state of the graph
        last = state["messages"][-1:]
        return "tools" if last and getattr(last[0], "tool_calls", None) else END

    graph = StateGraph(MessagesState)
    graph.add_node("model", _wired_node(task) if task.wire else _node(task))
    graph.add_edge(START, "model")
    if task.rounds:
        graph.add_node("tools", tools)
        graph.add_conditional_edges("model", next_node, ["tools", END])
        graph.add_edge("tools", "model")
    return graph


def _node(task: Task) -> Callable[[Any], Any]:
    """A model that reads and writes no bytes."""
    from langchain_core.messages import AIMessage
    from langgraph.config import get_stream_writer

    numbers = cycle(range(task.rounds + 1))

    def model(_: Any) -> Any:  # noqa: ANN401 - the state of the graph
        number = next(numbers)
        if number == task.rounds:
            return {"messages": [AIMessage(ANSWER)]}
        call = {"name": "get_weather", "args": json.loads(ARGUMENTS), "id": f"call_{number}"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    def streaming(_: Any) -> Any:  # noqa: ANN401 - the state of the graph
        write = get_stream_writer()
        for _number in range(task.chunks):
            write(WORD)
        return {"messages": [AIMessage(WORD * task.chunks)]}

    return streaming if task.chunks else model


def _wired_node(task: Task) -> Callable[[Any], Any]:
    """A model that is called by the official client."""
    from langchain_core.messages import AIMessage, convert_to_openai_messages
    from langgraph.config import get_stream_writer

    create = _Answers(task).client().chat.completions.create

    def model(state: Any) -> Any:  # noqa: ANN401 - the state of the graph
        asked = convert_to_openai_messages(state["messages"])
        said = create(model="gpt-5-mini", messages=asked).choices[0].message
        calls = [
            {"name": call.function.name, "args": json.loads(call.function.arguments), "id": call.id}
            for call in said.tool_calls or ()
        ]
        return {"messages": [AIMessage(said.content or "", tool_calls=calls)]}

    def streaming(state: Any) -> Any:  # noqa: ANN401 - the state of the graph
        write = get_stream_writer()
        asked = convert_to_openai_messages(state["messages"])
        text = ""
        for chunk in create(model="gpt-5-mini", messages=asked, stream=True):
            if said := chunk.choices[0].delta.content:
                text += said
                write(said)
        return {"messages": [AIMessage(text)]}

    return streaming if task.chunks else model


PEERS = {
    "openai-agents": ("agents", _agents),
    "pydantic-ai": ("pydantic_ai", _pydantic_ai),
    "LangGraph": ("langgraph", _langgraph),
    "LangGraph, saved": ("langgraph", _langgraph_saved),
}
"""What each is called, the package that it needs, and what makes its turn."""
