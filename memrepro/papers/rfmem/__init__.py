"""rfmem."""
