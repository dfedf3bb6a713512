"""The stages of a module of a dump, opened for reading one after the other."""

from __future__ import annotations

from hlo_tui.dump.modules import Module, Stage
from hlo_tui.dump.opening import READABLE, open_stage, path_of, readable_stages
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible

__all__ = ["READABLE", "need_stages", "open_stage", "path_of", "readable_stages"]


def need_stages(module: Module, least: int) -> list[Stage]:
    """The stages that can be read.

    Raises:
        HloTuiError: there are fewer than `least`.
    """
    found = readable_stages(module)
    if len(found) >= least:
        return found
    have = ", ".join(stage.label for stage in found) or "none"
    raise HloTuiError(
        f"too few stages of {visible(module.name)}",
        f"there are: {visible(have)}",
        "dump with --xla_dump_hlo_pass_re=.* to have the module after each pass that changed it",
    )
