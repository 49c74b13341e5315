"""A real llama.cpp server with a small real model, for as long as its standard input stays open.

Run as a program, with the path of the model. It prints its address in one line, and ends when
whoever started it is gone.

One thread, because more of them spin while others need the processor; temperature 0 and a seed,
so that the same request has the same answer.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import xllamacpp  # type: ignore[import-untyped]

CONTEXT_TOKENS = 1024


def main() -> None:
    """Serve until standard input ends."""
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.model_alias = {"smollm2"}
    params.chat_template = Path(__file__).with_name("chat_template.jinja").read_text()
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.warmup = False
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.sampling.temp = 0.0
    params.sampling.seed = 7
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)  # The server's threads have no other end.


if __name__ == "__main__":
    main()
