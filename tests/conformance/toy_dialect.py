"""A small honest dialect, as a third party would write one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hansard import rawjson
from hansard.dialects.dialect import (
    Answer,
    Ask,
    Composition,
    Dialect,
    Fragment,
    Loss,
    Problem,
    Request,
    name_of,
    splice_body,
)
from hansard.dialects.events import CallComplete, StreamEvent, TextDelta
from hansard.dialects.stream import StreamReader, StringDelta
from hansard.errors import Unsayable
from hansard.messages import (
    Draft,
    Finish,
    Native,
    Reading,
    Refusal,
    Role,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hansard.messages import Part
    from hansard.rawjson import JSON

ROLES: dict[str, Role] = {"human": "user", "bot": "assistant", "tools": "tool", "boss": "system"}
WORDS = {role: word for word, role in ROLES.items()}
FINISHES: dict[str, Finish] = {"done": "stop", "calls": "tool_calls"}
KNOWN = {
    "text": {"t", "v"},
    "no": {"t", "v"},
    "thought": {"t", "v", "sig"},
    "call": {"t", "id", "fn", "args"},
    "result": {"t", "id", "v"},
}


def text_of(fields: Mapping[str, bytes], key: str) -> str:
    """A string under a key; anything else reads as nothing."""
    raw = fields.get(key, b"")
    return rawjson.unquote(raw) if raw.startswith(b'"') else ""


def object_of(raw: bytes) -> dict[str, bytes]:
    """The members of an object; anything else has none."""
    return rawjson.fields(raw) if raw.startswith(b"{") else {}


class Toy(Dialect):
    """``{"who":"human","say":[{"t":"text","v":"hello"}]}``."""

    name = "toy"
    call_marks: ClassVar[tuple[bytes, ...]] = (b'"call"', b'"result"')

    # -- reading ------------------------------------------------------------------------------

    def read(self, raw: bytes) -> Reading:
        fields = rawjson.fields(raw)
        extra: dict[str, JSON] = {
            key: rawjson.value(part) for key, part in fields.items() if key not in ("who", "say")
        }
        parts: list[Part] = []
        said = fields.get("say", b"[]")
        for place, item in enumerate(rawjson.elements(said) if said.startswith(b"[") else [said]):
            part = self.read_part(item, sum(isinstance(part, ToolCall) for part in parts))
            parts.append(part)
            if not isinstance(part, Native):
                extra |= self.read_extra(item, f"say[{place}].")
        return Reading(ROLES.get(text_of(fields, "who"), "user"), tuple(parts), extra)

    def read_part(self, raw: bytes, position: int) -> Part:
        """Read one part."""
        fields = object_of(raw)
        kind = text_of(fields, "t")
        said = text_of(fields, "v")
        if kind == "text":
            return Text(said)
        if kind == "no":
            return Refusal(said)
        if kind == "thought":
            return Thought(said, text_of(fields, "sig") or None)
        if kind == "call":
            arguments = text_of(fields, "args")
            return ToolCall(text_of(fields, "id"), text_of(fields, "fn"), arguments, position)
        if kind == "result":
            return ToolResult(text_of(fields, "id"), content=(Text(said),))
        return Native(kind, raw)

    def read_extra(self, raw: bytes, path: str) -> dict[str, JSON]:
        """The fields of a part that nobody knows, by their path."""
        fields = object_of(raw)
        known = KNOWN[text_of(fields, "t")]
        return {path + key: rawjson.value(raw) for key, raw in fields.items() if key not in known}

    # -- saying -------------------------------------------------------------------------------

    def compose(self, draft: Draft, *, foreign: bool = False) -> Composition:
        said: list[bytes] = []
        losses: list[Loss] = []
        for part in draft.parts:
            if getattr(part, "thought_signature", None) and (
                foreign or not isinstance(part, Thought)
            ):
                losses.append(Loss(0, "thought_signature", "there is no place for it"))
            if not (raw := self.say_part(part, foreign=foreign)):
                losses.append(Loss(0, name_of(part), "there are no words for it"))
            else:
                said.append(raw)
        return Composition((self.say_message(WORDS[draft.role], said),), tuple(losses))

    def say_message(self, who: str, said: Sequence[bytes]) -> bytes:
        """Say a message."""
        return rawjson.join_object({"who": rawjson.quote(who), "say": rawjson.join_array(said)})

    def say_part(self, part: Part, *, foreign: bool) -> bytes | None:
        """Say one part, if there are words for it."""
        if isinstance(part, Text):
            return rawjson.dump({"t": "text", "v": part.text})
        if isinstance(part, Refusal):
            return rawjson.dump({"t": "no", "v": part.text})
        if isinstance(part, Thought) and not foreign and part.redacted is None:
            signed = {"sig": part.thought_signature} if part.thought_signature else {}
            return rawjson.dump({"t": "thought", "v": part.text, **signed})
        if isinstance(part, ToolCall) and not part.custom:
            call_id = self.own_id(part.id, part.name, part.position) if foreign else part.id
            call = {"t": "call", "id": call_id, "fn": part.name, "args": part.arguments}
            return rawjson.dump(call)
        if isinstance(part, ToolResult) and all(isinstance(item, Text) for item in part.content):
            position = part.position
            call_id = self.own_id(part.call_id, part.name, position) if foreign else part.call_id
            return rawjson.dump({"t": "result", "id": call_id, "v": part.text})
        return part.raw if isinstance(part, Native) and not foreign else None

    def own_id(self, foreign_id: str, name: str, position: int) -> str:
        """A call id for a call that came without."""
        return self.call_id(foreign_id, f"{name}_{position}")

    def result(self, call: ToolCall, result: ToolResult) -> bytes:
        answer = ToolResult(call.id, call.name, result.content, position=call.position)
        said = self.say_part(answer, foreign=False)
        if said is None:
            raise Unsayable("a result here is text only", dialect=self.name)
        return said

    def frame(self, fragments: Sequence[bytes], then: Sequence[bytes] = ()) -> tuple[bytes, ...]:
        return (self.say_message("tools", fragments), *then)

    # -- asking -------------------------------------------------------------------------------

    def request(self, ask: Ask) -> Request:
        body: dict[str, bytes] = {
            "model": rawjson.quote(ask.model),
            "system": rawjson.quote("\n".join([draft.text for draft in ask.system])),
        }
        if ask.tools:
            body["tools"] = rawjson.join_array(
                [
                    tool.native or rawjson.dump([tool.name, tool.description, tool.parameters])
                    for tool in ask.tools
                ]
            )
        if ask.tool_choice:
            body["choice"] = rawjson.quote(ask.tool_choice)
        if ask.output is not None:
            body["schema"] = rawjson.dump(ask.output)
        body |= {key: rawjson.dump(given) for key, given in ask.parameters.items()}
        head = rawjson.join_object(body)[:-1] + b',"dialogue":['
        return Request(
            "/stream" if ask.stream else "/whole", splice_body(head, ask.messages, b"]}")
        )

    # -- answers ------------------------------------------------------------------------------

    def parse(self, body: bytes) -> Answer:
        fields = object_of(rawjson.compact(body))
        return self.judge(fields.get("answer"), text_of(fields, "end"), [])

    def judge(self, message: bytes | None, end: str, problems: Sequence[Problem]) -> Answer:
        """Make an answer of what came."""
        if message is None or text_of(object_of(message), "who") != "bot":
            message = None
            problems = [*problems, Problem("no_answer", "there is no message of the bot")]
        cut = any(problem.code == "cut" for problem in problems)
        finish = FINISHES.get(end, "other") if end else None
        return Answer(message, finish, end or None, Usage(), tuple(problems), cut)

    def stream(self) -> StreamReader:
        return ToyStream(self)

    # -- results ------------------------------------------------------------------------------

    def split_results(self, raw: bytes) -> tuple[tuple[Fragment, ...], bytes | None]:
        said = rawjson.fields(raw).get("say", b"[]")
        items = rawjson.elements(said) if said.startswith(b"[") else []
        found = [item for item in items if isinstance(self.read_part(item, 0), ToolResult)]
        if not found:
            return (), raw
        rest = [item for item in items if item not in found]
        fragments = [Fragment(text_of(object_of(item), "id"), "", item) for item in found]
        left = rawjson.replace(raw, {"say": rawjson.join_array(rest)}) if rest else None
        return tuple(fragments), left

    def paired(self, calls: Sequence[ToolCall], after: Sequence[bytes]) -> bool:
        fragments = self.split_results(after[0])[0] if after else ()
        return [fragment.call_id for fragment in fragments] == [call.id for call in calls]


class ToyStream(StreamReader):
    """``{"i":0,"part":{…}}`` begins or continues a part, ``{"end":"done"}`` ends the answer."""

    def __init__(self, toy: Toy) -> None:
        super().__init__()
        self.toy = toy
        self.parts: dict[bytes, tuple[dict[str, bytes], StringDelta]] = {}
        self.end = ""

    def _take(self, data: bytes, events: list[StreamEvent]) -> None:
        fields = object_of(rawjson.compact(data))
        if "part" in fields:
            self.take_part(fields.get("i", b"0"), object_of(fields["part"]), events)
        if end := text_of(fields, "end"):
            self.end = end
            self._done = True
            message = self.toy.message(self.assembled())
            events += [CallComplete(call) for call in message.tool_calls]

    def take_part(self, index: bytes, piece: dict[str, bytes], events: list[StreamEvent]) -> None:
        """Take a piece of a part: ``v`` and ``args`` append, everything else is set once."""
        known, delta = self.parts.setdefault(index, ({}, StringDelta()))
        for key, raw in piece.items():
            if key not in ("v", "args") or not raw.startswith(b'"'):
                known.setdefault(key, raw)
                continue
            shown = delta.add(raw)
            known[key] = delta.literal
            if key == "v" and text_of(known, "t") == "text":
                events.append(TextDelta(shown))

    def assembled(self) -> bytes:
        """The message so far."""
        parts = [rawjson.join_object(known) for known, _ in self.parts.values()]
        return self.toy.say_message("bot", parts)

    def _answer(self) -> Answer:
        message = self.assembled() if self.parts else None
        return self.toy.judge(message, self.end, self._problems)
