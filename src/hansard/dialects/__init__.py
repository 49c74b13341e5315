"""The dialects: how each provider says things. `dialect.Dialect` says what one is."""
