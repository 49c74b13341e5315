"""Runs: the pages at the end of a conversation that are not merged yet.

The page that is appended last is never merged at once: what stands beside it (the head, the lease)
is then small to write anew. So the run before it is merged when it would have become too long with
it, or when it may not be merged with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .rules import RUN_BYTES

if TYPE_CHECKING:
    from ..record.pages import Page

__all__ = ["Run"]


class Run(NamedTuple):
    """Pages from the one that begins with an entry on, and how many bytes they take."""

    first: int
    size: int

    def takes(self, page: Page) -> bool:
        """Whether a page goes on with this run; else that is to be merged, and another begins."""
        return not (page.starts or page.alone or self.size + page.size >= RUN_BYTES)

    def after(self, page: Page) -> Run:
        """Give the run as it is when a page is appended."""
        if page.alone or page.size >= RUN_BYTES:
            return Run(page.next, 0)
        if self.takes(page):
            return Run(self.first, self.size + page.size)
        return Run(page.first, page.size)
