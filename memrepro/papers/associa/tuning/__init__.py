"""Tuning Associa's deliberating model (§4.2.2, Appendix A): examples from CoQA, and LoRA."""
