"""The one module that names private jaxlib APIs: parse, compile and run HLO on XLA's own client.

Tried with jaxlib 0.10.2 and 0.12.0.1 (the names are the same in both).
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from platform import machine, processor
from typing import Any

import numpy as np

from hlo_tui.errors import EngineError
from hlo_tui.replay.arrays import owned

TRIED = ("0.10", "0.11", "0.12")

_Error: type[Exception] = RuntimeError


def start(platform: str, devices: int) -> Backend:
    """Start XLA's client in this process, once.

    Args:
        platform: "cpu" or the name of another PJRT platform, as JAX_PLATFORMS takes it.
        devices: how many host devices the CPU client should have.

    Raises:
        EngineError: jax is not there, too new or too old, or has no such platform.
    """
    set_flags(devices)
    os.environ["JAX_PLATFORMS"] = platform
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    try:
        import jax

        jax.config.update("jax_enable_x64", True)
        # Each run is over when its call returns: what ends the process is then the instruction that was named last.
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        found = jax.devices()
    except ImportError as error:
        raise EngineError("jax cannot be imported", str(error), "pip install 'jax[cpu]'") from error
    except RuntimeError as error:
        raise EngineError(
            f"no platform {platform!r} here", str(error), "leave --platform out: the CPU is the default"
        ) from error
    try:
        return Backend(found[:devices])
    except (AttributeError, ImportError) as error:
        raise EngineError(
            f"jaxlib {jax.__version__} is not one that this engine knows",
            f"{error}",
            f"use a jaxlib of the {', '.join(TRIED)} series for the replay",
        ) from error


def set_flags(devices: int) -> None:
    """Set what XLA reads at its first use in a process: nothing of the surroundings' flags, and so many host
    devices.
    """
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")


def parse_text(text: bytes) -> bytes:
    """HLO text -> the bytes of its HloModuleProto, by XLA's own parser.

    Raises:
        EngineError: XLA does not accept the text. (On some malformed text it ends the process.)
    """
    from jaxlib import _hlo

    try:
        module = _hlo.hlo_module_from_text(text.rstrip(b"\0").decode("utf-8", "replace"))
    except (RuntimeError, ValueError, UnicodeError) as error:
        raise EngineError("XLA's parser does not accept this text", _first_lines(error), "") from error
    return bytes(module.as_serialized_hlo_module_proto())


def to_stablehlo(module: bytes) -> str:
    """The bytes of an HloModuleProto -> MLIR text in StableHLO, with what of MHLO has no other form.

    Raises:
        EngineError: XLA has no such form for something in it. (On some modules it ends the process.)
    """
    from jaxlib import _hlo, _jax

    try:
        return str(_jax.mlir.xla_computation_to_mlir_module(_hlo.XlaComputation(module)))
    except (RuntimeError, ValueError) as error:
        raise EngineError("XLA cannot write it as StableHLO", _first_lines(error), "") from error


def from_stablehlo(text: str) -> bytes:
    """MLIR text in StableHLO -> the bytes of an HloModuleProto.

    Raises:
        EngineError: XLA does not accept it.
    """
    from jaxlib import _jax

    try:
        made = _jax.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)
    except (RuntimeError, ValueError) as error:
        hint = "only StableHLO is a module; the MLIR of kernels and of other dialects has no HLO"
        raise EngineError("XLA cannot read it as StableHLO", _first_lines(error), hint) from error
    return bytes(made.as_serialized_hlo_module_proto())


def to_dot(module: bytes) -> str:
    """The bytes of an HloModuleProto -> XLA's own Graphviz drawing of its entry.

    Raises:
        EngineError: XLA does not accept the module.
    """
    from jaxlib import _hlo

    try:
        return str(_hlo.hlo_module_to_dot_graph(_hlo.HloModule.from_serialized_hlo_module_proto(module)))
    except (RuntimeError, ValueError) as error:
        raise EngineError("XLA cannot draw it", _first_lines(error), "") from error


def trace(function: Callable[..., Any], operands: Sequence[tuple[tuple[int, ...], Any]]) -> bytes:
    """A JAX function of arrays as the bytes of an HloModuleProto: plain HLO, one parameter for each operand.

    Args:
        function: takes and returns arrays.
        operands: dimensions and numpy type of each.
    """
    import jax

    specs = [jax.ShapeDtypeStruct(dims, dtype) for dims, dtype in operands]
    module: Any = jax.jit(function, keep_unused=True).lower(*specs).compiler_ir("hlo")
    return bytes(module.as_serialized_hlo_module_proto())


class Executable:
    """A compiled slice: leaf arrays in, leaf arrays out."""

    def __init__(self, backend: Backend, loaded: Any) -> None:
        self._loaded = loaded
        self._execute: Callable[[Sequence[Any]], Any] = loaded.execute_sharded
        self._put = backend.put
        self._kind = backend.array_class
        self._many = len(backend.devices) > 1

    def __call__(self, leaves: list[Any]) -> list[Any]:
        """Run it; numpy arguments are moved to the device, results are jax arrays (one a replica where there
        are several).

        Raises:
            EngineError: XLA reports an error at run time.
        """
        put, kind = self._put, self._kind
        try:
            results = self._execute([leaf if type(leaf) is kind else put(leaf) for leaf in leaves])
            arrays = results.disassemble_into_single_device_arrays()
        except (RuntimeError, ValueError, TypeError) as error:
            raise EngineError("XLA could not run it", _first_lines(error), "") from error
        if self._many:
            return [Replicated(tuple(parts)) for parts in arrays]
        return [parts[0] for parts in arrays]

    def stored(self) -> bytes | None:
        """The compiled code as bytes that `Backend.restored` takes; None where XLA cannot write it down."""
        try:
            return bytes(self._loaded.serialize())
        except (RuntimeError, ValueError):
            return None


class Replicated:
    """One value on every replica: `parts[r]` is replica r's array."""

    __slots__ = ("device", "parts")

    def __init__(self, parts: tuple[Any, ...], device: Any = None) -> None:
        self.parts = parts
        self.device = device


class Backend:
    """XLA's client and the devices that are used of it."""

    def __init__(self, devices: Sequence[Any]) -> None:
        import jax
        from jax._src.core import ShapedArray
        from jax._src.lib import xla_client
        from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
        from jaxlib import _hlo, _jax

        self.devices = list(devices)
        self.client = self.devices[0].client
        self._jax, self._hlo = _jax, _hlo
        self._batched_put = xla_client.batched_device_put
        self._aval = ShapedArray
        self._avals: dict[tuple[Any, Any], Any] = {}
        self._list = _jax.DeviceList(tuple(self.devices))
        self._array_type: type = _jax.Array if hasattr(_jax, "Array") else xla_client.ArrayImpl
        self._single = [SingleDeviceSharding(device) for device in self.devices]
        self._everywhere = NamedSharding(Mesh(np.array(self.devices), ("replica",)), PartitionSpec())
        self._assemble = jax.make_array_from_single_device_arrays
        # Asked for at every step: an array's own class is compared quicker than it is looked for among the bases.
        self.array_class: type = type(self._put_on(np.zeros(()), 0))
        self._lapack = threading.Lock()
        self._lapack_ready = False

    @property
    def replicas(self) -> int:
        """How many devices run one executable."""
        return len(self.devices)

    def put(self, value: Any) -> Any:
        """A value as the array that an executable takes.

        jax arrays pass as they are; numpy arrays are wrapped, without a copy where that is possible.
        """
        if isinstance(value, Replicated):
            return self._put_replicated(value)
        if isinstance(value, self._array_type):
            return value
        if self.replicas > 1:
            return self._put_replicated(Replicated((value,) * self.replicas))
        return self._put_on(value, 0)

    def _put_on(self, value: Any, device: int) -> Any:
        if isinstance(value, self._array_type):
            return value
        array = np.asarray(value)
        if not array.flags.c_contiguous:
            array = owned(array)
        aval = self._aval_of(array.shape, array.dtype)
        return self._batched_put(aval, self._single[device], [array], [self.devices[device]])

    def _put_replicated(self, value: Replicated) -> Any:
        # The sharding says "the same everywhere" and the shards differ: the shape stays that of one replica.
        if value.device is None:
            parts = [self._put_on(part, device) for device, part in enumerate(value.parts)]
            value.device = self._assemble(parts[0].shape, self._everywhere, parts)
        return value.device

    def _aval_of(self, shape: tuple[int, ...], dtype: Any) -> Any:
        key = (shape, dtype)
        aval = self._avals.get(key)
        if aval is None:
            aval = self._avals[key] = self._aval(shape, dtype)
        return aval

    def compile(self, module: bytes) -> Executable:
        """Compile a plain HloModuleProto with XLA's default options.

        Raises:
            EngineError: XLA's importer or compiler refuses it.
        """
        self._make_ready(module)
        try:
            mlir = self._jax.mlir.xla_computation_to_mlir_module(self._hlo.XlaComputation(module))
            loaded = self.client.compile_and_load(mlir, self._list, self._options())
        except (RuntimeError, ValueError) as error:
            raise EngineError("XLA could not compile it", _first_lines(error), "") from error
        return Executable(self, loaded)

    def restored(self, module: bytes, stored: bytes) -> Executable | None:
        """A module that was compiled before, from `Executable.stored`; None where XLA does not take it."""
        self._make_ready(module)
        try:
            loaded = self.client.deserialize_executable(stored, self._list, self._options())
        except (RuntimeError, ValueError):
            return None
        return Executable(self, loaded)

    def counted_cost(self, module: bytes) -> dict[str, float]:
        """What XLA's own cost analysis counts in an HloModuleProto: "flops", "transcendentals", "bytes accessed", for
        one iteration of each loop.

        Raises:
            EngineError: XLA does not accept the module. (On some modules it ends the process.)
        """
        try:
            parsed = self._hlo.HloModule.from_serialized_hlo_module_proto(module)
            found = self._jax.hlo_module_cost_analysis(self.client, parsed)
        except (RuntimeError, ValueError) as error:
            raise EngineError("XLA cannot count its operations", _first_lines(error), "") from error
        return {key: float(value) for key, value in found.items()}

    def fingerprint(self) -> bytes:
        """Differs where compiled code must not be loaded: another version, platform, processor or device count."""
        topology = self._jax.get_topology_for_devices(self.devices)
        parts = [*versions().values(), self.client.platform, self.client.platform_version]
        return "\0".join([*parts, str(topology.fingerprint()), str(self.replicas), _processor()]).encode()

    def _options(self) -> Any:
        options = self._jax.CompileOptions()
        options.num_replicas = self.replicas
        options.num_partitions = 1
        build = options.executable_build_options
        build.num_replicas = self.replicas
        build.num_partitions = 1
        return options

    def _make_ready(self, module: bytes) -> None:
        # Without this the LAPACK kernels' function pointers are null and a call ends the process.
        if b"lapack_" not in module:
            return
        with self._lapack:
            if self._lapack_ready:
                return
            try:
                from jaxlib.lapack import _lapack

                _lapack.initialize()
            except ImportError as error:
                raise EngineError("LAPACK calls need scipy", str(error), "pip install scipy") from error
            self._lapack_ready = True


# What a person's own program asks, of its own JAX.


def backend_started() -> bool:
    """Whether JAX has made a client in this process, so that XLA has read its flags."""
    if "jax" not in sys.modules:
        return False
    from jax._src import xla_bridge

    return xla_bridge.backends_are_initialized()


def static_arguments(jitted: Any) -> tuple[frozenset[int], frozenset[str]]:
    """The positions and the names of the arguments that a jitted function takes as constants."""
    information = getattr(jitted, "_jit_info", None)
    if information is None:
        return frozenset(), frozenset()
    return frozenset(information.static_argnums), frozenset(information.static_argnames)


def kept_arguments(lowered: Any) -> tuple[list[Any], list[int]]:
    """What comes before a lowered function's own arguments, and which of all of them its module has, in order.

    Raises:
        EngineError: this JAX keeps that elsewhere.
    """
    try:
        before = list(lowered._lowering.const_args)
        kept = sorted(lowered._lowering.compile_args["kept_var_idx"])
    except (AttributeError, KeyError, TypeError) as error:
        raise EngineError("this JAX is not one whose functions can be captured", str(error)) from error
    return before, kept


def device_count(lowered: Any) -> int:
    """For how many devices a function was lowered; 1 where this JAX keeps that elsewhere."""
    options = getattr(getattr(lowered, "_lowering", None), "compile_args", {})
    return int(options.get("num_devices") or 1)


def optimized(compiled: Any) -> tuple[bytes, list[Any]]:
    """The optimised module of a compiled function as an HloModuleProto, and its devices, partition by partition.

    Raises:
        EngineError: it is no compiled function of JAX, or XLA does not give its module.
    """
    try:
        executable = compiled.runtime_executable()
        (module,) = executable.hlo_modules()
        return bytes(module.as_serialized_hlo_module_proto()), list(executable.local_devices())
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        raise EngineError("XLA does not give the optimised module", _first_lines(error)) from error


def unoptimized(lowered: Any) -> bytes:
    """The module of a lowered function as an HloModuleProto.

    Raises:
        EngineError: it is no lowered function of JAX, or has no HLO.
    """
    try:
        return bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        raise EngineError("JAX does not give the module as HLO", _first_lines(error)) from error


def _processor() -> str:
    """What this machine's processor can do, as far as the system says of the first one."""
    try:
        first = Path("/proc/cpuinfo").read_text("utf-8", "replace").partition("\n\n")[0]
    except OSError:
        return f"{machine()} {processor()}"
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(line for line in first.splitlines() if line.startswith(wanted))


def versions() -> dict[str, str]:
    """The versions that a report should name."""
    import jax
    import jaxlib

    return {"jax": str(jax.__version__), "jaxlib": str(jaxlib.__version__)}


def _first_lines(error: Exception, lines: int = 3, width: int = 400) -> str:
    text = str(error).strip().splitlines()
    return "\n".join(line[:width] for line in text[:lines])
