"""What all tests of the screen share."""

from __future__ import annotations

import pytest

from tests.ui import dumps


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch, tmp_path):
    dumps.fix_time(monkeypatch)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def dump(tmp_path):
    """A directory called "xladump" with a few modules."""
    return dumps.make(tmp_path / "xladump")
