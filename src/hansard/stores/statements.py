"""Statements of SQL, kept in files by name."""

from __future__ import annotations

import re
from importlib.resources import files

__all__ = ["read_scripts", "read_statements"]

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)


def read_statements(package: str) -> dict[str, str]:
    """Give the statements of a package's ``sql/queries.sql`` by their names.

    Each stands below a line ``-- name: …``. Comments are left out of what the database is sent.
    """
    text = (files(package) / "sql" / "queries.sql").read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    names, bodies = parts[::2], parts[1::2]
    return {
        name: _COMMENT.sub("", body).strip().removesuffix(";")
        for name, body in zip(names, bodies, strict=True)
    }


def read_scripts(package: str) -> dict[int, str]:
    """Give the scripts that lead to each version of a package's schema, in their order."""
    scripts = [
        (int(file.name.removesuffix(".sql")), file.read_text(encoding="utf-8"))
        for file in (files(package) / "sql" / "versions").iterdir()
    ]
    return dict(sorted(scripts))
