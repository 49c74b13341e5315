"""How the answers of a script become what goes over the wire."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from .. import rawjson
from ..errors import Invalid, ProviderError, Unreachable
from .script import Fail, Play, Raw, Say
from .wire_answers_anthropic import MessagesSpelling
from .wire_answers_gemini import GenerateSpelling
from .wire_answers_openai_chat import ChatSpelling
from .wire_answers_responses import ResponsesSpelling
from .wire_answers_spelling import Stamp

if TYPE_CHECKING:
    from ..dialects.dialect import Dialect
    from .wire_answers_spelling import Spelling

__all__ = ["SPELLINGS", "Exchange", "Speller"]

SPELLINGS: dict[str, Spelling] = {
    "openai": ChatSpelling(),
    "openai-responses": ResponsesSpelling(),
    "anthropic": MessagesSpelling(),
    "gemini": GenerateSpelling(),
}


class Exchange(msgspec.Struct, frozen=True):
    """What happens after one request: pieces come as ``play`` says, then perhaps a failure."""

    play: Play
    pieces: tuple[bytes, ...] = ()
    failure: Callable[[], ProviderError] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether nothing is in the way of the answer."""
        late = self.play.wait_s or self.play.wait_each_s or self.play.until
        return self.failure is None and not late


class Speller:
    """Spells answers in the words of a dialect, or of the one that it derives from.

    Where that is none of ``SPELLINGS``, answers have to be exact bytes.
    """

    def __init__(self, dialect: Dialect, model: str, chunk_bytes: int | None = None) -> None:
        names = [kind.__dict__.get("name") for kind in type(dialect).__mro__]
        self.known = next((SPELLINGS[name] for name in names if name in SPELLINGS), None)
        self._dialect = dialect
        self._model = model
        self._chunk_bytes = chunk_bytes

    def spell(self, play: Play, number: int, *, stream: bool) -> Exchange:
        """Say what an answer comes to, whole or as a stream. Its ids have the number in them."""
        if isinstance(play.answer, Fail):
            return Exchange(play, failure=self._failure(play.answer))
        if stream:
            return self._stream(play, play.answer, number)
        if play.error is not None:
            return Exchange(play, failure=self._failure(play.error))
        if play.broken or play.is_cut:  # Nobody sees what came of it.
            return Exchange(play, failure=_break)
        return Exchange(play, (self._whole(play.answer, number),))

    def _whole(self, answer: Say | Raw, number: int) -> bytes:
        if isinstance(answer, Raw):
            return b"".join(answer.pieces)
        return rawjson.dump(self._spelling.answer(answer, Stamp(number, self._model)))

    def _stream(self, play: Play, answer: Say | Raw, number: int) -> Exchange:
        if isinstance(answer, Raw):
            pieces: Sequence[bytes] = answer.pieces
        else:
            spelled = self._spelling.answer(answer, Stamp(number, self._model))
            pieces = _resize(self._spelling.events(spelled), self._chunk_bytes)
        kept = _first_bytes(pieces[: play.chunks], play.body_bytes)
        if play.error is not None:
            kept.append(self._spelling.error_event(self._spelling.error(play.error)))
        return Exchange(play, tuple(kept), _break if play.broken else None)

    def _failure(self, fail: Fail) -> Callable[[], ProviderError]:
        body = rawjson.dump(self._spelling.error(fail)) if fail.body is None else fail.body
        headers = {"content-type": "application/json"}
        if fail.retry_after_s is not None:
            headers["retry-after"] = f"{fail.retry_after_s:g}"
        return partial(self._dialect.failure, fail.status, body, headers)

    @property
    def _spelling(self) -> Spelling:
        if self.known is None:
            raise Invalid(
                f"expected answers in exact bytes, since {self._dialect.name!r} is not one of "
                f"{', '.join(SPELLINGS)} and derives from none, found one that has to be spelled: "
                "give raw(…), or fail(…, body=…)"
            )
        return self.known


def _resize(events: Sequence[bytes], chunk_bytes: int | None) -> Sequence[bytes]:
    if chunk_bytes is None:
        return events
    body = b"".join(events)
    return [body[start : start + chunk_bytes] for start in range(0, len(body), chunk_bytes)]


def _first_bytes(pieces: Sequence[bytes], count: int | None) -> list[bytes]:
    if count is None:
        return list(pieces)
    kept: list[bytes] = []
    for piece in pieces:
        kept.append(piece[:count])
        count = max(0, count - len(piece))
    return [piece for piece in kept if piece]


def _break() -> ProviderError:
    return Unreachable("the script breaks the connection here")
