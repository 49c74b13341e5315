"""A drive that is played by hand, act by act, with a scripted model and jobs that run in place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hansard.dialects.dialect import Ask
from hansard.drivers import threads
from hansard.drivers.acts import (
    AwaitJobs,
    Call,
    Commit,
    Ended,
    Job,
    Open,
    Read,
    StartJobs,
    StopJobs,
)
from hansard.drivers.drive import Drive, Plan
from hansard.messages import user
from hansard.record.entries import Outcome
from hansard.record.record import Record
from hansard.testing import ScriptedModel, call, forever, say
from hansard.tools.tool import Tool
from hansard.turn import writing
from hansard.turn.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hansard.drivers.acts import Act
    from hansard.record.entries import Entry
    from hansard.turn.events import Observation


@dataclass
class Stage:
    """What a drive needs of the world, and what the world saw of it.

    ``interrupt`` is asked before each act, by its name, and may give what is thrown into the drive
    instead. Jobs run in place, one each time they are waited for, unless ``awaits`` says how
    they end; ``stops`` says what is known of them when they are stopped.
    """

    model: ScriptedModel
    tools: list[Tool] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    stream: bool = False
    deadline_s: float | None = None
    session: object = None
    interrupt: Callable[[str], BaseException | None] = lambda _: None
    tell: Callable[[Observation], object] = lambda _: None
    awaits: Iterable[Ended | list[Ended]] = ()
    stops: list[Ended] | None = None
    now_s: float = 100.0
    log: list[str] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    told: list[Observation] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    job_limits: list[float | None] = field(default_factory=list)
    limits: list[float | None] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)

    def plan(self) -> Plan:
        return Plan(
            rules=Rules(tools={tool.name: tool for tool in self.tools}, **self.options),
            ask=self.ask,
            model="scripted",
            now_us=lambda: int(self.now_s * 1e6),
            monotonic_s=lambda: self.now_s,
            deadline_s=self.deadline_s,
            stream=self.stream,
            tell=self.see,
            log_action=self.actions.append,
            session=self.session,
        )

    def see(self, observation: Observation) -> None:
        self.told.append(observation)
        self.tell(observation)

    def ask(self, record: Record) -> Ask:
        return Ask(
            model="scripted",
            messages=record.context.segments(record.dialect),
            stream=self.stream,
            parameters=self.parameters,
        )

    def drive(self, record: Record | None = None) -> Drive:
        """Make a drive; without a record, of a turn that begins."""
        if record is not None:
            return Drive(record, self.plan())
        drive = Drive(Record("c0", self.model.dialect), self.plan())
        drive.stage(*beginning(drive.record))
        return drive

    def play(self, drive: Drive) -> Any:
        """Carry out all acts, and give what they come to."""
        acts = drive.run()
        step: Callable[..., Act] = acts.send
        given: object = None
        chunks: list[Iterator[bytes]] = []
        try:
            while True:
                act = step(given)
                step, given = acts.send, None
                name = type(act).__name__
                self.log.append(self.named(act))
                try:
                    self.pass_by(name)
                    given = self.carry_out(act, chunks)
                except BaseException as error:  # noqa: BLE001 -- as a driver does
                    step, given = acts.throw, error
        except StopIteration as done:
            return done.value

    def pass_by(self, name: str) -> None:
        error = self.interrupt(name)
        if error is not None:
            raise error

    def named(self, act: Act) -> str:
        if isinstance(act, Commit):
            return f"Commit {' '.join([kind_of(entry) for entry in act.entries])}"
        if isinstance(act, StartJobs):
            return f"StartJobs {' '.join([str(job.number) for job in act.jobs])}"
        return type(act).__name__

    def carry_out(self, act: Act, chunks: list[Iterator[bytes]]) -> object:
        if isinstance(act, Commit):
            self.commits.append(act)
        elif isinstance(act, Call):
            self.limits.append(act.timeout_s)
            return self.model.blocking().send(act.request)
        elif isinstance(act, Open):
            self.limits.append(act.timeout_s)
            chunks[:] = [self.model.blocking().stream(act.request).__enter__()]
        elif isinstance(act, Read):
            return next(chunks[0], None)
        elif isinstance(act, StartJobs):
            self.jobs += act.jobs
            self.job_limits += [job.timeout_s for job in act.jobs]
        elif isinstance(act, AwaitJobs):
            return self.wait()
        elif isinstance(act, StopJobs):
            stopped = [Ended(job.number, "stopped") for job in self.jobs]
            self.jobs = []
            return stopped if self.stops is None else self.stops
        else:
            self.events.append(act)
        return None

    def wait(self) -> list[Ended]:
        self.awaits = iter(self.awaits)
        ended = next(self.awaits, None)
        if ended is None:
            return [threads.finish(self.jobs.pop(0))]
        return ended if isinstance(ended, list) else [ended]

    @property
    def durable(self) -> Record:
        """What is on the record for whoever looks there later."""
        return self.commits[-1].record


def made(name: str, run: Callable[..., object], **options: Any) -> Tool:
    """Make a tool that takes nothing but a context."""
    return Tool(name, name, {"type": "object", "properties": {}}, run, **options)


def staged(*tools: Tool, calls: int = 1, **options: Any) -> Stage:
    """Have each of these tools called, and then be done."""
    asked = [call(each.name, id=f"{each.name}_{at}") for each in tools for at in range(calls)]
    model = ScriptedModel(say(calls=asked), forever("Done."))
    return Stage(model, list(tools), **options)


def outcomes(record: Record) -> list[tuple[str, str]]:
    """Give the calls that ended, in the order in which they did, and how."""
    found = [entry for entry in record.entries() if isinstance(entry, Outcome)]
    return [(entry.call.id, entry.status) for entry in found]


def told(stage: Stage) -> list[str]:
    """Give what the model was told last of its calls."""
    return [result.text for result in stage.model.requests[-1].results]


def beginning(record: Record, text: str = "Go ahead.") -> tuple[Entry, ...]:
    """The entries with which a turn begins."""
    begin = writing.begin(record, f"t{record.turn_number}", at_us=0)
    said = [(message, False) for message in record.dialect.say(user(text))]
    return begin, *writing.said(record.apply(begin), said, "input", at_us=0)


def kind_of(entry: Entry) -> str:
    """Name an entry: that of a model's message is ``answer``."""
    if getattr(entry, "author", "") == "model":
        return "answer"
    return type(entry).__name__.lower()


def kinds(record: Record, start: int = 0) -> list[str]:
    return [kind_of(entry) for entry in record.entries(start)]
