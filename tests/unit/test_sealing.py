"""A sealed value opens whole, for the one it was sealed for and in its own place, or not at all."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.kdf.kbkdf import KBKDFCMAC, CounterLocation, Mode

import hansard.sealing
from hansard.errors import HansardError, Invalid, InvalidKey, SealBroken
from hansard.sealing import Keyring

if TYPE_CHECKING:
    from collections.abc import Callable

OLD_KEY = bytes(range(32))
NEW_KEY = bytes(range(32, 64))
NONCE = b"ABCDEFGHIJKLMNOPQRSTUVWX"

OLD = Keyring({"2026-10": OLD_KEY}, current="2026-10")
BOTH = Keyring({"2026-10": OLD_KEY, "2026-11": NEW_KEY}, current="2026-11")
NEW = Keyring({"2026-11": NEW_KEY}, current="2026-11")


def fixed_nonce(size: int) -> bytes:
    assert size == len(NONCE)
    return NONCE


def refusal(
    keyring: Keyring,
    sealed: bytes,
    *,
    owner: str = "ada",
    purpose: str = "state",
    context: tuple[str | int | bytes, ...] = (),
) -> SealBroken:
    with pytest.raises(SealBroken) as caught:
        keyring.open(sealed, owner=owner, purpose=purpose, context=context)
    return caught.value


def xaes_256_gcm(key: bytes, nonce: bytes, plain: bytes, associated: bytes) -> bytes:
    """Seal by the published construction, over the library's own NIST SP 800-108 derivation."""
    derivation = KBKDFCMAC(
        algorithm=AES,
        mode=Mode.CounterMode,
        length=32,
        rlen=2,
        llen=None,
        location=CounterLocation.BeforeFixed,
        label=None,
        context=None,
        fixed=b"X\x00" + nonce[:12],
    )
    return AESGCM(derivation.derive(key)).encrypt(nonce[12:], plain, associated)


class TestFormat:
    @pytest.mark.parametrize(
        ("key", "associated", "expected"),
        [
            (
                b"\x01" * 32,
                b"",
                "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271",
            ),
            (
                b"\x03" * 32,
                b"c2sp.org/XAES-256-GCM",
                "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d",
            ),
        ],
    )
    def test_the_reference_used_here_answers_the_published_vectors(
        self, key: bytes, associated: bytes, expected: str
    ) -> None:
        assert xaes_256_gcm(key, NONCE, b"XAES-256-GCM", associated).hex() == expected

    def test_a_sealed_value_is_what_the_primitives_make_of_the_documented_layout(self) -> None:
        keyring = Keyring({"k2": NEW_KEY}, current="k2", random_bytes=fixed_nonce)
        header = b"\x9eHSL" + b"\x01" + b"\x02" + b"k2" + NONCE
        binding = (
            b"s" + bytes(7) + b"\x04" + "zoë".encode()
            + b"s" + bytes(7) + b"\x05" + b"entry"
            + b"b" + bytes(7) + b"\x02" + b"\x00\xff"
            + b"i" + bytes(7) + b"\x02" + b"\x00\x80"
            + b"i" + bytes(7) + b"\x01" + b"\xff"
        )  # fmt: skip

        sealed = keyring.seal(
            b'{"a": 1}', owner="zoë", purpose="entry", context=(b"\x00\xff", 128, -1)
        )

        assert sealed == header + xaes_256_gcm(NEW_KEY, NONCE, b'{"a": 1}', header + binding)

    def test_a_value_sealed_by_the_first_release_still_opens(self) -> None:
        sealed = bytes.fromhex(
            "9e48534c0107323032362d31304142434445464748494a4b4c4d4e4f505152535455565758f19f1d"
            "ebd385a411b685a41eb7e01fe1e2a1c0342a7bffdddba9e26b4a88"
        )

        assert OLD.open(sealed, owner="ada", purpose="state", context=("c", 7)) == b'{"version": 2}'

    def test_the_first_byte_is_that_of_no_other_kind_of_blob(self) -> None:
        first = OLD.seal(b"", owner="ada", purpose="state")[:1]

        with pytest.raises(UnicodeDecodeError):
            first.decode("utf-8")
        assert first not in {b"\x1f", b"\x28", b"\x78", b"\xfe", b"\xff", b"\xef"}

    @pytest.mark.parametrize(
        "plain", [b"", b"{}", b' {"version": 1}', b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x9eHS"]
    )
    def test_plain_bytes_are_not_taken_for_sealed_ones(self, plain: bytes) -> None:
        assert not Keyring.is_sealed(plain)
        assert Keyring.is_sealed(OLD.seal(plain, owner="ada", purpose="state"))

    def test_sealing_the_same_twice_gives_two_different_values(self) -> None:
        sealed = {OLD.seal(b"same", owner="ada", purpose="state") for _ in range(100)}

        assert len(sealed) == 100


class TestRefusals:
    def test_every_flipped_bit_is_detected(self) -> None:
        # Six of the ids that one flipped bit makes of "1" are held too, so these are looked up.
        ring = {key_id: os.urandom(32) for key_id in "1!0359q"}
        keyring = Keyring(ring, current="1")
        sealed = keyring.seal(b"sure", owner="ada", purpose="state")
        reasons = []
        for position in range(len(sealed) * 8):
            flipped = bytearray(sealed)
            flipped[position // 8] ^= 1 << position % 8
            reasons.append(refusal(keyring, bytes(flipped)).reason)

        magic, version, key_id, rest = 0, 4 * 8, 5 * 8, 7 * 8
        assert set(reasons[magic:version]) == {"not_sealed"}
        assert set(reasons[version:key_id]) == {"version"}
        assert set(reasons[key_id:rest]) == {"truncated", "unknown_key", "authentication"}
        assert set(reasons[rest:]) == {"authentication"}

    def test_a_cut_at_every_length_is_detected(self) -> None:
        sealed = OLD.seal(b"sure", owner="ada", purpose="state")

        reasons = [refusal(OLD, sealed[:size]).reason for size in range(len(sealed))]

        assert reasons == (
            ["not_sealed"] * 4 + ["truncated"] * (len(sealed) - 8) + ["authentication"] * 4
        )

    def test_bytes_put_after_the_end_are_detected(self) -> None:
        sealed = OLD.seal(b"sure", owner="ada", purpose="state")

        assert refusal(OLD, sealed + b"\x00").reason == "authentication"

    @pytest.mark.parametrize(
        "plain", [b"", b"{}", b"null", b"\x1f\x8b\x08", b"\x9e", bytes(range(256))]
    )
    def test_plain_bytes_are_never_opened(self, plain: bytes) -> None:
        assert refusal(OLD, plain).reason == "not_sealed"

    def test_a_version_from_the_future_is_refused_by_its_number(self) -> None:
        error = refusal(OLD, b"\x9eHSL\x02 laid out in some other way")

        assert error.reason == "version"
        assert "found 2" in str(error)

    def test_the_head_of_one_value_on_the_ciphertext_of_another_is_detected(self) -> None:
        first, second = (OLD.seal(b"sure", owner="ada", purpose="state") for _ in range(2))

        assert refusal(OLD, first[:-20] + second[-20:]).reason == "authentication"

    def test_a_key_id_written_by_an_attacker_comes_out_printable(self) -> None:
        forged = b"\x9eHSL\x01" + b"\x06" + b"a\nb\xff\x00c" + bytes(60)

        error = refusal(OLD, forged)

        assert error.reason == "unknown_key"
        assert error.key_id is not None
        assert str(error).isprintable()
        assert "found 'a\\nb" in str(error)

    def test_a_value_longer_than_any_that_was_sealed_is_refused_before_memory_is_spent(
        self,
    ) -> None:
        sealed = OLD.seal(b"sure", owner="ada", purpose="state")

        assert refusal(OLD, OfSize(sealed)).reason == "authentication"

    @pytest.mark.parametrize(
        ("sealed", "reason", "key_id"),
        [
            (b"{}", "not_sealed", None),
            (b"\x9eHSL\x09", "version", None),
            (b"\x9eHSL\x01\x01k", "truncated", None),
            (b"\x9eHSL\x01\x01k" + bytes(40), "unknown_key", "k"),
            (b"\x9eHSL\x01\x072026-10" + bytes(40), "authentication", "2026-10"),
        ],
    )
    def test_a_refusal_says_why_and_survives_pickling(
        self, sealed: bytes, reason: str, key_id: str | None
    ) -> None:
        error = pickle.loads(pickle.dumps(refusal(OLD, sealed)))  # noqa: S301  (just written)

        assert isinstance(error, SealBroken)
        assert isinstance(error, HansardError)
        assert (error.reason, error.key_id) == (reason, key_id)
        assert "expected" in str(error)
        assert "found" in str(error)


class TestBinding:
    def test_a_value_opens_for_its_owner_purpose_and_context(self) -> None:
        sealed = OLD.seal(b"mine", owner="ada", purpose="entry", context=("inc", 3))

        assert OLD.open(sealed, owner="ada", purpose="entry", context=("inc", 3)) == b"mine"

    @pytest.mark.parametrize(
        ("owner", "purpose", "context"),
        [
            ("bob", "entry", ("inc", 3)),
            ("ada", "state", ("inc", 3)),
            ("entry", "ada", ("inc", 3)),
            ("ada", "entry", ()),
            ("ada", "entry", ("inc",)),
            ("ada", "entry", ("inc", 4)),
            ("ada", "entry", ("cni", 3)),
            ("ada", "entry", (3, "inc")),
            ("ada", "entry", ("inc", 3, 0)),
            ("ada", "entry", ("inc", 3, "")),
        ],
    )
    def test_transplanted_to_another_place_it_does_not_open(
        self, owner: str, purpose: str, context: tuple[str | int | bytes, ...]
    ) -> None:
        sealed = OLD.seal(b"mine", owner="ada", purpose="entry", context=("inc", 3))

        error = refusal(OLD, sealed, owner=owner, purpose=purpose, context=context)

        assert error.reason == "authentication"

    def test_bindings_that_would_read_the_same_when_joined_are_told_apart(self) -> None:
        bindings: list[tuple[str, str, tuple[str | int | bytes, ...]]] = [
            ("ab", "c", ()),
            ("a", "bc", ()),
            ("a", "b", ("c",)),
            ("a", "b", (b"c",)),
            ("a", "b", ("c", "")),
            ("a", "b", ("", "c")),
            ("a", "b", (99,)),
            ("a", "b", ("99",)),
            ("a", "b", (-99,)),
            ("a", "b", (255,)),
            ("a", "b", (-1,)),
            ("a", "b", (0,)),
            ("a", "b", (b"\x00",)),
            ("a", "b", (b"",)),
            ("a", "b", ("é",)),
            ("a", "b", ("e\u0301",)),
            ("a", "b", ("\ud83d\ude00",)),
            ("a", "b", ("\U0001f600",)),
            ("a", "b", ("\ud83d",)),
            ("a", "b", ("\ude00",)),
            ("a", "b", ("?",)),
        ]
        for one, other in combinations(bindings, 2):
            sealed = OLD.seal(b"", owner=one[0], purpose=one[1], context=one[2])
            error = refusal(OLD, sealed, owner=other[0], purpose=other[1], context=other[2])
            assert error.reason == "authentication"

    @pytest.mark.parametrize(("owner", "purpose"), [("", "state"), ("ada", "")])
    def test_an_empty_owner_or_purpose_is_refused(self, owner: str, purpose: str) -> None:
        sealed = OLD.seal(b"", owner="ada", purpose="state")

        with pytest.raises(Invalid, match="name them"):
            OLD.seal(b"", owner=owner, purpose=purpose)
        with pytest.raises(Invalid, match="name them"):
            OLD.open(sealed, owner=owner, purpose=purpose)

    def test_a_context_of_any_other_type_is_refused(self) -> None:
        with pytest.raises(Invalid, match="found float"):
            OLD.seal(b"", owner="ada", purpose="state", context=(1.5,))  # type: ignore[arg-type]

    def test_a_binding_of_unreasonable_length_is_refused(self) -> None:
        with pytest.raises(Invalid, match="at most 65536 bytes"):
            OLD.seal(b"", owner="ada", purpose="state", context=(bytes(65_536),))


class TestRotation:
    def test_an_old_key_still_opens_and_the_current_one_seals(self) -> None:
        old = OLD.seal(b"kept", owner="ada", purpose="state")
        new = BOTH.seal(b"kept", owner="ada", purpose="state")

        assert BOTH.open(old, owner="ada", purpose="state") == b"kept"
        assert NEW.open(new, owner="ada", purpose="state") == b"kept"

    def test_a_removed_key_is_named(self) -> None:
        error = refusal(NEW, OLD.seal(b"kept", owner="ada", purpose="state"))

        assert (error.reason, error.key_id) == ("unknown_key", "2026-10")
        assert "'2026-11'" in str(error)

    def test_another_key_under_the_same_id_does_not_open(self) -> None:
        impostor = Keyring({"2026-10": NEW_KEY}, current="2026-10")

        error = refusal(impostor, OLD.seal(b"kept", owner="ada", purpose="state"))

        assert (error.reason, error.key_id) == ("authentication", "2026-10")

    def test_resealing_moves_a_value_to_the_current_key_in_its_place(self) -> None:
        old = OLD.seal(b"kept", owner="ada", purpose="entry", context=("inc", 3))

        new = BOTH.reseal(old, owner="ada", purpose="entry", context=iter(("inc", 3)))

        assert NEW.open(new, owner="ada", purpose="entry", context=("inc", 3)) == b"kept"

    def test_resealing_what_is_current_returns_it_unchanged(self) -> None:
        sealed = BOTH.seal(b"kept", owner="ada", purpose="state")

        assert BOTH.reseal(sealed, owner="ada", purpose="state") is sealed

    @pytest.mark.parametrize("keyring", [OLD, NEW])
    def test_resealing_never_passes_on_what_does_not_open(self, keyring: Keyring) -> None:
        sealed = keyring.seal(b"kept", owner="ada", purpose="state")

        with pytest.raises(SealBroken):
            BOTH.reseal(sealed, owner="bob", purpose="state")
        with pytest.raises(SealBroken):
            BOTH.reseal(b"{}", owner="ada", purpose="state")

    def test_a_single_key_can_be_rotated_later_under_its_id(self) -> None:
        sealed = Keyring.single(OLD_KEY).seal(b"kept", owner="ada", purpose="state")
        later = Keyring({"1": OLD_KEY, "2": NEW_KEY}, current="2")

        assert later.open(sealed, owner="ada", purpose="state") == b"kept"


class TestKeyring:
    @pytest.mark.parametrize(
        ("keys", "current", "complaint"),
        [
            ({}, "a", "no keys at all"),
            ({"a": OLD_KEY}, "b", "found 'b' beside 'a'"),
            ({"a": OLD_KEY[:31]}, "a", "expected 32 bytes as key 'a', found 31"),
            ({"a": OLD_KEY + b"\x00"}, "a", "expected 32 bytes as key 'a', found 33"),
            ({"a": OLD_KEY.hex()}, "a", "found str"),
            ({"": OLD_KEY}, "", "1 to 64 printable ASCII"),
            ({"k" * 65: OLD_KEY}, "k" * 65, "1 to 64 printable ASCII"),
            ({"é": OLD_KEY}, "é", "1 to 64 printable ASCII"),
            ({"a\n": OLD_KEY}, "a\n", "1 to 64 printable ASCII"),
            ({1: OLD_KEY}, 1, "1 to 64 printable ASCII"),
            ({"a": OLD_KEY, "b": OLD_KEY}, "a", "same bytes under two"),
        ],
    )
    def test_keys_that_cannot_be_used_are_refused_without_being_shown(
        self, keys: dict[str, bytes], current: str, complaint: str
    ) -> None:
        with pytest.raises(InvalidKey, match=complaint) as caught:
            Keyring(keys, current=current)

        assert OLD_KEY.hex()[:8] not in str(caught.value)
        assert repr(OLD_KEY)[2:10] not in str(caught.value)

    def test_an_id_of_the_greatest_length_works(self) -> None:
        keyring = Keyring.single(OLD_KEY, key_id="k" * 64)

        assert keyring.open(
            keyring.seal(b"kept", owner="ada", purpose="state"), owner="ada", purpose="state"
        ) == b"kept"  # fmt: skip

    def test_its_repr_names_the_keys_and_shows_nothing_of_them(self) -> None:
        assert repr(BOTH) == "<Keyring current='2026-11' ids=['2026-10', '2026-11']>"
        assert str(BOTH) == repr(BOTH)

    @pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
    def test_it_refuses_to_be_pickled_so_keys_do_not_travel_unnoticed(
        self, take: Callable[[Keyring], object]
    ) -> None:
        with pytest.raises(Invalid, match="stay in its process"):
            take(BOTH)

    def test_it_cannot_be_changed_from_outside(self) -> None:
        keys = {"a": OLD_KEY}
        keyring = Keyring(keys, current="a")
        sealed = keyring.seal(b"kept", owner="ada", purpose="state")
        keys["a"] = NEW_KEY

        assert keyring.open(sealed, owner="ada", purpose="state") == b"kept"
        with pytest.raises(AttributeError):
            keyring.current = "b"  # type: ignore[misc]

    def test_generated_keys_are_usable_and_differ(self) -> None:
        one, other = Keyring.generate_key(), Keyring.generate_key()

        keyring = Keyring({"a": one, "b": other}, current="a")
        assert keyring.current == "a"

    def test_a_nonce_source_that_gives_too_little_seals_nothing(self) -> None:
        keyring = Keyring({"a": OLD_KEY}, current="a", random_bytes=lambda size: bytes(size - 1))

        with pytest.raises(Invalid, match="found 23"):
            keyring.seal(b"", owner="ada", purpose="state")

    def test_more_than_can_be_opened_again_is_not_sealed(self) -> None:
        with pytest.raises(Invalid, match="seal it in parts"):
            OLD.seal(OfSize(b""), owner="ada", purpose="state")

    def test_threads_can_share_one(self) -> None:
        def roundtrip(number: int) -> bytes:
            sealed = BOTH.seal(b"%d" % number, owner="ada", purpose="state", context=(number,))
            return BOTH.open(sealed, owner="ada", purpose="state", context=(number,))

        with ThreadPoolExecutor(4) as threads:
            opened = list(threads.map(roundtrip, range(500)))

        assert opened == [b"%d" % number for number in range(500)]


class TestSecrecy:
    @pytest.mark.parametrize(
        ("keyring", "owner"), [(OLD, "bob"), (NEW, "ada")], ids=["authentication", "unknown_key"]
    )
    def test_a_report_with_the_locals_of_every_frame_shows_no_key_and_no_plaintext(
        self, keyring: Keyring, owner: str
    ) -> None:
        error = refusal(keyring, OLD.seal(b"a secret", owner="ada", purpose="state"), owner=owner)

        report = traceback.TracebackException.from_exception(error, capture_locals=True)
        chain = [report, *filter(None, (report.__cause__, report.__context__))]
        frames = [frame for part in chain for frame in part.stack]
        shown = str(error) + "".join(
            f"{name}={value}\n"
            for frame in frames
            if frame.filename == hansard.sealing.__file__
            for name, value in (frame.locals or {}).items()
        )

        assert "sealed=" in shown
        for key in (OLD_KEY, NEW_KEY):
            assert key.hex()[:8] not in shown
            assert repr(key)[2:10] not in shown
        assert "secret" not in shown


class TestMissingExtra:
    def test_the_module_loads_without_loading_cryptography(self) -> None:
        program = """
            import sys
            from hansard.sealing import Keyring
            assert not Keyring.is_sealed(b"{}")
            assert len(Keyring.generate_key()) == 32
            print(sorted(name for name in sys.modules if name.split(".")[0] == "cryptography"))
        """

        assert run(program) == "[]"

    def test_making_a_keyring_without_the_extra_says_what_to_install(self) -> None:
        program = """
            import pickle, sys
            sys.modules["cryptography"] = None
            from hansard.errors import MissingExtra
            from hansard.sealing import Keyring
            try:
                Keyring.single(bytes(32))
            except MissingExtra as error:
                assert isinstance(error, ImportError)
                assert pickle.loads(pickle.dumps(error)).extra == "sealing"
                print(error)
        """

        assert "pip install 'hansard[sealing]'" in run(program)


class OfSize(bytes):
    """Bytes that say they are 2 GiB long, as only a machine with that much to spare could hold."""

    def __len__(self) -> int:
        return 2**31 + 64


def run(program: str) -> str:
    """Run a program in a fresh interpreter, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
