from hlo_tui.job.beforehand import dump_to as dump_to
from hlo_tui.job.capture import capture as capture
from hlo_tui.job.notebook import show as show
from hlo_tui.job.stages import dump as dump

__version__: str
