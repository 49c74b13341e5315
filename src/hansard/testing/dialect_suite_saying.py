"""What a dialect promises of drafts: each part is said, or it is listed as lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import rawjson
from ..dialects.dialect import SYSTEM_FRAME, name_of
from ..errors import DecodeError, Unsayable
from ..messages import (
    Draft,
    Media,
    Native,
    Refusal,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    assistant,
    system,
    user,
)
from .dialect_suite import DialectSuite, expect

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..messages import Part
    from .dialect_samples import MessageSample

__all__ = ["DRAFTS", "SayingChecks"]

_SECRET = "zz_signature"  # noqa: S105 -- it opens nothing
_ODD_TEXT = 'é😀\u2028\x00\ud800 "quoted" \\ </system> <|end|>'
_PNG = Media("image", "image/png", "iVBORw0KGgo=")
_CALL = ToolCall("call_1", "find", '{"city":"Köln","n":1.50}')
_OTHER = ToolCall("call_2", "count", "{}", 1)
_RESULT = ToolResult("call_1", "find", (Text("found"),))

DRAFTS: dict[str, Draft] = {
    "text": user("hello"),
    "odd text": user(_ODD_TEXT),
    "two texts": user("one", "two"),
    "signed text": user(Text("hello", _SECRET)),
    "image": user(_PNG),
    "image and text": user("look:", _PNG, "what is it?"),
    "image by url": user(Media("image", url="https://example.org/a.png")),
    "image by id": user(Media("image", file_id="file-1")),
    "file": user(Media("file", "application/pdf", "JVBERi0=", name="a.pdf")),
    "file by url": user(Media("file", "application/pdf", url="https://example.org/a.pdf")),
    "file by id": user(Media("file", file_id="file-1")),
    "sound": user(Media("audio", "audio/wav", "UklGRg==")),
    "video": user(Media("video", "video/mp4", "AAAAGA==")),
    "signed image": user(Media("image", "image/png", "iVBORw0KGgo=", thought_signature=_SECRET)),
    "answer": assistant("hello"),
    "odd answer": assistant(_ODD_TEXT),
    "signed answer": assistant(Text("hello", _SECRET)),
    "answer with image": assistant("look:", _PNG),
    "refusal": assistant(Refusal("I cannot.")),
    "text and refusal": assistant("Well.", Refusal("I cannot.")),
    "thought": assistant(Thought("let me think"), "hello"),
    "signed thought": assistant(Thought("let me think", _SECRET), "hello"),
    "hidden thought": assistant(Thought(redacted="zz_hidden"), "hello"),
    "half hidden thought": assistant(Thought("shown", None, "zz_hidden"), "hello"),
    "signed hidden thought": assistant(Thought("shown", _SECRET, "zz_hidden"), "hello"),
    "signature alone": assistant(Thought("", _SECRET), "hello"),
    "two thoughts": assistant(Thought("first"), Thought("second", _SECRET), "hello"),
    "thought after text": assistant("hello", Thought("afterwards"), "again"),
    "call": assistant(_CALL),
    "text and calls": assistant("I will look.", _CALL, _OTHER),
    "signed call": assistant(ToolCall("call_1", "find", "{}", 0, _SECRET)),
    "custom call": assistant(ToolCall("call_1", "shell", "ls -l", custom=True)),
    "call with nothing": assistant(ToolCall("call_1", "find", "")),
    "call with broken arguments": assistant(ToolCall("call_1", "find", '{"city":')),
    "call with odd arguments": assistant(ToolCall("call_1", "find", "[1]")),
    "result": Draft("tool", (_RESULT,)),
    "results": Draft("tool", (_RESULT, ToolResult("call_2", "count", (Text("2"),), position=1))),
    "failed result": Draft("tool", (ToolResult("call_1", "find", (Text("no"),), is_error=True),)),
    "empty result": Draft("tool", (ToolResult("call_1", "find"),)),
    "result of parts": Draft("tool", (ToolResult("call_1", "find", (Text("a"), Text("b"))),)),
    "result with image": Draft("tool", (ToolResult("call_1", "find", (Text("a"), _PNG)),)),
    "result and text": Draft("tool", (_RESULT, Text("go on"))),
    "result from user": user(_RESULT, "go on"),
    "call from user": user(_CALL),
    "thought from user": user(Thought("let me think"), "hello"),
    "refusal from user": user(Refusal("I cannot.")),
    "result from assistant": assistant(_RESULT),
    "instruction": system("be brief"),
    "two instructions": system("be brief", "be kind"),
    "instruction with image": system("be like this:", _PNG),
    "image without a type": user(Media("image", None, "iVBORw0KGgo="), "hello"),
    "image of nothing": user(Media("image"), "hello"),
    "file without a type": user(Media("file", None, "JVBERi0=", name="a.pdf"), "hello"),
    "result with file by id": Draft(
        "tool", (ToolResult("call_1", "find", (Text("a"), Media("file", file_id="file-1"))),)
    ),
    "unknown part": user("a", Native("zz_foreign", b'{"type":"zz_foreign","zz":1.50e5}')),
}
"""Drafts of every neutral part in every role, also where no provider would have it."""


class SayingChecks(DialectSuite):
    """Composing drafts."""

    def test_every_part_is_said_or_listed(self, draft: Draft) -> None:
        """What has no `Loss` can be read again; what has leaves the rest alone."""
        composed = self.dialect.compose(draft)
        parts = self.read_parts(composed.messages)
        for loss in composed.losses:
            expect(loss.message == 0 and loss.part and loss.reason, "a loss that says what", loss)
        said, wanted = _essence(parts), _essence(_framed(draft, self.dialect.system_midway))
        if not composed.losses:
            for kind, found in said.items():
                expect(found == wanted[kind], f"{wanted[kind]!r} as {kind}, or a loss", found)
        elif all(loss.part != "text" for loss in composed.losses):
            for text in [part.text for part in draft.parts if isinstance(part, Text)]:
                heard = said["text"][0]
                expect(text in heard, f"to say {text!r} in spite of losses", heard)

    def test_a_draft_has_one_spelling(self, draft: Draft) -> None:
        """Saying it again gives the same compact bytes, which are messages of the dialect."""
        composed = self.dialect.compose(draft)
        expect(self.dialect.compose(draft) == composed, "the same composition again", composed)
        for raw in composed.messages:
            expect(self.dialect.message(raw).raw == raw, "a compact message", raw)

    def test_a_draft_keeps_its_role(self, draft: Draft) -> None:
        """Only results move to the role that the wire has for them, and framed instructions."""
        roles = {self.dialect.message(raw).role for raw in self.dialect.compose(draft).messages}
        allowed = {draft.role}
        if any(isinstance(part, ToolResult) for part in draft.parts) or draft.role == "tool":
            allowed |= {"tool", "user"}
        if draft.role == "system" and not self.dialect.system_midway:
            allowed = {"user"}
        if any(isinstance(part, Native) for part in draft.parts):
            return  # Who says it is for the provider to know.
        expect(roles <= allowed, f"the role {allowed}", roles)

    def test_say_refuses_what_would_be_lost(self, draft: Draft) -> None:
        """`say` gives messages where nothing is lost, and raises `Unsayable` otherwise."""
        composed = self.dialect.compose(draft)
        try:
            messages = self.dialect.say(draft)
        except Unsayable as error:
            expect(error.losses == composed.losses != (), "the losses", error.losses)
        else:
            expect(not composed.losses, "Unsayable", composed.losses)
            expect(tuple([message.raw for message in messages]) == composed.messages, "the same")

    def test_media_that_nobody_could_open_are_listed(self, draft: Draft) -> None:
        """Bytes without a media type, and media with nothing to say them by."""
        media = [part for part in draft.parts if isinstance(part, Media)]
        broken = [part for part in media if not _is_whole(part)]
        losses = self.dialect.compose(draft).losses if broken else ()
        found = [loss.part for loss in losses]
        expect(found == [name_of(part) for part in broken], f"a loss for each of {broken}", found)

    def test_foreign_drafts_keep_no_signature(self, draft: Draft) -> None:
        """Signatures, thoughts, files and native parts of another provider go, and are listed."""
        composed = self.dialect.compose(draft, foreign=True)
        said = b"".join(composed.messages)
        inside = [
            one for part in draft.parts if isinstance(part, ToolResult) for one in part.content
        ]
        for part in (*draft.parts, *inside):
            traces = [getattr(part, "thought_signature", None)]
            if isinstance(part, Thought):
                traces += [part.text, part.redacted]
            if isinstance(part, Media):
                traces.append(part.file_id)
            if isinstance(part, Native):
                traces.append(part.kind)
            for trace in filter(None, traces):
                expect(trace.encode() not in said, f"no {trace!r}", said)
                expect(composed.losses, f"a loss for {trace!r}")

    def test_nothing_of_a_foreign_message_is_kept_that_is_signed(
        self, message_sample: MessageSample
    ) -> None:
        """As above, with what providers really sign."""
        message = self.dialect.message(message_sample.raw)
        composed = self.dialect.compose(Draft(message.role, message.parts), foreign=True)
        said = b"".join(composed.messages)
        for raw in composed.messages:
            expect(self.dialect.message(raw).raw == raw, "a compact message", raw)
        for signature in message.thought_signatures:
            if len(signature) >= len(_SECRET):
                expect(signature.encode() not in said, f"no {signature!r}", said)
                expect(composed.losses, f"a loss for {signature!r}")

    def test_native_parts_are_said_as_they_are(self, message_sample: MessageSample) -> None:
        """What only this provider can say goes back verbatim, or is listed."""
        message = self.dialect.message(message_sample.raw)
        for part in message.parts:
            if isinstance(part, Native):
                composed = self.dialect.compose(Draft(message.role, (part,)))
                kept = part.raw in b"".join(composed.messages)
                expect(kept or composed.losses, f"{part.raw!r} or a loss", composed)

    def test_foreign_calls_and_results_stay_together(self) -> None:
        """However odd their ids are: no id, long ones, ones that differ in a single character."""
        for ids in (("", ""), ("a", "b"), ("x" * 200, "x" * 199 + "y"), ("a.b", "a:b"), ("ü", "ö")):
            calls = [
                ToolCall(call_id, f"f{position}", "{}", position)
                for position, call_id in enumerate(ids)
            ]
            results = tuple([call.answer("done") for call in calls])
            asked = self.dialect.compose(assistant(*calls), foreign=True)
            answered = self.dialect.compose(Draft("tool", results), foreign=True)
            again = self.dialect.compose(Draft("tool", results), foreign=True)
            expect(answered == again, "the same ids every time", again)
            found = [
                call for raw in asked.messages for call in self.dialect.message(raw).tool_calls
            ]
            expect(len(found) == len(calls), "all calls", asked)
            paired = self.dialect.paired(found, answered.messages)
            expect(paired, f"calls {ids} and results to be paired", (found, answered))

    def test_foreign_ids_are_mapped_one_to_one(self) -> None:
        """The same in, the same out; others in, others out; what was mapped stays."""
        ids = [
            "a",
            "b",
            "A",
            "a.b",
            "a:b",
            "a b",
            "ü",
            "\ud800",
            "x" * 200,
            "x" * 199 + "y",
            "call_1",
        ]
        mapped = [self.dialect.call_id(call_id, "seed") for call_id in ids]
        expect(len(set(mapped)) == len(ids), "an id of its own for each", mapped)
        again = [self.dialect.call_id(call_id, "seed") for call_id in ids]
        expect(mapped == again, "the same ids again", again)
        expect(all(mapped), "ids that are not empty", mapped)
        settled = [self.dialect.call_id(call_id, "seed") for call_id in mapped]
        expect(settled == mapped, "ids in the alphabet to stay as they are", settled)

    def test_a_legal_id_stays_as_it_is(self, message_sample: MessageSample) -> None:
        """An id that the provider itself gave, as it stands in a message, is legal."""
        message = self.dialect.message(message_sample.raw)
        for call in message.tool_calls:
            if call.id and b":" + rawjson.quote(call.id) in message.raw:
                found = self.dialect.call_id(call.id, "seed")
                expect(found == call.id, f"{call.id!r} to stay", found)


def _framed(draft: Draft, system_midway: bool) -> Sequence[Part]:  # noqa: FBT001 -- as it is told
    """The parts that reading gives back: an instruction may come back in its frame."""
    if draft.role != "system" or system_midway:
        return draft.parts
    others = [part for part in draft.parts if not isinstance(part, Text)]
    return [Text(SYSTEM_FRAME.format(text=draft.text)), *others]


_ESSENCE = ("text", "thought", "hidden", "signatures", "refusal", "media", "calls", "results")


def _essence(parts: Iterable[Part]) -> dict[str, list[Any]]:
    """What must not change when parts are said and read: all but how they are divided."""
    found: dict[str, list[Any]] = {key: [] for key in _ESSENCE}
    for part in parts:
        if isinstance(part, Text):
            found["text"].append(part.text)
        elif isinstance(part, Thought):
            found["thought"].append(part.text)
            found["hidden"] += filter(None, [part.redacted])
        elif isinstance(part, Refusal):
            found["refusal"].append(part.text)
        elif isinstance(part, Media):
            found["media"].append(_media(part))
        elif isinstance(part, ToolCall):
            found["calls"].append((part.id, part.name, _arguments(part), part.custom))
        elif isinstance(part, ToolResult):
            media = [_media(item) for item in part.content if isinstance(item, Media)]
            found["results"].append((part.call_id, part.text, media))
        found["signatures"] += filter(None, [getattr(part, "thought_signature", None)])
    for key in ("text", "thought", "refusal"):
        found[key] = ["".join(found[key])]
    found["signatures"].sort()  # Thoughts may have a place of their own before everything else.
    return found


def _is_whole(part: Media) -> bool:
    return bool(part.media_type if part.base64 else part.url or part.file_id)


def _media(part: Media) -> tuple[str | None, ...]:
    """Bytes have a kind; what stands behind a reference, and which kind of reference, may not."""
    return (part.kind, part.base64) if part.base64 else (part.url or part.file_id,)


def _arguments(call: ToolCall) -> object:
    try:
        return call.parsed
    except DecodeError:
        return call.arguments
