"""A server in a process of its own, where the program forks: no model is needed for that."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FORKS = """
import os, signal, sys, threading, time
from contextlib import suppress
from pathlib import Path

from hansard import Unreachable
from hansard.transports.local import server as local

waits = Path(sys.argv[1])
waits.write_text("import sys; sys.stdin.buffer.readline(); sys.stdin.buffer.read()")
local._CHILD = waits  # It never says that it listens.
server = local.serve(local.Settings("model.gguf", "model"))


def start():
    with suppress(Unreachable):
        server.address(timeout_s=60)


starting = threading.Thread(target=start)
starting.start()
while server.pid is None:
    time.sleep(0.001)
child = os.fork()
if child == 0:
    signal.alarm(20)
    server.stop()
    print(server.pid, server.now_at(), local.serve(server.settings) is server, flush=True)
    os._exit(0)
status = os.waitpid(child, 0)[1]
print(status, server.pid is not None, flush=True)
os.kill(server.pid, signal.SIGKILL)
starting.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_process_that_is_forked_while_a_server_starts_has_one_of_its_own(
    tmp_path: object,
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FORKS, f"{tmp_path}/waits.py"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.stdout.splitlines() == ["None None True", "0 True"], ran.stderr
