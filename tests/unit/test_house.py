"""The house rules that a linter cannot see."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hansard
from tests.unit.purity import PURE

ROOT = Path(__file__).parents[2]
PINS = sorted((ROOT / "requirements").glob("*.txt"))

# What a program pays for on `import hansard` alone: none of these.
LATER = {
    "anthropic",
    "asyncio",
    "cryptography",
    "google",
    "http.client",
    "httpx2",
    "msgspec",
    "openai",
    "psycopg",
    "redis",
    "socket",
    "sqlite3",
    "ssl",
    "xllamacpp",
}


def python(*arguments: str, **environment: str) -> str:
    """Run Python in a process of its own and give what it prints."""
    # -P: a folder of tests is not to stand in for a module of the same name.
    done = subprocess.run(
        [sys.executable, "-P", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def purity(*arguments: str, **environment: str) -> dict[str, list[str]]:
    printed = python(str(ROOT / "tests/unit/purity.py"), *arguments, **environment)
    found: dict[str, list[str]] = json.loads(printed)
    return found


def test_importing_hansard_loads_nothing_that_is_needed_only_later() -> None:
    script = "import sys; {}; print(*sys.modules)"
    before = set(python("-c", script.format("pass")).split())
    after = set(python("-c", script.format("import hansard")).split())

    assert not before & LATER, "Python itself loads these here, so this test could not fail"
    assert not after & LATER
    assert {name for name in after if name.startswith("hansard")} == {
        "hansard",
        "hansard.dialects",
        "hansard.dialects.registry",
        "hansard.errors",
    }


def test_no_module_takes_the_place_of_a_public_name_of_the_same_spelling() -> None:
    script = """
import hansard, importlib, pkgutil
for module in pkgutil.iter_modules(hansard.__path__, "hansard."):
    importlib.import_module(module.name)
print(*[name for name in hansard.__all__ if hasattr(getattr(hansard, name), "__path__")])
print(*[module.name for module in pkgutil.iter_modules(hansard.__path__)])
"""
    hidden, modules = python("-c", script).split("\n")[:2]

    assert set(hansard.__all__) & set(modules.split()), "so this test could not fail"
    assert hidden == ""


def test_pure_packages_run_with_every_way_out_shut_and_give_the_same_in_every_process() -> None:
    # A set in an unlucky place gives another order under another hash seed.
    one, other = (purity(PYTHONHASHSEED=seed) for seed in ("1", "2"))

    assert one["gave"]
    assert one["gave"] == other["gave"]
    assert {"hansard.errors", "hansard.messages"} < set(one["imported"])


def test_every_module_of_the_pure_packages_is_run_there() -> None:
    found = purity()

    assert found["idle"] == [], "add to EXERCISES in tests/unit/purity.py what runs these"
    assert set(purity("ways-out")["idle"]) > {"hansard.rawjson"}, "without exercises all are idle"


def test_the_guard_of_the_pure_packages_guards() -> None:
    assert purity("ways-out")["gave"] == []


def test_ruff_bans_effects_from_the_same_packages_as_the_guard() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [banned] = [
        pattern
        for pattern, rules in config["tool"]["ruff"]["lint"]["per-file-ignores"].items()
        if rules == ["TID251"] and pattern.startswith("!")
    ]

    paths = banned.removeprefix("!src/hansard/{").removesuffix("}").split(",")
    assert {re.split(r"[./]", path)[0] for path in paths} == set(PURE)


@pytest.mark.parametrize("file", PINS, ids=lambda file: file.stem)
def test_every_requirement_is_pinned_and_hashed_and_no_registry_is_named(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    requirements = [
        line for line in text.replace("\\\n", " ").splitlines() if line and line[0] not in " #"
    ]

    for requirement in requirements:
        assert re.match(r"[a-z0-9-]+==[^ ]+ +--hash=sha256:[0-9a-f]{64}", requirement), requirement
    assert "://" not in text


@pytest.mark.parametrize("processes", [0, 1])
def test_a_failure_is_told_whole_with_how_to_repeat_it(processes: int, tmp_path: Path) -> None:
    failing = tmp_path / "test_failing.py"
    failing.write_text("def test_it(seed):\n    raise ValueError(chr(0xD800) + str(seed))\n")
    here = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "tests.conftest"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *here, "--seed", "7", "-n", str(processes), failing],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "ValueError: \\ud8007" in done.stdout
    assert "./dev test test_failing.py::test_it --seed 7" in done.stdout
    assert "= 1 failed in " in done.stdout.splitlines()[-1]
