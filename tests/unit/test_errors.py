"""Every error survives pickling, with all it knows."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import TYPE_CHECKING

import pytest

from hansard import errors
from hansard.errors import DecodeError, HansardError, Invalid, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = [getattr(errors, name) for name in errors.__all__]

COPIES: dict[str, Callable[[HansardError], HansardError]] = {
    "pickle": lambda error: pickle.loads(pickle.dumps(error)),  # noqa: S301 -- our own bytes
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def example(kind: type[HansardError]) -> HansardError:
    """Make an error with every argument it can take."""
    named = [
        parameter.name
        for parameter in inspect.signature(kind.__init__).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    given = {"calls": ["a", "b"], "losses": ["c"], "status": 529, "body": b"\x00{}"}
    return kind("expected a, found b", **{name: given.get(name, f"the {name}") for name in named})


def test_all_errors_are_listed() -> None:
    found = {
        name
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, BaseException)
    }
    assert found == set(errors.__all__)
    assert list(errors.__all__) == sorted(errors.__all__)


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    assert errors.__doc__ is not None
    for kind in KINDS:
        line = next(line for line in errors.__doc__.splitlines() if kind.__name__ in line.split())
        for base in (ValueError, ImportError):
            assert (f"({base.__name__})" in line) == (base in kind.__bases__)


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("kind", KINDS, ids=errors.__all__)
def test_a_copied_error_keeps_its_words_and_attributes(kind: type[HansardError], way: str) -> None:
    error = example(kind)
    error.add_note("a note")
    copied = COPIES[way](error)
    assert type(copied) is kind
    assert (str(copied), copied.args, vars(copied)) == (str(error), error.args, vars(error))
    assert vars(error)  # So that the comparison above compares something.


@pytest.mark.parametrize("way", COPIES)
def test_a_copied_error_does_not_share_its_state(way: str) -> None:
    error = DecodeError("expected a", reason="not_json")
    copied = COPIES[way](error)
    vars(copied)["reason"] = "other"
    assert error.reason == "not_json"


def test_a_pickled_missing_extra_is_still_an_import_error_with_its_message() -> None:
    error = MissingExtra("pip install hansard[redis]", extra="redis")
    copied = pickle.loads(pickle.dumps(error))  # noqa: S301 -- our own bytes
    assert isinstance(copied, ImportError)
    assert copied.msg == error.msg == "pip install hansard[redis]"


def test_an_error_of_an_applications_own_can_be_pickled_too() -> None:
    copied = pickle.loads(pickle.dumps(Own("expected a", code=7)))  # noqa: S301 -- our own bytes
    assert (str(copied), copied.code) == ("expected a", 7)


class Own(Invalid):
    """What an application may derive, with an argument of its own."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


def test_sequences_are_kept_as_tuples() -> None:
    assert errors.PendingCalls("wait", calls=["a"]).calls == ("a",)
    assert errors.Unsayable("no words", losses=["a"]).losses == ("a",)


def test_the_callers_mistakes_and_foreign_bytes_are_value_errors() -> None:
    assert issubclass(Invalid, ValueError)
    assert issubclass(DecodeError, ValueError)
    assert not issubclass(errors.ProviderError, ValueError)
