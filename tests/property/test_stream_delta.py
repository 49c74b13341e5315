"""What comes in pieces is put together as it was, however it was cut."""

from __future__ import annotations

import json
from typing import TypeAlias

from hypothesis import example, given
from hypothesis import strategies as st

from hansard import rawjson
from hansard.dialects.stream import ObjectDelta, StringDelta
from tests.property.strategies import ESCAPES, PAIRS, STRING_UNITS, objects_with_unknown_fields

HIGH = {chr(code) for code in range(0xD800, 0xDC00)}

_HALVES = PAIRS.map(lambda pair: [pair[:6], pair[6:]])
_UNITS = st.lists(
    st.one_of(STRING_UNITS.map(lambda unit: [unit]), ESCAPES.map(lambda unit: [unit]), _HALVES),
    max_size=8,
).map(lambda found: [unit for units in found for unit in units])


@st.composite
def pieces(draw: st.DrawFn) -> list[bytes]:
    """String literals that are one literal, cut between characters, also amid a surrogate pair."""
    units = draw(_UNITS)
    cuts = sorted(draw(st.lists(st.integers(0, len(units)), max_size=6)))
    bounds = zip([0, *cuts], [*cuts, len(units)], strict=True)
    return [('"' + "".join(units[start:end]) + '"').encode() for start, end in bounds]


@given(pieces())
@example([b'"\\ud83d"', b'""', b'"\\ude00"'])
@example([b'"\\ud83d"', b'"\\ud83d\\ude00"'])
@example([b'"\\ud83d"', b'"x"'])
@example([b'"\\ude00"', b'"\\ud83d"'])
@example([b'"\\ud83d\\ud83d"', b'"\\ude00"'])
@example([b'"\\\\"', b'"ud83d"'])
def test_a_string_in_pieces_shows_the_text_of_the_whole(literals: list[bytes]) -> None:
    whole = b'"' + b"".join([literal[1:-1] for literal in literals]) + b'"'
    delta = StringDelta()
    shown = [delta.add(literal) for literal in literals]
    assert delta.literal == whole
    assert bool(delta) == (whole != b'""')
    text = rawjson.unquote(whole)
    # The first half of a pair that never got its second is on the record, but is not shown.
    assert "".join(shown) == (text[:-1] if text[-1:] in HIGH else text)


JSON: TypeAlias = "int | str | list[JSON] | dict[str, JSON] | None"
_ONCE = frozenset({"id", "index"})

_LEAVES = st.one_of(st.none(), st.integers(0, 2), st.sampled_from(["", "x", "é", "\ud83d"]))
_PIECES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["id", "text", "other"]), inner, max_size=3),
        st.lists(
            st.dictionaries(st.sampled_from(["text", "id"]), inner, max_size=2).flatmap(
                lambda item: st.sampled_from([0, 1, 7]).map(lambda index: {"index": index, **item})
            ),
            max_size=3,
        ),
    ),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(st.sampled_from(["id", "text", "other", "list"]), _PIECES, max_size=4)


def merge(known: dict[str, JSON], piece: dict[str, JSON]) -> dict[str, JSON]:
    """What ``ObjectDelta`` promises, on parsed values."""
    for key, new in piece.items():
        old = known.get(key)
        if old is None:
            known[key] = grow([], new) if isinstance(new, list) else fresh(new)
        elif new is None:
            continue
        elif isinstance(old, str) and isinstance(new, str) and key not in _ONCE:
            known[key] = old + new
        elif isinstance(old, dict) and isinstance(new, dict):
            merge(old, new)
        elif isinstance(old, list) and isinstance(new, list):
            grow(old, new)
        elif key not in _ONCE or old == "":
            known[key] = grow([], new) if isinstance(new, list) else fresh(new)
    return known


def fresh(new: JSON) -> JSON:
    """A first value; lists in it are put together too."""
    return merge({}, new) if isinstance(new, dict) else new


def grow(known: list[JSON], new: list[JSON]) -> list[JSON]:
    """What ``ListDelta`` promises, on parsed values."""
    for item in new:
        index = item.get("index") if isinstance(item, dict) else None
        place = next(
            (old for old in known if isinstance(old, dict) and old.get("index") == index), None
        )
        if isinstance(item, dict) and index is not None and place is not None:
            merge(place, item)
        elif isinstance(item, dict) and index is not None:
            known.append(merge({}, item))
        else:
            known.append(item)
    return known


@given(st.lists(_OBJECTS, max_size=5))
@example([{"id": None}, {"id": "x"}, {"id": "y"}])
@example([{"text": None}, {"text": "x"}, {"text": "y"}, {"text": [1]}, {"text": None}])
def test_an_object_in_pieces_merges_as_promised(objects: list[dict[str, JSON]]) -> None:
    delta = ObjectDelta(_ONCE)
    merged: dict[str, JSON] = {}
    for piece in objects:
        delta.add(rawjson.dump(piece))
        merge(merged, json.loads(rawjson.dump(piece)))
    assert rawjson.compact(delta.literal) == delta.literal
    assert json.loads(delta.literal) == json.loads(rawjson.dump(merged))
    assert list(delta.members()) == list(merged)
    assert bool(delta) == bool(merged)


@given(st.lists(objects_with_unknown_fields(b"{}").map(rawjson.compact), min_size=1, max_size=3))
def test_no_field_is_ever_lost(objects: list[bytes]) -> None:
    delta = ObjectDelta(frozenset())
    for piece in objects:
        delta.add(piece)
    names = [key for piece in objects for key in rawjson.fields(piece)]
    assert list(delta.members()) == list(dict.fromkeys(names))


@given(objects_with_unknown_fields(b'{"a":1}').map(rawjson.compact))
def test_one_piece_alone_means_what_it_meant(raw: bytes) -> None:
    delta = ObjectDelta(frozenset())
    delta.add(raw)
    assert rawjson.value(delta.literal) == rawjson.value(raw) or b'"index"' in raw
