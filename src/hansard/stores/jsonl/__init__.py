"""Conversations in files that people can read: one a conversation, a JSON object a line.

    NAME.jsonl          the conversation: a header, then a line an append; only ever appended to
    NAME.about.json     its metadata
    NAME.lease.json     who has its lease
    .shared/ID/…        hard links to a conversation's file, one for each fork that stems from it

`less` and `jq` show what was said: messages stand in the lines as they are. What each line says
besides is described in `hansard.stores.jsonl.lines`.
"""

from .store import JSONLinesStore

__all__ = ["JSONLinesStore"]
