"""Media are said whole or listed: no bytes without a type, no other provider's file, no nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hansard.dialects.dialect import Loss
from hansard.errors import Unsayable
from hansard.messages import Draft, Media, Native, Text, ToolCall, ToolResult, user
from tests.support.conversations import DIALECTS

if TYPE_CHECKING:
    from hansard.dialects.dialect import Dialect

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)

CALL = ToolCall("call_1", "look")
THEIRS = "file-theirs"
WORDS = {"openai": "text", "openai-responses": "input_text", "anthropic": "text", "gemini": "text"}
"""The kind of content that says text, in each dialect."""


def result(*content: Text | Media | Native) -> Draft:
    return Draft("tool", (ToolResult(CALL.id, CALL.name, content),))


@each_dialect
@pytest.mark.parametrize(
    "media",
    [
        Media("image", None, "iVBORw0KGgo="),
        Media("image", "", "iVBORw0KGgo="),
        Media("file", None, "JVBERi0=", name="a.pdf"),
        Media("audio", None, "UklGRg=="),
        Media("video", None, "AAAAGA=="),
        Media("image"),
        Media("image", "image/png", ""),
        Media("file", "application/pdf", url="", file_id="", name="a.pdf"),
        Media("audio", "audio/wav"),
    ],
    ids=lambda media: f"{media.kind}-{media.media_type}-{media.base64}",
)
def test_media_that_nobody_could_open_are_listed(dialect: Dialect, media: Media) -> None:
    assert media.base64 is None or media.base64 == "" or not media.media_type
    composed = dialect.compose(user("see", media))
    assert [(loss.message, loss.part) for loss in composed.losses] == [(0, media.kind)]
    assert [part for raw in composed.messages for part in dialect.read(raw).parts] == [Text("see")]
    with pytest.raises(Unsayable, match=media.kind):
        dialect.say(user("see", media))
    with pytest.raises(Unsayable, match=media.kind):
        dialect.result(CALL, ToolResult(CALL.id, CALL.name, (Text("see"), media)))


@pytest.mark.parametrize(
    "dialect",
    [each for each in DIALECTS if each.name != "openai"],
    ids=lambda each: each.name,
)
def test_the_reason_is_the_missing_type_and_not_the_kind(dialect: Dialect) -> None:
    composed = dialect.compose(user(Media("image", None, "iVBORw0KGgo=")))
    assert composed.losses == (Loss(0, "image", "its bytes have no media type"),)


@each_dialect
@pytest.mark.parametrize("kind", ["image", "file"])
def test_another_providers_file_is_listed_and_its_id_not_said(dialect: Dialect, kind: str) -> None:
    theirs = Media(kind, "application/pdf", file_id=THEIRS)  # type: ignore[arg-type]
    for draft in (user("see", theirs), result(Text("see"), theirs)):
        composed = dialect.compose(draft, foreign=True)
        assert [loss.part for loss in composed.losses] == [kind]
        said = b"".join(composed.messages)
        assert b"see" in said
        assert THEIRS.encode() not in said


@each_dialect
def test_the_bytes_beside_another_providers_id_are_said(dialect: Dialect) -> None:
    theirs = Media("image", "image/png", "iVBORw0KGgo=", file_id=THEIRS)
    composed = dialect.compose(user(theirs), foreign=True)
    assert not composed.losses
    (raw,) = composed.messages
    (part,) = dialect.read(raw).parts
    assert isinstance(part, Media)
    assert (part.base64, part.file_id) == ("iVBORw0KGgo=", None)


@pytest.mark.parametrize(
    "dialect",
    [each for each in DIALECTS if each.name != "openai"],
    ids=lambda each: each.name,
)
def test_the_bytes_beside_another_providers_id_are_said_in_a_result(dialect: Dialect) -> None:
    theirs = Media("image", "image/png", "iVBORw0KGgo=", file_id=THEIRS)
    composed = dialect.compose(result(theirs), foreign=True)
    assert not composed.losses
    said = b"".join(composed.messages)
    assert b"iVBORw0KGgo=" in said
    assert THEIRS.encode() not in said


@each_dialect
def test_what_another_provider_spelled_is_listed_also_where_it_looks_at_home(
    dialect: Dialect,
) -> None:
    """The kind of a native part means nothing in another dialect, even if both have the word."""
    kind = WORDS[dialect.name]
    theirs = Native(kind, b'{"type":"%s","text":"theirs"}' % kind.encode())
    for draft in (user("see", theirs), result(Text("see"), theirs)):
        composed = dialect.compose(draft, foreign=True)
        assert [loss.part for loss in composed.losses] == [kind]
        assert b"theirs" not in b"".join(composed.messages)
        assert b"theirs" in b"".join(dialect.compose(draft).messages)
