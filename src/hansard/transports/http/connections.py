"""What both kinds of clients are made with."""

from __future__ import annotations

from contextlib import contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING

import httpx2

from ...errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LIMITS", "USER_AGENT", "no_cookies", "usable_environment"]

LIMITS = httpx2.Limits(max_connections=1_000, max_keepalive_connections=100, keepalive_expiry=30.0)
"""People think longer than httpx2's five seconds between two turns."""

USER_AGENT = {"user-agent": "hansard"}


def no_cookies() -> CookieJar:
    """Make a jar that stays empty: calls of one conversation tell nothing of another."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


@contextmanager
def usable_environment() -> Iterator[None]:
    """Raise `Invalid` where a client cannot be made of what the environment says."""
    try:
        yield
    except ImportError:
        found = "a SOCKS proxy, for which the distribution socksio is not installed"
    except (ValueError, OSError):
        found = "a proxy or a file of certificates that cannot be used"
    else:
        return
    raise Invalid(
        f"expected an environment to connect by, found {found}; look at HTTP_PROXY, HTTPS_PROXY, "
        "ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
    )
