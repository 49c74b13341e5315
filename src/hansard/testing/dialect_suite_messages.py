"""What a dialect promises of single messages: bytes kept, everything seen, nothing crashes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from .. import rawjson
from ..errors import DecodeError
from ..messages import Media
from .dialect_suite import DialectSuite, expect, no_exception
from .json_variants import (
    MARK,
    bounded,
    odd_value,
    spaced,
    unknown_element,
    unknown_member,
    variants,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..messages import Message
    from .dialect_samples import MessageSample

__all__ = ["MessageChecks"]

_VARIANTS_MAX = 250


class MessageChecks(DialectSuite):
    """Reading, and what repair does to one message."""

    def test_a_message_is_read_as_the_sample_says(self, message_sample: MessageSample) -> None:
        """Role, text, calls and results are those that the author of the sample saw."""
        message = self.dialect.message(message_sample.raw)
        calls = tuple([(call.name, call.parsed) for call in message.tool_calls])
        results = tuple([(result.call_id, result.text) for result in message.tool_results])
        for found, said, what in (
            (message.role, message_sample.role, "role"),
            (message.text, message_sample.text, "text"),
            (calls, message_sample.calls, "calls"),
            (results, message_sample.results, "results"),
        ):
            expect(said is None or found == said, f"the {what} {said!r}", found)

    def test_a_message_keeps_every_byte_but_white_space(
        self, message_sample: MessageSample
    ) -> None:
        """Only the space between tokens goes; an item may be wrapped in an array."""
        raw = rawjson.compact(message_sample.raw)
        kept = self.dialect.message(message_sample.raw).raw
        expect(kept in self._spellings(raw), "the compacted bytes of the message", kept)
        expect(self.dialect.message(kept).raw == kept, "to take a message in twice alike", kept)
        respelled = spaced(kept)
        found = self.dialect.message(respelled).raw
        expect(found == rawjson.compact(respelled), "white space not to matter", found)

    def test_reading_is_repeatable(self, message_sample: MessageSample) -> None:
        """Two readings of the same bytes are equal."""
        raw = self.dialect.message(message_sample.raw).raw
        first, second = self.dialect.read(raw), self.dialect.read(raw)
        expect(first.parts == second.parts and first.role == second.role, "equal readings", first)
        expect(dict(first.extra) == dict(second.extra), "equal extra fields", first.extra)

    def test_what_is_no_message_is_refused(self) -> None:
        """With a `DecodeError`, and no other."""
        for data in (b"", b"{", b"\xff", b"null", b"true", b"7", b'"text"', b"[7]", b'["text"]'):
            try:
                message = self.dialect.message(data)
            except DecodeError:
                continue
            expect(False, f"a DecodeError for {data!r}", message)  # noqa: FBT003

    def test_an_unknown_field_is_kept_and_seen(self, message_sample: MessageSample) -> None:
        """Wherever a provider adds a field, its bytes stay and some view shows it."""
        raw = self.dialect.message(message_sample.raw).raw
        text = self.dialect.message(raw).text
        for changed in bounded(variants(raw, unknown_member), _VARIANTS_MAX):
            with no_exception(changed):
                message = self.dialect.message(changed)
                expect(message.raw == changed, "every byte kept", message.raw)
                expect(message.text == text, f"the same text with {MARK}", changed)
                expect(self._sees(message), f"{MARK} in extra, a Native or a call", changed)

    def test_a_part_of_a_new_kind_is_kept_and_seen(self, message_sample: MessageSample) -> None:
        """Wherever there is an array, it may hold what nobody knew."""
        raw = self.dialect.message(message_sample.raw).raw
        for changed in bounded(variants(raw, unknown_element), _VARIANTS_MAX):
            with no_exception(changed):
                message = self.dialect.message(changed)
                expect(message.raw == changed, "every byte kept", message.raw)
                expect(self._sees(message), f"{MARK} in extra, a Native or a call", changed)

    def test_odd_values_are_read_or_refused(self, message_sample: MessageSample) -> None:
        """Nothing but `DecodeError` is ever raised, by reading or by any view."""
        raw = self.dialect.message(message_sample.raw).raw
        for changed in bounded(variants(raw, odd_value), _VARIANTS_MAX):
            with no_exception(changed):
                try:
                    message = self.dialect.message(changed)
                except DecodeError:
                    continue
                self._use(message)

    def test_splicing_is_undone_by_unsplicing(self, message_sample: MessageSample) -> None:
        """What stands in a request gives the message back."""
        raw = self.dialect.message(message_sample.raw).raw
        items = rawjson.elements(b"[" + self.dialect.splice(raw) + b"]")
        found = self.dialect.unsplice(items)
        expect(found == raw, "the message that was spliced", found)

    def test_messages_with_calls_bear_the_mark(self, message_sample: MessageSample) -> None:
        """`may_have_calls` never overlooks a call or a result, however its name is escaped."""
        message = self.dialect.message(message_sample.raw)
        if message.tool_calls or message.tool_results:
            expect(self.dialect.may_have_calls(message.raw), "may_have_calls", message)

    def test_the_projection_is_a_message_and_final(self, message_sample: MessageSample) -> None:
        """To project twice is to project once, and what is left can be read."""
        raw = self.dialect.message(message_sample.raw).raw
        fields = variants(raw, unknown_member)
        for given in [raw, *bounded(fields, 50), *bounded(variants(raw, odd_value), 100)]:
            try:
                message = self.dialect.message(given)
            except DecodeError:
                continue
            cut = self.dialect.project(message.raw)
            if cut is None:
                continue
            expect(self.dialect.message(cut).raw == cut, "a compact message", cut)
            expect(self.dialect.project(cut) == cut, "a projection that is final", cut)

    def test_what_is_cut_or_paired_bears_a_mark(self, message_sample: MessageSample) -> None:
        """``cut_marks`` overlook nothing that `project` changes, nor ``call_marks`` any call.

        Also where members are left out or turned round. Escapes, which hide any mark, are another
        matter: whoever looks for marks looks for them too.
        """
        raw = self.dialect.message(message_sample.raw).raw
        for given in [raw, *bounded(variants(raw, _fewer_members), _VARIANTS_MAX)]:
            try:
                message = self.dialect.message(given)
            except DecodeError:
                continue
            if b"\\u00" in message.raw:
                continue
            if self.dialect.project(message.raw) != message.raw:
                found = any([mark in message.raw for mark in self.dialect.cut_marks])
                expect(found, f"one of {self.dialect.cut_marks} in it", message)
            if message.tool_calls or message.tool_results:
                found = any([mark in message.raw for mark in self.dialect.call_marks])
                expect(found, f"one of {self.dialect.call_marks} in it", message)

    def _spellings(self, raw: bytes) -> list[bytes]:
        return [raw, b"[" + raw + b"]"] if self.dialect.itemized else [raw]

    def _sees(self, message: Message) -> bool:
        return MARK in repr(dict(message.extra)) or MARK in repr(message.parts)

    def _use(self, message: Message) -> None:
        """Look at everything that a message offers, and at what repair makes of it."""
        _ = (message.text, message.refusal, message.thought_text, dict(message.extra))
        _ = self.dialect.split_results(message.raw)
        for call in message.tool_calls:
            _ = self.dialect.interrupted(call)
            with suppress(DecodeError):
                _ = call.parsed
        for part in message.parts:
            if isinstance(part, Media):
                with suppress(DecodeError):
                    _ = part.data


def _fewer_members(raw: bytes) -> Iterable[bytes]:
    """An object without one of its members, with one alone, and with all the other way round."""
    if not raw.startswith(b"{"):
        return
    members = rawjson.members(raw)
    for place, member in enumerate(members):
        yield rawjson.join_object([*members[:place], *members[place + 1 :]])
        yield rawjson.join_object([member])
    yield rawjson.join_object(members[::-1])
