"""The demo: with the real model, on a terminal and off it, and whatever happens in between."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from examples import crash, demo
from examples.demo import SCRIPT, converse, load, main, turn
from hansard import Chat, Unreachable
from hansard.testing import ScriptedModel, delay, empty, forever, unreachable

if TYPE_CHECKING:
    from pathlib import Path

WAIT_S = 120.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "conversation.state"


# -- with the real model ----------------------------------------------------------------------


def test_without_a_terminal_it_has_a_conversation_of_its_own(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, demo.__file__, file],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = [line[2:] for line in done.stdout.splitlines() if line[:2] == "> "]
    assert said == [*SCRIPT, crash.PROMPT]
    assert "\x1b" not in done.stdout

    saved = [int(size.replace(",", "")) for size in re.findall(r"([\d,]+) bytes", done.stdout)]
    assert saved == sorted(set(saved))
    assert saved[-1] == file.stat().st_size
    tokens = [(int(a), int(b)) for a, b in re.findall(r"(\d+) of (\d+) tokens", done.stdout)]
    assert len(tokens) == 3
    for (_, before), (cached, _) in pairwise(tokens):
        assert cached >= before, "the model has read again what it had read before"

    kept, damaged = done.stdout.partition("word for word:")[2].split("And if one bit")
    messages = re.findall(r"^ +(user|assistant)  {", kept, re.MULTILINE)
    assert messages == ["user", "assistant", "user", "assistant", "user", "user", "assistant"]
    assert f'"content":"{SCRIPT[2][1:]}"' in kept
    assert "checksum: " in damaged
    check_story(damaged.partition("in the middle of a tool?")[2])


def test_on_a_terminal_it_asks_until_there_is_nothing_more_to_say(file: Path) -> None:
    ours, its = pty.openpty()
    with subprocess.Popen(
        [sys.executable, demo.__file__, file], stdin=its, stdout=its, stderr=its
    ) as talk:
        os.close(its)
        try:
            assert "Say something." in read(ours, until="> ")
            os.write(ours, b"What is the capital of France?\n")
            assert "bytes of state saved" in read(ours, until="\n> ")
            os.write(ours, b"+The user has landed in Paris.\n")
            assert "on the record" in read(ours, until="\n> ")
            os.write(ours, b"\x04")
            ended = read(ours)
        finally:
            os.close(ours)  # Whatever it is waiting for, it is told that the terminal is gone.
    assert talk.returncode == 0
    assert "\x1b[2mWhat was kept, word for word:\x1b[0m" in ended
    assert '"content":"What is the capital of France?"' in ended
    assert '"content":"The user has landed in Paris."' in ended
    check_story(re.sub(r"\x1b\[2?0?m|\r", "", ended).partition("in the middle of a tool?")[2])


def check_story(told: str) -> None:
    """A process is killed in its tool; another one comes to the end, and charges nothing again."""
    [_, prompt, *steps, last, _] = told.split("\n")
    assert prompt == f"> {crash.PROMPT}"
    notes = [tuple(step.split("  ")[1:]) for step in steps if re.match(r"  \d+  ", step)]
    (killed, charged), (gone, how), *others = notes
    assert (charged, gone, how) == ("charges the card", killed, "killed by SIGKILL")
    assert {who for who, _ in others}.isdisjoint({killed})
    assert [what for _, what in others] == [
        "resumes, as soon as the lease of the other has run out",
        "finds that the card was charged, by the key",
        "writes down the table",
    ]
    assert steps[-1] == "Your table is booked."
    assert last == "  1 charge, 1 table and 1 outcome on the books"


def read(terminal: int, until: str | None = None) -> str:
    """Read what the program prints, until it prints this or ends."""
    deadline_s = time.monotonic() + WAIT_S
    read = b""
    while until is None or not read.decode(errors="replace").endswith(until):
        left_s = max(0.0, deadline_s - time.monotonic())
        assert select.select([terminal], [], [], left_s)[0], f"expected {until!r}, found {read!r}"
        try:
            chunk = os.read(terminal, 4096)
        except OSError:  # So Linux says that the program has ended.
            break
        if not chunk:  # So others do.
            break
        read += chunk
    return read.decode()


# -- between turns ----------------------------------------------------------------------------


def test_a_conversation_goes_on_where_its_file_says(file: Path) -> None:
    converse(Chat(ScriptedModel("Paris.")), file, ["What is the capital of France?"])
    model = ScriptedModel("The Seine.")
    converse(Chat(model), file, ["+It rains.", "Which river runs through it?"])
    assert [message.text for message in model.requests[0].messages] == [
        "What is the capital of France?",
        "Paris.",
        "It rains.",
        "Which river runs through it?",
    ]


def test_an_answer_that_it_was_killed_in_is_given_the_next_time(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is in the file before the model is asked is all that a killed program leaves."""
    with pytest.raises(Unreachable):
        turn(Chat(ScriptedModel(unreachable())), file, "What is the capital of France?")
    model = ScriptedModel("Paris.")
    converse(Chat(model), file, [])
    assert "> What is the capital of France?\nParis.\n" in capsys.readouterr().out
    assert [request.text for request in model.requests] == ["What is the capital of France?"]


def leaving(after: int) -> ScriptedModel:
    """A model whose reader presses Ctrl-C after so many pieces of its answer."""
    pieces = iter(range(after))

    def wait(_: float) -> None:
        if next(pieces, None) is None:
            raise KeyboardInterrupt

    answer = delay(1, "Paris, of course, and long may it be.", each_chunk=True)
    return ScriptedModel(answer, sleep=wait)


def test_ctrl_c_leaves_an_answer_and_keeps_what_has_come_of_it(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turn(Chat(leaving(after=4)), file, "What is the capital of France?")
    came = capsys.readouterr().out.partition("\n  left;")[0]
    assert came
    assert "Paris, of course, and long may it be.".startswith(came.rstrip())
    model = ScriptedModel("The Seine.")
    turn(Chat(model), file, "Which river runs through it?")
    assert [message.text for message in model.requests[0].messages] == [
        "What is the capital of France?",
        came,
        "Which river runs through it?",
    ]


def test_ctrl_c_before_anything_has_come_takes_the_question_back(file: Path) -> None:
    turn(Chat(leaving(after=0)), file, "What is the capital of France?")
    model = ScriptedModel("The Seine.")
    turn(Chat(model), file, "Which river runs through it?")
    assert [message.text for message in model.requests[0].messages] == [
        "Which river runs through it?"
    ]


def test_a_model_that_says_nothing_is_told_of(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turn(Chat(ScriptedModel(forever(empty()))), file, "Are you there?")
    assert "no valid answer: empty" in capsys.readouterr().out


# -- errors -----------------------------------------------------------------------------------


def test_a_file_that_is_no_conversation_is_told_of_and_left_as_it_was(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(b"Dear diary")
    assert main([str(file)]) == 1
    said = capsys.readouterr()
    assert said.err.startswith(f"demo: expected a conversation in {file}, found none: ")
    assert "Traceback" not in said.err
    assert load(file) == b"Dear diary"


def test_without_the_model_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert main([]) == 1
    assert "install hansard[local]" in capsys.readouterr().err
