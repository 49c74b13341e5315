"""Statements of SQL, kept in files by name."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["read_scripts", "read_statements"]

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)


def read_statements(module: str) -> dict[str, str]:
    """Give the statements of ``sql/queries.sql`` beside a module by their names.

    Each stands below a line ``-- name: …``. Comments are left out of what the database is sent.
    """
    text = (_beside(module) / "queries.sql").read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    names, bodies = parts[::2], parts[1::2]
    return {
        name: _COMMENT.sub("", body).strip().removesuffix(";")
        for name, body in zip(names, bodies, strict=True)
    }


def read_scripts(module: str) -> dict[int, str]:
    """Give the scripts beside a module that lead to each version of a schema, in their order."""
    scripts = [
        (int(file.name.removesuffix(".sql")), file.read_text(encoding="utf-8"))
        for file in (_beside(module) / "versions").iterdir()
    ]
    return dict(sorted(scripts))


def _beside(module: str) -> Traversable:
    return files(module.rpartition(".")[0]) / "sql"
