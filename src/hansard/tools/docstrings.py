"""What a docstring says of a function, and of each of its parameters.

Google's, NumPy's and Sphinx' ways of listing parameters are read. What stands in the lists of
parameters and of errors is taken out of the description: a model has no use for it there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

__all__ = ["Doc", "read_docstring"]

_PARAMETERS = {"args", "arguments", "parameters", "params", "keyword args", "other parameters"}
_ERRORS = {"raises", "warns", "except", "exceptions"}
_HEADING = re.compile(r"([A-Z][A-Za-z ]*):\s*$")
_UNDERLINE = re.compile(r"-{3,}\s*$")
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:(?:\s+(.*)|$)")
_NUMPY_ENTRY = re.compile(r"([\w*]+(?:\s*,\s*[\w*]+)*)\s*(?::.*)?$")
_SPHINX_FIELD = re.compile(r":(\w+)(?:\s+([^:]*))?:\s*(.*)")
_SPHINX_PARAMETERS = {"param", "parameter", "arg", "argument", "key", "keyword"}
_SPHINX_DROPPED = {"type", "raises", "raise", "except", "exception", "rtype"}


@dataclass(frozen=True, slots=True)
class Doc:
    """The description of a function, and those of its parameters by name."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(doc: str | None) -> Doc:
    """Read a docstring of any style. What is in none of them is description."""
    lines = inspect.cleandoc(doc or "").splitlines()
    body: list[str] = []
    found: dict[str, str] = {}
    at = 0
    while at < len(lines):
        section = _google(lines, at) or _numpy(lines, at) or _sphinx(lines, at)
        if section is None:
            body.append(lines[at].rstrip())
            at += 1
            continue
        parameters, kept, at = section
        found.update(parameters)
        body.extend(kept)
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(body)).strip()
    return Doc(text, found)


_Section = tuple[dict[str, str], Sequence[str], int]
"""The parameters in it, what of it belongs to the description, and where it ends."""


def _google(lines: Sequence[str], at: int) -> _Section | None:
    heading = _HEADING.match(lines[at])
    name = heading[1].lower() if heading else ""
    if name not in _PARAMETERS | _ERRORS:
        return None
    block = list(takewhile(_is_inside, lines[at + 1 :]))
    entries = _entries(block, _GOOGLE_ENTRY) if name in _PARAMETERS else {}
    return entries, ("",), at + 1 + len(block)


def _is_inside(line: str) -> bool:
    return not line.strip() or line[0].isspace()


def _numpy(lines: Sequence[str], at: int) -> _Section | None:
    name = lines[at].strip().lower()
    if name not in _PARAMETERS | _ERRORS or not _is_heading(lines, at):
        return None
    start = at + 2
    end = next((i for i in range(start, len(lines)) if _is_heading(lines, i)), len(lines))
    entries = _entries(lines[start:end], _NUMPY_ENTRY) if name in _PARAMETERS else {}
    return entries, ("",), end


def _is_heading(lines: Sequence[str], at: int) -> bool:
    return at + 1 < len(lines) and bool(lines[at].strip() and _UNDERLINE.match(lines[at + 1]))


def _entries(block: Sequence[str], entry: re.Pattern[str]) -> dict[str, str]:
    """Read names at the margin, each with the words after it and on the deeper lines below."""
    said: dict[str, list[str]] = {}
    names: list[str] = []
    for line in inspect.cleandoc("\n" + "\n".join(block)).splitlines():
        match = None if line[:1].isspace() else entry.match(line)
        if match:
            names = [name.strip(" *") for name in match[1].split(",")]
            said.update({name: [] for name in names})
        words = (match[2] or "" if entry is _GOOGLE_ENTRY else "") if match else line.strip()
        for name in names:
            said[name].append(words)
    return {name: _flow(words) for name, words in said.items()}


def _sphinx(lines: Sequence[str], at: int) -> _Section | None:
    match = _SPHINX_FIELD.match(lines[at])
    if match is None or match[1] not in _SPHINX_PARAMETERS | _SPHINX_DROPPED:
        return None
    more = list(takewhile(_is_continued, lines[at + 1 :]))
    name = (match[2] or "").split()[-1:]
    known = match[1] in _SPHINX_PARAMETERS and name
    said = {name[0].strip("*"): _flow([match[3], *more])} if known else {}
    return said, (), at + 1 + len(more)


def _is_continued(line: str) -> bool:
    return bool(line.strip()) and line[0].isspace()


def _flow(words: Sequence[str]) -> str:
    """Join what was wrapped."""
    return " ".join(_pieces(words))


def _pieces(words: Sequence[str]) -> Iterator[str]:
    for line in words:
        yield from line.split()
