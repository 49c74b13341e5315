"""Server-sent events: from bytes, split anywhere, to the data of each event."""

from __future__ import annotations

__all__ = ["EventLines"]

_BOM = b"\xef\xbb\xbf"
_OTHER_FIELDS = (b"event", b"id", b"retry", b":")


class EventLines:
    """Cuts a stream into the data of its events. LF or CRLF; comments and names are skipped."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._bare: list[bytes] = []
        self._started = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; give the data of each event that they complete."""
        ends = chunk.find(b"\n")
        if ends == len(chunk) - 2 and self._is_one_event(chunk):
            return [chunk[6:ends]]
        if ends < 0:
            self._line += chunk
            return []
        if self._line:
            chunk = bytes(self._line) + chunk
            self._line = bytearray()
        lines = chunk.split(b"\n")
        if rest := lines.pop():
            self._line += rest
        return self._take(lines, returns=b"\r" in chunk)

    def _is_one_event(self, chunk: bytes) -> bool:
        """Whether a chunk whose one line is ended twice is a whole event: most of them are."""
        begun = not self._started or self._line or self._data
        return not begun and chunk[:6] == b"data: " and chunk[-1:] == b"\n" and b"\r" not in chunk

    def close(self) -> list[bytes]:
        """Give what stands after the last blank line, whole or not: some servers leave it out."""
        last = bytes(self._line)
        self._line = bytearray()
        return self._take([last, b""], returns=True)

    @property
    def bare(self) -> bytes:
        """The lines that belong to no event: a server that fails may say why in bare JSON."""
        return b"\n".join(self._bare)

    def _take(self, lines: list[bytes], *, returns: bool) -> list[bytes]:
        """Take whole lines; give the data of each event that they end."""
        if returns:
            lines = [line.removesuffix(b"\r") for line in lines]
        if not self._started:
            self._started = True
            lines[0] = lines[0].removeprefix(_BOM)
        events: list[bytes] = []
        for line in lines:
            if line[:6] == b"data: ":
                self._data.append(line[6:])
            elif not line:
                if self._data:
                    events.append(b"\n".join(self._data))
                    self._data = []
            elif line[:5] == b"data:":
                self._data.append(line[5:])
            elif not line.startswith(_OTHER_FIELDS):
                self._bare.append(line)
        return events
