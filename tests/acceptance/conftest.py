"""Real servers, one of each for a whole test session (with pytest-xdist: for each worker)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SUPPORT = Path(__file__).parents[1] / "support"
STOP_S = 10


@pytest.fixture(scope="session")
def local_model(gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a small real model in a process of its own; give the base URL.

    It speaks ``/v1/chat/completions``, ``/v1/responses`` and ``/v1/messages``. The process ends
    with its standard input, so it never outlives the tests, however they end.
    """
    log = tmp_path_factory.mktemp("local-model") / "log.txt"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [sys.executable, SUPPORT / "llama_server.py", gguf],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        address = server.stdout.readline().decode().strip()
        if not address:
            pytest.fail(f"the local model did not start:\n{log.read_text()}")
        yield address
        server.stdin.close()
        try:
            server.wait(STOP_S)
        except subprocess.TimeoutExpired:
            server.kill()
