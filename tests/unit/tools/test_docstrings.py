"""What docstrings say of functions and their parameters."""

from __future__ import annotations

import pytest

from hansard.tools.docstrings import Doc, read_docstring

GOOGLE = """Find words.

    In any book.

    Args:
        word: What to find,
            in lower case.
        limit (int, optional): How many.
        *more: Others.

    Returns:
        The words: all of them.

    Raises:
        ValueError: If there is none.
"""

NUMPY = """Find words.

    In any book.

    Parameters
    ----------
    word : str
        What to find,
        in lower case.
    limit, *more : int, optional
        How many.

    Returns
    -------
    list
        The words: all of them.

    Raises
    ------
    ValueError
        If there is none.
"""

SPHINX = """Find words.

    In any book.

    :param word: What to find,
        in lower case.
    :type word: str
    :param int limit: How many.
    :raises ValueError: If there is none.
    :returns: The words: all of them.
"""

WORD = "What to find, in lower case."


@pytest.mark.parametrize(
    ("doc", "parameters"),
    [
        (GOOGLE, {"word": WORD, "limit": "How many.", "more": "Others."}),
        (NUMPY, {"word": WORD, "limit": "How many.", "more": "How many."}),
        (SPHINX, {"word": WORD, "limit": "How many."}),
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_parameters_are_read_and_taken_out(doc: str, parameters: dict[str, str]) -> None:
    read = read_docstring(doc)

    assert read.parameters == parameters
    assert read.description.startswith("Find words.\n\nIn any book.")
    assert "The words: all of them." in read.description
    assert "ValueError" not in read.description
    assert "lower case" not in read.description


@pytest.mark.parametrize("doc", [None, "", "  \n "])
def test_no_docstring_says_nothing(doc: str | None) -> None:
    assert read_docstring(doc) == Doc()


@pytest.mark.parametrize(
    "doc",
    [
        "Find words.",
        "Note: this looks like a heading.\n\nArguments are words.",
        "A ratio:\n\n    a : b\n\nThat is all.",
        "parameters\nare not underlined",
        ":see: elsewhere",
    ],
)
def test_what_is_in_no_style_is_description(doc: str) -> None:
    assert read_docstring(doc) == Doc(doc)


def test_two_styles_in_one_docstring_are_both_read() -> None:
    read = read_docstring("Do.\n\nArgs:\n    a: One.\n\n:param b: Two.\n\nMore.")

    assert read == Doc("Do.\n\nMore.", {"a": "One.", "b": "Two."})
