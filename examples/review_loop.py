"""A review that takes a while, and survives its process: checkpointed, resumed, nothing done twice.

The job reads files and leaves comments. Comments are for people, so none may be left twice, and
none may be lost. The first process dies right after a comment was left, before anybody has heard of
it; the second one goes on from the checkpoint.

- The checkpoint is a file, replaced whole before anything depends on it. What has run answers from
  there.
- ``read_file`` only reads: it may run again. ``leave_comment`` is ``keyed``: it may run again too,
  and tells by ``context.idempotency_key`` that it has left that comment already.
- What was found so far is a slice of the session: typed, and in the checkpoint as well.
- Another model may go on with what the first one began: give its name to the second process.

Run it with the names of two models (``openai:gpt-5-mini anthropic:claude-sonnet-4-5``), or without
them for a script.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hansard import Chat, FileCheckpointHandler, Loop, Model, Prompt, Tool, ToolContext, tool
from hansard.testing import ScriptedModel, call, say

if TYPE_CHECKING:
    from hansard import Session

PROJECT = {"sum.py": "def total(xs): return sum(xs)", "mean.py": "def mean(xs): return sum(xs) / 0"}


@dataclass(frozen=True)
class Request:
    """What is to be reviewed."""

    id: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """What was found in a file."""

    path: str
    text: str


@dataclass(frozen=True)
class Review:
    """What the review comes to."""

    verdict: str
    comments: int


class Comments:
    """The comments that people see: a file, one comment a line, each with the key of its call."""

    def __init__(self, path: Path, *, dies: bool = False) -> None:
        self.path = path
        self.dies = dies

    def all(self) -> list[dict[str, str]]:
        """All comments that were left."""
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]

    def leave(self, key: str, path: str, text: str) -> bool:
        """Leave a comment, unless that was done already."""
        if any(comment["key"] == key for comment in self.all()):
            return False
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, "path": path, "text": text}) + "\n")
        return True


class ReviewLoop(Loop[Request, Review]):
    """Reviews files, one after the other."""

    comments: Comments

    def create_prompt(self, request: Request) -> Prompt[Review]:
        """Ask for a review of all files."""
        return Prompt(
            "examples",
            "review",
            "Review these files: $files",
            {"files": ", ".join(request.files)},
            system="Read each file, leave a comment where something is wrong, then give a verdict.",
            tools=[read_file, self.leave_comment()],
            output=Review,
        )

    def create_session(self, request: Request) -> Session:
        """Make a session with a slice of findings."""
        session = super().create_session(request)
        session.register(Finding, name="finding")
        return session

    def leave_comment(self) -> Tool:
        """Make the tool that leaves comments."""

        @tool(policy="keyed")
        def leave_comment(context: ToolContext, path: str, text: str) -> str:
            """Leave a comment on a file."""
            left = self.comments.leave(context.idempotency_key, path, text)
            if self.comments.dies:
                raise KeyboardInterrupt  # The plug is pulled: nobody has heard of the comment.
            session: Any = context.session
            session[Finding].append(Finding(path, text))
            print(f"  comment on {path} {'left' if left else 'was left already'}")
            return "left"

        return leave_comment


@tool(policy="reads")
def read_file(path: str) -> str:
    """Read a file."""
    return PROJECT.get(path, "there is no such file")


def work(model: str | Model, folder: Path, *, dies: bool = False) -> Review | None:
    """Do the job in one process, which may die; the next one goes on."""
    with Chat(model) as chat:
        loop = ReviewLoop(chat, checkpoint_handler=FileCheckpointHandler(folder / "checkpoints"))
        loop.comments = Comments(folder / "comments.jsonl", dies=dies)
        try:
            return loop.execute(Request("review-42", tuple(PROJECT))).output
        except KeyboardInterrupt:
            return None


def main(first: str | Model, second: str | Model, folder: Path) -> None:
    """Begin a review in a process that dies, and finish it in another."""
    print("The first process begins.")
    if work(first, folder, dies=True) is None:
        print("  it is gone\nThe second process goes on.")
    print(work(second, folder))
    for comment in Comments(folder / "comments.jsonl").all():
        print(f"{comment['path']}: {comment['text']}")


def scripts() -> tuple[ScriptedModel, ScriptedModel]:
    """Give two models, of two providers, of which the second goes on where the first is cut off."""
    reads = [call("read_file", path=path) for path in PROJECT]
    comment = call("leave_comment", path="mean.py", text="This divides by zero.")
    return (
        ScriptedModel(say("I read them first.", calls=reads), say(calls=[comment])),
        ScriptedModel('{"verdict":"needs work","comments":1}', dialect="anthropic"),
    )


if __name__ == "__main__":
    given = sys.argv[1:3] if len(sys.argv) > 2 else scripts()
    with tempfile.TemporaryDirectory() as kept:
        main(given[0], given[1], Path(kept))
