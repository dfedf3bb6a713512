"""Compiled slices are found again by the next session, and nothing bad in their directory does any harm."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hlo_tui.replay import xla
from hlo_tui.replay.atwork import Board
from hlo_tui.replay.diskcache import DiskCache, StoredSlices, cache_directory
from tests.replay.conftest import program_file
from tests.replay.sessions import go, opened

MODULE = """
HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}

ENTRY e {
  p = f32[8,16] parameter(0)
  q = f32[16,4] parameter(1)
  d = f32[8,4] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  zero = f32[] constant(0)
  s = f32[8] reduce(d, zero), dimensions={1}, to_apply=add
  t = f32[8] tanh(s)
  ROOT r = (f32[8], f32[8,4]) tuple(t, d)
}
"""


@pytest.fixture
def module() -> bytes:
    return xla.parse_text(MODULE.encode())


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "slices")


def entries(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if not path.name.startswith("."))


def test_a_loaded_slice_gives_the_same_bits(backend: xla.Backend, cache: DiskCache, module: bytes) -> None:
    rng = np.random.default_rng(0)
    given_values = [rng.normal(size=shape).astype(np.float32) for shape in ((8, 16), (16, 4))]
    first = StoredSlices(backend, cache, Board())
    expected = [np.asarray(leaf) for leaf in first.compile(module)(list(given_values))]
    again = StoredSlices(backend, cache, Board())
    found = [np.asarray(leaf) for leaf in again.compile(module)(list(given_values))]
    assert (first.loaded, again.loaded) == (0, 1)
    assert [leaf.tobytes() for leaf in found] == [leaf.tobytes() for leaf in expected]
    assert expected[1] == pytest.approx(given_values[0] @ given_values[1], rel=1e-5)


def test_another_processor_or_version_loads_nothing(
    backend: xla.Backend, cache: DiskCache, module: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    StoredSlices(backend, cache, Board()).compile(module)
    monkeypatch.setattr(xla, "_processor", lambda: "flags: none")
    other = StoredSlices(backend, cache, Board())
    other.compile(module)
    assert other.loaded == 0
    monkeypatch.setattr(xla, "versions", lambda: {"jax": "0", "jaxlib": "0"})
    newer = StoredSlices(backend, cache, Board())
    newer.compile(module)
    assert newer.loaded == 0


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_a_damaged_entry_is_only_not_there(
    backend: xla.Backend, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("cache") / "slices"
    text = xla.parse_text(MODULE.encode())
    StoredSlices(backend, DiskCache(root), Board()).compile(text)
    (entry,) = entries(root)
    sound = entry.read_bytes()
    # How long a compiled program is differs from one compilation to the next: what is drawn must not depend on it.
    place = int(data.draw(st.floats(0, 1, exclude_max=True)) * len(sound))
    damage = data.draw(st.sampled_from(["cut", "change", "add", "empty"]))
    entry.write_bytes(
        {
            "cut": sound[:place],
            "change": sound[:place] + bytes([sound[place] ^ 0x40]) + sound[place + 1 :],
            "add": sound + b"\0",
            "empty": b"",
        }[damage]
    )
    again = StoredSlices(backend, DiskCache(root), Board())
    again.compile(text)
    assert again.loaded == 0
    # A sound one has taken its place.
    assert DiskCache(root).get(entry.name) is not None


def test_what_is_sound_but_no_executable_is_replaced(
    backend: xla.Backend, cache: DiskCache, module: bytes, tmp_path: Path
) -> None:
    StoredSlices(backend, cache, Board()).compile(module)
    (entry,) = entries(tmp_path / "slices")
    cache.put(entry.name, b"something else")
    again = StoredSlices(backend, cache, Board())
    leaves = again.compile(module)([np.ones((8, 16), np.float32), np.ones((16, 4), np.float32)])
    assert again.loaded == 0
    assert np.asarray(leaves[1]).tolist() == [[16.0] * 4] * 8
    assert cache.get(entry.name) != b"something else"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_a_directory_that_others_can_write_is_not_used(tmp_path: Path, mode: int) -> None:
    root = tmp_path / "slices"
    DiskCache(root).put("a", b"blob")
    root.chmod(mode)
    shared = DiskCache(root)
    assert shared.get("a") is None
    shared.put("b", b"blob")
    assert [path.name for path in entries(root)] == ["a"]


def test_a_file_that_others_can_write_or_a_link_is_not_read(tmp_path: Path) -> None:
    root = tmp_path / "slices"
    cache = DiskCache(root)
    cache.put("a", b"blob")
    cache.put("b", b"blob")
    (root / "a").chmod(0o666)
    (root / "b").rename(tmp_path / "elsewhere")
    (root / "b").symlink_to(tmp_path / "elsewhere")
    assert cache.get("a") is None
    assert cache.get("b") is None


def test_a_link_in_the_place_of_the_directory_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir(mode=0o700)
    (tmp_path / "slices").symlink_to(tmp_path / "other")
    cache = DiskCache(tmp_path / "slices")
    cache.put("a", b"blob")
    assert cache.get("a") is None


def test_the_size_is_bounded_and_the_least_used_go_first(tmp_path: Path) -> None:
    root = tmp_path / "slices"
    cache = DiskCache(root, limit=10_000)
    for number in range(9):
        cache.put(f"k{number}", bytes(1000))
        os.utime(root / f"k{number}", (number, number))
    assert len(entries(root)) == 9
    # It is used, so it is not old any more.
    assert cache.get("k0") == bytes(1000)
    cache.put("k9", bytes(1000))
    left = {path.name for path in entries(root)}
    assert {"k0", "k9"} <= left
    assert "k1" not in left
    assert sum(path.stat().st_size for path in entries(root)) <= 10_000


def test_one_entry_cannot_push_out_all_others(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "slices", limit=10_000)
    cache.put("big", bytes(2000))
    assert cache.get("big") is None


def test_many_processes_and_threads_at_once(tmp_path: Path) -> None:
    """Four processes of four threads write and read few keys in a cache that is too small for them."""
    root = tmp_path / "slices"
    script = (
        "import sys, threading, random\n"
        "from pathlib import Path\n"
        "from hlo_tui.replay.diskcache import DiskCache\n"
        "bad = []\n"
        "def work(seed):\n"
        "    rng = random.Random(seed)\n"
        "    cache = DiskCache(Path(sys.argv[1]), limit=40_000)\n"
        "    for _ in range(150):\n"
        "        key = str(rng.randrange(30))\n"
        "        blob = cache.get(key)\n"
        "        if blob is not None and blob != key.encode() * 1000: bad.append(key)\n"
        "        cache.put(key, key.encode() * 1000)\n"
        "threads = [threading.Thread(target=work, args=(int(sys.argv[2]) * 4 + n,)) for n in range(4)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "sys.exit(len(bad))\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", script, str(root), str(n)]) for n in range(4)]
    assert [child.wait() for child in children] == [0] * 4
    left = DiskCache(root)
    for path in entries(root):
        assert left.get(path.name) in (None, path.name.encode() * 1000)


def test_no_directory_at_all(tmp_path: Path, backend: xla.Backend, module: bytes) -> None:
    (tmp_path / "file").write_text("in the way")
    slices = StoredSlices(backend, DiskCache(tmp_path / "file" / "slices"), Board())
    slices.compile(module)
    assert slices.loaded == 0


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "hlo-tui" / "slices"
    # The specification says to pass over what is not absolute.
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache" / "hlo-tui" / "slices"


def test_several_threads_compile_the_same_cache(
    backend: xla.Backend, cache: DiskCache, tmp_path: Path
) -> None:
    texts = [MODULE.replace("f32[8", f"f32[{n}").encode() for n in range(2, 8)]
    modules = [xla.parse_text(text) for text in texts]

    def compile_all() -> None:
        slices = StoredSlices(backend, cache, Board())
        for module in modules:
            slices.compile(module)

    threads = [threading.Thread(target=compile_all) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entries(tmp_path / "slices")) == len(modules)


@pytest.mark.parametrize("grain", ["whole", "unit", "body"])
def test_a_second_session_gives_the_same_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grain: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    seen = []
    for _ in range(2):
        with opened(program_file("nested", "cpu_after_optimizations.txt"), grain=grain) as session:
            while go(session, "continue").at == "stop":
                continue
            state = session.state
            assert state.end is not None
            seen.append(
                ([stop.summary for stop in state.history], state.end["outputs"], state.end["self_check"])
            )
        kept = {path.name: path.read_bytes() for path in entries(cache_directory())}
        if len(seen) == 1:
            before = kept
    assert seen[0] == seen[1]
    assert before
    assert kept == before


def test_slices_for_many_devices(tmp_path: Path) -> None:
    """In a process of its own: how many devices there are is settled at the first use of XLA."""
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "import numpy as np\n"
        "from hlo_tui.replay import xla\n"
        "from hlo_tui.replay.atwork import Board\n"
        "from hlo_tui.replay.diskcache import DiskCache, StoredSlices\n"
        "xla.set_flags(4)\n"
        "text = b'''HloModule m, replica_count=4\n"
        "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
        "ENTRY e { p = f32[2] parameter(0)\n"
        "  ROOT r = f32[2] all-reduce(p), replica_groups={{0,1},{2,3}}, to_apply=add }'''\n"
        "module = xla.parse_text(text.replace(b') b =', b')\\n b =').replace(b') ROOT', b')\\n ROOT'))\n"
        "backend = xla.start('cpu', 4)\n"
        "slices = StoredSlices(backend, DiskCache(Path(sys.argv[1])), Board())\n"
        "parts = tuple(np.full(2, 10.0**n, np.float32) for n in range(4))\n"
        "(result,) = slices.compile(module)([xla.Replicated(parts)])\n"
        "print(slices.loaded, [float(np.asarray(part)[0]) for part in result.parts])\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "slices")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    sums = "[11.0, 11.0, 1100.0, 1100.0]"
    assert said == [f"0 {sums}", f"1 {sums}"]
