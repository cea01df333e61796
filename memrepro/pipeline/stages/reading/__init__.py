"""Published answers and choices, scored; their texts stay out."""
