"""How bytes travel to a model and back: over HTTP, through an official client, to a local model."""
