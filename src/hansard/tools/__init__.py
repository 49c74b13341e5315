"""Tools: what a model may call, how its arguments are read, and how it is told what came of it."""
