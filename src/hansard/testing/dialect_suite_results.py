"""What a dialect promises of tool results: made once, framed, and found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Unsayable
from ..messages import Media, Native, Text, ToolCall, ToolResult, assistant, user
from .dialect_suite import DialectSuite, expect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..dialects.dialect import Fragment
    from .dialect_samples import MessageSample

__all__ = ["ResultChecks"]


class ResultChecks(DialectSuite):
    """`result`, `frame`, `split_results`, `paired` and `interrupted`, which go together."""

    def test_results_of_all_calls_are_paired(self) -> None:
        """One result for each call, in call order, framed: nothing is missing."""
        for calls in self._rounds():
            framed = self.dialect.frame(self._fragments(calls))
            expect(self.dialect.paired(calls, framed), f"results of {calls} to be paired", framed)
            for raw in framed:
                message = self.dialect.message(raw)
                expect(message.raw == raw, "a compact message", raw)
                expect(message.role == "tool", "the role tool", message)
                expect(self.dialect.may_have_calls(raw), "may_have_calls", raw)

    def test_results_are_read_as_they_were_given(self) -> None:
        """Text and call ids, in the order of the calls."""
        for calls in self._rounds():
            framed = self.dialect.frame(self._fragments(calls))
            results = [part for part in self.read_parts(framed) if isinstance(part, ToolResult)]
            found = [(result.call_id, result.text) for result in results]
            wanted = [(call.id, f"result {place}") for place, call in enumerate(calls)]
            expect(found == wanted, f"results {wanted}", found)

    def test_a_missing_result_is_noticed(self) -> None:
        """Also where all are missing, or what follows is something else."""
        for calls in self._rounds():
            expect(not self.dialect.paired(calls, ()), "no pair without messages", calls)
            other = tuple([said.raw for said in self.dialect.say(user("hello"))])
            expect(not self.dialect.paired(calls, other), "no pair with other messages", other)
            for place in range(len(calls)) if len(calls) > 1 else ():
                fewer = self._fragments(calls)
                del fewer[place]
                framed = self.dialect.frame(fewer)
                expect(not self.dialect.paired(calls, framed), f"{calls[place]} missed", framed)

    def test_a_doubled_result_is_noticed(self) -> None:
        """Where it stands in the place of another call's."""
        for calls in self._rounds():
            fragments = self._fragments(calls)
            if len({call.id for call in calls[:2]}) > 1:
                twice = self.dialect.frame([fragments[0], fragments[0], *fragments[2:]])
                expect(not self.dialect.paired(calls, twice), f"{calls[1]} missed", twice)

    def test_splitting_undoes_framing(self) -> None:
        """The same fragments come out, in order, each with the call that it answers."""
        for calls in self._rounds():
            fragments = self._fragments(calls)
            found: list[Fragment] = []
            for raw in self.dialect.frame(fragments):
                split, rest = self.dialect.split_results(raw)
                expect(rest is None, "nothing beside the results", rest)
                found += split
            expect([part.raw for part in found] == fragments, f"{fragments}", found)
            ids = [part.call_id for part in found]
            expect(ids == [call.id for call in calls], "the ids of the calls", ids)
            framed = self.dialect.frame([part.raw for part in found])
            expect(framed == self.dialect.frame(fragments), "to frame what was split", framed)

    def test_what_is_said_beside_results_stays_beside_them(self) -> None:
        """Messages that came while calls were pending follow the results, and lose nothing."""
        then = [message.raw for message in self.dialect.say(user("go on"))]
        for calls in self._rounds():
            fragments = self._fragments(calls)
            framed = self.dialect.frame(fragments, then)
            expect(self.dialect.paired(calls, framed), "the results to be paired", framed)
            parts = [type(part).__name__ for part in self.read_parts(framed)]
            wanted = ["ToolResult"] * len(calls) + ["Text"]
            expect(parts == wanted, "results first, then the text", parts)
            split = [self.dialect.split_results(raw) for raw in framed]
            found = [part.raw for parts, _ in split for part in parts]
            expect(found == fragments, "the fragments as they were", found)
            rest = [rest for _, rest in split if rest is not None]
            said = [part.text for part in self.read_parts(rest) if isinstance(part, Text)]
            expect(said == ["go on"], "the message without the results", rest)

    def test_a_message_without_results_is_left_alone(self, message_sample: MessageSample) -> None:
        """Splitting takes out results and nothing else."""
        message = self.dialect.message(message_sample.raw)
        fragments, rest = self.dialect.split_results(message.raw)
        ids = [fragment.call_id for fragment in fragments]
        wanted = [result.call_id for result in message.tool_results]
        expect(ids == wanted, f"fragments for the results {wanted}", ids)
        if not fragments:
            expect(rest == message.raw, "the message as it is", rest)
        for fragment in fragments:
            expect(fragment.raw in message.raw, "the bytes of the result", fragment.raw)
        if fragments and rest is None:
            parts = [type(part).__name__ for part in message.parts]
            expect(set(parts) == {"ToolResult"}, "the rest of the message", parts)
        if fragments and rest is not None:
            left = self.dialect.message(rest)
            expect(left.raw == rest and not left.tool_results, "the rest as a message", rest)
            expect(left.text == message.text, "the text in the rest", rest)

    def test_an_interrupted_call_has_a_result_that_never_changes(self) -> None:
        """It is made anew each time, pairs with its call, and says something."""
        for calls in self._rounds():
            fragments = [self.dialect.interrupted(call) for call in calls]
            again = [self.dialect.interrupted(call) for call in calls]
            expect(fragments == again, "the same bytes every time", again)
            framed = self.dialect.frame(fragments)
            expect(self.dialect.paired(calls, framed), "interrupted results to be paired", framed)
            texts = [part.text for part in self.read_parts(framed) if isinstance(part, ToolResult)]
            expect(all(texts), "a text for the model", texts)

    def test_any_result_is_said_or_refused(self) -> None:
        """Content that a result cannot have is `Unsayable`; an empty result is still one."""
        call = self._rounds()[0][0]
        for content in (
            (),
            (Text(""),),
            (Text("a"), Text("b")),
            (Text("7"),),
            (Text('{"a":1.50}'),),
            (Text('[1,"\\ud800"]'),),
            (Text('é\ud800"\\\x00'),),
            (Text("a"), Media("image", "image/png", "iVBORw0KGgo=")),
            (Media("file", file_id="file-1"),),
            (Native("zz_foreign", b'{"type":"zz_foreign"}'),),
        ):
            given = ToolResult(call.id, call.name, content)
            try:
                fragment = self.dialect.result(call, given)
            except Unsayable:
                plain = all(isinstance(part, Text) for part in content)
                expect(not plain, "every result of text to be sayable", content)
                continue
            expect(self.dialect.result(call, given) == fragment, "one spelling", fragment)
            framed = self.dialect.frame([fragment])
            expect(self.dialect.paired([call], framed), "the result to be paired", framed)
            (found,) = [part for part in self.read_parts(framed) if isinstance(part, ToolResult)]
            expect(found.text == given.text, f"the text {given.text!r}", found.text)

    def _rounds(self) -> list[Sequence[ToolCall]]:
        """Calls of one answer each: of the samples, and some that the dialect says itself."""
        sampled = [message.tool_calls for message in self.sample_messages if message.tool_calls]
        drafts = (
            assistant(ToolCall("call_1", "find", "{}")),
            assistant(*[ToolCall(f"call_{at}", "find", "{}", at) for at in range(3)]),
            assistant(*[ToolCall(f"call_{at}", f"f{at}", "{}", at) for at in range(2)]),
        )
        said = [self.dialect.say(draft)[0].tool_calls for draft in drafts]
        return [*said, *sampled]

    def _fragments(self, calls: Sequence[ToolCall]) -> list[bytes]:
        return [
            self.dialect.result(call, call.answer(f"result {place}"))
            for place, call in enumerate(calls)
        ]
