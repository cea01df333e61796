"""What the machine is called, and what it can."""

import platform
from pathlib import Path


def processor() -> str:
    """The processor's name as the system has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def computes_in_bfloat16() -> bool:
    """Whether OpenVINO computes in bfloat16 on this processor."""
    import openvino

    return "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
