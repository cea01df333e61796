"""Methods tried on one's own conversations, and the folder that comes of it."""
