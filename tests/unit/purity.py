"""Run the pure packages with every way out shut.

The ways out are files, sockets, processes, threads, clocks and chance. This is a program and not
a test, because an audit hook stays as long as its process. It imports the pure packages, shuts
the ways out, goes through ``EXERCISES`` and prints what each gave, and which modules none of them
has run; with the argument ``ways-out`` it tries ``WAYS_OUT`` instead, and prints those that were
still open. `test_house` runs it both ways.

One clock cannot be shut from here, that of ``datetime``, which is built into Python. Ruff's ban
holds that one.
"""

from __future__ import annotations

import _thread
import ast
import importlib
import inspect
import json
import os
import pkgutil
import random
import socket  # noqa: F401 - for WAYS_OUT, as subprocess is
import subprocess  # noqa: F401
import sys
import threading
import time
import uuid
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from hansard.dialects.dialect import Dialect
    from hansard.messages import Draft
    from hansard.record import Record
    from hansard.record.entries import Entry
    from hansard.tools.tool import FunctionTool
    from hansard.turn.effects import Effect

PURE = (
    "errors",
    "rawjson",
    "messages",
    "dialects",
    "record",
    "neutral",
    "compaction",
    "tools",
    "turn",
)


def spell() -> object:
    from hansard import rawjson

    raw = rawjson.compact(b'{ "b": 1e5, "a": ["\\ud800", 1.50, {"a": null}] }')
    return [raw, rawjson.value(raw), rawjson.members(raw), rawjson.replace(raw, {"b": b"2"})]


def draft() -> object:
    from hansard import messages

    return [messages.user("Where am I?"), messages.system("Be terse."), messages.event("Ping")]


def ask() -> object:
    from hansard.dialects.dialect import Ask, Dialect
    from hansard.messages import user

    bodies = []
    for kind in sorted(Dialect.__subclasses__(), key=lambda kind: kind.__name__):
        dialect = kind()
        said = [dialect.splice(message.raw) for message in dialect.say(user("Where am I?"))]
        bodies.append(dialect.request(Ask(model="any", messages=said)).body)
    return bodies


def stream() -> object:
    gave = []
    for dialect, events in zip(built_in(), STREAMS, strict=True):
        body = b"".join([b"data: " + event + b"\n\n" for event in events])
        for chunks in ([body], [body[:90], body[90:]], [body[:90]]):
            reader = dialect.stream()
            gave.append([[reader.feed(chunk) for chunk in chunks], reader.close()])
    return gave


def mend() -> object:
    from hansard.dialects.pairing import cut_points, repair

    gave = []
    for dialect in built_in():
        hello, asked, done = conversation(dialect)
        torn = [done, hello, asked, hello, asked]
        for pending in (True, False):
            mended = repair(dialect, torn, pending=pending)
            points = cut_points(dialect, mended.messages)
            gave.append([mended, points, [dialect.project(raw) for raw in mended.messages]])
    return gave


def remember() -> object:
    from hansard.record import views
    from hansard.record.entries import decode_entries, encode_entries

    gave: list[object] = []
    for dialect in built_in():
        kept = recorded(dialect)
        spelled = encode_entries(list(kept.entries()))
        seen = [views.context(kept), views.curated(kept), views.comprehensive(kept)]
        gave += [kept, spelled, encode_entries(decode_entries(spelled)) == spelled]
        gave += [[message.raw for message in view] for view in seen]
        gave += [views.repairs(kept), [bytes(raw) for raw in kept.context.segments(dialect)]]
    return gave


def keep() -> object:
    from hansard.dialects.registry import dialect as find
    from hansard.record import blob, versions
    from hansard.record.entries import TurnEnd

    gave: list[object] = []
    for dialect in built_in():
        kept = recorded(dialect)
        closed = kept.apply(TurnEnd(seq=kept.length, turn=2, status="failed"))
        for data in (blob.write(kept), versions.write(closed, 1)):
            again = versions.read(data, find, conversation="c1")
            upgraded = versions.upgrade(data, find, conversation="c1")
            gave += [data, versions.version_of(data), again, upgraded, versions.write(again)]
    return gave


def shelve() -> object:
    from hansard.dialects.registry import dialect as find
    from hansard.record import Record
    from hansard.record.entries import encode_entries
    from hansard.record.loading import Loading, entries_in, replay
    from hansard.record.pages import Head, merge, page_of

    gave: list[object] = []
    for dialect in built_in():
        record, head, pages = Record("c1", dialect), Head("i1", dialect.name), []
        for entry in recorded(dialect).entries():
            after = record.apply(entry)
            page, head = page_of(head, record, after, [entry], "c")
            pages.append(page)
            record = after
        loading = Loading(head)
        for page in pages:
            if page.first >= head.spans[0][0]:
                loading.add(page)
        pages[:2] = [merge(pages[:2])]
        whole = replay("c1", dialect, entries_in(pages, dialect))
        gave += [head, pages[0].commit_at(0), loading.record("c1", find)]
        gave += [encode_entries(list(whole.entries()))]
    return gave


def cut() -> object:
    from hansard.record.bodies import Cutter, digests_in, filled
    from hansard.record.pages import Page

    long = b'{"a":"' + b"long" * 9 + b'","b":"~hansard-body:' + b"0" * 64 + b'"}'
    page, bodies = Cutter.of("u7", 24).cut(Page(0, 1, b"[]\n[]\n[]\n[]", long))
    return [page, bodies, digests_in(page), filled(page, bodies)]


def view() -> object:
    from hansard.neutral import conversation_state, convert, resume, state_messages

    gave: list[object] = []
    for dialect in built_in():
        kept = recorded(dialect)
        state = conversation_state(kept, system="Be terse.")
        gave += [state, state_messages(state)]
        for other in built_in():
            gave += [resume(state, other), convert(state_messages(state), other)]
    return gave


def carry() -> object:
    """What one dialect lacks, and another's words and ids."""
    from hansard.messages import Draft, Media, Native, Thought, ToolCall, ToolResult

    odd = Native("odd", b'{"type":"odd"}')
    seen = (Media("image", "image/png", "AAAA"), Media("file", None, "AAAA"), odd)
    found = ToolResult("an id : of theirs", "f", seen, is_error=True)
    drafts = (
        Draft("user", seen),
        Draft("tool", (found,)),
        Draft("assistant", (Thought("so", "c2ln"), ToolCall("an id : of theirs", "f"), odd)),
    )
    return [
        dialect.compose(draft, foreign=foreign)
        for dialect in built_in()
        for draft in drafts
        for foreign in (True, False)
    ]


def fail() -> object:
    bodies = (b'{"error":{"message":"prompt is too long","code":"x"}}', b"\xff", b"")
    limits = {"retry-after": "7"}
    return [
        [type(error).__name__, str(error), error.__reduce__()[0].__name__]
        for dialect in built_in()
        for status in (400, 401, 429, 500, 503)
        for body in bodies
        for error in (dialect.failure(status, body, limits),)
    ]


def parse() -> object:
    bodies = (
        b'{"choices":[{"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}',
        b'{"status":"completed","output":[{"type":"message","role":"assistant","content":"Hi"}]}',
        b'{"type":"message","role":"assistant","content":[{"type":"text","text":"Hello"}]}',
        b'{"candidates":[{"content":{"role":"model","parts":[{"text":"Hello"}]}}]}',
    )
    return [dialect.parse(body) for dialect in built_in() for body in bodies]


def equip() -> object:
    """Tools made and called, with arguments that fit and that do not."""
    import hansard
    from hansard.dialects.dialect import Ask
    from hansard.errors import Invalid, OutputMismatch, ToolError
    from hansard.messages import ToolCall
    from hansard.tools import outputs, policies, results
    from hansard.tools.context import ToolContext

    kinds, made = (dict[str, int], list[float], int | None), weather()
    gave: list[object] = [repr(made), made.parameters, policies.needs_intent("once")]
    gave += [outputs.output_schema(kind) for kind in kinds]
    asks = [Ask("m", output=outputs.output_schema(kind)[0]) for kind in (list[float], int)]
    gave += [hansard.dialect(name).request(ask).body for name in hansard.dialects() for ask in asks]
    context = ToolContext(call_id="a", tool_name="weather", idempotency_key="k")
    arguments = ('{"city":"Oslo","days":2}', '{"days":"two"}', "{")
    for call in [ToolCall("a", "weather", given) for given in arguments]:
        try:
            gave.append(results.answer(call, made.invoke(call).run(context)))
        except ToolError as error:
            gave.append(results.failure(call, error))
    gave.append(outputs.decode(list[float], '{"value":[1,2.5]}'))
    with suppress(OutputMismatch):
        outputs.decode(int, "seven")
    with suppress(Invalid):
        gave.append(context.transaction)
    other = ToolCall("b", "wether")
    return [*gave, results.denied(other), results.unknown_tool(other, ["weather"])]


def turn() -> object:
    """Turns by the machine: tools that run, that are lost, and wait to be settled."""
    from dataclasses import replace

    from hansard.messages import ToolCall, assistant, user
    from hansard.record import Record
    from hansard.turn import machine, rules, standing, writing

    by_rules = rules.Rules(tools={"weather": replace(weather(), policy="once")})
    asked = [("a", "weather"), ("b", "weather"), ("c", "nobody")]
    calls = [ToolCall(each, name, '{"city":"Oslo"}') for each, name in asked]
    gave: list[object] = []
    for dialect in built_in():
        answers = [assistant("It rains."), assistant(*calls)]
        kept = Record("c0", dialect)
        kept = kept.apply(writing.begin(kept, "t1", at_us=1))
        said = [(message, False) for message in dialect.say(user("Hello"))]
        kept = kept.apply(*writing.said(kept, said, "input", at_us=2))
        for at_us in range(3, 9):
            now = machine.next_effects(kept, by_rules, at_us=at_us)
            gave.append([[type(effect).__name__, effect.key] for effect in now])
            for effect in now:
                kept = carried_out(effect, kept, answers, at_us)
        gave += [kept, machine.situation(kept, by_rules), standing.callers_calls(kept, by_rules)]
    return gave


# -- what they are about ------------------------------------------------------------------------


def built_in() -> list[Dialect]:
    from hansard.dialects.registry import dialect

    return [dialect(name) for name in ("openai", "openai-responses", "anthropic", "gemini")]


STREAMS = (
    (
        b'{"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"}}]}',
        b'{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f"}}]}}]}',
        b'{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}',
        b"[DONE]",
    ),
    (
        b'{"type":"response.output_text.delta","output_index":0,"delta":"Hello"}',
        b'{"type":"response.completed","response":{"status":"completed"}}',
    ),
    (
        b'{"type":"message_start","message":{"role":"assistant","content":[]}}',
        b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}',
        b'{"type":"content_block_stop","index":0}',
        b'{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
        b'{"type":"message_stop"}',
    ),
    (
        b'{"candidates":[{"content":{"role":"model","parts":[{"text":"Hello"}]}}]}',
        b'{"candidates":[{"content":{"parts":[{"text":"!"}]},"finishReason":"STOP"}]}',
    ),
)
"""The events of a streamed answer of each dialect, in their order."""


def stand() -> object:
    from msgspec import Raw

    from hansard.record.entries import Rewind, SliceEvent, spell
    from hansard.record.loading import entries_in
    from hansard.record.pages import Head, page_beside
    from hansard.record.slices import Events, opaque, since

    events = Events()
    one = SliceEvent(seq=0, slice_type="S", item_type="I", item=Raw(b"{}"))
    seed = SliceEvent(seq=1, slice_type="S", item_type="S", item=Raw(b"[1,2]"), seeds=True)
    for entry in (one, seed, Rewind(seq=2, to=1)):
        events.take(entry)
    page, head = page_beside(Head("i", "openai"), [one], "c", first=True)
    stands = [list(opaque(events.at(2))), since(None, events.last)]
    return [spell([*stands, list(entries_in([page], None))]), page, head]


def carried_out(effect: Effect, kept: Record, answers: list[Draft], at_us: int) -> Record:
    """Put on a record what comes of an effect; the first call that runs is lost."""
    from hansard.turn import effects, writing

    if isinstance(effect, effects.Append):
        for entry in effect.entries:
            kept = kept.apply(entry)
    elif isinstance(effect, effects.CallModel):
        kept = kept.apply(written(kept, answers.pop(), at_us))
    elif isinstance(effect, effects.RunTool) and not effect.call.position:
        kept = kept.apply(writing.unknown(kept, effect.call, at_us=at_us))
    elif isinstance(effect, effects.RunTool):
        result = effect.call.answer("rain")
        kept = kept.apply(writing.outcome(kept, effect.call, result, at_us=at_us))
    elif isinstance(effect, effects.Wait):
        [call] = effect.waiting_for("settlement")
        kept = kept.apply(writing.decision(kept, call, "settled", at_us=at_us))
        kept = kept.apply(writing.outcome(kept, call, call.answer("sun"), at_us=at_us))
    return kept


def conversation(dialect: Dialect) -> tuple[bytes, bytes, bytes]:
    """A greeting, an answer that calls two tools, and the result of the first."""
    from hansard.messages import ToolCall, assistant, user

    answer = assistant(ToolCall("a", "f"), ToolCall("b", "g", position=1))
    (done,) = dialect.frame([fragment(dialect)])
    return dialect.say(user("Hello"))[0].raw, dialect.say(answer)[0].raw, done


def fragment(dialect: Dialect) -> bytes:
    """The result of a call."""
    from hansard.messages import ToolCall

    call = ToolCall("a", "f")
    return dialect.result(call, call.answer("done"))


def weather() -> FunctionTool[..., str]:
    """A tool."""
    from hansard.tools.tool import tool

    @tool(policy="reads")
    def weather(city: str, days: int = 1) -> str:
        """Tell the weather.

        :param city: where
        :param days: for how long
        """
        return f"{city} {days}"

    return weather


def written(record: Record, draft: Draft, at_us: int) -> Entry:
    """The entry of a model's answer."""
    from hansard.dialects.dialect import Answer
    from hansard.turn import writing

    (message,) = record.dialect.say(draft)
    return writing.answer(record, Answer(message.raw), at_us=at_us)


def recorded(dialect: Dialect) -> Record:
    """A conversation with a bit of everything that can be on a record, open at its end."""
    from msgspec import Raw

    from hansard.record import Record, entries

    hello, asked, _ = (Raw(raw) for raw in conversation(dialect))
    one, other = entries.CallKey(3, 0, "a"), entries.CallKey(3, 1, "b")
    say: dict[str, Any] = {"role": "user", "author": "input", "raw": hello}
    ask: dict[str, Any] = {"role": "assistant", "author": "model", "raw": asked}
    kept = Record("c0", dialect)
    steps: tuple[tuple[type[Entry], int, dict[str, Any]], ...] = (
        (entries.Mark, 0, {"name": "start"}),
        (entries.TurnBegin, 1, {"turn_id": "t1"}),
        (entries.Said, 1, say),
        (entries.Said, 1, ask),
        (entries.Intent, 1, {"call": one}),
        (entries.Outcome, 1, {"call": one, "status": "ok", "raw": Raw(fragment(dialect))}),
        (entries.Decision, 1, {"call": other, "verdict": "denied"}),
        (entries.Said, 1, say),
        (entries.TurnEnd, 1, {"status": "failed"}),
        (entries.Compaction, 1, {"first": 0, "last": 2, "messages": (hello,), "strategy": "s"}),
        (entries.SliceEvent, 1, {"slice_type": "S", "item_type": "I", "item": Raw(b"{}")}),
        (entries.TurnBegin, 2, {"turn_id": "t2"}),
        (entries.Said, 2, say),
        (entries.Attempt, 2, {"error": "busy"}),
    )
    for kind, turn, said in steps:
        kept = kept.apply(kind(seq=kept.length, turn=turn, at_us=kept.length, **said))
    return kept


# Whatever a pure package learns to do belongs here too. What an exercise gives must be the same
# in every process, so no sets and no default reprs in it.
EXERCISES: tuple[Callable[[], object], ...] = (
    spell,
    draft,
    ask,
    stream,
    mend,
    remember,
    keep,
    shelve,
    cut,
    view,
    carry,
    fail,
    parse,
    equip,
    turn,
    stand,
)

WAYS_OUT = (
    "open(__file__)",
    "os.listdir('.')",
    "os.mkdir('never-made')",
    "socket.socket()",
    "socket.getaddrinfo('localhost', 80)",
    "subprocess.run(['true'])",
    "os.system('true')",
    "threading.Thread(target=int).start()",
    "importlib.import_module('this')",
    "time.sleep(0)",
    "time.time()",
    "time.monotonic_ns()",
    "time.localtime()",
    "uuid.uuid1()",
    "os.urandom(1)",
    "uuid.uuid4()",
    "random.random()",
    "random.shuffle([1, 2])",
    "random.Random()",
    "random.SystemRandom().random()",
)

# Said by the interpreter itself, so that no import made earlier goes round them.
EVENTS = (
    "fcntl.",
    "glob.",
    "import",
    "open",
    "os.",
    "shutil.",
    "socket.",
    "sqlite3.",
    "subprocess.",
    "tempfile.",
    "urllib.",
)

CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
CALENDARS = ("asctime", "ctime", "gmtime", "localtime")


class Guard:
    """What is shut, and who tried to go out."""

    def __init__(self) -> None:
        self.shut = False
        self.refused: list[str] = []

    def refuse(self, what: str) -> NoReturn:
        self.refused.append(what)
        raise RuntimeError(f"a pure package went out: {what}")

    def on_audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.shut and event.startswith(EVENTS):
            self.refuse(f"{event} {arguments[:1]}")

    def watch(self, holder: object, name: str, when: Callable[..., bool] | None = None) -> None:
        """Refuse the calls of ``holder.name`` that ``when`` picks: all, if it is None."""
        function = getattr(holder, name)

        @wraps(function)
        def watched(*arguments: object, **named: object) -> object:
            if self.shut and (when is None or when(*arguments)):
                self.refuse(f"{name}()")
            return function(*arguments, **named)

        setattr(holder, name, watched)

    def watch_clocks(self) -> None:
        for name in CLOCKS:
            self.watch(time, name)
            self.watch(time, f"{name}_ns")
        for name in CALENDARS:
            self.watch(time, name, when=lambda *given: not given)
        self.watch(time, "strftime", when=lambda *given: len(given) < 2)
        self.watch(time, "sleep")

    def watch_threads(self) -> None:
        self.watch(threading.Thread, "start")
        self.watch(_thread, "start_new_thread")

    def watch_chance(self) -> None:
        self.watch(os, "urandom")
        self.watch(random, "_urandom")  # what SystemRandom, and so secrets, draw from
        self.watch(random.Random, "seed", when=lambda _, value=None, *__: value is None)
        # The functions of the module draw from one generator, seeded by the system on import.
        for name in random.__all__:
            if not name[0].isupper():
                self.watch(random, name)
        self.watch(uuid, "uuid1")
        self.watch(uuid, "uuid4")


def import_pure_packages() -> list[str]:
    import hansard

    names = []
    for module in pkgutil.walk_packages(hansard.__path__, "hansard."):
        if module.name.split(".")[1] in PURE:
            importlib.import_module(module.name)
            names.append(module.name)
    return names


def go_through_exercises(_: Guard) -> list[str]:
    return [f"{exercise.__name__}: {exercise()!r}" for exercise in EXERCISES]


def note_modules(run: Callable[[Guard], list[str]], guard: Guard) -> tuple[list[str], set[str]]:
    """Run something, and note of which modules it ran a function."""
    entered: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            entered.add(frame.f_globals.get("__name__", ""))

    sys.setprofile(note)
    try:
        return run(guard), entered
    finally:
        sys.setprofile(None)


def has_functions(name: str) -> bool:
    """Whether a module has anything that could be run."""
    source = inspect.getsource(sys.modules[name])
    return any(isinstance(node, ast.FunctionDef) for node in ast.walk(ast.parse(source)))


def try_ways_out(guard: Guard) -> list[str]:
    still_open = []
    for way in WAYS_OUT:
        guard.refused.clear()
        with suppress(RuntimeError):
            eval(way)  # noqa: S307 - it comes from the list above
        if not guard.refused:
            still_open.append(way)
    guard.refused.clear()
    return still_open


def main() -> None:
    # All is in place before the first import of the package, which may take a name with it.
    guard = Guard()
    sys.addaudithook(guard.on_audit)
    guard.watch_clocks()
    guard.watch_threads()
    guard.watch_chance()
    imported = import_pure_packages()

    run = try_ways_out if sys.argv[1:] == ["ways-out"] else go_through_exercises
    guard.shut = True
    try:
        gave, entered = note_modules(run, guard)
    finally:
        guard.shut = False
    if guard.refused:
        # Said here once more, since an exercise might have swallowed it.
        sys.exit(f"a pure package went out: {', '.join(guard.refused)}")
    idle = [name for name in imported if has_functions(name) and name not in entered]
    json.dump({"imported": imported, "idle": idle, "gave": gave}, sys.stdout)


if __name__ == "__main__":
    main()
