"""A graph of LangGraph with one node, the model, which answers at once."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

from .texts import exchanges

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["earlier_messages", "one_node"]


def one_node(saver: object, durability: str) -> Any:  # noqa: ANN401 - its type is imported here
    """Compile it. Give what takes a conversation's name and a question, and invokes it."""
    from langchain_core.messages import AIMessage
    from langgraph.graph import END, START, MessagesState, StateGraph

    answers = cycle([answer for _, answer in exchanges(100)])
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda _: {"messages": [AIMessage(next(answers))]})
    graph.add_edge(START, "model")
    graph.add_edge("model", END)
    return _Graph(graph.compile(checkpointer=saver), durability)


def earlier_messages(earlier: Sequence[tuple[str, str]]) -> list[Any]:
    """Give earlier turns as LangGraph has them."""
    from langchain_core.messages import AIMessage, HumanMessage

    return [
        message
        for number, (question, answer) in enumerate(earlier)
        for message in (
            HumanMessage(question, id=f"q{number}"),
            AIMessage(answer, id=f"a{number}"),
        )
    ]


class _Graph:
    """What has turns on conversations. One made by `seed` has one checkpoint, not all of them."""

    def __init__(self, graph: Any, durability: str) -> None:  # noqa: ANN401 - as above
        self._graph = graph
        self._more = {"durability": durability}

    def seed(self, name: str, earlier: Sequence[tuple[str, str]]) -> None:
        messages = {"messages": earlier_messages(earlier)}
        self._graph.update_state(_place(name), messages, as_node="model")

    async def aseed(self, name: str, earlier: Sequence[tuple[str, str]]) -> None:
        messages = {"messages": earlier_messages(earlier)}
        await self._graph.aupdate_state(_place(name), messages, as_node="model")

    def turn(self, name: str, question: str) -> object:
        return self._graph.invoke(_asked(question), _place(name), **self._more)

    async def aturn(self, name: str, question: str) -> object:
        return await self._graph.ainvoke(_asked(question), _place(name), **self._more)


def _place(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


def _asked(question: str) -> dict[str, Any]:
    from langchain_core.messages import HumanMessage

    return {"messages": [HumanMessage(question)]}
