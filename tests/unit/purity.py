"""Run the pure packages with every way out shut.

The ways out are files, sockets, processes, threads, clocks and chance. This is a program and not
a test, because an audit hook stays as long as its process. It imports the pure packages, shuts
the ways out, goes through ``EXERCISES`` and prints what each gave; with the argument ``ways-out``
it tries ``WAYS_OUT`` instead, and prints those that were still open. `test_house` runs it both
ways.

One clock cannot be shut from here, that of ``datetime``, which is built into Python. Ruff's ban
holds that one.
"""

from __future__ import annotations

import _thread
import importlib
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
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

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


# Whatever a pure package learns to do belongs here too. What an exercise gives must be the same
# in every process, so no sets and no default reprs in it.
EXERCISES: tuple[Callable[[], object], ...] = (spell, draft, ask)

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
        gave = run(guard)
    finally:
        guard.shut = False
    if guard.refused:
        # Said here once more, since an exercise might have swallowed it.
        sys.exit(f"a pure package went out: {', '.join(guard.refused)}")
    json.dump({"imported": imported, "gave": gave}, sys.stdout)


if __name__ == "__main__":
    main()
