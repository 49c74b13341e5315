"""The program that serves a local model, until whoever started it is gone.

Its first line of standard input is a JSON object of settings. When it listens it prints its
address, in one line. It ends with its standard input, or when it gets another parent: so it never
outlives the process that it was started for, however that ends.

It is run as a file and loads nothing of Hansard.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from importlib import import_module
from typing import IO, Any

_LOOK_S = 1.0


def main() -> None:
    """Serve."""
    # Ctrl-C is for the program that talks to the model: it may want to go on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = _keep_stdout()
    settings = json.loads(sys.stdin.buffer.readline())
    parent = os.getppid()
    threading.Thread(target=_end_with_input, daemon=True).start()
    sys.path[:] = settings["sys_path"]
    server = _serve(settings)
    with answers:
        answers.write(f"{server.listening_address}\n")
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(0)


def _keep_stdout() -> IO[str]:
    """Keep standard output for the address: what libraries print goes where errors go."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _end_with_input() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(0)  # The server's threads have no other end.


def _serve(settings: dict[str, Any]) -> Any:  # noqa: ANN401 - of an untyped library
    xllamacpp: Any = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["name"]}
    params.api_keys = [settings["api_key"]]
    params.hostnames = ["127.0.0.1"]
    params.n_ctx = settings["n_ctx"]
    params.n_parallel = 1
    params.warmup = False
    params.ui = False
    if settings["chat_template"] is not None:
        params.chat_template = settings["chat_template"]
    if settings["threads"] is not None:
        params.cpuparams.n_threads = settings["threads"]
        params.cpuparams_batch.n_threads = settings["threads"]
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
