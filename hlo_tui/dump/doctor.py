"""Why a dump is empty, or not what somebody expected, and what to type next."""

from __future__ import annotations

import os
import shlex
from collections import Counter, defaultdict

from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.files import Changes, File, scan
from hlo_tui.dump.logs import holds_blocks
from hlo_tui.dump.modules import Module, ModuleKey
from hlo_tui.dump.names import canonical
from hlo_tui.dump.words import count_text, size_text
from hlo_tui.hlo.visible import visible

# Bytes of recorded runs from which on they are worth a word: a training loop fills the disk with them.
_MUCH = 1_000_000_000


def dump_flags(root: str, *more: str) -> str:
    """The environment that makes a job dump into `root`, quoted for a shell: `XLA_FLAGS=...`."""
    absolute = os.path.abspath(root)
    # XLA splits its flags at blanks unless the value stands in quotes of its own.
    value = f'"{absolute}"' if any(blank in absolute for blank in " \t\n") else absolute
    return f"XLA_FLAGS={shlex.quote(' '.join([f'--xla_dump_to={value}', *more]))}"


def dump_command(root: str) -> str:
    """One command that makes a job dump into `root`."""
    return f"{dump_flags(root)} python train.py"


def explain_empty(root: str | os.PathLike[str]) -> list[str]:
    """Say why there is no module at `root`.

    Args:
        root: a directory, which need not be there. At most the first megabyte of each log in it is read.

    Returns:
        Lines for a person, safe for a terminal: what is there, how a job comes to dump here with the exact
        commands, and the usual reasons why it does not. Empty where there are modules.
    """
    path = os.fspath(root)
    found = scan(path)
    catalog = Catalog()
    catalog.apply(Changes(tuple(found.files.values())))
    if catalog.modules:
        return []
    shown = visible(path)
    if found.missing:
        first = f"{shown} is not there. XLA makes it when the first module is compiled."
        if os.path.exists(path):
            first = f"{shown} is a file, not the directory of a dump."
    elif "" in found.unread:
        first = f"{shown} cannot be read: {found.unread['']}."
    elif found.files:
        first = f"{shown} holds {count_text(len(found.files), 'file')} and no module."
    elif found.unread:
        first = f"{shown} holds only what cannot be read: {named(sorted(found.unread))}."
    else:
        first = f"{shown} is empty."
    lines = [first, *_what_is_there(path, catalog)]
    lines += [
        f"A job dumps here when it starts with: {visible(dump_command(path))}",
        f"If the job runs already and nothing comes (hlo-tui doctor {visible(shlex.quote(path))} looks into it):",
    ]
    return lines + [f"- {reason}" for reason in _REASONS]


_REASONS = (
    "The flag must be in the environment before JAX (or TensorFlow, or torch_xla) is first used; setting "
    "os.environ after that does nothing. A .debug_options file in the dump proves that it arrived.",
    "A hit in JAX's compile cache compiles nothing and so writes little or nothing: start the job with "
    "JAX_ENABLE_COMPILATION_CACHE=false.",
    "Another process may have the flag: the launcher, and not the workers that it starts.",
    "--xla_dump_hlo_module_re may match no module, or --xla_enable_dumping=false may be set.",
    "Older versions of JAX do not dump modules of less than 10 operations: set "
    "JAX_COMPILER_DETAILED_LOGGING_MIN_OPS=0.",
    "Some TPU runtimes ignore the flag: JAX_DUMP_IR_TO=DIR writes JAX's own programs there.",
)


def _what_is_there(root: str, catalog: Catalog) -> list[str]:
    """What the files are that are of no module."""
    lines = []
    kinds = Counter(file.name.kind for file in catalog.other)
    if kinds["tensorflow-graph"]:
        lines.append(
            f"{count_text(kinds['tensorflow-graph'], 'file')} .pbtxt: TensorFlow's graphs before XLA "
            "(TF_DUMP_GRAPH_PREFIX), not HLO."
        )
    jax = kinds["jax-stablehlo"] + kinds["jaxpr"]
    if jax:
        lines.append(
            f"{count_text(jax, 'program')} of JAX (JAX_DUMP_IR_TO): what XLA was given, not what it made."
        )
    loose = [file.path for file in catalog.other if file.name.kind == "hlo"]
    if loose:
        path = visible(shlex.quote(os.path.join(root, loose[0])))
        lines.append(f"{count_text(len(loose), 'file')} of HLO without a module's number: hlo-tui {path}")
    return lines + logs_with_dumps(root, catalog)


def logs_with_dumps(root: str, catalog: Catalog) -> list[str]:
    """Name the logs in a directory that hold dumps, a line each with the command that opens it."""
    lines = []
    for file in catalog.other:
        if file.name.kind == "log" and holds_blocks(os.path.join(root, file.path)):
            path = visible(shlex.quote(os.path.join(root, file.path)))
            lines.append(f"This log holds dumps, from a job with --xla_dump_to=-: hlo-tui {path}")
    return lines


def remarks(catalog: Catalog, root: str) -> list[str]:
    """What is unusual about a dump that is not empty, a sentence each; safe for a terminal.

    Args:
        catalog: the dump.
        root: its directory, for the commands.
    """
    modules = catalog.modules
    found = (
        only_cached(modules, root),
        only_snapshots(modules, root),
        no_end(modules),
        cut_off(modules),
        _many_runs(modules),
    )
    return [text for text in found if text]


def _kinds(modules: list[Module]) -> set[str]:
    return {stage.point.kind for module in modules for stage in module.stages}


def named(names: list[str]) -> str:
    """A few names and how many more there are, safe for a terminal."""
    shown = [visible(name) or "(no name)" for name in dict.fromkeys(names)]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")


def _alike(modules: list[Module]) -> list[list[Module]]:
    """The modules of each name: recompilations, other processes; those without a name are alone."""
    alike: dict[str | ModuleKey, list[Module]] = defaultdict(list)
    for module in modules:
        alike[canonical(module.name) or module.key].append(module)
    return list(alike.values())


def only_cached(modules: list[Module], root: str) -> str:
    """Name the modules that came out of a compile cache; empty where there are none."""
    cached = [
        module.name
        for group in _alike(modules)
        if _kinds(group) == {"after"}
        for module in group
        if [stage.label for stage in module.stages] == ["after_optimizations"]
    ]
    if not cached:
        return ""
    return (
        f"{count_text(len(cached), 'module')} with after_optimizations alone ({named(cached)}): taken from "
        "a compile cache, so that nothing was compiled. To see the rest: JAX_ENABLE_COMPILATION_CACHE=false "
        f"{visible(dump_command(root))}"
    )


def only_snapshots(modules: list[Module], root: str) -> str:
    """Say that runs and nothing else were recorded; empty where that is not so."""
    runs = [file for module in modules for file in module.executions]
    if not any(file.name.kind == "unoptimized-snapshot" for file in runs) or _kinds(modules):
        return ""
    return (
        "Only runs were recorded: --xla_dump_hlo_unoptimized_snapshots switches every other dump off. They "
        f"can be replayed. For the stages, start the job a second time with: {visible(dump_command(root))}"
    )


def _without_end(group: list[Module]) -> list[Module]:
    """Those of the modules of one name that have a beginning and no end."""
    kinds = [_kinds([module]) for module in group]
    begun = [module for module, some in zip(group, kinds, strict=True) if "before" in some]
    if any({"before", "after"} <= some for some in kinds):
        return [module for module in begun if "after" not in _kinds([module])]
    # On TPU the two halves of a module have numbers of their own.
    return begun if sum("after" in some for some in kinds) < len(begun) else []


def no_end(modules: list[Module]) -> str:
    """Name the modules that have a beginning and no end; empty where there are none."""
    started = [module.name for group in _alike(modules) for module in _without_end(group)]
    if not started:
        return ""
    return (
        f"{count_text(len(started), 'module')} with a beginning and no end ({named(started)}): still being "
        "compiled, or the compiler crashed there, or --xla_dump_max_hlo_modules was reached."
    )


def cut_off(modules: list[Module]) -> str:
    """Name the files that end in the middle; empty where there are none.

    Of a proto nothing is known but that it is young, as each one is when the job that wrote it has just ended.
    """
    files: list[File] = [
        file
        for module in modules
        for stage in module.stages
        for file in stage.files
        if file.is_text and not file.complete
    ]
    if not files:
        return ""
    names = named([file.path for file in files])
    return (
        f"{count_text(len(files), 'file')} cut off in the middle ({names}): still being written, or the job "
        "ended or the disk was full before that was done."
    )


def _many_runs(modules: list[Module]) -> str:
    runs = [file for module in modules for file in module.executions]
    size = sum(file.size for file in runs)
    if size < _MUCH:
        return ""
    return (
        f"{count_text(len(runs), 'recorded run')} take {size_text(size)}; every execution adds one "
        "for as long as the job has --xla_dump_hlo_snapshots or --xla_dump_hlo_unoptimized_snapshots."
    )
