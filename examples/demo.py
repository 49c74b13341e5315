"""A conversation with a real model on this machine, streamed, its state kept in a file.

Run by ``./dev demo``. On a terminal it asks you; otherwise it asks three questions of its own. In
the end `crash.py` tells what becomes of a tool that is killed half-way.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import hansard
from hansard import Chat, HansardError, Invalid, assistant, event
from hansard.record import views

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SYSTEM = "You are a friendly assistant. Answer in one short sentence."
SCRIPT = (
    "What is the capital of France?",
    "Which river runs through it?",
    "+The user has checked in at the Eiffel Tower.",
    "What can I see from here?",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Talk, and keep the state in the file that is named, or in one that is gone afterwards.

    Then tell the story of a crash.
    """
    parser = argparse.ArgumentParser(description="Talk to a small model on this machine.")
    parser.add_argument(
        "file", nargs="?", type=Path, help="of a conversation, to go on with it, or to begin one"
    )
    named: Path | None = parser.parse_args(arguments).file
    with tempfile.TemporaryDirectory() as folder:
        try:
            with hansard.local(threads=1, temperature=0, max_completion_tokens=60) as model:
                chat = Chat(model, system=SYSTEM)
                converse(chat, named or Path(folder, "conversation.state"), lines())
        except (HansardError, OSError) as error:
            print(f"demo: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:  # Between answers. What is in the file is whole.
            print()
            return 130
    sys.stdout.flush()
    story = [sys.executable, str(Path(__file__).with_name("crash.py"))]
    return subprocess.run(story, check=False).returncode


def converse(chat: Chat, file: Path, said: Iterable[str]) -> None:
    """Say line after line, then show what was kept. A line with a + is something that happened."""
    if rejected := chat.check(load(file)):
        raise Invalid(f"expected a conversation in {file}, found none: {rejected.detail}")
    print(dim("A small model answers, on this machine. The first answer takes a little longer.\n"))
    if (record := chat.load(load(file))).turn is not None:
        print(f"> {views.curated(record)[-1].text}")
        turn(chat, file)  # It was killed in the middle of this one.
    for line in said:
        if line.startswith("+"):
            save(file, chat.append(load(file), event(line[1:].strip())))
            print(dim("  on the record, for the model to know\n"))
        else:
            turn(chat, file, line)
    if state := load(file):
        show_record(chat, state)


def turn(chat: Chat, file: Path, *question: str) -> None:
    """One turn: load, ask, print the answer as it comes. Ctrl-C leaves an answer.

    The checkpoint saves each step as it is taken: first the question, in the end the answer.
    """
    came = ""
    with chat.stream(load(file), *question, checkpoint=partial(save, file)) as stream:
        try:
            for part in stream:
                print(part.text, end="", flush=True)
                came += part.text
        except KeyboardInterrupt:
            save(file, leave(chat, stream.state, came))
            print(dim("\n  left; what has come of the answer stays\n"))
            return
    reply = stream.reply
    usage = reply.usage
    cached = f"{usage.cached_tokens} of {usage.input_tokens} tokens were in the model's cache"
    print(dim(f"\n  {len(reply.state):,} bytes of state saved; {cached}"))
    print(dim(f"  no valid answer: {', '.join(reply.problems)}\n" if reply.problems else ""))


def leave(chat: Chat, state: bytes, came: str) -> bytes:
    """End a turn in the middle of its answer, which then is what the user has read of it."""
    record = chat.load(state)
    left = chat.abandon(state)
    if record.turn is None or not came:
        return left
    asked = views.curated(record)[-1]
    return chat.append(left, asked, assistant(came))


def load(file: Path) -> bytes | None:
    """Give the state that is in a file."""
    return file.read_bytes() if file.exists() else None


def save(file: Path, state: bytes) -> None:
    """Put a state into a file; whoever reads it finds the old one or this, and nothing between."""
    fresh = file.with_name(f"{file.name}.new")
    fresh.write_bytes(state)
    fresh.replace(file)


def show_record(chat: Chat, state: bytes) -> None:
    """Show what was kept, and what becomes of a state that was damaged on its way."""
    print(dim("What was kept, word for word:"))
    for message in views.curated(chat.load(state)):
        print(f"  {message.role:>9}  {shortened(message.raw.decode())}")
    damaged = bytearray(state)
    damaged[len(state) // 2] ^= 1
    rejected = chat.check(bytes(damaged))
    print(dim("And if one bit of it were flipped, it would be set aside:"))
    print(f"  {rejected.reason}: {rejected.detail}" if rejected else "  nobody would notice")


def lines() -> Iterator[str]:
    """Give what the person at the terminal says, or else the script above."""
    if not sys.stdin.isatty():
        for line in SCRIPT:
            print(f"> {line}")
            yield line
        return
    print("Say something. A line with a + in front is something that happened, for the model to")
    print("know. Ctrl-C leaves an answer; an empty line ends the conversation.\n")
    try:
        while said := input("> ").strip():
            yield said
    except (EOFError, KeyboardInterrupt):
        print()


def shortened(text: str, width: int = 88) -> str:
    """Give the beginning of a text."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def dim(text: str) -> str:
    """Make a remark look like one, on a terminal."""
    return f"\x1b[2m{text}\x1b[0m" if sys.stdout.isatty() else text


if __name__ == "__main__":
    raise SystemExit(main())
