"""What the tests of stores begin with."""

from __future__ import annotations

import pytest

from hansard.record.pages import Head, Page, page_of
from hansard.record.record import Record
from tests.support.conversations import Writer


@pytest.fixture
def a_page() -> tuple[Page, Head]:
    """The first page of a conversation, and the head after it."""
    writer = Writer("openai")
    record = writer.exchange()
    before = Record("c", writer.dialect)
    return page_of(Head("i", "openai"), before, record, list(record.entries()), "c1")
