"""The dialect suite passes an honest dialect, and fails each dialect that breaks a promise."""

# ruff: noqa: ARG002 -- a broken dialect does not heed what it is told

from __future__ import annotations

import inspect
from itertools import product
from typing import TYPE_CHECKING, ClassVar

import pytest
from msgspec.structs import replace

from hansard import rawjson
from hansard.dialects.events import StreamEvent, TextDelta
from hansard.errors import Unsayable
from hansard.messages import Draft, Media, Native, Reading, Text, Thought, ToolCall, ToolResult
from hansard.testing import (
    AnswerSample,
    DialectConformance,
    DialectSamples,
    MessageSample,
    StreamSample,
)
from tests.conformance.toy_dialect import Toy, ToyStream, object_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.dialects.dialect import Answer, Ask, Composition, Dialect, Fragment, Request
    from hansard.dialects.stream import StreamReader, StringDelta

_TEXT = b'{"who":"human","say":[{"t":"text","v":"hello"}],"mood":1.50}'
_ANSWER = (
    b'{"who":"bot","say":[{"t":"thought","v":"hm","sig":"0123456789ab"},{"t":"text","v":"a\\u0041"},'
    b'{"t":"call","id":"1","fn":"find","args":"{\\"n\\":1e5}","why":{"x":[{}]}},'
    b'{"t":"call","id":"2","fn":"find","args":"{}"},{"t":"dance","steps":[1,2.50]}]}'
)
_RESULTS = (
    b'{ "who":"tools", "say":[{"t":"result","id":"1","v":"yes"},{"t":"result","id":"2","v":"no"},'
    b'{"t":"text","v":"go on"}] }'
)
_STREAM = b"".join(
    b"data: " + data + b"\n\n"
    for data in (
        b'{"i":0,"part":{"t":"text","v":"a\\ud83d"}}',
        b'{"i":0,"part":{"t":"text","v":"\\ude00!"}}',
        b'{"i":1,"part":{"t":"call","id":"1","fn":"find","args":"{\\"n\\""}}',
        b'{"i":1,"part":{"args":":1}","x":1.50}}',
        b'{"end":"calls"}',
    )
)
SAMPLES = DialectSamples(
    messages=(
        MessageSample(raw=_TEXT, role="user", text="hello", calls=(), results=()),
        MessageSample(
            raw=_ANSWER,
            role="assistant",
            text="aA",
            calls=(("find", {"n": 100000.0}), ("find", {})),
        ),
        MessageSample(raw=_RESULTS, role="tool", results=(("1", "yes"), ("2", "no"))),
    ),
    answers=(
        AnswerSample(
            body=b'{"answer":' + _ANSWER + b',"end":"calls"}',
            message=_ANSWER,
            text="aA",
            finish="tool_calls",
        ),
        AnswerSample(body=b'{"fault":"busy"}', problems=("no_answer",), name="fault"),
    ),
    streams=(
        StreamSample(
            body=_STREAM,
            message=b'{"who":"bot","say":[{"t":"text","v":"a\\ud83d\\ude00!"},'
            b'{"t":"call","id":"1","fn":"find","args":"{\\"n\\":1}","x":1.50}]}',
            text="a\U0001f600!",
            finish="tool_calls",
        ),
        StreamSample(body=_STREAM[:50], text="a\ud83d", problems=("cut",), name="cut"),
    ),
)


class TestToy(DialectConformance):
    """As a third party would write it."""

    dialect = Toy()
    samples = SAMPLES


# -- dialects that break one promise each, and the check that must notice ------------------------


class RespellsNumbers(Toy):
    """Keeps the value and not the bytes."""

    def normalize(self, raw: bytes) -> bytes:
        return rawjson.dump(rawjson.value(super().normalize(raw)))


class KeepsOddSpace(Toy):
    """Spells a message anew each time it is taken in."""

    def normalize(self, raw: bytes) -> bytes:
        return rawjson.replace(raw, {}) if b'"again":' in raw else raw[:-1] + b',"again":1}'


class HidesUnknownFields(Toy):
    """Knows of no fields in parts."""

    def read_extra(self, raw: bytes, path: str) -> dict[str, rawjson.JSON]:
        return {}


class StumblesOverUnknownParts(Toy):
    """Expects that it knows all kinds of parts."""

    def read_part(self, raw: bytes, position: int) -> Native:
        part = super().read_part(raw, position)
        if isinstance(part, Native) and part.kind != "dance":
            raise KeyError(part.kind)
        return part  # type: ignore[return-value]


class DropsUnknownParts(Toy):
    """Reads over what it does not know."""

    def read(self, raw: bytes) -> Reading:
        reading = super().read(raw)
        parts = [part for part in reading.parts if not isinstance(part, Native)]
        return replace(reading, parts=tuple(parts))


class CrashesOnOddTypes(Toy):
    """Believes that ``say`` is an array."""

    def read(self, raw: bytes) -> Reading:
        said: list[dict[str, str]] = rawjson.value(rawjson.fields(raw)["say"])  # type: ignore[assignment]
        _ = [part.get("t") for part in said]
        return super().read(raw)


class ReadsAnything(Toy):
    """Takes a string for a message."""

    def normalize(self, raw: bytes) -> bytes:
        return raw

    def read(self, raw: bytes) -> Reading:
        return super().read(raw) if raw.startswith(b"{") else Reading("user", (Text("?"),))


class ReadsAnotherRole(Toy):
    """Takes all for the user's."""

    def read(self, raw: bytes) -> Reading:
        return replace(super().read(raw), role="user")


class ForgetsWhatItRead(Toy):
    """Reads differently each time."""

    count = 0

    def read(self, raw: bytes) -> Reading:
        type(self).count += 1
        reading = super().read(raw)
        return replace(reading, extra={**reading.extra, "count": self.count})


class SplicesWithoutBrackets(Toy):
    """Cannot find its way back."""

    def splice(self, raw: bytes) -> bytes:
        return b'{"it":' + raw + b"}"


class MarksOnlyCalls(Toy):
    """Overlooks messages of results."""

    call_marks = (b'"fn"',)


class CutsWithoutAMark(Toy):
    """Changes more than it says."""

    cut_marks = (b'"v":""',)

    def project(self, raw: bytes) -> bytes | None:
        return raw if b'"say"' in raw else raw[:-1] + b',"say":[]}'


class ProjectsAgainAndAgain(Toy):
    """Cuts one part more each time."""

    def project(self, raw: bytes) -> bytes | None:
        said = rawjson.fields(raw).get("say", b"[]")
        parts = rawjson.elements(said) if said.startswith(b"[") else []
        return rawjson.replace(raw, {"say": rawjson.join_array(parts[1:])})


class LosesSilently(Toy):
    """Says nothing of what it cannot say."""

    def compose(self, draft: Draft, *, foreign: bool = False) -> Composition:
        return replace(super().compose(draft, foreign=foreign), losses=())


class StopsAtTheFirstLoss(Toy):
    """Says nothing else either."""

    def compose(self, draft: Draft, *, foreign: bool = False) -> Composition:
        composed = super().compose(draft, foreign=foreign)
        return replace(composed, messages=()) if composed.losses else composed


class SaysWithSpaces(Toy):
    """Composes what is not compact."""

    def say_message(self, who: str, said: Sequence[bytes]) -> bytes:
        return super().say_message(who, said).replace(b',"say"', b', "say"')


class SpeaksForTheUser(Toy):
    """Says answers in the user's role."""

    def compose(self, draft: Draft, *, foreign: bool = False) -> Composition:
        return super().compose(Draft("user", draft.parts), foreign=foreign)


class NeverRefuses(Toy):
    """Says what it can, though something is lost."""

    def say(self, draft: Draft):  # type: ignore[no-untyped-def]  # noqa: ANN201
        return tuple([self.message(raw) for raw in self.compose(draft).messages])


class KeepsForeignSignatures(Toy):
    """Passes on what is signed for another provider."""

    def say_part(self, part, *, foreign):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        return super().say_part(part, foreign=foreign and not isinstance(part, Thought))


class KeepsForeignFiles(Toy):
    """Names files that lie with another provider."""

    def say_part(self, part, *, foreign):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        if isinstance(part, Media) and part.file_id:
            return rawjson.dump({"t": "text", "v": part.file_id})
        return super().say_part(part, foreign=foreign)


class SaysBytesOfNoType(Toy):
    """Says media by halves, and nothing of it."""

    def say_part(self, part, *, foreign):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        if isinstance(part, Media) and part.base64:
            return rawjson.dump({"t": "data", "v": f"data:{part.media_type};{part.base64}"})
        return super().say_part(part, foreign=foreign)


class RespellsNatives(Toy):
    """Parses what it should splice."""

    def say_part(self, part, *, foreign):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        said = super().say_part(part, foreign=foreign)
        return rawjson.dump([rawjson.value(said)]) if isinstance(part, Native) and said else said


class MapsCallsButNotResults(Toy):
    """Tears foreign calls from their results."""

    def own_id(self, foreign_id: str, name: str, position: int) -> str:
        return foreign_id or f"call_{id(object())}_{len(name)}_{position + len(self.seen)}"

    seen: list[int] = []  # noqa: RUF012 -- as wrong as it looks

    def compose(self, draft: Draft, *, foreign: bool = False) -> Composition:
        self.seen.append(1)
        return super().compose(draft, foreign=foreign)


class CutsIds(Toy):
    """Gives different calls one id."""

    def call_id(self, foreign_id: str, seed: str) -> str:
        return super().call_id(foreign_id, seed)[:40]


class MarksAllIds(Toy):
    """Changes also the ids that could stay; once is enough, so that mapping twice shows nothing."""

    def call_id(self, foreign_id: str, seed: str) -> str:
        found = super().call_id(foreign_id, seed)
        return found if found.startswith("ours_") else f"ours_{found}"


class PairsAnything(Toy):
    """Never misses a result."""

    def paired(self, calls: Sequence[ToolCall], after: Sequence[bytes]) -> bool:
        return True


class PairsByNumber(Toy):
    """Counts results and does not look whose they are."""

    def paired(self, calls: Sequence[ToolCall], after: Sequence[bytes]) -> bool:
        return len(self.split_results(after[0])[0] if after else ()) == len(calls)


class PairsNothing(Toy):
    """Misses results that are there."""

    def paired(self, calls: Sequence[ToolCall], after: Sequence[bytes]) -> bool:
        return False


class FramesBackwards(Toy):
    """Puts results in another order."""

    def frame(self, fragments: Sequence[bytes], then: Sequence[bytes] = ()) -> tuple[bytes, ...]:
        return super().frame(fragments[::-1], then)

    def paired(self, calls: Sequence[ToolCall], after: Sequence[bytes]) -> bool:
        return super().paired(calls[::-1], after)


class FramesWithoutWhatFollows(Toy):
    """Loses what was said beside the results."""

    def frame(self, fragments: Sequence[bytes], then: Sequence[bytes] = ()) -> tuple[bytes, ...]:
        return super().frame(fragments)


class SplitsTooMuch(Toy):
    """Takes out the text with the results."""

    def split_results(self, raw: bytes) -> tuple[tuple[Fragment, ...], bytes | None]:
        fragments, rest = super().split_results(raw)
        return fragments, None if fragments else rest


class SplitsRespelled(Toy):
    """Gives fragments that are not the bytes that were framed."""

    def split_results(self, raw: bytes) -> tuple[tuple[Fragment, ...], bytes | None]:
        fragments, rest = super().split_results(raw)
        return tuple([replace(part, raw=part.raw + b" ") for part in fragments]), rest


class InterruptsDifferently(Toy):
    """Says something else each time."""

    count = 0

    def interrupted(self, call: ToolCall) -> bytes:
        type(self).count += 1
        return self.result(call, call.answer(f"interrupted {self.count}"))


class RefusesEmptyResults(Toy):
    """Thinks that nothing is no result."""

    def result(self, call: ToolCall, result: ToolResult) -> bytes:
        if not result.text:
            raise Unsayable("nothing was said")
        return super().result(call, result)


class ParsesResults(Toy):
    """Reads JSON in a result and spells it anew."""

    def result(self, call: ToolCall, result: ToolResult) -> bytes:
        try:
            text = rawjson.dump(rawjson.value(rawjson.compact(result.text.encode()))).decode()
        except ValueError:
            return super().result(call, result)
        return super().result(call, call.answer(text))


class AsksWithParsedMessages(Toy):
    """Loses the spelling on the way out."""

    def request(self, ask: Ask) -> Request:
        parsed = [rawjson.dump(rawjson.value(b"[" + raw + b"]"))[1:-1] for raw in ask.messages]
        return super().request(replace(ask, messages=parsed))


class AsksWithMessagesFirst(Toy):
    """Spoils every cache."""

    def request(self, ask: Ask) -> Request:
        request = super().request(ask)
        members = rawjson.members(request.body)
        return replace(request, body=rawjson.join_object([members[-1], *members[:-1]]))


class AsksWithACount(Toy):
    """Begins each request differently."""

    def request(self, ask: Ask) -> Request:
        request = super().request(ask)
        count = b'{"count":' + str(len(ask.messages)).encode() + b","
        return replace(request, body=count + request.body[1:])


class AsksWithAKey(Toy):
    """Does what is the transport's affair."""

    def request(self, ask: Ask) -> Request:
        request = super().request(ask)
        return replace(request, headers=(*request.headers, ("Authorization", "Bearer x")))


class ForgetsInstructions(Toy):
    """Asks without the system text."""

    def request(self, ask: Ask) -> Request:
        return super().request(replace(ask, system=()))


class RewritesSchemas(Toy):
    """Knows better what a schema should be."""

    def request(self, ask: Ask) -> Request:
        tools = [
            replace(tool, parameters={**tool.parameters, "strict": True}) for tool in ask.tools
        ]
        return super().request(replace(ask, tools=tools))


class ForgetsTheChoice(Toy):
    """Lets the model do as it likes."""

    def request(self, ask: Ask) -> Request:
        return super().request(replace(ask, tool_choice=None))


class ForgetsTheOutput(Toy):
    """Asks for no schema."""

    def request(self, ask: Ask) -> Request:
        return super().request(replace(ask, output=None))


class ForgetsToStream(Toy):
    """Asks for a whole answer always."""

    def request(self, ask: Ask) -> Request:
        return super().request(replace(ask, stream=False))


class ParametersLose(Toy):
    """Puts its own values over the caller's."""

    def request(self, ask: Ask) -> Request:
        kept = {key: given for key, given in ask.parameters.items() if key.startswith("zz_")}
        return super().request(replace(ask, parameters=kept))


class ParsesUnverbatim(Toy):
    """Keeps only the fields it knows."""

    def judge(self, message, end, problems):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        if message is not None and (fields := object_of(message)):
            kept = {key: raw for key, raw in fields.items() if key in ("who", "say")}
            message = rawjson.join_object(kept)
        return super().judge(message, end, problems)


class AnswersWithSpaces(Toy):
    """Gives the message as it was in the body, or nearly."""

    def parse(self, body: bytes) -> Answer:
        answer = super().parse(body)
        return replace(answer, raw=answer.raw and answer.raw + b" ")


class KnowsAllFieldsOfAnswers(Toy):
    """Takes a new field for a fault."""

    def parse(self, body: bytes) -> Answer:
        answer = super().parse(body)
        known = object_of(rawjson.compact(body)).keys() <= {"answer", "end", "fault"}
        return answer if known else replace(answer, finish="malformed")


class AsksOnce(Toy):
    """Gives every request a number."""

    count = 0

    def request(self, ask: Ask) -> Request:
        type(self).count += 1
        return replace(super().request(ask), path=f"/{self.count}")


class RaisesOnOddAnswers(Toy):
    """Believes that an answer is an object."""

    def parse(self, body: bytes) -> Answer:
        _ = rawjson.fields(rawjson.compact(body)).get("answer")
        return super().parse(body)


class BelievesEverything(Toy):
    """Finds no fault with anything."""

    def parse(self, body: bytes) -> Answer:
        return replace(super().parse(body), problems=())


class SwallowsWhatIsNotJson(Toy):
    """Takes a proxy's page for an answer."""

    def parse(self, body: bytes) -> Answer:
        try:
            return super().parse(body)
        except ValueError:
            return super().parse(b"{}")


class Finished(Toy):
    """Gives another finish."""

    def parse(self, body: bytes) -> Answer:
        return replace(super().parse(body), finish="length")


class StreamsWith(Toy):
    """A dialect with a wrong reader."""

    kind: type[ToyStream]

    def stream(self) -> StreamReader:
        return self.kind(self)


class StreamsByChunk(StreamsWith):
    """Takes every chunk for whole events."""

    class kind(ToyStream):  # noqa: N801
        def feed(self, chunk: bytes) -> list[StreamEvent]:
            return super().feed(chunk.rstrip(b"\n") + b"\n\n")


class StreamsOnlyLineFeeds(StreamsWith):
    """Knows only one line end."""

    class kind(ToyStream):  # noqa: N801
        def feed(self, chunk: bytes) -> list[StreamEvent]:
            return super().feed(chunk.replace(b"\r", b"\\r"))


class NeverCut(StreamsWith):
    """Takes the end of the stream for the end of the answer."""

    class kind(ToyStream):  # noqa: N801
        def close(self) -> Answer:
            self._done = True
            return super().close()


class DoneWithTheFirstCall(StreamsWith):
    """Takes a call for the end of the answer."""

    class kind(ToyStream):  # noqa: N801
        def _take(self, data: bytes, events: list[StreamEvent]) -> None:
            super()._take(data, events)
            self._done = self._done or b'"call"' in data


class ShowsTwice(StreamsWith):
    """Shows every text once more."""

    class kind(ToyStream):  # noqa: N801
        def feed(self, chunk: bytes) -> list[StreamEvent]:
            events = super().feed(chunk)
            return events + [event for event in events if isinstance(event, TextDelta)]


class ForgetsTheLastEvent(StreamsWith):
    """Shows nothing of what came without a blank line."""

    class kind(ToyStream):  # noqa: N801
        def close(self) -> Answer:
            answer = super().close()
            self.last_events = ()
            return answer


class TellsNoCalls(StreamsWith):
    """Leaves out that a call is complete."""

    class kind(ToyStream):  # noqa: N801
        def feed(self, chunk: bytes) -> list[StreamEvent]:
            return [event for event in super().feed(chunk) if isinstance(event, TextDelta)]


class ClosesOnce(StreamsWith):
    """Has another answer the second time."""

    class kind(ToyStream):  # noqa: N801
        def close(self) -> Answer:
            self._answered = None
            self._problems.clear()
            answer = super().close()
            self.parts.clear()
            return answer


class SharesItsState(StreamsWith):
    """Reads all streams into one answer."""

    class kind(ToyStream):  # noqa: N801
        shared: ClassVar[dict[bytes, tuple[dict[str, bytes], StringDelta]]] = {}

        def __init__(self, toy: Toy) -> None:
            super().__init__(toy)
            self.parts = self.shared


class RaisesOnOddEvents(StreamsWith):
    """Lets errors out that are not `DecodeError`."""

    class kind(ToyStream):  # noqa: N801
        def _take(self, data: bytes, events: list[StreamEvent]) -> None:
            parsed = rawjson.value(rawjson.compact(data))
            _ = "part" in parsed  # type: ignore[operator]
            super()._take(data, events)


class DropsUnknownDeltas(StreamsWith):
    """Keeps only what it knows of a part."""

    class kind(ToyStream):  # noqa: N801
        def take_part(
            self, index: bytes, piece: dict[str, bytes], events: list[StreamEvent]
        ) -> None:
            known = {key: raw for key, raw in piece.items() if key != "x"}
            super().take_part(index, known, events)


class RaisesOnUnknownEvents(StreamsWith):
    """Knows all fields that an event may have."""

    class kind(ToyStream):  # noqa: N801
        def _take(self, data: bytes, events: list[StreamEvent]) -> None:
            if not object_of(rawjson.compact(data)).keys() <= {"i", "part", "end"}:
                self._problem("malformed_event", "unknown field")
            super()._take(data, events)


class SkipsBrokenEvents(StreamsWith):
    """Says nothing of what it could not read."""

    class kind(ToyStream):  # noqa: N801
        def _take_safely(self, data: bytes, events: list[StreamEvent]) -> None:
            before = len(self._problems)
            super()._take_safely(data, events)
            del self._problems[before:]


BROKEN: list[tuple[type[Dialect], str]] = [
    (RespellsNumbers, "test_a_message_keeps_every_byte_but_white_space"),
    (KeepsOddSpace, "test_a_message_keeps_every_byte_but_white_space"),
    (HidesUnknownFields, "test_an_unknown_field_is_kept_and_seen"),
    (StumblesOverUnknownParts, "test_a_part_of_a_new_kind_is_kept_and_seen"),
    (DropsUnknownParts, "test_a_part_of_a_new_kind_is_kept_and_seen"),
    (CrashesOnOddTypes, "test_odd_values_are_read_or_refused"),
    (ReadsAnything, "test_what_is_no_message_is_refused"),
    (ReadsAnotherRole, "test_a_message_is_read_as_the_sample_says"),
    (ForgetsWhatItRead, "test_reading_is_repeatable"),
    (SplicesWithoutBrackets, "test_splicing_is_undone_by_unsplicing"),
    (MarksOnlyCalls, "test_messages_with_calls_bear_the_mark"),
    (MarksOnlyCalls, "test_what_is_cut_or_paired_bears_a_mark"),
    (CutsWithoutAMark, "test_what_is_cut_or_paired_bears_a_mark"),
    (ProjectsAgainAndAgain, "test_the_projection_is_a_message_and_final"),
    (LosesSilently, "test_every_part_is_said_or_listed"),
    (StopsAtTheFirstLoss, "test_every_part_is_said_or_listed"),
    (SaysWithSpaces, "test_a_draft_has_one_spelling"),
    (SpeaksForTheUser, "test_a_draft_keeps_its_role"),
    (NeverRefuses, "test_say_refuses_what_would_be_lost"),
    (KeepsForeignSignatures, "test_foreign_drafts_keep_no_signature"),
    (KeepsForeignSignatures, "test_nothing_of_a_foreign_message_is_kept_that_is_signed"),
    (KeepsForeignFiles, "test_foreign_drafts_keep_no_signature"),
    (SaysBytesOfNoType, "test_media_that_nobody_could_open_are_listed"),
    (RespellsNatives, "test_native_parts_are_said_as_they_are"),
    (MapsCallsButNotResults, "test_foreign_calls_and_results_stay_together"),
    (CutsIds, "test_foreign_ids_are_mapped_one_to_one"),
    (MarksAllIds, "test_a_legal_id_stays_as_it_is"),
    (PairsAnything, "test_a_missing_result_is_noticed"),
    (PairsByNumber, "test_a_doubled_result_is_noticed"),
    (PairsNothing, "test_results_of_all_calls_are_paired"),
    (PairsNothing, "test_an_interrupted_call_has_a_result_that_never_changes"),
    (FramesBackwards, "test_results_are_read_as_they_were_given"),
    (FramesWithoutWhatFollows, "test_what_is_said_beside_results_stays_beside_them"),
    (SplitsTooMuch, "test_a_message_without_results_is_left_alone"),
    (SplitsRespelled, "test_splitting_undoes_framing"),
    (InterruptsDifferently, "test_an_interrupted_call_has_a_result_that_never_changes"),
    (RefusesEmptyResults, "test_any_result_is_said_or_refused"),
    (ParsesResults, "test_any_result_is_said_or_refused"),
    (AsksWithParsedMessages, "test_every_message_is_in_the_request_as_it_is"),
    (AsksWithParsedMessages, "test_unknown_fields_go_back"),
    (AsksWithMessagesFirst, "test_every_message_is_in_the_request_as_it_is"),
    (AsksWithACount, "test_each_request_begins_the_next"),
    (AsksWithAKey, "test_a_request_is_json_and_has_no_secrets"),
    (ForgetsInstructions, "test_instructions_are_in_the_request"),
    (RewritesSchemas, "test_tools_are_told_with_their_schema_as_it_is"),
    (ForgetsTheChoice, "test_every_choice_of_tools_can_be_asked"),
    (ForgetsTheOutput, "test_an_output_schema_is_asked_for"),
    (ForgetsToStream, "test_a_stream_is_asked_for"),
    (ParametersLose, "test_parameters_go_into_the_body_and_win"),
    (AsksOnce, "test_a_request_has_one_spelling"),
    (ParsesUnverbatim, "test_an_answer_is_verbatim"),
    (AnswersWithSpaces, "test_an_answer_is_a_message_ready_to_be_sent"),
    (KnowsAllFieldsOfAnswers, "test_unknown_fields_change_nothing_else"),
    (RaisesOnOddAnswers, "test_odd_answers_are_problems_and_no_exceptions"),
    (RaisesOnOddAnswers, "test_what_is_no_answer_is_a_problem"),
    (BelievesEverything, "test_what_is_no_answer_is_a_problem"),
    (SwallowsWhatIsNotJson, "test_what_is_not_json_is_refused"),
    (Finished, "test_an_answer_is_read_as_the_sample_says"),
    (DropsUnknownDeltas, "test_a_stream_is_read_as_the_sample_says"),
    (StreamsByChunk, "test_how_a_stream_is_cut_changes_nothing"),
    (StreamsOnlyLineFeeds, "test_line_ends_change_nothing"),
    (NeverCut, "test_a_stream_that_breaks_off_is_recognised"),
    (NeverCut, "test_nothing_at_all_is_a_cut_answer"),
    (DoneWithTheFirstCall, "test_a_stream_that_breaks_off_is_recognised"),
    (ShowsTwice, "test_what_is_shown_is_what_was_said"),
    (TellsNoCalls, "test_what_is_shown_is_what_was_said"),
    (ForgetsTheLastEvent, "test_what_is_shown_is_what_was_said"),
    (ClosesOnce, "test_closing_twice_is_harmless"),
    (SharesItsState, "test_streams_know_nothing_of_each_other"),
    (RaisesOnOddEvents, "test_odd_events_never_raise"),
    (RaisesOnUnknownEvents, "test_unknown_fields_in_a_stream_change_nothing_else"),
    (SkipsBrokenEvents, "test_broken_events_are_problems"),
]


def run(suite: DialectConformance, check: str) -> None:
    """Run one check with everything it is about, as pytest would."""
    method = getattr(suite, check)
    fixtures = list(inspect.signature(method).parameters)
    for values in product(*[suite.cases(fixture).values() for fixture in fixtures]):
        method(*values)


def suite_of(tested: Dialect) -> DialectConformance:
    """The suite for a dialect that speaks as the toy does."""

    class Suite(DialectConformance):
        dialect = tested
        samples = SAMPLES

    return Suite()


@pytest.mark.parametrize(
    ("broken", "check"), BROKEN, ids=[f"{kind.__name__}-{check}" for kind, check in BROKEN]
)
def test_a_broken_promise_is_noticed(broken: type[Dialect], check: str) -> None:
    run(suite_of(Toy()), check)
    with pytest.raises(AssertionError):
        run(suite_of(broken()), check)


def test_every_check_is_shown_to_notice_something() -> None:
    checks = {name for name in dir(DialectConformance) if name.startswith("test_")}
    assert checks == {check for _, check in BROKEN} | {"test_there_are_samples_of_everything"}


def test_a_suite_without_samples_proves_nothing_and_says_so() -> None:
    suite = suite_of(Toy())
    suite.samples = DialectSamples(messages=SAMPLES.messages)
    with pytest.raises(AssertionError, match="a valid answer"):
        suite.test_there_are_samples_of_everything()
