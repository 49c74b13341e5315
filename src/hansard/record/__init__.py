"""The record: entries, what may follow what, views of it, and the opaque blob."""

from .record import Record

__all__ = ["Record"]
