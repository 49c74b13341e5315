"""What Go itself made of version 1 blobs and of their messages: see `reference.go`."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[1] / "data" / "goblobs"


def cases(name: str) -> list[Any]:
    found = json.loads((DATA / name).read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=case["name"].encode("unicode_escape").decode()) for case in found]


def text_of(case: dict[str, Any], key: str) -> bytes:
    if key in case:
        return str(case[key]).encode()
    return base64.b64decode(case[f"{key}_base64"])


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
