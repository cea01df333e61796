"""Associa by a language model: events of sessions (§4.1), and deliberating recall (§4.2.2).

The paper prints neither prompt; those in `prompts.yaml` are worded here. Models are asked through
`memrepro.llm`, so each answer is a record, and answers are taken by the rule of `llm.structured`.
"""
