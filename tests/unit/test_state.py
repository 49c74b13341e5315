"""States: what was saved is loaded, what cannot be used is set aside, a seal that breaks raises."""

from __future__ import annotations

import gzip
import json
import pickle
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from zlib import crc32

import msgspec
import pytest

import hansard
from hansard import Limits, State
from hansard.dialects import registry
from hansard.dialects.openai_chat import OpenAIChat
from hansard.errors import Invalid, InvalidState, SealBroken
from hansard.messages import Usage
from hansard.neutral import conversation_state
from hansard.rawjson import DEPTH_MAX
from hansard.record import blob, versions, views
from hansard.record.entries import Compaction
from hansard.sealing import Keyring
from tests.support.conversations import Writer

if TYPE_CHECKING:
    from hansard.record.record import Record
    from hansard.state import Loaded, Rejected

GO = Path(__file__).parents[1] / "data" / "goblobs"
OPENAI = hansard.dialect("openai")
KEYRING = Keyring.single(b"k" * 32)

PLAIN = hansard.save(Writer().exchange())
V1 = b'{"version":1,"provider":"openai","processed_length":1,"messages":[%b]}'


def load(data: bytes | bytearray | None, limits: Limits | None = None) -> Loaded:
    return hansard.load(data, OPENAI, conversation="fresh", limits=limits or Limits())


def rejected(data: bytes, limits: Limits | None = None) -> Rejected:
    """Why a state was set aside; and what is left is a fresh conversation and the state."""
    loaded = load(data, limits)
    assert loaded.record.conversation == "fresh"
    assert (loaded.record.length, loaded.record.context.count) == (0, 0)
    assert loaded.rejected is not None
    assert loaded.rejected.blob == data
    return loaded.rejected


def forged(*, rest: bytes, name: bytes = b'"openai"', messages: bytes = b"") -> bytes:
    """A state of version 2 with the right sums, whatever it says."""
    start = b'{"version":2,"dialect":%b,"id":"c0","size":%d,"crc":"%08x","messages":[' % (
        name,
        len(messages),
        crc32(messages),
    )
    rest = b"]," + rest
    return b'%b%b%b,"sum":"%08x"}' % (start, messages, rest, crc32(rest, crc32(start)))


def opened(entries: bytes) -> bytes:
    return forged(rest=b'"count":0,"next":0,"heads":[],"open":%b' % entries)


REFUSED: dict[str, list[bytes]] = {
    "too_large": [gzip.compress(b" " * (Limits().unpacked_max + 1), 1)],
    "not_packed": [
        b"\x1f\x8b",
        gzip.compress(PLAIN)[:-1],
        gzip.compress(PLAIN) + b"\n",
        gzip.compress(PLAIN[:9]) + gzip.compress(PLAIN[9:]),
        gzip.compress(PLAIN)[:-8] + bytes(8),
    ],
    "not_utf8": [
        V1 % b'{"content":"\xff"}',
        b"\x80",
        forged(rest=b'"count":0,"next":0,"heads":[]', name=b'"\xe4"'),
    ],
    "not_json": [b" ", b"{", b"no", V1 % b"{}," + b" ", b"\xef\xbb\xbf{}"],
    "too_deep": [b"[" * 100_000, V1 % (b'{"a":' * 11_000 + b"1" + b"}" * 11_000)],
    "not_a_state": [
        b'{"version":2,}',
        PLAIN.replace(b'"dialect":', b'"dialect": '),
        PLAIN.replace(b'"size":', b'"size":0'),
    ],
    "version": [
        b"{}",
        b"null",
        b'{"version":3,"and":"more"}',
        b'{"version":999999999,',
        b'{"version":0}',
        b'{"version":1.0}',
        (V1 % b"").replace(b"1", b'"1"', 1),
    ],
    "corrupt_blob": [
        PLAIN[:-1],
        PLAIN[:-30],
        PLAIN + b" ",
        forged(rest=b'"count":0,"next":0'),
        forged(rest=b'"count":0,"next":0,"heads":null'),
        forged(rest=b'"count":0,"next":0,"heads":[],"turns":null'),
        forged(rest=b'"count":0,"next":0,"heads":[],"open":{}'),
        forged(rest=b'"count":0,"next":0,"heads":[],"compacted_us":%d' % 2**62),
        forged(rest=b'"count":-1,"next":0,"heads":[]'),
        forged(rest=b'"count":0,"next":0,"heads":[],"turn":"\\ud800"'),
        forged(rest=b'"count":0,"next":0,"heads":[],,'),
        forged(rest=b'"count":0,"next":0,"heads":' + b"[" * 100_000 + b"]" * 100_000),
    ],
    "checksum": [
        PLAIN.replace(b"Hello", b"Hallo"),
        PLAIN.replace(b'"input"', b'"model"'),
        json.dumps(json.loads(PLAIN)).encode(),
        json.dumps(json.loads(PLAIN), sort_keys=True).encode(),
    ],
    "corrupt_message": [
        V1 % b"1",
        V1 % b'{},"text"',
        V1 % b'{"role":5}',
        V1 % b'{"role":"tool","Tool_Call_ID":5}',
        (V1 % b'{"role":"user","parts":[]},{"role":"user","parts":5}').replace(
            b"openai", b"gemini"
        ),
    ],
    "corrupt_entry": [
        opened(b'[{"kind":"mark","seq":0,"name":"late","at_us":%d}]' % 2**62),
        opened(b'[{"kind":"unheard of","seq":0}]'),
        opened(b'[{"kind":"turn.begin","seq":"0","turn_id":"t"}]'),
        opened(b'[{"kind":"mark","seq":0,"name":"\\ud800"},{"kind":"mark"}]'),
    ],
    "unexpected_type": [
        b"[]",
        b'"text"',
        (V1 % b"").replace(b"[]", b"{}"),
        b'{"version":1,"provider":1}',
    ],
    "illegal_entry": [
        opened(b'[{"kind":"mark","seq":5,"name":"gap"}]'),
        opened(b'[{"kind":"turn.end","seq":0,"status":"done"}]'),
        opened(b'[{"kind":"rewind","seq":0,"to":0}]'),
    ],
    "unknown_dialect": [
        (V1 % b"").replace(b"openai", b"gpt"),
        b'{"version":1,"messages":[]}',
        forged(rest=b'"count":0,"next":0,"heads":[]', name=b'"\\ud800"'),
    ],
    "other_dialect": [
        hansard.save(Writer("gemini").exchange()),
        hansard.save(Writer("anthropic").exchange(), version=1),
    ],
}
"""For each code what is refused with it."""


@pytest.mark.parametrize(
    ("code", "data"),
    [
        pytest.param(code, bytes(data), id=f"{code}-{number}")
        for code, states in REFUSED.items()
        for number, data in enumerate(states)
    ],
)
def test_what_cannot_be_used_is_set_aside_for_this_reason(code: str, data: bytes) -> None:
    refusal = rejected(data)
    assert refusal.reason == code
    assert refusal.detail.startswith(("expected", "a turn"))
    assert repr(refusal) == f"<Rejected {code}: {refusal.detail} ({len(data)} bytes)>"


def test_every_documented_reason_is_produced_and_no_other() -> None:
    documented = set(re.findall("``([a-z_0-9]+)``", hansard.Rejected.__doc__ or ""))
    assert documented == set(REFUSED)


def test_a_forged_state_that_says_nothing_wrong_is_a_state() -> None:
    """So the forged ones above are refused for what is wrong in them."""
    loaded = load(opened(b'[{"kind":"turn.begin","seq":0,"turn":1,"turn_id":"t"}]'))
    assert loaded.rejected is None
    assert loaded.record.turn is not None
    assert loaded.record.conversation == "c0"


# -- beginnings -------------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [None, b"", State(b"")], ids=["none", "bytes", "state"])
def test_no_state_begins_a_conversation(nothing: bytes | None) -> None:
    loaded = load(nothing)
    assert loaded.rejected is None
    assert (loaded.record.conversation, loaded.record.length) == ("fresh", 0)
    assert loaded.record.dialect is OPENAI


def test_a_state_brings_its_own_id_and_one_of_version_1_gets_one() -> None:
    assert load(PLAIN).record.conversation == "c0"
    assert load(hansard.save(Writer().exchange(), version=1)).record.conversation == "fresh"


def test_a_state_shows_what_it_is_and_not_what_it_says() -> None:
    record = Writer().exchange("secret")
    assert repr(hansard.save(record)) == f"<State {len(hansard.save(record))} bytes, JSON>"
    packed = hansard.save(record, compress="gzip")
    assert str(packed) == f"<State {len(packed)} bytes, gzip>"
    sealed = hansard.save(record, keyring=KEYRING, owner="u7")
    assert f"{sealed}" == f"<State {len(sealed)} bytes, sealed>"


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_whatever_bytes_a_database_gives_are_a_state(kind: type[bytes]) -> None:
    loaded = load(kind(PLAIN))
    assert loaded.rejected is None
    assert hansard.save(loaded.record) == PLAIN
    refusal = load(kind(b"{}")).rejected
    assert refusal is not None
    assert refusal.blob == b"{}"


def test_bytes_that_change_after_loading_change_nothing() -> None:
    data = bytearray(PLAIN)
    record = load(data).record
    data[:] = bytes(len(data))
    assert hansard.save(record) == PLAIN


def test_text_is_no_state() -> None:
    """A column of text would change lone surrogates, or refuse them."""
    with pytest.raises(Invalid, match="expected a state as bytes, found str"):
        load(PLAIN.decode())  # type: ignore[arg-type]


# -- how much is taken ------------------------------------------------------------------------


def test_a_state_may_have_the_largest_size_and_not_a_byte_more() -> None:
    assert load(PLAIN, Limits(size_max=len(PLAIN))).rejected is None
    assert rejected(PLAIN, Limits(size_max=len(PLAIN) - 1)).reason == "too_large"


def test_a_packed_state_may_unpack_to_the_largest_size_and_not_a_byte_more() -> None:
    packed = hansard.save(load(PLAIN).record, compress="gzip")
    assert load(packed, Limits(unpacked_max=len(PLAIN))).rejected is None
    assert rejected(packed, Limits(unpacked_max=len(PLAIN) - 1)).reason == "too_large"


@pytest.mark.parametrize("version", [1, 2])
def test_a_state_may_have_so_many_messages_and_not_one_more(version: int) -> None:
    data = hansard.save(Writer().exchange(), version=version)
    assert load(data, Limits(messages_max=2)).rejected is None
    assert rejected(data, Limits(messages_max=1)).reason == "too_large"


@pytest.mark.parametrize("version", [1, 2])
def test_a_state_may_nest_so_deep_and_not_deeper(version: int) -> None:
    writer = Writer()
    writer.say(b'{"role":"user","content":"[[[[","x":[[[]]]}', "append")
    data = hansard.save(writer.record, version=version)
    assert load(data, Limits(depth_max=6)).rejected is None
    assert rejected(data, Limits(depth_max=5)).reason == "too_deep"


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        (Limits(size_max=300), "300 bytes"),
        (Limits(unpacked_max=300), "300 bytes, unpacked"),
        (Limits(messages_max=1), "1 messages, found 2"),
    ],
)
def test_what_would_not_be_loaded_again_is_not_saved_without_a_word(
    limits: Limits, found: str
) -> None:
    record = Writer().exchange()
    compress: Literal["gzip"] | None = "gzip" if "unpacked" in found else None
    with pytest.raises(InvalidState, match=f"at most {found}") as caught:
        hansard.save(record, compress=compress, limits=limits)
    assert caught.value.reason == "too_large"
    assert load(caught.value.state).rejected is None
    assert hansard.save(record, limits=Limits()) == hansard.save(record)


@pytest.mark.parametrize("version", [1, 2])
def test_what_was_loaded_can_be_pickled(version: int) -> None:
    loaded = load(hansard.save(Writer().exchange(), version=version))
    again = pickle.loads(pickle.dumps(loaded))  # noqa: S301 -- our own bytes
    assert hansard.save(again.record) == hansard.save(loaded.record)
    assert hansard.save(again.record, version=1) == hansard.save(loaded.record, version=1)


def test_the_size_is_judged_before_a_seal_is_opened() -> None:
    sealed = hansard.save(Writer().exchange(), keyring=KEYRING, owner="u7")
    limits = Limits(size_max=len(sealed) - 1)
    loaded = hansard.load(sealed, OPENAI, conversation="f", keyring=KEYRING, limits=limits)
    assert loaded.rejected is not None
    assert loaded.rejected.reason == "too_large"


@pytest.mark.parametrize("lead", [b"", b" "], ids=["quickly", "slowly"])
def test_a_message_of_version_1_nests_as_deep_as_can_be_looked_at_and_no_deeper(
    lead: bytes,
) -> None:
    """Another message has as many brackets, side by side and in a string: it is not deep."""
    flat = b'{"role":"user","x":[%b[]],"content":"%b"}' % (b"{}," * 300, b"[{" * 300)

    def nested(levels: int) -> bytes:
        deep = b'{"role":"user","x":%b%b}' % (b"[" * (levels - 1), b"]" * (levels - 1))
        return lead + V1 % (flat + b"," + deep)

    loaded = load(nested(DEPTH_MAX))
    assert loaded.rejected is None
    assert len(views.context(loaded.record)) == 2
    assert rejected(nested(DEPTH_MAX + 1)).reason == "too_deep"


BOMBS = """
import gzip, resource, sys, zlib
import hansard

def bomb(levels):
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    piece = bytes(1 << 20)
    made = b"".join([packer.compress(piece) for _ in range(320)]) + packer.flush()
    return made if levels == 1 else gzip.compress(made)

bombs = [bomb(1), bomb(2), b"[" * (16 << 20), gzip.compress(b'{"version":2,' * (4 << 20))]
dialect = hansard.dialect("openai")
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (700 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for each in bombs:
    print(hansard.load(each, dialect, conversation="c").rejected.reason)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits a process so")
def test_a_bomb_is_refused_in_little_memory() -> None:
    """320 MiB packed, packed once more, brackets only, and a head again and again."""
    done = subprocess.run(
        [sys.executable, "-c", BOMBS], capture_output=True, text=True, check=False
    )
    assert (done.stdout.split(), done.stderr) == (
        ["too_large", "not_utf8", "too_deep", "not_json"],
        "",
    )


CROWD = """
import resource, sys
import hansard
from hansard.record import views

crowded = sys.stdin.buffer.read()
record = hansard.load(crowded, hansard.dialect(sys.argv[1]), conversation="c").record
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (200 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    views.context(record)
except hansard.DecodeError as error:
    print(record.context.count, error.reason)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits a process so")
@pytest.mark.parametrize(
    ("name", "items"), [("openai", 1), ("openai-responses", 1), ("openai-responses", 10**9)]
)
@pytest.mark.parametrize("unit", [b"1,", b"{},", b'"\\ud800",'])
def test_more_messages_than_a_forged_state_admits_are_refused_in_little_memory(
    name: str, items: int, unit: bytes
) -> None:
    data = forged(
        name=b'"%b"' % name.encode(),
        rest=b'"count":1,"next":1,"heads":[[0,0,0,"user","input",%d]]' % items,
        messages=unit * (4 << 20) + b"1",
    )
    done = subprocess.run(
        [sys.executable, "-c", CROWD, name], input=data, capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b"1 corrupt_blob\n", b"")


@pytest.mark.parametrize("at_us", [10**18, -(10**18), 10**40])
def test_a_time_for_which_there_is_no_date_is_refused_when_somebody_looks(at_us: int) -> None:
    """It stands in a header, and headers are not looked at before."""
    raw = b'{"role":"user","content":"Hi"}'
    rest = b'"count":1,"next":1,"heads":[[0,0,%d,"user","append"]]' % at_us
    record = load(forged(rest=rest, messages=raw)).record
    with pytest.raises(hansard.DecodeError, match="expected headers"):
        conversation_state(record)


def test_a_great_many_messages_are_not_too_many() -> None:
    """From so many on they are counted before they are taken apart."""
    raw = b'{"role":"user","content":"' + b"," * 16 + b'"},'
    heads = b",".join([b'[%d,0,0,"user","append"]' % seq for seq in range(70_000)])
    rest = b'"count":70000,"next":70000,"heads":[%b]' % heads
    loaded = load(forged(rest=rest, messages=(raw * 70_000)[:-1]))
    assert len(loaded.record.context.lines()) == 70_000


# -- cut ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("compress", [None, "gzip"])
def test_a_state_cut_at_any_byte_is_set_aside(
    version: int, compress: Literal["gzip"] | None
) -> None:
    data = hansard.save(Writer().exchange("é"), version=version, compress=compress)
    for length in range(1, len(data)):
        rejected(data[:length])
        rejected(data[length:])


def test_a_sealed_state_cut_at_any_byte_does_not_open() -> None:
    sealed = hansard.save(Writer().exchange(), keyring=KEYRING, owner="u7")
    for length in range(1, len(sealed)):
        assert broken(sealed[:length], KEYRING)
        assert broken(sealed[length:], KEYRING)


# -- packed -----------------------------------------------------------------------------------


def test_packing_is_gzip_gives_equal_bytes_and_less_of_them() -> None:
    record = Writer().exchange("Hello " * 100)
    packed = hansard.save(record, compress="gzip")
    assert gzip.decompress(packed) == hansard.save(record)
    assert packed == hansard.save(record, compress="gzip")
    assert len(packed) < len(hansard.save(record))


def test_any_gzip_stream_is_unpacked() -> None:
    assert load(gzip.compress(PLAIN, mtime=7)).rejected is None


def test_a_zlib_stream_is_no_state() -> None:
    assert rejected(zlib.compress(PLAIN)).reason in {"not_utf8", "not_json"}


def test_another_compression_cannot_be_asked_for() -> None:
    with pytest.raises(Invalid, match="'gzip' or None"):
        hansard.save(Writer().exchange(), compress="zstd")  # type: ignore[arg-type]


# -- sealed -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("compress", [None, "gzip"])
def test_a_sealed_state_opens_to_what_was_saved(
    version: int, compress: Literal["gzip"] | None
) -> None:
    record = Writer().exchange("secret")
    sealed = hansard.save(record, version=version, compress=compress, keyring=KEYRING, owner="u7")
    assert bytes(sealed).find(b"secret") < 0
    loaded = hansard.load(sealed, OPENAI, conversation="f", keyring=KEYRING, owner="u7")
    assert loaded.rejected is None
    assert hansard.save(loaded.record, version=version) == hansard.save(record, version=version)


def broken(data: bytes, keyring: Keyring | None, owner: str = "u7") -> str:
    with pytest.raises(SealBroken) as caught:
        hansard.load(data, OPENAI, conversation="f", keyring=keyring, owner=owner)
    return caught.value.reason


def test_what_does_not_open_raises() -> None:
    sealed = hansard.save(Writer().exchange(), keyring=KEYRING, owner="u7")
    assert broken(sealed, KEYRING, owner="u8") == "authentication"
    assert broken(sealed, Keyring.single(b"o" * 32)) == "authentication"
    assert broken(sealed, Keyring.single(b"k" * 32, key_id="2")) == "unknown_key"
    assert broken(sealed, None) == "unknown_key"
    assert broken(sealed[:-1], KEYRING) == "authentication"
    assert broken(sealed[:20], KEYRING) == "truncated"
    assert broken(KEYRING.seal(PLAIN, owner="u7", purpose="entry"), KEYRING) == "authentication"


def test_a_state_goes_on_under_a_new_key_and_then_the_old_one_is_not_needed() -> None:
    old = Keyring({"2026-10": b"o" * 32}, current="2026-10")
    both = Keyring({"2026-10": b"o" * 32, "2026-11": b"n" * 32}, current="2026-11")
    new = Keyring({"2026-11": b"n" * 32}, current="2026-11")
    sealed = hansard.save(Writer().exchange(), keyring=old, owner="u7")
    assert broken(sealed, new) == "unknown_key"
    record = hansard.load(sealed, OPENAI, conversation="f", keyring=both, owner="u7").record
    again = hansard.save(record, keyring=both, owner="u7")
    assert broken(again, old) == "unknown_key"
    loaded = hansard.load(again, OPENAI, conversation="f", keyring=new, owner="u7")
    assert hansard.save(loaded.record) == PLAIN


def test_a_forgotten_owner_is_the_callers_mistake_and_begins_no_conversation() -> None:
    sealed = hansard.save(Writer().exchange(), keyring=KEYRING, owner="u7")
    with pytest.raises(Invalid, match="owner"):
        hansard.load(sealed, OPENAI, conversation="f", keyring=KEYRING)


@pytest.mark.parametrize("data", [bytes(PLAIN), gzip.compress(PLAIN), b"{}", b"junk"])
def test_what_is_not_sealed_raises_where_a_seal_is_expected(data: bytes) -> None:
    assert broken(data, KEYRING) == "not_sealed"


def test_no_state_begins_a_conversation_where_a_seal_is_expected() -> None:
    assert hansard.load(b"", OPENAI, conversation="f", keyring=KEYRING).rejected is None


def test_a_sealed_state_that_cannot_be_used_is_set_aside_sealed() -> None:
    sealed = KEYRING.seal(b"{}", owner="u7", purpose="state")
    loaded = hansard.load(sealed, OPENAI, conversation="f", keyring=KEYRING, owner="u7")
    assert loaded.rejected is not None
    assert (loaded.rejected.reason, loaded.rejected.blob) == ("version", sealed)


# -- what else is known of a conversation --------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_what_was_appended_has_been_seen_by_no_model(version: int) -> None:
    writer = Writer()
    writer.exchange()
    record = writer.say("Checked in", "append")
    assert record.processed == 2
    loaded = load(hansard.save(record, version=version))
    assert (loaded.record.processed, loaded.record.context.count) == (2, 3)


def test_the_size_in_tokens_and_the_time_of_compaction_are_kept() -> None:
    writer = Writer()
    writer.begin()
    writer.say("Hello")
    writer.answer(usage=Usage(input_tokens=40, output_tokens=2))
    record = writer.end()
    assert load(hansard.save(record)).record.tokens == record.tokens == 42
    summary = Compaction(
        seq=record.length,
        turn=1,
        at_us=1_700_000_000_000_001,
        first=0,
        last=1,
        messages=(msgspec.Raw(b'{"role":"user","content":"So far"}'),),
        strategy="summary",
        tokens_after=7,
    )
    loaded = load(hansard.save(record.apply(summary))).record
    assert (loaded.tokens, loaded.compacted_us) == (7, 1_700_000_000_000_001)


def test_a_turn_of_the_same_id_is_still_known_after_loading() -> None:
    loaded = load(PLAIN).record
    assert loaded.context.root.turn_ids() == {1: "t"}


# -- dialects ---------------------------------------------------------------------------------


class HouseChat(OpenAIChat):
    """A dialect of one's own: Chat Completions under another name."""

    name = "house chat"


def test_a_dialect_of_ones_own_loads_in_both_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    house = HouseChat()
    record: Record = Writer(house).exchange()
    states = [hansard.save(record, version=version) for version in (1, 2)]
    for data in states:
        loaded = hansard.load(data, house, conversation="f")
        assert loaded.rejected is not None
        assert loaded.rejected.reason == "unknown_dialect"
    hansard.register(house)
    for version, data in zip((1, 2), states, strict=True):
        loaded = hansard.load(data, house, conversation="f")
        assert loaded.rejected is None
        assert loaded.record.dialect is house
        assert hansard.save(loaded.record, version=version) == data
        assert load(data).rejected is not None


# -- other writers ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["01_openai_plain.json", "03_openai_appended.json"])
def test_what_go_wrote_is_rewritten_byte_for_byte(name: str) -> None:
    data = (GO / name).read_bytes()
    loaded = load(data)
    assert loaded.rejected is None
    assert loaded.record.context.count == len(json.loads(data)["messages"])
    assert loaded.record.processed == json.loads(data)["processed_length"]
    assert hansard.save(loaded.record, version=1) == data
    upgraded = hansard.save(loaded.record)
    assert json.loads(upgraded)["messages"] == json.loads(data)["messages"]
    assert hansard.save(load(upgraded).record) == upgraded
    assert hansard.save(load(upgraded).record, version=1) == data


def test_saving_is_writing_a_blob() -> None:
    record = Writer().exchange()
    assert hansard.save(record) == blob.write(record) == versions.write(record)
