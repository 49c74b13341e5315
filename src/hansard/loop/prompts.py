"""Prompts: what a job asks for, by a name that a checkpoint can be told by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from string import Template
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from ..errors import ConversationStateMismatch, Invalid
from ..neutral import ConversationState, LossReport
from ..record.entries import PromptIdentity, spell
from ..talk.inputs import read_inputs
from ..tools import outputs

if TYPE_CHECKING:
    from ..chat import AsyncChat, Chat
    from ..talk.options import ToolLike
    from ..talk.reply import Reply

__all__ = ["OnChanged", "Prompt", "PromptResponse", "check_identity", "identity_of"]

Output = TypeVar("Output")
OnChanged: TypeAlias = Literal["raise", "continue"]


@dataclass(frozen=True)
class Prompt(Generic[Output]):
    """What to ask. ``ns`` and ``key`` name it; a job goes on only under the same name.

    ``template`` is what the user says, with ``$name`` where one of the ``values`` goes; without
    values it is said as it stands. ``system``, ``tools`` and ``output`` are those of `Chat`; left
    out, the chat's own are used. A change of any of them, or of the template, is noticed; of the
    values it is not.
    """

    ns: str
    key: str
    template: str
    values: Mapping[str, object] = field(default_factory=dict)
    system: str = ""
    tools: Sequence[ToolLike] = ()
    output: type[Output] | None = None

    def __post_init__(self) -> None:
        for name in ("ns", "key", "template"):
            given: object = getattr(self, name)
            if not isinstance(given, str) or not given:
                raise Invalid(f"expected {name} of a prompt as text, found {given!r}")

    def render(self) -> str:
        """Say it. Raises `Invalid` where a value is missing."""
        if not self.values:
            return self.template
        try:
            return Template(self.template).substitute(self.values)
        except (KeyError, ValueError) as error:
            raise Invalid(
                f"expected a value for each $name in the template of {self.ns}/{self.key}, found "
                f"none for {error}; write $$ for a dollar"
            ) from None

    @property
    def options(self) -> dict[str, Any]:
        """What a call is given for it."""
        given = {"system": self.system, "tools": self.tools, "output": self.output}
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True)
class PromptResponse(Generic[Output]):
    """What a prompt came to. ``losses`` is what going on in another dialect has cost."""

    prompt: PromptIdentity
    text: str
    output: Output | None
    reply: Reply
    losses: LossReport = field(default_factory=LossReport)


def identity_of(prompt: Prompt[Any], chat: Chat | AsyncChat) -> PromptIdentity:
    """Say which prompt it is, and by a digest what is in it."""
    options = chat.options.but(prompt.options)
    said = read_inputs((), options.system, chat.model.dialect).system
    schema = None if options.output is None else outputs.output_schema(options.output)[0]
    parts = [prompt.template, said, options.specs, schema]
    digest = blake2b(b"\n".join([spell(part) for part in parts]), digest_size=16).hexdigest()
    return PromptIdentity(prompt.ns, prompt.key, digest)


def identity_in(state: ConversationState) -> PromptIdentity:
    """The prompt that a conversation was begun with."""
    return PromptIdentity(state.prompt_ns, state.prompt_key, state.prompt_digest)


def check_identity(
    prompt: PromptIdentity, found: PromptIdentity | ConversationState | None, on_changed: OnChanged
) -> None:
    """Raise `ConversationStateMismatch` where a conversation is that of another prompt."""
    known = PromptIdentity()
    if found is not None:
        known = identity_in(found) if isinstance(found, ConversationState) else found
    name, other = f"{prompt.namespace}/{prompt.key}", f"{known.namespace}/{known.key}"
    if name != other:
        raise ConversationStateMismatch(
            f"expected a conversation of the prompt {name}, found one of {other}: clear the "
            "checkpoint, and begin again",
            expected=prompt,
            found=known,
        )
    if known.digest in ("", prompt.digest) or on_changed == "continue":
        return
    raise ConversationStateMismatch(
        f"expected the prompt {name} as it was, found that its template, its system text, its "
        "tools or its output have changed: clear the checkpoint and begin again, or go on all "
        'the same with on_changed="continue"',
        expected=prompt,
        found=known,
    )
