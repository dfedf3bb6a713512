"""What commands write: never over what they read, and never into a dump."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hlo_tui.cli import main
from tests.corpus import DATA

NAME = "module_0003.jit_product.before_optimizations.txt"


@pytest.fixture
def read(tmp_path: Path) -> Path:
    """A file of a dump, alone in it."""
    (path,) = (DATA / "replay").glob("*jit_product.before_optimizations.txt")
    dump = tmp_path / "dump"
    dump.mkdir()
    return Path(shutil.copyfile(path, dump / NAME))


def commands(read: Path, out: Path) -> list[list[str]]:
    return [
        ["extract", str(read), "dot", "-o", str(out.with_suffix(".hlo"))],
        ["convert", str(read), str(out.with_suffix(".hlo"))],
        ["graph", str(read), "dot", "-o", str(out.with_suffix(".dot"))],
    ]


def product(read: Path) -> str:
    """The name of the root."""
    return read.read_text().rsplit("ROOT ", 1)[1].split(" ")[0].lstrip("%")


def run(command: list[str], read: Path) -> int:
    return main([product(read) if word == "dot" else word for word in command])


def test_nothing_is_written_over_what_is_read(read: Path, tmp_path: Path, capsys):
    before = read.read_bytes()
    link = tmp_path / "link.hlo"
    link.symlink_to(read)
    again = tmp_path / "again.hlo"
    again.hardlink_to(read)
    for out in (read, link, again):
        assert run(["extract", str(read), "dot", "-o", str(out)], read) == 2
        assert run(["convert", str(read), str(out)], read) == 2
        assert read.read_bytes() == before
    assert "what is read" in capsys.readouterr().err


def test_nothing_is_written_into_the_dump(read: Path, tmp_path: Path, capsys):
    (tmp_path / "elsewhere").symlink_to(read.parent)
    for out in (read.parent / "new", tmp_path / "elsewhere" / "new", read.parent / "sub" / ".." / "new"):
        for command in commands(read, out):
            assert run(command, read) == 2
            assert "inside the dump" in capsys.readouterr().err
    assert [path.name for path in read.parent.iterdir()] == [NAME]


def test_a_folder_of_a_module_is_of_the_dump_around_it(read: Path):
    folder = read.parent / "module_0003.jit_product"
    folder.mkdir()
    inner = Path(shutil.copyfile(read, folder / "module.hlo"))
    for command in commands(inner, read.parent / "new"):
        assert run(command, inner) == 2


def test_beside_a_file_that_is_of_no_dump_results_are_written(read: Path, tmp_path: Path):
    alone = Path(shutil.copyfile(read, tmp_path / "mine.hlo"))
    for command in commands(alone, tmp_path / "new"):
        # What is there is replaced: the name was given.
        assert run(command, alone) == 0
        assert run(command, alone) == 0
    assert (tmp_path / "new.dot").stat().st_size > 100


def test_values_are_not_written_over_the_inputs_or_over_the_module(read: Path, tmp_path: Path):
    inputs = tmp_path / "part.npz"
    inputs.write_bytes(b"the inputs")
    given = ["extract", str(read), "dot", "--values", "--inputs", str(inputs), "-o"]
    assert run([*given, str(tmp_path / "part.hlo")], read) == 2
    assert run([*given, str(inputs)], read) == 2
    assert run(["extract", str(read), "dot", "--values", "-o", str(tmp_path / "x.npz")], read) == 2
    assert inputs.read_bytes() == b"the inputs"


def test_two_documents_are_not_written_to_standard_output(read: Path, capsysbinary):
    assert main(["convert", str(read), "-", "--to", "dot", "--json"]) == 2
    assert capsysbinary.readouterr().out == b""
