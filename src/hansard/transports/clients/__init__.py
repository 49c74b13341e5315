"""The providers' own clients as transports: their auth, retries and cloud variants, our bytes.

A request body goes out as it is, and the answer comes back as it was, since the clients are asked
for no more than to carry them: they neither make the body nor read the answer. The clients stay
their owner's: closing a transport leaves them open.
"""

from .connect import Connection, connect

__all__ = ["Connection", "connect"]
