"""The turn machine: what to do next, computed from the record alone. See `machine`."""
