"""Where a cloud's variant of a client wants a request, and what it wants changed in the body.

The variants make that of a body they build themselves; given the bytes of one, they do not. So
here a variant is asked what it would do with the few members it looks at, and the same is done to
the bytes. The messages are not touched. All others get the request as it is.

- ``AzureOpenAI`` names the deployment in the path, unless the client has one of its own.
- ``AnthropicBedrock`` and ``AnthropicVertex`` take ``model`` (and Bedrock ``stream``) out of the
  body into the path, and put ``anthropic_version`` in: that of the dialect under the cloud's own
  name for it, since a client's may be newer than what the dialect reads. Bedrock streams in a
  format of its own, which the client's decoder makes server-sent events of again.
"""
# ruff: noqa: SLF001 - this is what the variants override, and there is no public way to ask them

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ... import rawjson
from ...dialects.dialect import Request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import httpx2
    from anthropic import Anthropic, AsyncAnthropic

__all__ = ["async_event_stream", "async_route", "event_stream", "is_event_stream", "route"]

_VERSIONS = {
    "BaseBedrockClient": {"2023-06-01": "bedrock-2023-05-31"},
    "BaseVertexClient": {"2023-06-01": "vertex-2023-10-16"},
}
"""What the clouds call a version of the API. Newer ones have the same name everywhere."""

_LOOKED_AT = ("model", "stream", "anthropic_version")


def route(client: Anthropic, request: Request) -> Request:
    """Say what a blocking client is to post."""
    match _variant(client):
        case "BaseAzureClient":
            return _to_deployment(client, request)
        case "BaseBedrockClient" | "BaseVertexClient" as cloud:
            return _moved(request, client._prepare_options(_options(request, cloud)))
        case _:
            return request


async def async_route(client: AsyncAnthropic, request: Request) -> Request:
    """Say what an asyncio client is to post."""
    match _variant(client):
        case "BaseAzureClient":
            return _to_deployment(client, request)
        case "BaseBedrockClient" | "BaseVertexClient" as cloud:
            return _moved(request, await client._prepare_options(_options(request, cloud)))
        case _:
            return request


def _variant(client: object) -> str:
    names = [kind.__name__ for kind in type(client).__mro__]
    return next((name for name in names if name == "BaseAzureClient" or name in _VERSIONS), "")


def _to_deployment(client: Anthropic | AsyncAnthropic, request: Request) -> Request:
    if request.path != "/chat/completions" or "/deployments" in str(client.base_url.path):
        return request
    model = rawjson.unquote(rawjson.fields(request.body)["model"])
    path = f"/deployments/{quote(model, safe='')}{request.path}"
    return Request(path, request.body, request.headers)


def _options(request: Request, cloud: str) -> Any:  # noqa: ANN401 - of a type of the client's
    from anthropic._models import FinalRequestOptions

    fields = rawjson.fields(request.body)
    looked_at = {name: rawjson.value(fields[name]) for name in _LOOKED_AT if name in fields}
    version = dict(request.headers).get("anthropic-version")
    if version is not None:
        looked_at.setdefault("anthropic_version", _VERSIONS[cloud].get(version, version))
    return FinalRequestOptions.construct(
        method="post", url=request.path, json_data=looked_at, headers=dict(request.headers)
    )


def _moved(request: Request, prepared: Any) -> Request:  # noqa: ANN401 - as in _options
    """Do to the bytes what was done to the members that were looked at."""
    fields = rawjson.fields(request.body)
    for name in _LOOKED_AT:
        if name not in prepared.json_data:
            fields.pop(name, None)
    for name, value in prepared.json_data.items():
        if name not in fields:
            fields = {name: rawjson.dump(value)} | fields
    headers = {**dict(request.headers), **prepared.headers}
    return Request(prepared.url, rawjson.join_object(fields), tuple(headers.items()))


def is_event_stream(response: httpx2.Response) -> bool:
    """Whether an answer is in the stream format of Amazon."""
    kind = response.headers.get("content-type", "")
    return kind.startswith("application/vnd.amazon.eventstream")


def event_stream(client: Anthropic, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Make server-sent events of Amazon's."""
    for event in client._make_sse_decoder().iter_bytes(pieces):
        yield _spell(event.event, event.data)


async def async_event_stream(
    client: AsyncAnthropic, pieces: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """Make server-sent events of Amazon's."""
    async for event in client._make_sse_decoder().aiter_bytes(pieces):
        yield _spell(event.event, event.data)


def _spell(name: str | None, data: str) -> bytes:
    return f"event: {name}\ndata: {data}\n\n".encode()
