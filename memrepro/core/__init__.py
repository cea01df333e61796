"""The nouns, the keys and rankings, and the tables that the stages hand on."""
