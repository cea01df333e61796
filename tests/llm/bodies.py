"""What servers of language models send in place of an answer, and what is to become of it."""

import json

from tests.llm.server import Fault, completion


def body(text, finish="stop", tokens=7, hidden=0, **message):
    """A reply of a server that works."""
    made = completion(text, 4, tokens, finish)
    made["usage"]["completion_tokens_details"] = {"reasoning_tokens": hidden}
    made["choices"][0]["message"] |= message
    return Fault(body=json.dumps(made).encode())


def error(status, value, sent=0):
    """A reply that is an error, as JSON or as it stands."""
    made = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Fault(status=sent or status, body=made)


def _openai(message, code=None, kind="invalid_request_error"):
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


VLLM = {
    "object": "error", "type": "BadRequestError", "param": None, "code": 400,
    "message": "This model's maximum context length is 4096 tokens. However, you requested 4608 "
    "tokens (4096 in the messages, 512 in the completion).",
}  # fmt: skip
# Server → the status and body by which it says that a prompt is too long for its model.
TOO_LONG = {
    "vllm, before 0.10": (400, VLLM),
    "vllm": (400, {"error": VLLM}),
    "vllm, the prompt alone": (400, {"error": {
        "message": "The decoder prompt (length 5000) is longer than the maximum model length of "
        "4096.", "type": "BadRequestError", "code": 400}}),
    "sglang": (400, {"object": "error", "code": 400, "type": "BadRequestError",
        "message": "The input (5000 tokens) is longer than the model's context length (4096)."}),
    "llama.cpp": (400, {"error": {
        "code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8,
        "message": "the request exceeds the available context size"}}),
    "llama.cpp, as 500": (500, {"error": {
        "code": 500, "type": "server_error",
        "message": "the request exceeds the available context size."}}),
    "gemini": (400, [{"error": {
        "code": 400, "status": "INVALID_ARGUMENT",
        "message": "The input token count (9) exceeds the maximum number of tokens allowed (8)"}}]),
    "tgi": (422, {
        "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8.",
        "error_type": "validation"}),
    "openai": (400, _openai("", "context_length_exceeded")),
    "openai, one message": (400, _openai("Invalid 'messages'", "string_above_max_length")),
    "anthropic": (400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}),
    "anthropic, with its answer": (400, {"error": {
        "type": "invalid_request_error",
        "message": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}),
    "mistral": (400, {"object": "error", "code": 3051, "type": "invalid_request_prompt",
        "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with "
        "32768 maximum context length"}),
    "cohere": (400, {
        "message": "too many tokens: total number of tokens in the prompt cannot exceed 4081"}),
    "bedrock": (400, {"message": "Input is too long for requested model."}),
    "xai": (400, {"code": "invalid argument", "error":
        "This model's maximum prompt length is 131072 but the request contains 150000 tokens."}),
    "dashscope": (400, _openai(
        "Range of input length should be [1, 30720]", "invalid_parameter_error")),
    "tensorrt-llm": (400, {"object": "error", "type": "BadRequestError", "code": 400,
        "message": "Prompt length (5000) exceeds maximum input length (4096)"}),
    "tabbyapi": (400, {"error": {
        "message": "Prompt length 5000 is greater than max_seq_len 4096"}}),
    "lm studio": (400, {"error":
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is "
        "loaded with context length of only 4096 tokens."}),
    "ollama": (400, _openai(
        "prompt too long; exceeded max context length by 4 tokens", None, "api_error")),
    "litellm": (400, {"error": {"message": "litellm.ContextWindowExceededError: no",
        "type": "ContextWindowExceededError", "code": "400"}}),
    "nginx": (413, b"<html><head><title>413 Request Entity Too Large</title></head></html>"),
    "inside a 200": (200, {"error": {"code": 400, "message": VLLM["message"]}}),
    "by name inside a 200": (200, {"error": {"code": "context_length_exceeded"}}),
}  # fmt: skip
# Errors that say nothing of the prompt's length; what the user reads, and the tries.
NOT_TOO_LONG = {
    "a rate of tokens": (413, _openai(
        "Request too large on tokens per minute", "rate_limit_exceeded"),
        "status 413", 1),
    "a rate, as 429": (429, _openai("Request too large for gpt-4o on tokens per min (TPM)", None),
        "status 429", 3),
    "another field": (422, {"detail": [{"loc": ["body", "temperature"],
        "msg": "Input should be less than or equal to 2"}]}, "status 422", 1),
    "the answer's tokens": (400, _openai("max_tokens is too large: 100000. This model supports at "
        "most 16384 completion tokens"), "status 400", 1),
    "a busy server": (500, _openai("The server had an error while processing your request"),
        "status 500", 3),
}  # fmt: skip
THOUGHT = (
    "<think>I cannot help</think>\n\n", "<think>\n\n</think>\n\n", "hmm </think>",
    "\n<think>a <b>no</b> yes</think>",
)  # fmt: skip
ENDS = ("stop", "eos", "STOP", "end_turn", "eos_token", "stop_sequence", "COMPLETE", "")
CUTS = ("length", "MAX_TOKENS", "max_tokens", "model_length")
FILTERS = ("content_filter", "SAFETY", "RECITATION", "PROHIBITED_CONTENT", "refusal")
OTHERS = ("tool_calls", "function_call", "MALFORMED_FUNCTION_CALL", "insufficient_system_resource")
