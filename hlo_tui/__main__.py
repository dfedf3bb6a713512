"""`python -m hlo_tui` is `hlo-tui`."""

import sys

from hlo_tui.cli import main

sys.exit(main())
