"""Whatever is sealed opens to the same, there and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hansard.errors import SealBroken
from hansard.sealing import Keyring

KEYRING = Keyring({"2026-10": b"\x01" * 32, "2026-11": b"\x02" * 32}, current="2026-11")

Binding = tuple[str, str, tuple[str | int | bytes, ...]]

# Lone surrogates are among the characters: a name that came from JSON may hold them.
texts = st.text(st.characters(), max_size=20)
names = texts.filter(bool)
values = st.one_of(texts, st.integers(), st.binary(max_size=20))
bindings = st.tuples(names, names, st.lists(values, max_size=3).map(tuple))


def seal(plain: bytes, binding: Binding) -> bytes:
    owner, purpose, context = binding
    return KEYRING.seal(plain, owner=owner, purpose=purpose, context=context)


def unseal(sealed: bytes, binding: Binding) -> bytes:
    owner, purpose, context = binding
    return KEYRING.open(sealed, owner=owner, purpose=purpose, context=context)


@given(st.binary(), bindings)
def test_what_was_sealed_opens_to_the_same_bytes(plain: bytes, binding: Binding) -> None:
    assert unseal(seal(plain, binding), binding) == plain


@given(bindings, bindings)
@example(("ab", "c", ()), ("a", "bc", ()))
@example(("a", "b", ("c",)), ("a", "b", (b"c",)))
def test_no_other_binding_opens_it(one: Binding, other: Binding) -> None:
    assume(one != other)

    with pytest.raises(SealBroken) as caught:
        unseal(seal(b"", one), other)
    assert caught.value.reason == "authentication"


@given(st.data(), st.text("ab", min_size=3, max_size=8))
def test_the_same_text_divided_elsewhere_is_another_binding(data: st.DataObject, text: str) -> None:
    cuts = st.tuples(
        st.integers(1, len(text) - 2), st.integers(0, len(text))
    ).map(lambda cut: (cut[0], max(cut[0] + 1, cut[1])))  # fmt: skip
    first, second = data.draw(st.tuples(cuts, cuts).filter(lambda pair: pair[0] != pair[1]))
    one, other = ((text[:begin], text[begin:end], (text[end:],)) for begin, end in (first, second))

    with pytest.raises(SealBroken):
        unseal(seal(b"", one), other)


@given(st.binary(max_size=40), st.data())
def test_any_replaced_stretch_of_a_sealed_value_is_detected(
    plain: bytes, data: st.DataObject
) -> None:
    binding: Binding = ("ada", "state", ())
    sealed = seal(plain, binding)
    begin = data.draw(st.integers(0, len(sealed)))
    end = data.draw(st.integers(begin, len(sealed)))
    changed = sealed[:begin] + data.draw(st.binary(max_size=60)) + sealed[end:]
    assume(changed != sealed)

    with pytest.raises(SealBroken):
        unseal(changed, binding)


@given(st.sampled_from([b"", b"\x9eHSL", b"\x9eHSL\x01", b"\x9eHSL\x01\x072026-11"]), st.binary())
def test_made_up_bytes_are_refused_and_nothing_else_goes_wrong(head: bytes, rest: bytes) -> None:
    with pytest.raises(SealBroken):
        unseal(head + rest, ("ada", "state", ()))
