"""The environment that makes a job dump: recipes, joined with what the person has set already."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hlo_tui.errors import HloTuiError
from hlo_tui.job.recipes import DIRECTORY, Recipe
from hlo_tui.job.versions import as_numbers, read_table

XLA_FLAGS = "XLA_FLAGS"
# What every recipe has: the text is read, the proto has the constants that it leaves out.
_BASE = {"xla_dump_to": DIRECTORY, "xla_dump_hlo_as_text": "true", "xla_dump_hlo_as_proto": "true"}
# Variables that hold flags, which are added to what is there.
_FLAG_LISTS = (XLA_FLAGS, "LIBTPU_INIT_ARGS")
_MOST = 1 << 16
# The version of JAX, and of jaxlib with it, from which on it reads JAX_DUMP_IR_MODES.
_MODES_SINCE = (0, 7)
_BLANK = re.compile(r"[\s\"'\\]")


@dataclass(frozen=True, slots=True)
class Settings:
    """What to set for a job.

    Attributes:
        environment: the variables with their whole values, and no others.
        warnings: what is known to go wrong, and what of the person's own gives way.
        recipes: which they come from.
        directory: where it dumps.
    """

    environment: Mapping[str, str]
    warnings: tuple[str, ...]
    recipes: tuple[Recipe, ...]
    directory: str

    def shell(self) -> str:
        """Lines to paste into a shell."""
        lines = [f"export {name}={shlex.quote(value)}" for name, value in self.environment.items()]
        if "MOSAIC_GPU_DUMP_TO" in self.environment:
            lines.insert(0, f"mkdir -p {shlex.quote(self.directory)}")
        return "\n".join(lines)


def settings(
    recipes: Sequence[Recipe],
    directory: str | os.PathLike[str],
    environ: Mapping[str, str],
    *,
    jaxlib: str | None,
    module: str = "",
) -> Settings:
    """Join recipes with the person's environment.

    Args:
        recipes: what is wanted.
        directory: where to; made absolute.
        environ: what is set already; its flags stay, and give way where they say something else.
        jaxlib: the version that the job has, empty where it is not known; None where XLA itself will be asked.
        module: a regular expression for the names of the modules that are dumped; all where it is empty.

    Raises:
        HloTuiError: this jaxlib lacks a flag that a recipe is made of, or XLA_FLAGS names a file that cannot
            be read.
    """
    root = os.path.abspath(directory)
    flags = _joined(recipes)
    if module:
        flags["xla_dump_hlo_module_re"] = module
    if jaxlib is not None:
        _check(recipes, flags, jaxlib)
    given = [f"--{name}={quoted(value.replace(DIRECTORY, root))}" for name, value in flags.items()]
    before = own_flags(environ)
    environment = {XLA_FLAGS: " ".join([*before, *(flag for flag in given if flag not in before)])}
    for recipe in recipes:
        for name, value in recipe.environment.items():
            value = value.replace(DIRECTORY, quoted(root) if name in _FLAG_LISTS else root)
            old = environ.get(name, "")
            if name in _FLAG_LISTS and old and value not in old.split():
                value = f"{old} {value}"
            environment[name] = value
    warnings = [*_gives_way(before, given), *_of_recipes(recipes), *_of_cache(environ, environment)]
    if "JAX_DUMP_IR_MODES" in environment and jaxlib and as_numbers(jaxlib) < _MODES_SINCE:
        warnings.append("jaxpr: this JAX writes the StableHLO alone; jaxprs too come from 0.7 on")
    return Settings(environment, tuple(warnings), tuple(recipes), root)


def compile_options(
    recipes: Sequence[Recipe], directory: str | os.PathLike[str], *, jaxlib: str
) -> dict[str, str | bool]:
    """What `compile(compiler_options=...)` of JAX takes for recipes.

    Raises:
        HloTuiError: as `settings`; or a recipe is no matter of XLA's flags.
    """
    others = [recipe.name for recipe in recipes if recipe.environment]
    if others:
        raise HloTuiError(
            f"{', '.join(others)} cannot be had when the program runs already",
            "it is set in the environment",
            "hlo_tui.dump_to(DIR, ...) before JAX is used, or hlo-tui flags",
        )
    found = settings(recipes, directory, {}, jaxlib=jaxlib)
    options: dict[str, str | bool] = {
        name: value.replace(DIRECTORY, found.directory) for name, value in _joined(recipes).items()
    }
    return {name: value == "true" if value in ("true", "false") else value for name, value in options.items()}


def _joined(recipes: Sequence[Recipe]) -> dict[str, str]:
    """The flags of some recipes together."""
    flags = dict(_BASE)
    for recipe in recipes:
        for name, value in recipe.flags.items():
            flags[name] = _either(flags[name], value) if name in flags else value
    return flags


def _either(one: str, other: str) -> str:
    """A pattern that matches what one of two does."""
    return ".*" if ".*" in (one, other) else f"{one}|{other}"


def quoted(value: str) -> str:
    """A flag's value as XLA reads it: it splits its flags at blanks unless they stand in quotes."""
    if not _BLANK.search(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def own_flags(environ: Mapping[str, str]) -> list[str]:
    """The flags of an environment's XLA_FLAGS; a value that does not begin with a dash names a file of them.

    Raises:
        HloTuiError: that file cannot be read.
    """
    text = environ.get(XLA_FLAGS, "").strip()
    if text and not text.startswith("-"):
        try:
            with Path(text).open("r", encoding="utf-8", errors="replace") as file:
                text = file.read(_MOST)
        except OSError as error:
            message = f"XLA_FLAGS names the file {text}: {error.strerror}"
            raise HloTuiError(
                "your XLA_FLAGS cannot be read", message, "XLA ends the job at once there: unset XLA_FLAGS"
            ) from error
    # As XLA splits them: at blanks that stand in no quotes.
    return re.findall(r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|[^\s"'])+|["']""", text)


def _check(recipes: Sequence[Recipe], flags: Mapping[str, str], jaxlib: str) -> None:
    known = read_table().known(jaxlib)
    lacking = [name for name in flags if name not in known]
    if not lacking:
        return
    guilty = " and no ".join(
        [recipe.name for recipe in recipes if set(lacking) & set(recipe.flags)] or lacking
    )
    since = read_table().since(lacking[0])
    came = f" came with jaxlib {since} at the latest" if since else ""
    message = f"--{lacking[0]}{came}; an unknown flag ends the job"
    if jaxlib:
        raise HloTuiError(f"jaxlib {jaxlib} has no {guilty}", message)
    raise HloTuiError(
        f"some XLA has no {guilty}, and which one the job has is not known",
        message,
        "name the job's own Python with --python, or its jaxlib with --jaxlib VERSION",
    )


def _name(flag: str) -> str:
    return flag.lstrip("-").partition("=")[0]


def _gives_way(before: Sequence[str], given: Sequence[str]) -> list[str]:
    names = {_name(flag) for flag in given}
    old = [flag for flag in before if _name(flag) in names and flag not in given]
    return [f"of your own XLA_FLAGS {', '.join(old)} gives way: XLA takes the last one"] if old else []


def _of_recipes(recipes: Sequence[Recipe]) -> list[str]:
    found = [f"{recipe.name}: {warning}" for recipe in recipes for warning in recipe.warnings]
    others = [r.name for r in recipes if not r.alone and (r.flags or r.name == "default")]
    alone = [r.name for r in recipes if r.alone]
    if alone and others:
        found.append(f"{', '.join(others)} will write nothing beside {alone[0]}: run the job twice instead")
    return found


def _of_cache(environ: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    now = {**environ, **environment}
    used = now.get("JAX_COMPILATION_CACHE_DIR")
    if not used or now.get("JAX_ENABLE_COMPILATION_CACHE", "").lower() in ("0", "false", "no", "off"):
        return []
    return [
        f"JAX_COMPILATION_CACHE_DIR is set ({used}): what is found there is not compiled and leaves next to "
        "nothing in the dump. The recipe uncached compiles it"
    ]
