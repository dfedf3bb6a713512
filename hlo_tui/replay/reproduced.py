"""Does again what ended the process: parses, or compiles and runs, the module beside this file. Needs only jax.

usage: python run.py
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def parse() -> None:
    """Give the text to XLA's parser."""
    from jaxlib import _hlo

    _hlo.hlo_module_from_text((HERE / "module.hlo").read_bytes().decode("utf-8", "surrogateescape"))


def compile_and_run(about: dict[str, Any]) -> None:
    """Compile the module, and run it where the inputs are there."""
    import jax
    from jaxlib import _hlo, _jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    devices = jax.devices()[: about["devices"]]
    module = (HERE / "module.pb").read_bytes()
    if b"lapack_" in module:
        from jaxlib.lapack import _lapack

        _lapack.initialize()
    options = _jax.CompileOptions()
    options.num_replicas = options.executable_build_options.num_replicas = len(devices)
    options.num_partitions = options.executable_build_options.num_partitions = 1
    mlir = _jax.mlir.xla_computation_to_mlir_module(_hlo.XlaComputation(module))
    loaded = devices[0].client.compile_and_load(mlir, _jax.DeviceList(tuple(devices)), options)
    print("compiled")
    if about["inputs"] is None:
        return
    results = loaded.execute_sharded(inputs(about["inputs"], devices))
    for number, parts in enumerate(results.disassemble_into_single_device_arrays()):
        print(f"result {number}:", *parts)


def inputs(described: list[dict[str, Any]], devices: list[Any]) -> list[Any]:
    """The arrays that the module is given, a part for each device."""
    import jax
    import ml_dtypes  # noqa: F401 - numpy then knows the small types by their names
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    everywhere = NamedSharding(Mesh(np.array(devices), ("replica",)), PartitionSpec())
    given = []
    with np.load(HERE / "inputs.npz", allow_pickle=False) as stored:
        for number, one in enumerate(described):
            parts = []
            for place, device in enumerate(devices):
                name = f"{number}.{place}" if f"{number}.{place}" in stored else f"{number}.0"
                array = stored[name].view(np.dtype(one["dtype"])).reshape(one["shape"])
                parts.append(jax.device_put(array, device))
            whole = jax.make_array_from_single_device_arrays(tuple(one["shape"]), everywhere, parts)
            given.append(parts[0] if len(parts) == 1 else whole)
    return given


def main() -> None:
    """Do what `about.json` says."""
    about = json.loads((HERE / "about.json").read_text())
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={about['devices']}"
    os.environ["JAX_PLATFORMS"] = about["platform"]
    if about["phase"] == "parse":
        parse()
    else:
        compile_and_run(about)
    print("the process did not end")


if __name__ == "__main__":
    main()
