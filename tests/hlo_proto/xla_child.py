"""XLA's own parser and printer, in a child process: it aborts the process on some inputs."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys

_CHILD = """
import base64, json, sys
from jaxlib import _hlo

options = _hlo.HloPrintOptions()
options.print_large_constants = True
answers = []
for kind, data in json.load(sys.stdin):
    data = base64.b64decode(data)
    if kind == "text":
        module = _hlo.hlo_module_from_text(data.decode())
    else:
        module = _hlo.HloModule.from_serialized_hlo_module_proto(data)
    serialized = base64.b64encode(module.as_serialized_hlo_module_proto()).decode()
    answers.append((module.to_string(options), serialized))
print(json.dumps(answers))
"""


def ask(*requests: tuple[str, bytes]) -> list[tuple[str, bytes]]:
    """Have XLA read modules, each as ("text", UTF-8) or ("proto", bytes of a HloModuleProto).

    Returns:
        For each what XLA prints for it, with large constants, and its HloModuleProto.
    """
    encoded = [(kind, base64.b64encode(data).decode()) for kind, data in requests]
    done = subprocess.run(
        [sys.executable, "-c", _CHILD], input=json.dumps(encoded), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [(text, base64.b64decode(proto)) for text, proto in json.loads(done.stdout)]


def without_config(text: str) -> str:
    """Leave out of a module's header what XLA keeps in the module's configuration and not in the proto."""
    pattern = r", (?:allow_spmd_sharding_propagation_to_\w+|num_partitions|replica_count)=(?:\{[^}]*\}|\d+)"
    head, newline, rest = text.partition("\n")
    return re.sub(pattern, "", head) + newline + rest


def without_frames(text: str) -> str:
    """Leave out stack frame tables and references to them: XLA builds them anew when it reads a module."""
    text = re.sub(r"(?s)\n\nFileNames\n.*?\nStackFrames\n.*?\n\n\n", "\n\n", text)
    return re.sub(r" ?stack_frame_id=\d+", "", text).replace(", metadata={}", "")
