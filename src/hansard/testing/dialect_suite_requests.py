"""What a dialect promises of requests: messages verbatim, last, and never moved."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from .. import rawjson
from ..dialects.dialect import Ask, ToolSpec
from ..messages import system
from .dialect_suite import DialectSuite, expect
from .json_variants import bounded, unknown_member, variants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..dialects.dialect import Request
    from ..rawjson import JSON, JSONObject
    from .dialect_samples import MessageSample

__all__ = ["RequestChecks"]

_SCHEMA: JSONObject = {
    "type": "object",
    "properties": {"zz_city": {"type": "string", "description": "Köln"}},
    "required": ["zz_city"],
    "additionalProperties": False,
}
_KEYS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")


class RequestChecks(DialectSuite):
    """Asking."""

    def test_every_message_is_in_the_request_as_it_is(self) -> None:
        """In order, byte for byte, under the last key of the body, and nothing between them."""
        spliced = self._spliced()
        body = self._request(spliced)
        key, value = rawjson.members(body)[-1]
        expect(value.startswith(b"["), "the array of messages as the last member", key)
        expect(value.endswith(b",".join(spliced) + b"]"), "the messages, joined by commas", value)
        joined = self._request([b",".join(spliced)])
        expect(joined == body, "the same body from messages joined before", joined)
        viewed = self._request([memoryview(raw) for raw in spliced])
        expect(viewed == body, "the same body from views of the messages", viewed)

    def test_unknown_fields_go_back(self, message_sample: MessageSample) -> None:
        """What nobody knew is sent as it came."""
        raw = self.dialect.message(message_sample.raw).raw
        for changed in bounded(variants(raw, unknown_member), 50):
            spliced = self.dialect.splice(self.dialect.message(changed).raw)
            expect(spliced in self._request([spliced]), changed.decode(), "another body")

    def test_each_request_begins_the_next(self) -> None:
        """So that a provider's cache of prompts, and ours of bodies, can be used."""
        spliced = self._spliced()
        bodies = [self._request(spliced[:count]) for count in range(len(spliced) + 1)]
        closing = bodies[0][len(bodies[0].rstrip(b"]}")) :]
        for before, after in pairwise(bodies):
            kept = before.removesuffix(closing)
            expect(before.endswith(closing), f"{closing!r} at the end", before[-40:])
            expect(after.startswith(kept), "the body before as the beginning", after)

    def test_a_request_has_one_spelling(self) -> None:
        """The same ask gives the same bytes, and is not changed by it."""
        ask = self._ask()
        before = repr(ask)
        first = self.dialect.request(ask)
        expect(self.dialect.request(ask) == first, "the same request again", first)
        expect(repr(ask) == before, "the ask as it was", ask)

    def test_a_request_is_json_and_has_no_secrets(self) -> None:
        """The path is below the base URL; keys are the transport's affair."""
        for ask in (self._ask(), Ask(self.samples.model), replace(self._ask(), stream=True)):
            request = self.dialect.request(ask)
            json.loads(request.body)
            expect(request.path.startswith("/"), "a path below the base URL", request.path)
            names = {name.lower() for name, _ in request.headers}
            expect(names.isdisjoint(_KEYS), "no keys among the headers", names)
            expect("content-type" in names, "a content type", names)

    def test_instructions_are_in_the_request(self) -> None:
        """Leading system text, outside of the stored messages."""
        body = self.dialect.request(self._ask()).body
        expect(b"zz_instruction" in body, "the system text", body)

    def test_tools_are_told_with_their_schema_as_it_is(self) -> None:
        """Name, description, the schema unchanged; a native declaration byte for byte."""
        native = b'{"type":"zz_server_tool","zz_limit":1.50e5}'
        tools = [ToolSpec("zz_tool", "zz_description", _SCHEMA), ToolSpec("", native=native)]
        body = self.dialect.request(replace(self._ask(), tools=tools)).body
        for what in (b'"zz_tool"', b'"zz_description"', native):
            expect(what in body, f"{what!r} in the request", body)
        expect(_holds(json.loads(body), _SCHEMA), "the schema as it is", body)

    def test_every_choice_of_tools_can_be_asked(self) -> None:
        """Each in words of its own; a tool by its name."""
        ask = replace(self._ask(), tools=[ToolSpec("zz_tool", "", _SCHEMA)])
        choices = [None, "none", "required", "zz_tool"]
        bodies = [self.dialect.request(replace(ask, tool_choice=choice)).body for choice in choices]
        expect(len(set(bodies)) == len(bodies), "a different body for each choice", bodies)

    def test_an_output_schema_is_asked_for(self) -> None:
        """The schema is in the body as it is."""
        body = self.dialect.request(replace(self._ask(), output=_SCHEMA)).body
        expect(_holds(json.loads(body), _SCHEMA), "the schema as it is", body)

    def test_a_stream_is_asked_for(self) -> None:
        """By the path or in the body."""
        plain = self.dialect.request(self._ask())
        streamed = self.dialect.request(replace(self._ask(), stream=True))
        expect(plain != streamed, "another request for a stream", streamed)

    def test_parameters_go_into_the_body_and_win(self) -> None:
        """Any name, any value; the messages stay last."""
        given: dict[str, JSON] = {"zz_parameter": {"zz": [1, "é", None]}}
        body = self.dialect.request(replace(self._ask(), parameters=given)).body
        expect(json.loads(body).get("zz_parameter") == given["zz_parameter"], "zz_parameter", body)
        last, _ = rawjson.members(body)[-1]
        expect(last == rawjson.members(self._request([]))[-1][0], "the messages last", last)
        for key, raw in rawjson.members(body)[:-1]:
            if not raw.startswith((b"{", b"[")):
                ask = replace(self._ask(), parameters={key: "zz_other"})
                body = self.dialect.request(ask).body
                expect(json.loads(body)[key] == "zz_other", f"the parameter {key!r} to win", body)
                keys = [name for name, _ in rawjson.members(body)]
                expect(len(keys) == len(set(keys)), "every key once", keys)

    def _ask(self) -> Ask:
        return Ask(self.samples.model, self._spliced(), (system("zz_instruction"),))

    def _spliced(self) -> list[bytes]:
        return [self.dialect.splice(message.raw) for message in self.sample_messages]

    def _request(self, spliced: Sequence[bytes | memoryview]) -> bytes:
        request: Request = self.dialect.request(replace(self._ask(), messages=spliced))
        return request.body


def _holds(parsed: object, wanted: JSONObject) -> bool:
    """Whether a value is somewhere in another."""
    if parsed == wanted:
        return True
    if isinstance(parsed, dict):
        return any(_holds(item, wanted) for item in parsed.values())
    return isinstance(parsed, list) and any(_holds(item, wanted) for item in parsed)
