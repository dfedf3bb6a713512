"""The commands as a person or a script runs them: output, messages, exit codes."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hlo_tui import cli
from tests.corpus import DATA, corpus_dir
from tests.ui import dumps

REPLAY = DATA / "replay"


def run(*arguments: object, **kwargs: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hlo_tui", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)  # type: ignore[call-overload,no-any-return]


def program(name: str, stage: str = "before_optimizations.txt") -> Path:
    (found,) = REPLAY.glob(f"module_*.jit_{name}.{stage}")
    return found


def test_list_puts_every_file_in_one_place() -> None:
    done = run("list", "--json", REPLAY)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    paths = [stage["path"] for module in found["modules"] for stage in module["stages"]]
    paths += [entry["path"] for module in found["modules"] for entry in module["other"]]
    paths += [entry["path"] for entry in found["other"]] + found["unrecognised"]
    for module in found["modules"]:
        paths += [path for stage in module["stages"] for path in stage.get("also", [])]
    assert {module["name"] for module in found["modules"]} >= {"jit_scan", "jit_loop", "jit_branch"}
    assert len(set(paths)) == len(paths)
    assert found["unrecognised"] == ["programs.py"]


def test_list_loads_neither_textual_nor_jax_nor_numpy() -> None:
    code = (
        "import sys; from hlo_tui.cli import main; main(['list', sys.argv[1]]); "
        "heavy = {'textual', 'jax', 'jaxlib', 'numpy', 'google'}; "
        "print(sorted({m.split('.')[0] for m in sys.modules} & heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(REPLAY)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_show_tells_about_a_module_and_an_instruction() -> None:
    module = json.loads(run("show", "--json", program("scan")).stdout)
    assert (module["module"], module["scheduled"], module["num_partitions"]) == ("jit_scan", False, 1)
    assert {c["kind"] for c in module["computations"]} >= {"entry", "while body", "while condition"}
    assert module["instructions"] == sum(c["instructions"] for c in module["computations"])
    tagged = run("show", "--json", program("quoted"), "add.1")
    instruction = json.loads(tagged.stdout)
    assert (instruction["opcode"], instruction["shape"]) == ("add", "f32[3]{0}")
    assert instruction["frontend_attributes"] == {"breakpoint": "tensor:nan,inf", "number": "42"}
    assert instruction["frames"][0]["file"] == "programs.py"
    noted = json.loads(run("show", "--json", program("quoted"), "exp.1").stdout)
    assert noted["frontend_attributes"] == {"note": 'he said "hi" {a=b}, c\\d', "greek": "π"}


def test_replay_prints_one_object_a_line() -> None:
    done = run("replay", "--json", program("product"))
    assert (done.returncode, done.stderr) == (0, "")
    start, stop, end = (json.loads(line) for line in done.stdout.splitlines())
    assert (start["event"], start["module"], start["inputs"], start["faithful"]) == (
        "start", "jit_product", "snapshot", True,
    )  # fmt: skip
    assert (stop["event"], stop["n"], stop["instruction"], stop["partition"]) == ("stop", 1, "mul.1", None)
    assert stop["path"] == [{"computation": stop["computation"], "iteration": None}]
    assert stop["value"]["first"] == pytest.approx([float(np.sin(1.0) * np.cos(1.0))])
    assert (end["event"], end["self_check"], end["recorded"], end["unknown"]) == ("end", "match", "match", [])
    assert end["outputs"][0]["dtype"] == "f32"


def test_replay_looks_at_single_values_and_changes_them(tmp_path: Path) -> None:
    sine = ("--show", "sin.1[...]", "--save", f"sin.1={tmp_path / 'sin.npy'}", "--break", "tags@once")
    done = run("replay", *sine, "--set", "cos.1=2", "--set", "op:sine=0.25", program("product"))
    assert done.returncode == 0, done.stderr
    assert "set  %sin.1 = 0.25" in done.stdout
    assert "without --set" in done.stdout
    assert "output 0: f32[]  0.5" in done.stdout
    found = [
        json.loads(line) for line in run("replay", "--json", *sine, program("product")).stdout.splitlines()
    ]
    assert [event["event"] for event in found] == ["start", "stop", "end"]
    (shown,) = found[1]["shown"]
    x = found[0]["parameters"][0]["value"]["first"][0]
    assert shown["table"]["rows"] == [[pytest.approx(math.sin(x), rel=1e-5)]]
    refused = run("replay", "--origin", "sin.1[0:2]", program("product"))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "form: NAME[3, 17]" in refused.stderr
    refused = run("replay", "--compare-grains", "--show", "sin.1", program("product"))
    assert (refused.returncode, refused.stdout) == (2, "")


def test_replay_takes_inputs_of_ones_own_and_stops_anywhere(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", arg0=np.float32(0.5))
    done = run(
        "replay",
        "--json",
        "--inputs",
        tmp_path / "in.npz",
        "--break",
        "op:sine",
        "--break",
        "cos.1",
        program("product"),
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[0]["inputs"] == "npz"
    values = {e["instruction"]: e["value"]["first"][0] for e in events[1:-1]}
    assert values == pytest.approx({"sin.1": np.sin(0.5), "cos.1": np.cos(0.5)})


def test_made_inputs_say_so() -> None:
    start = json.loads(
        run("replay", "--json", "--inputs", "made", "--seed", "7", program("product")).stdout.splitlines()[0]
    )
    assert (start["inputs"], start["seed"], start["faithful"]) == ("made", 7, False)
    assert "made" in start["reasons"][0]


def test_without_a_tag_it_says_how_to_tag() -> None:
    done = run("replay", program("off"))
    assert done.returncode == 0
    assert "set_xla_metadata(y, breakpoint=True)" in done.stderr
    assert "arguments cannot be tagged" in done.stderr


def test_a_module_of_a_dump_is_run_by_its_name_and_its_first_nan_is_found() -> None:
    done = run("replay", REPLAY, "jit_reaching")
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        run("replay", program("reaching")).stdout.splitlines()[0],
    )
    assert "--break first:nonfinite" in done.stderr
    found = run("replay", "--break", "first:nonfinite", REPLAY, "#26")
    assert "NaN begins here; it reaches output 0 (1 NaN of it there at the end)" in found.stdout
    assert "first:nonfinite" not in found.stderr
    masked = run("replay", "--break", "first:nonfinite", REPLAY, "jit_masked")
    assert (
        "NaN begins here; it is masked: %jit__where_.1 has none of it any more, no output does"
        in masked.stdout
    )
    assert "not finite" not in run("replay", REPLAY, "jit_product").stderr


@pytest.mark.parametrize("arguments", [("d",), ("d", "jit_nowhere"), ("file", "jit_product")])
def test_what_is_no_module_of_a_directory_is_said(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / program("product").name).write_bytes(program("product").read_bytes())
    (tmp_path / "file").write_bytes(program("product").read_bytes())
    done = run("replay", tmp_path / arguments[0], *arguments[1:])
    assert (done.returncode, done.stdout) == (2, "")
    said = {
        "d": "hlo-tui replay DIR MODULE",
        "jit_nowhere": "there are: jit_product",
        "jit_product": "this is no directory",
    }
    assert said[arguments[-1]] in done.stderr


def test_the_nearest_modules_are_named_and_how_many_more_there_are(tmp_path: Path) -> None:
    dumps.make(tmp_path, helpers=9)
    done = run("replay", tmp_path, "train")
    assert (
        "there are: jit_train_step, jit_eval, jit_helper_0, jit_helper_1, jit_helper_2 ... and 6 more"
        in done.stderr
    )
    assert f"hlo-tui list {tmp_path} shows them" in done.stderr
    assert "there are: jit_helper_7, jit_helper_" in run("replay", tmp_path, "jit_helper7").stderr


def test_the_table_of_recorded_runs_has_a_heading() -> None:
    lines = run("executions", REPLAY, "jit_product").stdout.splitlines()
    assert lines[0].split()[:2] == ["run", "health"]
    assert lines[1].split()[:2] == ["1", "finite"]
    assert json.loads(run("executions", "--json", REPLAY, "jit_product").stdout)["n"] == 1


def test_a_command_that_is_none_is_said_to_be_none(tmp_path: Path) -> None:
    done = run("memroy", tmp_path)
    assert done.returncode == 2
    assert "no command memroy" in done.stderr
    assert "did you mean memory?" in done.stderr
    assert "no command frobnicate" in run("frobnicate", "--json", tmp_path).stderr
    assert "unrecognized arguments" in run(tmp_path, "more").stderr


def test_a_result_that_differs_from_the_recorded_one_is_exit_code_1(tmp_path: Path) -> None:
    from hlo_tui.hlo.schema import hlo_pb2 as pb

    snapshot = pb.HloSnapshot.FromString(program("product", "snapshot.*.pb").read_bytes())
    snapshot.result.f32s[0] += 1
    path = tmp_path / "module_0001.jit_product.snapshot.1.pb"
    path.write_bytes(snapshot.SerializeToString())
    done = run("replay", "--json", path)
    assert done.returncode == 1
    assert json.loads(done.stdout.splitlines()[-1])["recorded"] == "differs"
    assert "hlo-tui bisect DIR MODULE names the pass" in done.stderr


def garbage(directory: Path) -> dict[str, Path]:
    files = {
        "empty.txt": b"",
        "binary.txt": bytes(range(256)) * 40,
        "other.txt": b"; ModuleID = 'm'\ndefine void @f() {\n  ret void\n}\n",
        "cut.hlo.pb": program("product", "snapshot.*.pb").read_bytes()[:200],
    }
    for name, content in files.items():
        (directory / name).write_bytes(content)
    return {name: directory / name for name in files}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        *(("show", name) for name in ("empty.txt", "binary.txt", "cut.hlo.pb")),
        *(("replay", name) for name in ("empty.txt", "binary.txt", "other.txt", "cut.hlo.pb")),
    ],
)
def test_bad_files_get_a_message_and_exit_code_2(tmp_path: Path, command: str, name: str) -> None:
    done = run(command, garbage(tmp_path)[name])
    assert done.returncode in (2, 3)
    assert name in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("arguments", [("list", "nowhere"), ("show", "nowhere"), ("replay", "nowhere")])
def test_what_is_not_there_is_said(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_directory_says_which_flag_to_set(tmp_path: Path) -> None:
    done = run("list", tmp_path)
    assert done.returncode == 0
    assert "--xla_dump_to" in done.stdout + done.stderr


def test_a_directory_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (tmp_path / "closed").mkdir(mode=0)
    done = run("list", tmp_path / "closed")
    assert done.returncode == 2
    assert "ermission" in done.stderr


def test_text_that_xla_does_not_accept_is_exit_code_3(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("HloModule bad\n\nENTRY e {\n  ROOT x = f32[] frobnicate()\n}\n")
    done = run("replay", path)
    assert done.returncode == 3
    assert "frobnicate" in done.stderr
    assert "Traceback" not in done.stderr


def test_names_from_a_file_cannot_reach_the_terminal_as_escapes(tmp_path: Path) -> None:
    text = program("product").read_text().replace("jit(product)/mul", "jit(product)/\x1b[2Jm\x07ul")
    path = tmp_path / "escapes.txt"
    path.write_text(text)
    for command in (
        ("show", path),
        ("show", path, "mul.1"),
        ("replay", path),
        ("replay", "--break", "name:.*ul", path),
    ):
        done = run(*command)
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout + done.stderr
        assert "\x07" not in done.stdout + done.stderr


def test_version() -> None:
    assert run("--version").stdout.startswith("hlo-tui 0.")


def test_the_demonstration_stops_inside_a_loop_body(tmp_path: Path) -> None:
    done = run("demo", "--headless", "--json", "--dir", tmp_path / "dump")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    stops = [event for event in events if event["event"] == "stop"]
    inside = [[p["iteration"] for p in stop["path"] if p["iteration"] is not None] for stop in stops]
    assert inside == [[0], [1], [2], [3], [4], [5], []]
    assert [event["event"] for event in events].count("log") == 1
    assert (events[0]["inputs"], events[-1]["recorded"]) == ("snapshot", "match")


def test_every_dump_directory_of_the_collection_is_listed() -> None:
    for directory in sorted((corpus_dir() / "dumps").iterdir()):
        found = json.loads(run("list", "--json", directory).stdout)
        assert found["unrecognised"] == [], directory.name


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "no\x1b[2J"),
        ("show", "no\x1b[2J"),
        ("replay", "no\x1b[2J"),
        ("show", "--member", "\x1b[2J", "file"),
        ("show", "file", "\x1b[2J"),
        ("show", "file", "a", "\x1b[2J"),
        ("--theme", "\x1b[2J", "a", "b\x1b[2J"),
    ],
)
def test_names_that_a_person_gives_do_not_come_back_as_escapes(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_bytes(program("product").read_bytes())
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("command", ["list", "show"])
def test_a_terminal_without_the_signs_gets_others(tmp_path: Path, command: str) -> None:
    (tmp_path / "module_0001.a\nb.before_optimizations.txt").write_text("HloModule a\x07b\n")
    target = tmp_path if command == "list" else next(tmp_path.iterdir())
    done = run(command, target, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "a?b" in done.stdout


@pytest.mark.parametrize("command", [("list", "--json"), ("show",), ("show", "--json")])
def test_output_that_cannot_be_written_is_no_traceback(command: tuple[str, ...]) -> None:
    target = REPLAY if command[0] == "list" else program("product")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hlo_tui", *command, str(target)],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1:] == ["hlo-tui: [Errno 28] No space left on device"]


def test_names_of_any_bytes_are_looked_for() -> None:
    done = run("show", program("product"), b"\xff".decode("utf-8", "surrogateescape"))
    assert (done.returncode, "no instruction" in done.stderr) == (2, True)


def test_messages_name_only_commands_that_are_there() -> None:
    package = Path(cli.__file__).parent
    text = "".join(path.read_text() for path in package.rglob("*.py"))
    assert set(re.findall(r"\bhlo-tui ([a-z]+) [A-Z\[]", text)) <= set(cli.COMMANDS)
