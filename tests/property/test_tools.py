"""Tools of any signature: what fits arrives as it was meant, what does not is named."""

from __future__ import annotations

import datetime as dt
import enum
import inspect
import json
import math
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta

from hansard import rawjson
from hansard.errors import ToolError
from hansard.messages import ToolCall
from hansard.tools import results
from hansard.tools.checking import MISMATCHES_MAX, mismatches
from hansard.tools.context import ToolContext
from hansard.tools.docstrings import read_docstring
from hansard.tools.tool import FunctionTool, Tool, tool
from tests.conftest import scale
from tests.property.strategies import ANY_TEXT, json_documents, json_objects

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from hansard.rawjson import JSON

CONTEXT = ToolContext(call_id="1", tool_name="any", idempotency_key="key")
NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=8).map(lambda name: f"it_{name}")


class Fit(NamedTuple):
    """What a model may write, and the value that it is to become."""

    said: Any
    value: Any


class Misfit(NamedTuple):
    """What a model may not write, and where in it the mistake is."""

    said: Any
    where: str


@dataclass(frozen=True)
class Kind:
    """A type, with what fits it and what does not."""

    annotation: Any
    fits: SearchStrategy[Fit] = field(repr=False)
    misfits: SearchStrategy[Misfit] = field(repr=False)


class Unit(enum.Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


def plain(annotation: Any, values: SearchStrategy[Any], wrong: list[Any]) -> Kind:
    return Kind(
        annotation,
        values.map(lambda value: Fit(value, value)),
        st.sampled_from(wrong).map(lambda said: Misfit(said, "")),
    )


DATES = Kind(
    dt.date,
    st.dates().map(lambda day: Fit(day.isoformat(), day)),
    st.sampled_from([0, None, [], {"day": 1}]).map(lambda said: Misfit(said, "")),
)
UNITS = Kind(
    Unit,
    st.sampled_from(Unit).map(lambda unit: Fit(unit.value, unit)),
    st.sampled_from(["k", "CELSIUS", 1, None, True]).map(lambda said: Misfit(said, "")),
)
PLAIN = (
    plain(str, ANY_TEXT, [0, 1.5, True, None, [], {}]),
    plain(int, st.integers(), ["1", 1.5, True, None, [], {}]),
    plain(bool, st.booleans(), ["true", 0, None, [], {}]),
    plain(float, st.floats(allow_nan=False, allow_infinity=False), ["1.5", True, None, [], {}]),
    plain(Literal["a", 1], st.sampled_from(["a", 1]), ["b", 2, True, None]),
    plain(Annotated[int, Meta(ge=0, lt=9)], st.integers(0, 8), [-1, 9, 3.5, "3"]),
    plain(Annotated[str, Meta(min_length=2)], st.text(min_size=2, max_size=9), ["", "a", 22]),
    DATES,
    UNITS,
)


def list_of(kind: Kind) -> Kind:
    fits = st.lists(kind.fits, max_size=4)

    def spoilt(good: list[Fit], bad: Misfit) -> Misfit:
        return Misfit([*[each.said for each in good], bad.said], f"[{len(good)}]{bad.where}")

    return Kind(
        list[kind.annotation],  # type: ignore[name-defined]
        fits.map(lambda found: Fit([each.said for each in found], [each.value for each in found])),
        st.builds(spoilt, fits, kind.misfits) | st.just(Misfit("[]", "")),
    )


def dict_of(kind: Kind) -> Kind:
    fits = st.dictionaries(NAMES, kind.fits, max_size=4)

    def spoilt(good: dict[str, Fit], bad: Misfit) -> Misfit:
        said = {name: each.said for name, each in good.items()}
        return Misfit({**said, "bad": bad.said}, f".bad{bad.where}")

    return Kind(
        dict[str, kind.annotation],  # type: ignore[name-defined]
        fits.map(
            lambda found: Fit(
                {name: each.said for name, each in found.items()},
                {name: each.value for name, each in found.items()},
            )
        ),
        st.builds(spoilt, fits, kind.misfits) | st.just(Misfit([], "")),
    )


def optional(kind: Kind) -> Kind:
    return Kind(
        kind.annotation | None,
        kind.fits | st.just(Fit(None, None)),
        kind.misfits.filter(lambda bad: bad.said is not None and bad.where == ""),
    )


_NUMBERS = count()
"""Two types of one name cannot be told apart in a schema."""


def dataclass_of(kind: Kind) -> Kind:
    made = make_dataclass(
        f"Made{next(_NUMBERS)}", [("inside", kind.annotation), ("more", int, field(default=7))]
    )

    def with_misfit(bad: Misfit) -> Misfit:
        return Misfit({"inside": bad.said}, f".inside{bad.where}")

    return Kind(
        made,
        kind.fits.map(lambda fit: Fit({"inside": fit.said}, made(fit.value))),
        st.one_of(
            kind.misfits.map(with_misfit),
            st.just(Misfit({}, ".inside")),
            kind.fits.map(lambda fit: Misfit({"inside": fit.said, "odd": 1}, ".odd")),
            st.just(Misfit("inside", "")),
        ),
    )


def deeper(kinds: SearchStrategy[Kind]) -> SearchStrategy[Kind]:
    return st.one_of([kinds.map(make) for make in (list_of, dict_of, dataclass_of)])


def not_optional(kinds: SearchStrategy[Kind]) -> SearchStrategy[Kind]:
    return kinds | kinds.map(optional)


KINDS = not_optional(st.recursive(st.sampled_from(PLAIN), deeper, max_leaves=3))


@dataclass
class Signed:
    """A tool of some signature, and the kinds and defaults of what it takes."""

    tool: FunctionTool[..., Any]
    kinds: dict[str, Kind]
    defaults: dict[str, Any]


@st.composite
def signatures(draw: DrawFn) -> Signed:
    kinds = draw(st.dictionaries(NAMES, KINDS, min_size=1, max_size=4))
    defaults = {name: draw(kind.fits).value for name, kind in kinds.items() if draw(st.booleans())}

    def take(**arguments: object) -> object:
        return arguments

    take.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=kind.annotation,
                default=defaults.get(name, inspect.Parameter.empty),
            )
            for name, kind in kinds.items()
        ]
    )
    return Signed(tool(take), kinds, defaults)


def call(made: Tool, said: Mapping[str, object]) -> ToolCall:
    return ToolCall("1", made.name, rawjson.dump(said).decode())


def fitting(draw: Callable[..., Any], signed: Signed) -> dict[str, Fit]:
    """Arguments that fit; those that have a default are sometimes left out."""
    return {
        name: draw(kind.fits)
        for name, kind in signed.kinds.items()
        if name not in signed.defaults or draw(st.booleans())
    }


@settings(max_examples=scale(150, 3_000))
@given(signatures(), st.data())
def test_arguments_that_fit_arrive_as_the_values_that_were_meant(
    signed: Signed, data: st.DataObject
) -> None:
    fits = fitting(data.draw, signed)

    invocation = signed.tool.invoke(
        call(signed.tool, {name: fit.said for name, fit in fits.items()})
    )

    meant = {**signed.defaults, **{name: fit.value for name, fit in fits.items()}}
    assert invocation.run(CONTEXT) == meant


@settings(max_examples=scale(150, 3_000))
@given(signatures(), st.data())
def test_an_argument_that_does_not_fit_is_named(signed: Signed, data: st.DataObject) -> None:
    said = {name: fit.said for name, fit in fitting(data.draw, signed).items()}
    name = data.draw(st.sampled_from(sorted(signed.kinds)))
    bad = data.draw(signed.kinds[name].misfits)

    with pytest.raises(ToolError) as caught:
        signed.tool.invoke(call(signed.tool, {**said, name: bad.said}))

    _, *lines, _ = str(caught.value).split("\n")
    assert [line.split(":")[0] for line in lines] == [f"- {name}{bad.where}"]


@given(signatures(), st.data())
def test_an_argument_that_is_missing_or_superfluous_is_named(
    signed: Signed, data: st.DataObject
) -> None:
    said = {name: fit.said for name, fit in fitting(data.draw, signed).items()}
    needed = sorted(signed.kinds.keys() - signed.defaults.keys())
    missing = data.draw(st.sampled_from([None, *needed]))

    left = {name: value for name, value in said.items() if name != missing}

    with pytest.raises(ToolError) as caught:
        signed.tool.invoke(call(signed.tool, {**left, "superfluous": 1}))

    names = [missing] if missing else []
    _, *lines, _ = str(caught.value).split("\n")
    assert [line.split(":")[0] for line in lines] == [
        f"- {name}" for name in [*names, "superfluous"]
    ]


@given(signatures(), st.one_of(json_objects().map(bytes.decode), ANY_TEXT))
def test_whatever_a_model_writes_it_is_run_or_told_shortly_why_not(
    signed: Signed, arguments: str
) -> None:
    told = ""
    try:
        signed.tool.invoke(ToolCall("1", signed.tool.name, arguments))
    except ToolError as error:
        told = str(error)

    assert len(told) < 1_000 * MISMATCHES_MAX


@given(signatures())
def test_a_signature_gives_the_same_closed_schema_each_time(signed: Signed) -> None:
    again = tool(signed.tool.function)

    assert rawjson.dump(again.parameters) == rawjson.dump(signed.tool.parameters)
    assert again.parameters["additionalProperties"] is False


# -- anything at all ----------------------------------------------------------------------------

_KEYWORDS = st.sampled_from(
    [
        *["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "$defs", "properties"],
        *["required", "additionalProperties", "patternProperties", "items", "prefixItems"],
        *["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
        *["minLength", "maxLength", "minItems", "maxItems", "minProperties", "nullable"],
    ]
)
_ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(),
    st.sampled_from(["object", "array", "STRING", "integer", "a", "#", "#/$defs/a", "#/a/b"]),
)


def _more(inner: SearchStrategy[Any]) -> SearchStrategy[Any]:
    schemas = st.dictionaries(_KEYWORDS, inner, max_size=3)
    by_name = st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    return st.one_of(schemas, st.lists(inner, max_size=3), by_name)


@settings(max_examples=scale(300, 10_000))
@given(
    st.dictionaries(_KEYWORDS, st.recursive(_ODD, _more, max_leaves=8), max_size=4),
    st.recursive(
        _ODD,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
        ),
    ),
)
def test_any_value_can_be_checked_against_anything_that_calls_itself_a_schema(
    schema: dict[str, JSON], value: JSON
) -> None:
    found = mismatches(value, schema)

    assert len(found) <= MISMATCHES_MAX
    assert all(mismatch.within("it") for mismatch in found)


def finite(value: JSON) -> JSON:
    """The value, with null for what is beyond all numbers, as JSON cannot say it."""
    if isinstance(value, float) and math.isinf(value):
        return None
    if isinstance(value, list):
        return [finite(item) for item in value]
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    return value


@given(json_documents())
def test_any_json_that_a_tool_returns_is_told_as_it_is(raw: bytes) -> None:
    value = rawjson.value(rawjson.compact(raw))

    result = results.answer(ToolCall("1", "any"), value)

    if finite(value) != value:
        assert result.is_error
        return
    assert not result.is_error
    if isinstance(value, str):
        assert result.text == value
    elif value is not None:
        assert json.loads(result.text) == value


@given(
    st.lists(
        st.one_of(
            ANY_TEXT,
            st.sampled_from(
                [
                    "Args:",
                    "Raises:",
                    "Parameters",
                    "----------",
                    "    x: One.",
                    "x : int",
                    ":param x: y",
                ]
            ),
        ),
        max_size=12,
    )
)
def test_any_docstring_can_be_read(lines: list[str]) -> None:
    read = read_docstring("\n".join(lines))

    assert all(name.strip() == name for name in read.parameters)
