"""A model that answers from a script, over the real codec, and writes down what it was asked.

Nothing is pretended but the network: requests are the bytes that a provider would get, and answers
are bodies as the provider spells them, whole or streamed, which the dialect has to read.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

from ..dialects.registry import dialect as dialect_named
from ..errors import Invalid
from ..models import Model
from .script import ScriptEnded, played
from .scripted_request import ScriptedRequest
from .scripted_transports import AsyncScriptedTransport, ScriptedTransport
from .wire_answers import Speller

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ..dialects.dialect import Dialect, Request
    from ..rawjson import JSON
    from .script import Answers, Play
    from .wire_answers import Exchange

__all__ = ["ScriptedModel"]


class _Script:
    """Answers in order, and the requests that came. Any number of threads may play it.

    What is no function is spelled beforehand, or when first streamed: playing costs next to
    nothing.
    """

    def __init__(self, answers: Sequence[Answers], dialect: Dialect, speller: Speller) -> None:
        self.requests: list[ScriptedRequest] = []
        self._dialect = dialect
        self._speller = speller
        self._lock = threading.Lock()
        self._came = 0
        self._answers = [answer if callable(answer) else played(answer) for answer in answers]
        self._repeats = _repeats(self._answers)
        self._spelled = {
            (place, False): self._speller.spell(answer, place + 1, stream=False)
            for place, answer in enumerate(self._answers)
            if not callable(answer)
        }

    @property
    def left(self) -> int:
        return max(0, len(self._answers) - self._repeats - self._came)

    def take(self, request: Request, *, stream: bool) -> Exchange:
        """Write a request down and give what happens after it."""
        with self._lock:
            number = self._came + 1
            came = ScriptedRequest(self._dialect, request, number)
            if self._speller.known is not None:
                _check_kind(came, stream=stream)
            self._came = number
            self.requests.append(came)
        place = self._place(came)
        answer = self._answers[place]
        if callable(answer):
            return self._speller.spell(played(answer(came)), number, stream=stream)
        spelled = self._spelled.get((place, stream))
        if spelled is None:
            spelled = self._speller.spell(answer, place + 1, stream=stream)
            self._spelled[place, stream] = spelled
        return spelled

    def _place(self, came: ScriptedRequest) -> int:
        count = len(self._answers)
        if came.number <= count:
            return came.number - 1
        if self._repeats:
            return count - 1
        raise ScriptEnded(
            f"expected no request beyond the answers of the script, of which there are {count}, "
            f"found {came!r}: give it more answers, or end it with forever(…)"
        )


def _repeats(answers: Sequence[Play | Callable[..., object]]) -> bool:
    """Whether the last answer is given again and again."""
    forever = [not callable(answer) and answer.repeats for answer in answers]
    if any(forever[:-1]):
        raise Invalid("expected forever(…) at the end of a script, found answers after it")
    lone = len(answers) == 1 and callable(answers[0])
    return lone or any(forever)


def _check_kind(came: ScriptedRequest, *, stream: bool) -> None:
    """Refuse a request that asks for a stream and is sent, or the other way round."""
    # A long conversation is parsed only if its request does not begin as it should.
    begins_streamed = came.body.find(b'"stream":true', 0, 1_000) >= 0 or ":stream" in came.path
    if begins_streamed is stream or came.stream is stream:
        return
    asks, by = ("a whole answer", "stream()") if stream else ("a stream", "send()")
    raise Invalid(
        f"expected {by} of the transport to get a request made with Ask(stream={stream}), found "
        f"one that asks for {asks}: a provider answers as the request says"
    )


class ScriptedModel(Model):
    """A model that answers from a script, blocking and under asyncio.

    Answers are given in order, one to a request. A function among them is given the request; a
    function alone answers every request. What goes beyond the script raises `ScriptEnded`.

    ``chunk_bytes`` cuts streams into pieces of so many bytes; left out, each event is a piece.
    ``sleep`` and ``async_sleep`` do the waiting: with functions that return at once a test with
    delays takes no time. Delays count against the timeout of a call all the same.

    In a dialect that is not built in, and derives from none that is, answers are exact bytes.
    """

    _script: _Script

    def __init__(
        self,
        *answers: Answers,
        dialect: str | Dialect = "openai",
        name: str = "scripted",
        chunk_bytes: int | None = None,
        parameters: Mapping[str, JSON] | None = None,
        sleep: Callable[[float], object] = time.sleep,
        async_sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        spoken = dialect_named(dialect) if isinstance(dialect, str) else dialect
        if chunk_bytes is not None and chunk_bytes < 1:
            raise Invalid(f"expected chunk_bytes of 1 or more, found {chunk_bytes}")
        script = _Script(answers, spoken, Speller(spoken, name, chunk_bytes))
        transport = ScriptedTransport(script, sleep)
        async_transport = AsyncScriptedTransport(script, async_sleep)
        super().__init__(spoken, name, transport, async_transport, dict(parameters or {}))
        object.__setattr__(self, "_script", script)  # A model is frozen.

    @property
    def requests(self) -> list[ScriptedRequest]:
        """All requests that came, in order. Cleared, it lets go of them; the script goes on."""
        return self._script.requests

    @property
    def left(self) -> int:
        """How many answers have not been given yet. One that is given forever is not counted."""
        return self._script.left
