"""Packing small pages whole: most of what stands beside messages is the same in every one.

What is written in a row, at every append, is written in whole blocks of a disk, so few bytes count.
Pages that were merged are not packed, for requests to be made of their bodies as they stand.
"""

from __future__ import annotations

import struct
import zlib

from ..errors import DecodeError

__all__ = ["pack", "unpack"]

_KNOWN = (
    b'"strategy":"tokens_before":"tokens_after":"messages":[{"role":"system","tool",'
    b'"kind":"decision","verdict":"approved","denied","settled","not_run","by":"note":'
    b'"kind":"mark","name":"rewind","to":"slice","item_type":"event":"slice_type":'
    b'{"kind":"attempt","code":"retry_after_s":"error":"answered":true,"failed","abandoned",'
    b'{"kind":"intent","call":{"position":0,"call_id":"call_","attempt":1,"at_us":'
    b'{"kind":"outcome","call":{"entry":"index":"id":"raw":null,"name":"result","ok","unknown",'
    b'"tool_use","tool_calls","length","pin":true,"cut":true,"problems":["interrupted"],'
    b'"prompt":{"namespace":"key":"hash":"input_digest":"preamble":"'
    b'{"incarnation":"-4","dialect":"openai-responses","anthropic","gemini","openai","seq":'
    b'"open":"tidy":false,"plain":false,"compacted_us":'
    b',"spans":[[0,1],[0,2]],"turn":1,"count":2,"seen":2,"tokens":1000}'
    b'[{"kind":"turn.begin","turn_id":"","seq":0,"turn":1,"at_us":17},'
    b'{"kind":"message","role":"user","author":"input","raw":null,"seq":1,"turn":1,"at_us":17}]\n'
    b'[[1,1,17,"user","input",1,null,null,false,null]]\n[[0,""]]\n[]'
    b'[{"kind":"message","role":"tool","author":"tool","raw":null,"seq":'
    b'[{"kind":"message","role":"assistant","author":"model","raw":null,"finish":"stop",'
    b'"usage":{"input_tokens":1,"output_tokens":2,"cached_tokens":0,"cache_write_tokens":0,'
    b'"reasoning_tokens":0,"raw":null},"seq":2,"turn":1,"at_us":17},'
    b'{"kind":"turn.end","status":"done","seq":3,"turn":1,"at_us":17}]\n'
    b'[[2,1,17,"assistant","model",1,"stop",[1,2,0,0,0],false,null]]\n[[2,""]]\n[]'
)
"""What rows are made of, as any two of them have it in common. Rows that are kept were packed with
it: another one needs another flag."""

_WINDOW, _MEMORY = -13, 8
_SIZES = struct.Struct(">HH")


def pack(head: bytes, meta: bytes, body: bytes) -> bytes:
    """Make one short text of three, the first two of up to 64 KiB."""
    packer = zlib.compressobj(6, zlib.DEFLATED, _WINDOW, _MEMORY, zdict=_KNOWN)
    raw = b"".join((_SIZES.pack(len(head), len(meta)), head, meta, body))
    return packer.compress(raw) + packer.flush()


def unpack(packed: bytes) -> tuple[bytes, bytes, bytes]:
    """Give the three texts that were packed. Raises `DecodeError`."""
    unpacker = zlib.decompressobj(_WINDOW, zdict=_KNOWN)
    try:
        raw = unpacker.decompress(packed)
        head, meta = _SIZES.unpack_from(raw)
    except (zlib.error, struct.error) as error:
        raise DecodeError(f"expected a packed row: {error}", reason="corrupt_row") from error
    if not unpacker.eof:
        raise DecodeError("expected a packed row, whole", reason="corrupt_row")
    starts = _SIZES.size + head
    return raw[_SIZES.size : starts], raw[starts : starts + meta], raw[starts + meta :]
