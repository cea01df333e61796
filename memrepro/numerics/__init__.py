"""Numerics: arrays in, arrays out; they know no data set and no file."""
