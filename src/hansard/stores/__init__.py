"""Stores: where conversations live that must survive the process."""
