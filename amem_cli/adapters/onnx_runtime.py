"""The one place that loads onnxruntime, so that it never reports to anybody what it runs."""

from __future__ import annotations

import os
from typing import Any


def load_onnxruntime() -> Any:
    """The module, with its telemetry off.

    From 1.29 on the published builds send names, sizes and times of models to Microsoft and keep
    an identifier of the machine, unless this variable is there before they are loaded; on Windows
    they ask the system to, unless told not to by the call.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime
