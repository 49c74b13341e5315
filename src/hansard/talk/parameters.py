"""Request parameters: what a call takes by name beside its options, and hands on as it is.

Nobody here knows which parameters a provider takes: new ones must work on the day they come. So
only what can be no parameter is refused: a slip in the name of an option, and what is not JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from ..dialects.given import check_json
from ..errors import Invalid

__all__ = ["check_names", "check_values"]

_ELSEWHERE = {
    "turn_id": "send and stream take it, beside the messages",
    "owner": "each call takes it, not the chat",
    **dict.fromkeys(
        ("state_version", "compress", "keyring", "limits", "convert", "on_rejected"),
        "it says how states are kept: give it to the chat",
    ),
}
"""What is given by name too, and is no option: where it belongs."""

_ALIKE = 0.8
"""From how much alike on, of 1, a name is taken for a slip."""


def check_names(given: Iterable[str], options: frozenset[str]) -> None:
    """Raise `Invalid` for a name that is an option's but for a slip, or that belongs elsewhere."""
    for name in given:
        if name in _ELSEWHERE:
            raise Invalid(
                f"expected options and request parameters, found {name}=: {_ELSEWHERE[name]}"
            )
        if (meant := _meant(name, options)) is not None:
            raise Invalid(
                f"expected options and request parameters, found {name}=: did you mean {meant}=? "
                f"A parameter of the provider that is called so goes into parameters="
            )


@lru_cache(maxsize=1024)
def _meant(name: str, options: frozenset[str]) -> str | None:
    from difflib import get_close_matches  # It is slow to load, and most names are well known.

    found = get_close_matches(name, sorted(options | _ELSEWHERE.keys()), n=1, cutoff=_ALIKE)
    return found[0] if found else None


def check_values(parameters: object) -> None:
    """Raise `Invalid` for parameters that are no JSON by name, or that are not the caller's."""
    if not isinstance(parameters, Mapping):
        raise Invalid(f"expected parameters= by name, found {parameters!r}")
    if "stream" in parameters:
        raise Invalid(
            "expected no request parameter stream=: call stream(…) for a stream, send(…) for none"
        )
    for name, value in parameters.items():
        check_json(f"the request parameter {name}=", value)
