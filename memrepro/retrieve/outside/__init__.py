"""Rankings that others published, as they published them: nothing is searched."""
