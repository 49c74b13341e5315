"""Drivers carry out what the turn machine wants done: blocking, or under asyncio.

`drive.Drive` is written once, as a generator of `acts`; a driver only waits for them.
"""
