"""What is built is what people get: all of the package, with its types, and nothing else needed."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

if TYPE_CHECKING:
    from email.message import Message

ROOT = Path(__file__).parents[2]
CORE = {"httpx2", "msgspec"}


def build(source: Path, kind: str, into: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    [built] = into.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder that holds what the wheel installs, and its core dependencies, alone."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)  # noqa: S202 - our own wheel
    for name in CORE:
        link(name, folder)
    return folder


def link(name: str, folder: Path) -> None:
    """Put a distribution, and what it depends on here, into a folder, by links."""
    found = distribution(name)
    for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
        if not (folder / top).exists():
            (folder / top).symlink_to(Path(str(found.locate_file(top))))
    for needed in map(Requirement, found.requires or ()):
        if not needed.marker or needed.marker.evaluate({"extra": ""}):
            link(needed.name, folder)


def unpack(sdist: Path, folder: Path) -> None:
    # By hand, for Python 3.11.0 to 3.11.3: they lack the filter that 3.12 warns about leaving out.
    with tarfile.open(sdist) as archive:
        for member in archive:
            data = archive.extractfile(member)
            if data:
                (folder / member.name).parent.mkdir(parents=True, exist_ok=True)
                (folder / member.name).write_bytes(data.read())


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def metadata(wheel: Path) -> Message:
    [text] = [text for name, text in contents(wheel).items() if name.endswith("/METADATA")]
    return message_from_bytes(text)


def test_the_wheel_holds_every_file_of_the_package_and_its_licence(wheel: Path) -> None:
    source = ROOT / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in (source / "hansard").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    found = contents(wheel)

    assert "hansard/py.typed" in expected
    assert {name for name in found if ".dist-info/" not in name} == expected
    assert any(name.endswith("licenses/LICENSE") for name in found)


def test_the_wheel_asks_for_the_two_core_dependencies_alone(wheel: Path) -> None:
    about = metadata(wheel)
    asked = [Requirement(text) for text in about.get_all("Requires-Dist", [])]

    assert {each.name for each in asked if not each.marker} == CORE
    assert all("extra" in str(each.marker) for each in asked if each.marker)
    assert about["Requires-Python"] == ">=3.11"


def test_the_wheel_imports_where_nothing_but_its_core_dependencies_is_installed(
    unpacked: Path,
) -> None:
    script = "import sys; sys.path.append(sys.argv[1]); import hansard; print(hansard.__file__)"
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", script, str(unpacked)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert done.stderr == ""
    assert Path(done.stdout.strip()) == unpacked / "hansard/__init__.py"


def test_the_source_distribution_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    unpack(build(ROOT, "sdist", tmp_path / "sdist"), tmp_path / "source")
    [source] = (tmp_path / "source").iterdir()

    again = build(source, "wheel", tmp_path / "wheel")

    assert contents(again) == contents(wheel)
