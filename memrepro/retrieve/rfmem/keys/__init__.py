"""Keys of RF-Mem's LongMemEval program."""
