"""What a turn costs beside the model, beside what openai-agents, pydantic-ai and LangGraph take.

The question has about 200 bytes, the answer and the earlier turns are those of `texts`. Every
contender is given the same earlier turns again each time, and gives the text of the answer and the
conversation to go on with. Three figures: a plain turn; a round of tools, which is what a turn with
``ROUNDS`` of them takes more, divided by it; a streamed chunk, likewise. A round is one call of a
function that does nothing. asyncio's loop is running already, and tools are async under it, so that
nobody pays for a thread.

Ours is all that stands between a caller and the network: a request is made as bytes, and an answer
is read from the bytes of a whole response. They are prepared; a transport hands them over.

- ``Chat`` and ``AsyncChat``: a state in, a state out, as bytes.
- ``record``: the same turn on a record that is in memory, which no state is made of.

The peers are measured twice. First with the least of a model that each library takes: it makes no
request and reads no answer, but gives objects of the library, made beforehand where it allows. Then
with the same bytes as ours, as what they are used with reads them: the official OpenAI client,
whose transport hands them over. Their conversations are lists of objects in memory.

- openai-agents: ``Runner`` with a list of input items; tracing is off. ``to_input_list()``.
- pydantic-ai: ``Agent`` with ``message_history=``. ``all_messages()``.
- LangGraph: ``MessagesState``, a node for the model and one for the tools, all plain functions and
  ``invoke``, which is quicker there than ``ainvoke``. Chunks go through the stream writer.
- LangGraph, saved: the same with ``InMemorySaver``, going on from the checkpoint of the earlier
  turns: it takes bytes in and gives bytes out, as `Chat` does.

What is not installed is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from itertools import cycle
from typing import TYPE_CHECKING

import hansard
from hansard import AsyncChat, Chat, tool, user
from hansard.dialects.dialect import Answer
from hansard.drivers.blocking import BlockingDriver
from hansard.messages import Usage
from hansard.models import Model
from hansard.talk.inputs import read_inputs
from hansard.talk.keeping import Arrival
from hansard.talk.options import Options
from hansard.talk.streams import Stream
from hansard.talk.talk import Talk
from hansard.turn import writing

from .texts import conversation
from .timing import contest, row
from .turn_peers import PEERS
from .turn_task import QUESTION, Task, bodies, get_weather, get_weather_later, pieces

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from hansard import State
    from hansard.dialects.dialect import Request

    from .timing import Contender

EARLIER = (0, 100, 1000)
ROUNDS = 8
CHUNKS = 200
openai = hansard.dialect("openai")


# -- ours -------------------------------------------------------------------------------------


class _Wire:
    """Hands over the answers of a turn, again and again."""

    def __init__(self, task: Task) -> None:
        self._next = cycle(bodies(task)).__next__
        self._pieces = pieces(task)

    def send(self, _: Request, *, timeout_s: float | None = None) -> bytes:  # noqa: ARG002
        return self._next()

    @contextmanager
    def stream(
        self,
        _: Request,
        *,
        timeout_s: float | None = None,  # noqa: ARG002
    ) -> Iterator[Iterator[bytes]]:
        yield iter(self._pieces)

    def close(self) -> None:
        """Nothing is held."""


class _AsyncWire:
    """The same under asyncio."""

    def __init__(self, task: Task) -> None:
        self._next = cycle(bodies(task)).__next__
        self._pieces = pieces(task)

    async def send(self, _: Request, *, timeout_s: float | None = None) -> bytes:  # noqa: ARG002
        return self._next()

    @asynccontextmanager
    async def stream(
        self,
        _: Request,
        *,
        timeout_s: float | None = None,  # noqa: ARG002
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        yield _given(self._pieces)

    async def close(self) -> None:
        """Nothing is held."""


async def _given(pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def _state(earlier: int) -> State | None:
    """The earlier turns as a state, with all that is kept of a turn."""
    record = hansard.load(None, openai, conversation="c").record
    messages = conversation(earlier)
    for number, (question, answer) in enumerate(zip(messages[::2], messages[1::2], strict=True)):
        at_us = 1_741_569_952_000_000 + number
        record = record.apply(writing.begin(record, f"turn-{number:032}", at_us=at_us))
        (asked,) = writing.said(record, [(openai.message(question), False)], "input", at_us=at_us)
        record = record.apply(asked)
        said = Answer(answer, finish="stop", usage=Usage(input_tokens=19, output_tokens=10))
        record = record.apply(writing.answer(record, said, at_us=at_us))
        record = record.apply(writing.end(record, "done", at_us=at_us))
    return hansard.save(record) if earlier else None


def _chat(task: Task) -> Contender:
    state, wire = _state(task.earlier), _Wire(task)
    tools = [tool(get_weather)] if task.rounds else []
    chat = Chat(Model(openai, "gpt-5-mini", wire), tools=tools)

    def turn() -> object:
        reply = chat.send(state, user(QUESTION))
        return reply.text, reply.state

    def streamed() -> object:
        with chat.stream(state, user(QUESTION)) as stream:
            text = "".join([part.text for part in stream])
        return text, stream.reply.state

    return streamed if task.chunks else turn


def _async_chat(task: Task) -> Contender:
    state, wire = _state(task.earlier), _AsyncWire(task)
    tools = [tool(get_weather_later, name="get_weather")] if task.rounds else []
    chat = AsyncChat(Model(openai, "gpt-5-mini", async_transport=wire), tools=tools)

    async def turn() -> object:
        reply = await chat.send(state, user(QUESTION))
        return reply.text, reply.state

    async def streamed() -> object:
        async with chat.stream(state, user(QUESTION)) as stream:
            text = "".join([part.text async for part in stream])
        return text, stream.reply.state

    return streamed if task.chunks else turn


def _on_record(task: Task) -> Contender:
    record = hansard.load(_state(task.earlier), openai, conversation="c").record
    model = Model(openai, "gpt-5-mini", _Wire(task))
    options = Options(tools=[tool(get_weather)] if task.rounds else [])

    def talk() -> Talk:
        inputs = read_inputs((user(QUESTION),), (), openai)
        stream = bool(task.chunks)
        return Talk(
            model, options, Arrival(record), inputs, hansard.save, hansard.save, None, stream
        )

    def turn() -> object:
        reply = BlockingDriver(model.blocking(), None).run(talk().acts())
        return reply.text, reply.record

    def streamed() -> object:
        with Stream(talk(), BlockingDriver(model.blocking(), None)) as stream:
            text = "".join([part.text for part in stream])
        return text, stream.reply.record

    return streamed if task.chunks else turn


OURS = {"Chat": _chat, "AsyncChat": _async_chat, "record": _on_record}


# -- the table --------------------------------------------------------------------------------


def run(*, quick: bool = False) -> Iterator[str]:
    """Yield the tables."""
    title = "The overhead of a turn, beside models that read no bytes (µs)"
    yield from _table(title, wire=False, quick=quick)
    yield ""
    title = "The overhead of a turn, all reading the same bytes (µs)"
    yield from _table(title, wire=True, quick=quick)


def _table(title: str, *, wire: bool, quick: bool) -> Iterator[str]:
    peers = {name: make for name, (package, make) in PEERS.items() if find_spec(package)}
    yield f"## {title}"
    ratios = [f"fastest ÷ {name}" for name in OURS] if peers else []
    yield row("earlier turns", "one", *OURS, *peers, *ratios)
    yield row(*["---"] * (2 + len(OURS) + len(peers) + len(ratios)))
    for earlier in EARLIER[:1] if quick else EARLIER:
        rounds = 1 if quick else 5
        for unit, times in _times({**OURS, **peers}, earlier, wire=wire, rounds=rounds).items():
            fastest = min([times[name] for name in peers], default=0.0)
            compared = [fastest / times[name] for name in OURS] if peers else []
            yield row(earlier, unit, *times.values(), *compared)


def _times(
    makers: Mapping[str, Callable[[Task], Contender]], earlier: int, *, wire: bool, rounds: int
) -> dict[str, dict[str, float]]:
    """What a turn, a round and a chunk take, by contender."""
    tasks = {
        "turn": Task(earlier, wire=wire),
        "rounds": Task(earlier, rounds=ROUNDS, wire=wire),
        "chunk": Task(earlier, chunks=1, wire=wire),
        "chunks": Task(earlier, chunks=1 + CHUNKS, wire=wire),
    }
    best = {
        kind: contest({name: make(task) for name, make in makers.items()}, rounds=rounds)
        for kind, task in tasks.items()
    }
    return {
        "turn": best["turn"],
        "round": _more(best["turn"], best["rounds"], ROUNDS),
        "chunk": _more(best["chunk"], best["chunks"], CHUNKS),
    }


def _more(less: Mapping[str, float], more: Mapping[str, float], count: int) -> dict[str, float]:
    return {name: (more[name] - less[name]) / count for name in less}
