"""Associa's events by a language model (§4.1); what deliberates is in `retrieve.associa`.

The paper prints no prompt; those in `retrieve/associa/prompts.yaml` are worded here. Models are
asked through `memrepro.llm`, so each answer is a record, taken by the rule of `llm.structured`.
"""
