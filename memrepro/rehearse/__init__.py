"""The full profile rehearsed: data of its schema, models of its architectures, no result."""
