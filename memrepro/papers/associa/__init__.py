"""associa."""
