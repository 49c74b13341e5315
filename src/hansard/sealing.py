"""Sealing: bytes that only a holder of the key can read, make or move to another place.

A sealed value is authenticated encryption (XAES-256-GCM) of some bytes under one key of a
`Keyring`, bound to an owner, a purpose and whatever else says where the bytes belong. The
binding is not stored: whoever opens the value says it again, and another answer does not open it.

    magic (4) | version (1) | length of key id (1) | key id | nonce (24) | ciphertext | tag (16)

Everything before the ciphertext is authenticated too. The first byte begins no JSON, gzip, zstd
or UTF-8 text. What sealing does not hide is the length, and what it cannot detect is an older
value put back in its own place.

Needs ``hansard[sealing]``, which is loaded when the first keyring is made.
"""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import TYPE_CHECKING, Literal, NoReturn

from hansard.errors import Invalid, InvalidKey, MissingExtra, SealBroken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["Keyring"]

_MAGIC = b"\x9eHSL"
_VERSION = b"\x01"
_ID_AT = len(_MAGIC) + len(_VERSION) + 1
_ID_MAX = 64
_KEY_SIZE = 32
_NONCE_SIZE = 24
_TAG_SIZE = 16
# `cryptography` encrypts no more in one call.
_PLAIN_MAX = 2**31 - 1
# A binding is names and numbers; content belongs in what is sealed.
_BINDING_MAX = 65_536

_Reason = Literal["not_sealed", "version", "truncated", "unknown_key", "authentication"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Keyring:
    """Keys by id: all of them open, the current one seals.

    To rotate, add a key and make it current; `reseal` what is stored; then drop the old key.
    An id is 1 to 64 printable ASCII characters and stands readable in every sealed value.
    Ids are never used again for another key. A key is 32 random bytes, used for nothing else.

    A keyring can be shared between threads. It shows no key, and refuses to be pickled or
    copied. `random_bytes` is for tests: a nonce that repeats under one key gives away what was
    sealed.

    Raises `InvalidKey` for keys that cannot be used, `MissingExtra` without ``hansard[sealing]``.
    """

    keys: InitVar[Mapping[str, bytes]]
    _: KW_ONLY
    current: str
    random_bytes: Callable[[int], bytes] = os.urandom
    _keys: Mapping[str, _Key] = field(init=False)

    def __post_init__(self, keys: Mapping[str, bytes]) -> None:
        for key_id, key in keys.items():
            _check_key(key_id, key)
        if len(set(keys.values())) < len(keys):
            raise InvalidKey(
                f"expected another key under each id, found the same bytes under two of "
                f"{_listed(keys)}: keep one, or make a new key with Keyring.generate_key()"
            )
        if self.current not in keys:
            raise InvalidKey(
                f"expected current= to name a key of this keyring, found {self.current!r} beside "
                f"{_listed(keys)}: add that key or name another"
            )
        ring = {key_id: _Key(key_id, key) for key_id, key in keys.items()}
        object.__setattr__(self, "_keys", ring)

    @classmethod
    def single(cls, key: bytes, *, key_id: str = "1") -> Keyring:
        """Return a keyring of one key. To rotate later, keep that key under its id."""
        return cls({key_id: key}, current=key_id)

    @staticmethod
    def generate_key() -> bytes:
        """Return a new random key, to be kept wherever secrets are kept."""
        return os.urandom(_KEY_SIZE)

    @staticmethod
    def is_sealed(data: bytes) -> bool:
        """Tell whether these bytes say that they are sealed, which anyone can make them say.

        Never take bytes unopened because this is false where sealed ones are expected: whoever
        can write there would then choose what is read.
        """
        return data.startswith(_MAGIC)

    def seal(
        self, plain: bytes, *, owner: str, purpose: str, context: Iterable[str | int | bytes] = ()
    ) -> bytes:
        """Return `plain` sealed with the current key, for this owner, purpose and context only.

        `context` is anything further that the place of these bytes is known by, in order. A
        string, the bytes of that string and a number written the same are three different things.
        The same bytes sealed twice differ. Up to 2 GiB less one byte; `Invalid` beyond.
        """
        if len(plain) > _PLAIN_MAX:
            raise Invalid(
                f"expected at most {_PLAIN_MAX} bytes to seal, found {len(plain)}: seal it in parts"
            )
        binding = _binding(owner, purpose, context)
        nonce = self.random_bytes(_NONCE_SIZE)
        if len(nonce) != _NONCE_SIZE:
            raise Invalid(
                f"expected {_NONCE_SIZE} bytes from random_bytes, found {len(nonce)}: "
                "return as many as are asked for"
            )
        key_id = self.current.encode("ascii")
        header = _MAGIC + _VERSION + bytes((len(key_id),)) + key_id + nonce
        return header + self._keys[self.current].encrypt(nonce, plain, header + binding)

    def open(
        self, sealed: bytes, *, owner: str, purpose: str, context: Iterable[str | int | bytes] = ()
    ) -> bytes:
        """Return the bytes that were sealed for this owner, purpose and context.

        Anything else raises `SealBroken`, whose `reason` is one of

        - ``not_sealed``: plain bytes, or none; they are never passed through;
        - ``version``: made by a release that this one does not know;
        - ``truncated``: too short to be whole (a longer value that was cut fails authentication);
        - ``unknown_key``: sealed with a key that is not here; `key_id` names it;
        - ``authentication``: changed, moved from where it belongs, or sealed with another key
          of the same id. These cannot be told apart.

        `reason` and `key_id` are read before anything is proven: good for a log, not for a choice.
        """
        binding = _binding(owner, purpose, context)
        key_id, ciphertext_at = _read_header(sealed)
        key = self._keys.get(key_id)
        if key is None:
            raise _broken(
                "unknown_key",
                f"expected a key of this keyring, {_listed(self._keys)}, found {key_id!r}: "
                "add that key to the keyring",
                key_id,
            )
        header = bytes(sealed[:ciphertext_at])
        return key.decrypt(
            header[-_NONCE_SIZE:], memoryview(sealed)[ciphertext_at:], header + binding
        )

    def reseal(
        self, sealed: bytes, *, owner: str, purpose: str, context: Iterable[str | int | bytes] = ()
    ) -> bytes:
        """Return the value sealed with the current key: itself if it is so already.

        Either way it is opened first, and raises `SealBroken` as `open` does.
        """
        context = tuple(context)
        plain = self.open(sealed, owner=owner, purpose=purpose, context=context)
        key_id, _ = _read_header(sealed)
        if key_id == self.current:
            return sealed
        return self.seal(plain, owner=owner, purpose=purpose, context=context)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled, which would put keys wherever the pickle goes."""
        raise Invalid(
            "expected a keyring to stay in its process, found it being pickled or copied: "
            "make it again where it is needed, from where its keys are kept"
        )

    def __repr__(self) -> str:
        """Show which keys are here, and nothing of them."""
        return f"<Keyring current={self.current!r} ids=[{_listed(self._keys)}]>"


class _Key:
    """One key, as XAES-256-GCM (C2SP): a nonce of 192 bits, so that random ones never repeat.

    The first half of the nonce derives a key for the message, which takes the second half as
    its AES-256-GCM nonce. The key itself is kept only inside the CMAC that derives.
    """

    __slots__ = ("_aes_gcm", "_derivation", "_id", "_invalid_tag")

    def __init__(self, key_id: str, key: bytes) -> None:
        try:
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
            from cryptography.hazmat.primitives.ciphers.algorithms import AES
            from cryptography.hazmat.primitives.cmac import CMAC
        except ModuleNotFoundError as missing:
            raise MissingExtra(
                "sealing expected the package 'cryptography' and did not find it: "
                "pip install 'hansard[sealing]'",
                extra="sealing",
            ) from missing
        self._id = key_id
        self._derivation = CMAC(AES(key))
        # Kept here because importing again for each message takes as long as a short one.
        self._aes_gcm = AESGCM
        self._invalid_tag = InvalidTag

    def encrypt(self, nonce: bytes, plain: bytes, associated: bytes) -> bytes:
        return self._message_cipher(nonce[:12]).encrypt(nonce[12:], plain, associated)

    def decrypt(self, nonce: bytes, ciphertext: memoryview, associated: bytes) -> bytes:
        cipher = self._message_cipher(nonce[:12])
        try:
            return cipher.decrypt(nonce[12:], ciphertext, associated)
        except self._invalid_tag:
            # The cause says nothing more, and must not bring its own frames into a report.
            raise _broken(
                "authentication",
                "expected the bytes, owner, purpose and context that were sealed with key "
                f"{self._id!r}, found that one of them or the key under that id is another: "
                "look where the value was read from and for whom; trying again cannot help",
                self._id,
            ) from None

    def _message_cipher(self, salt: bytes) -> AESGCM:
        halves = []
        for counter in (b"\x00\x01", b"\x00\x02"):
            derivation = self._derivation.copy()
            derivation.update(counter + b"X\x00" + salt)
            halves.append(derivation.finalize())
        return self._aes_gcm(b"".join(halves))


def _read_header(sealed: bytes) -> tuple[str, int]:
    """Return the key id that the header claims, and where the ciphertext begins."""
    if not Keyring.is_sealed(sealed):
        raise _broken(
            "not_sealed",
            f"expected a sealed value, found {len(sealed)} bytes that are not: plain bytes are "
            "never accepted in its place; seal them where they are written",
        )
    version = sealed[len(_MAGIC) : len(_MAGIC) + 1]
    if version and version != _VERSION:
        raise _broken(
            "version",
            f"expected format version {_VERSION[0]}, found {version[0]}: "
            "open it with the release of hansard that sealed it, or a later one",
        )
    id_ends = _ID_AT + int.from_bytes(sealed[_ID_AT - 1 : _ID_AT], "big")
    ciphertext_at = id_ends + _NONCE_SIZE
    if len(sealed) < ciphertext_at + _TAG_SIZE:
        raise _broken(
            "truncated",
            f"expected at least {ciphertext_at + _TAG_SIZE} bytes, found {len(sealed)}: "
            "read the whole value again from where it is kept",
        )
    # Not yet proven: an attacker may have written anything here, so it is made printable.
    key_id = sealed[_ID_AT:id_ends].decode("ascii", "backslashreplace")
    sealed_max = ciphertext_at + _PLAIN_MAX + _TAG_SIZE
    if len(sealed) > sealed_max:
        raise _broken(
            "authentication",
            f"expected at most {sealed_max} bytes, found {len(sealed)}, "
            "which was never sealed: look where it was read from",
            key_id,
        )
    return key_id, ciphertext_at


def _binding(owner: str, purpose: str, context: Iterable[str | int | bytes]) -> bytes:
    if not owner or not purpose:
        raise Invalid(
            f"expected an owner and a purpose to bind to, found {owner=} and {purpose=}: "
            "an empty one would bind to everybody; name them"
        )
    binding = b"".join(_unambiguous(value) for value in (owner, purpose, *context))
    if len(binding) > _BINDING_MAX:
        raise Invalid(
            f"expected owner, purpose and context of at most {_BINDING_MAX} bytes in all, found "
            f"{len(binding)}: bind a hash of what is long"
        )
    return binding


def _unambiguous(value: str | int | bytes) -> bytes:
    """Encode with kind and length first, so that no two lists of values read the same."""
    if isinstance(value, str):
        kind, data = b"s", value.encode("utf-8", "surrogatepass")
    elif isinstance(value, bytes):
        kind, data = b"b", value
    elif isinstance(value, int):
        kind, data = b"i", value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
    else:
        raise Invalid(
            f"expected str, int or bytes in a seal's context, found {type(value).__name__}: "
            "convert it to one of them, the same way when sealing and when opening"
        )
    return kind + len(data).to_bytes(8, "big") + data


def _check_key(key_id: object, key: object) -> None:
    # Messages here say sizes and types of a key, never what it is.
    if not (isinstance(key_id, str) and 1 <= len(key_id) <= _ID_MAX and _is_printable(key_id)):
        raise InvalidKey(
            f"expected a key id of 1 to {_ID_MAX} printable ASCII characters, found {key_id!r}: "
            "name the key by its date, for example"
        )
    if not isinstance(key, bytes):
        raise InvalidKey(
            f"expected {_KEY_SIZE} bytes as key {key_id!r}, found {type(key).__name__}: "
            "decode it first, with bytes.fromhex() or base64.b64decode()"
        )
    if len(key) != _KEY_SIZE:
        raise InvalidKey(
            f"expected {_KEY_SIZE} bytes as key {key_id!r}, found {len(key)}: "
            "make a key with Keyring.generate_key(); a password is not a key"
        )


def _is_printable(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _listed(key_ids: Iterable[str]) -> str:
    return ", ".join(map(repr, key_ids)) or "no keys at all"


def _broken(reason: _Reason, message: str, key_id: str | None = None) -> SealBroken:
    return SealBroken(f"sealed value does not open: {message}", reason=reason, key_id=key_id)
