"""What all parts of the dialect suite stand on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..dialects.dialect import Dialect
    from ..messages import Message, Part
    from .dialect_samples import DialectSamples

__all__ = ["DialectSuite", "expect", "no_exception", "shown"]

_SHOWN_MAX = 400


def expect(kept: object, promise: str, found: object = "") -> None:
    """Fail unless the promise was kept. Not ``assert``: that is left out by ``python -O``."""
    if not kept:
        raise AssertionError(f"expected {promise}; found {shown(found)}")


@contextmanager
def no_exception(given: object) -> Iterator[None]:
    """Fail, and tell from what, where a dialect raises."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"expected no {error!r} from {shown(given)}") from error


def shown(found: object) -> str:
    """What was found, in a few words."""
    text = found if isinstance(found, str) else repr(found)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"


class DialectSuite:
    """What every check has at hand."""

    dialect: Dialect
    samples: DialectSamples

    @property
    def sample_messages(self) -> list[Message]:
        """All sample messages, taken in."""
        return [self.dialect.message(sample.raw) for sample in self.samples.messages]

    def read_parts(self, messages: Iterable[bytes]) -> list[Part]:
        """All parts of native messages, in order."""
        return [part for raw in messages for part in self.dialect.message(raw).parts]
