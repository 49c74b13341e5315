"""Carrying a conversation from one dialect into another, and listing what stays behind.

Rules:

- What is in the target's words already stays as it is, byte for byte.
- Nothing vanishes silently. Whatever cannot be said, or not in the same way, is a `Loss`.
- What comes out is in order: every call has one result, in the place where the target wants it,
  under an id that nothing else in the conversation has.
- Thoughts, signatures, file handles, the ids of items and whatever else only one provider
  understands are not carried. Where the target has no system message in mid-conversation, it
  says one as the user's, in its frame.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from .. import rawjson
from ..dialects.dialect import Loss, name_of
from ..dialects.pairing import Repair, match
from ..messages import Draft, Media, Message, Native, ToolCall, ToolResult
from .exchanges import exchanges, utterances

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..dialects.dialect import Dialect
    from ..messages import Part, Role
    from .exchanges import Exchange, Source, Utterance

__all__ = ["Converted", "LossReport", "convert"]


class LossReport(tuple[Loss, ...]):
    """What was lost, in the order of the messages. True if there is anything.

    ``message`` is the index of the message that was given, ``reason`` a sentence for people.
    """

    __slots__ = ()

    def __str__(self) -> str:
        if not self:
            return "nothing was lost"
        lines = [f"  message {loss.message}, {loss.part}: {loss.reason}" for loss in self]
        return "\n".join([f"lost or said otherwise: {len(self)}", *lines])


class Converted(msgspec.Struct, frozen=True):
    """A conversation in the words of another dialect, and what it cost.

    ``repairs`` are the calls that nobody had answered and that are now answered as interrupted;
    ``message`` there is the index of the message that made the call. ``sources`` has for each
    message the index of the one that it stems from; of the last, where it stems from several.
    """

    messages: tuple[Message, ...]
    report: LossReport = LossReport()
    repairs: tuple[Repair, ...] = ()
    sources: tuple[int, ...] = ()


def convert(messages: Sequence[Source], to: Dialect, *, pending: bool = False) -> Converted:
    """Say messages of any dialects, or drafts, in the words of another. The same in, the same out.

    With ``pending``, calls of the last answer that have no result are left open. A message that
    says nothing is left out. Where the assistant would speak first, and the target refuses that, a
    framed remark in the user's role goes before it.

    A call and its results are expected to be in one dialect. Never raises for what can be read.
    """
    carrier = _Carrier(to, [source for source in messages if _is_own(source, to)])
    at = 0
    for is_own, group in groupby(messages, lambda source: _is_own(source, to)):
        stretch = list(group)
        if is_own:
            own = enumerate(stretch, at)
            carrier.said += [(index, one) for index, one in own if isinstance(one, Message)]
        else:
            carrier.carry(at, stretch, pending=pending and at + len(stretch) == len(messages))
        at += len(stretch)
    losses = sorted(carrier.losses, key=lambda loss: loss.message)
    return Converted(
        tuple([message for _, message in carrier.said]),
        LossReport(losses),
        tuple(carrier.repairs),
        tuple([index for index, _ in carrier.said]),
    )


def _is_own(source: Source, to: Dialect) -> bool:
    return isinstance(source, Message) and source.dialect == to.name


class _Answered(msgspec.Struct, frozen=True):
    """A call as it was made, by the message of that index, its new id, and the result it got."""

    index: int
    call: ToolCall
    result: tuple[int, ToolResult] | None


class _Carrier:
    """Carries exchanges over, one after the other.

    What is said comes with the index of the message that it stems from.
    """

    def __init__(self, to: Dialect, own: Iterable[Source]) -> None:
        self.said: list[tuple[int, Message]] = []
        self.losses: list[Loss] = []
        self.repairs: list[Repair] = []
        self._to = to
        self._taken = {part.id for each in own for part in each.parts if isinstance(part, ToolCall)}
        self._times_given: Counter[str] = Counter()

    def carry(self, start: int, sources: Sequence[Source], *, pending: bool) -> None:
        """Carry what is not in the target's words. ``start`` is the index of the first."""
        heard: list[Utterance] = []
        for index, source in enumerate(sources, start):
            heard += utterances(index, source)
            if isinstance(source, Message):
                self._leave_unknown(index, source)
        begins = not self.said
        self._carry_exchanges(exchanges(heard), pending=pending)
        if begins and self._to.user_first and self._begins_with_answer():
            self.said[:0] = [(start, each) for each in self._messages([self._to.opening()])]

    def _leave_unknown(self, index: int, message: Message) -> None:
        """List the fields that no part covers, but for those that say nothing."""
        for path, found in message.extra.items():
            if found not in (None, "", [], {}):
                self.losses.append(Loss(index, path, f"only {message.dialect} knows this field"))

    def _begins_with_answer(self) -> bool:
        return bool(self.said) and self.said[0][1].role == "assistant"

    # -- an exchange ----------------------------------------------------------------------------

    def _carry_exchanges(self, found: Sequence[Exchange], *, pending: bool) -> None:
        """Carry them in order. Answers with nothing left between them become one."""
        held: tuple[Utterance, ...] = ()
        for at, exchange in enumerate(found):
            last = at == len(found) - 1
            whole = replace(exchange, answer=(*held, *exchange.answer))
            words = [(said.index, raw) for said in exchange.after for raw in self._words(said)]
            if words or whole.calls or last:
                self._carry_exchange(whole, words, pending=pending and last)
                held = ()
            else:
                self._pair(whole)
                held = whole.answer

    def _carry_exchange(
        self, exchange: Exchange, words: Sequence[tuple[int, bytes]], *, pending: bool
    ) -> None:
        answered = self._pair(exchange)
        answer = self._answer(exchange, answered)
        calls = {call.id: call for message in answer for call in message.tool_calls}
        fragments: list[bytes] = []
        for each in answered:
            call = calls.get(each.call.id)
            if call is None:
                self._lose_result(each, "the call that it answers could not be said")
            elif each.result is not None:
                fragments.append(self._result(call, *each.result))
            elif not pending:
                fragments.append(self._interrupted(each.index, call))
        index = max([said.index for said in exchange.answer], default=0)
        self.said += [(index, message) for message in answer]
        index = max([at for at, _ in exchange.results], default=index)
        framed = self._to.frame(fragments, [raw for _, raw in words])
        indexes = _framed_indexes(framed, words, index)
        self.said += zip(indexes, self._messages(framed), strict=True)

    def _pair(self, exchange: Exchange) -> list[_Answered]:
        """Give every call its result and an id of its own; list the results of no call."""
        calls, results = exchange.calls, exchange.results
        found = match([call for _, call in calls], [result for _, result in results])
        for index in sorted(set(range(len(results))) - set(found)):
            self._lose(*results[index], "it answers no call")
        return [
            _Answered(
                index,
                replace(call, id=self._new_id(call.id), position=position),
                None if at is None else results[at],
            )
            for position, ((index, call), at) in enumerate(zip(calls, found, strict=True))
        ]

    def _new_id(self, given: str) -> str:
        """Give an id in the target's alphabet that no other call has."""
        tries = len(self._taken) + 1
        wanted = ""
        for _ in range(tries):
            self._times_given[given] += 1
            nth = self._times_given[given]
            again = f"{given}_{nth}" if given and nth > 1 else given
            wanted = self._to.call_id(again, str(nth))
            if wanted not in self._taken:
                break
        self._taken.add(wanted)
        return wanted

    def _answer(self, exchange: Exchange, answered: Sequence[_Answered]) -> list[Message]:
        """Say the answer. Calls that have no words there are tried again as calls of functions."""
        calls = iter([each.call for each in answered])
        parts = [
            (said.index, next(calls) if isinstance(part, ToolCall) else part)
            for said in exchange.answer
            for part in said.parts
        ]
        losses = len(self.losses)
        messages = self._say_answer(parts)
        spoken = {call.id for message in messages for call in message.tool_calls}
        unsaid = {each.call.id for each in answered} - spoken
        if not unsaid:
            return messages
        del self.losses[losses:]
        return self._say_answer([(index, self._wrap(index, part, unsaid)) for index, part in parts])

    def _wrap(self, index: int, part: Part, unsaid: set[str]) -> Part:
        """Make an object of what a call is made with, which the target could not take for one."""
        if not isinstance(part, ToolCall) or part.id not in unsaid:
            return part
        reason = "arguments that are no JSON object here are said as one argument, 'input'"
        self._lose(index, part, reason)
        wrapped = rawjson.dump({"input": part.arguments}).decode()
        return replace(part, arguments=wrapped, custom=False)

    def _say_answer(self, parts: Sequence[tuple[int, Part]]) -> list[Message]:
        """Say all parts as one answer. What each message loses is what it would lose alone."""
        kept = [(index, part) for index, part in parts if self._can_leave_home(index, part)]
        if len({index for index, _ in kept}) > 1:
            for index, group in groupby(kept, lambda pair: pair[0]):
                self._compose(index, "assistant", [part for _, part in group])
            losses = len(self.losses)
            whole = self._compose(0, "assistant", [part for _, part in kept])
            del self.losses[losses:]
            return self._messages(whole)
        index = kept[0][0] if kept else 0
        return self._messages(self._compose(index, "assistant", [part for _, part in kept]))

    # -- what is said to the model ----------------------------------------------------------------

    def _words(self, said: Utterance) -> Sequence[bytes]:
        """Say what is not a result."""
        words = [part for part in said.words if self._can_leave_home(said.index, part)]
        return self._compose(said.index, said.role, words)

    def _result(self, call: ToolCall, index: int, result: ToolResult) -> bytes:
        """Say a result as a fragment, under the new id of its call."""
        content = [part for part in result.content if self._can_leave_home(index, part)]
        said = replace(
            result,
            call_id=call.id,
            name=call.name or result.name,
            content=tuple(content),
            position=call.position,
        )
        for raw in self._compose(index, "tool", (said,)):
            for fragment in self._to.split_results(raw)[0]:
                return fragment.raw
        self._lose(index, result, "it has no words here, and is said as interrupted")
        return self._to.interrupted(call)

    def _interrupted(self, index: int, call: ToolCall) -> bytes:
        self.repairs.append(Repair(index, "interrupted", call.id))
        return self._to.interrupted(call)

    # -- saying -----------------------------------------------------------------------------------

    def _compose(self, index: int, role: Role, parts: Sequence[Part]) -> tuple[bytes, ...]:
        if not parts:
            return ()
        said = self._to.compose(Draft(role, tuple(parts)), foreign=True)
        self.losses += [Loss(index, loss.part, loss.reason) for loss in said.losses]
        return said.messages

    def _messages(self, raws: Iterable[bytes]) -> list[Message]:
        return [Message(self._to, raw) for raw in raws]

    def _can_leave_home(self, index: int, part: Part) -> bool:
        """Whether a part means something elsewhere. If not, as a file with a provider, list it."""
        if isinstance(part, Native):
            self._lose(index, part, "only the provider that made it can say this")
            return False
        if not isinstance(part, Media) or part.base64:
            return True
        if part.url is not None and part.url.lower().startswith(_PUBLIC):
            return True
        self._lose(index, part, "its content is not in it, or lies with the provider")
        return False

    def _lose(self, index: int, part: Part, reason: str) -> None:
        self.losses.append(Loss(index, name_of(part), reason))

    def _lose_result(self, answered: _Answered, reason: str) -> None:
        if answered.result is not None:
            self._lose(*answered.result, reason)


def _framed_indexes(
    framed: Sequence[bytes], words: Sequence[tuple[int, bytes]], results: int
) -> list[int]:
    """Say where framed messages stem from.

    Words that stand by themselves after the results stem from where they were said.
    """
    indexes = [results] * len(framed)
    for at in range(1, min(len(framed), len(words)) + 1):
        index, raw = words[-at]
        if framed[-at] != raw:
            break
        indexes[-at] = index
    return indexes


_PUBLIC = ("https:", "http:", "data:")
"""How an address begins that others than the provider understand."""
