"""Native messages to put on records: collected by hand from wires, or said with odd additions."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import hansard
from hansard import rawjson
from hansard.errors import DecodeError
from hansard.messages import ToolCall, assistant, user
from hansard.record.entries import CallKey, Outcome, Said, TurnBegin, TurnEnd
from hansard.record.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.dialects.dialect import Dialect
    from hansard.messages import Finish, Role, Usage
    from hansard.record.entries import Author, Entry

WIRE = Path(__file__).parents[1] / "data" / "wire"

FOLDERS = {
    "openai": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
}
"""The dialects that have messages collected by hand, and where these are."""

DIALECTS = [hansard.dialect(name) for name in FOLDERS]

ODD = rb'"zz_odd":[1e5,1.50,-0.0,1E+400,123456789012345678901234567890,"\/\u00e9\ud800",{"":{}}]'
"""A member that no dialect knows, spelled as no library would spell it."""


@cache
def wire_messages(name: str) -> tuple[bytes, ...]:
    """Messages of a dialect, compact: stored ones, those of answers, and those of streams."""
    dialect, folder = hansard.dialect(name), WIRE / FOLDERS[name]
    stored = [path.read_bytes() for path in sorted(folder.glob("*.json"))]
    found = [_message(dialect, raw) for raw in stored]
    found += [_answer(dialect, raw) for raw in stored]
    found += [_streamed(dialect, path.read_bytes()) for path in sorted(folder.glob("*.sse"))]
    return tuple(dict.fromkeys([raw for raw in found if raw is not None]))


@cache
def wire_streams(name: str) -> tuple[bytes, ...]:
    """Streamed answers of a dialect, as they came."""
    return tuple([path.read_bytes() for path in sorted((WIRE / FOLDERS[name]).glob("*.sse"))])


@cache
def wire_bodies(name: str) -> tuple[bytes, ...]:
    """Complete answers of a dialect, as they came."""
    folder = WIRE / FOLDERS[name]
    return tuple([path.read_bytes() for path in sorted(folder.glob("answer_*.json"))])


def _message(dialect: Dialect, raw: bytes) -> bytes | None:
    """Files that are no messages but whole answers have no role of their own."""
    try:
        message = dialect.message(raw)
    except DecodeError:
        return None
    marks = (b'"role":', b'"type":"message"', b'"type":"reasoning"', b'"type":"function_call')
    return message.raw if any(mark in message.raw[:200] for mark in marks) else None


def _answer(dialect: Dialect, raw: bytes) -> bytes | None:
    return dialect.parse(raw).raw


def _streamed(dialect: Dialect, body: bytes) -> bytes | None:
    reader = dialect.stream()
    reader.feed(body)
    return reader.close().raw


# -- saying -----------------------------------------------------------------------------------


def add_odd(dialect: Dialect, raw: bytes) -> bytes:
    """Add the odd member to a native message (to each of its items)."""
    if dialect.itemized:
        return rawjson.join_array([item[:-1] + b"," + ODD + b"}" for item in rawjson.elements(raw)])
    return raw[:-1] + b"," + ODD + b"}"


def said_by_user(dialect: Dialect, text: str = "Hello") -> bytes:
    return dialect.say(user(text))[0].raw


def answered(dialect: Dialect, text: str = "Hi") -> bytes:
    return dialect.say(assistant(text))[0].raw


def calling(dialect: Dialect, *ids: str) -> bytes:
    """An answer that calls tools ``f0``, ``f1``…, by these ids."""
    calls = [ToolCall(call_id, f"f{at}", f'{{"n":{at}}}', at) for at, call_id in enumerate(ids)]
    return dialect.say(assistant(*calls))[0].raw


def result_of(dialect: Dialect, raw: bytes, position: int, text: str = "done") -> bytes:
    """A message that holds nothing but the result of one call of an answer."""
    call = hansard.Message(dialect, raw).tool_calls[position]
    (message,) = dialect.frame([dialect.result(call, call.answer(text))])
    return message


# -- recording --------------------------------------------------------------------------------


class Writer:
    """Writes on a record as a session would, one entry a method, and keeps the newest record."""

    def __init__(self, dialect: Dialect | str = "openai", record: Record | None = None) -> None:
        self.dialect = hansard.dialect(dialect) if isinstance(dialect, str) else dialect
        self.record = record or Record("c0", self.dialect)

    @property
    def seq(self) -> int:
        return self.record.length

    @property
    def turn(self) -> int:
        return self.record.turn_number

    def apply(self, entry: Entry) -> Record:
        self.record = self.record.apply(entry)
        return self.record

    def begin(self, turn_id: str = "t") -> Record:
        return self.apply(TurnBegin(seq=self.seq, turn=self.turn + 1, turn_id=turn_id))

    def say(
        self,
        raw: bytes | str = "Hello",
        author: Author = "input",
        *,
        role: Role = "user",
        pin: bool = False,
    ) -> Record:
        said = said_by_user(self.dialect, raw) if isinstance(raw, str) else raw
        return self.apply(
            Said(
                seq=self.seq,
                turn=self.turn,
                role=role,
                author=author,
                raw=msgspec.Raw(said),
                pin=pin,
            )
        )

    def answer(
        self,
        raw: bytes | str = "Hi",
        *,
        problems: Sequence[str] = (),
        finish: Finish | None = None,
        usage: Usage | None = None,
    ) -> Record:
        said = answered(self.dialect, raw) if isinstance(raw, str) else raw
        return self.apply(
            Said(
                seq=self.seq,
                turn=self.turn,
                role="assistant",
                author="model",
                raw=msgspec.Raw(said),
                problems=tuple(problems),
                finish=finish,
                usage=usage,
            )
        )

    def call(self, *ids: str) -> Record:
        return self.answer(calling(self.dialect, *ids))

    def key(self, position: int = 0) -> CallKey:
        """The key of a call of the open round."""
        assert self.record.turn is not None
        assert self.record.turn.round is not None
        answer = self.record.turn.round
        return CallKey(answer.answer.seq, position, answer.calls[position].id)

    def outcome(self, position: int = 0, text: str | None = "done") -> Record:
        """Record what became of a call of the open round; no text, and it is unknown."""
        assert self.record.turn is not None
        assert self.record.turn.round is not None
        if text is None:
            unknown = Outcome(
                seq=self.seq, turn=self.turn, call=self.key(position), status="unknown"
            )
            return self.apply(unknown)
        call = self.record.turn.round.calls[position]
        raw = self.dialect.result(call, call.answer(text))
        return self.apply(
            Outcome(
                seq=self.seq,
                turn=self.turn,
                call=self.key(position),
                status="ok",
                raw=msgspec.Raw(raw),
            )
        )

    def end(self, status: str = "done") -> Record:
        return self.apply(
            TurnEnd(seq=self.seq, turn=self.turn, status=status)  # type: ignore[arg-type]
        )

    def exchange(self, question: str = "Hello", answer: str = "Hi") -> Record:
        """A whole turn without calls."""
        self.begin()
        self.say(question)
        self.answer(answer)
        return self.end()


def context_bytes(record: Record) -> bytes:
    """The context as it would be sent."""
    return b",".join(record.context.segments(record.dialect))
