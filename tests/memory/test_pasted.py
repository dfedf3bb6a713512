"""Out-of-memory messages as people paste them: the biggest buffer, whatever was put around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.memory.pasted import read_pasted
from tests.corpus import corpus_dir

GI, MI = 1 << 30, 1 << 20

TPU = """Ran out of memory in memory space hbm. Used 20.00G of 16.00G hbm. Exceeded hbm capacity by 4.00G.

Total hbm usage >= 20.00G:
    reserved        512.00M
    program          19.50G
    arguments       unknown size

Output size 60.0K; shares 12.0K with arguments.

Program hbm requirement 19.50G:
    global           29.82M
    HLO temp         19.41G (24.2% utilization, 0.7% fragmentation (293.84M))

  Largest program allocations in hbm:

  1. Size: 8.00G
     Operator: op_type="mul" op_name="jit(step)/block/mul" source_file="model.py" source_line=88
     Shape: f32[1024,1024,2048]{2,1,0:T(8,128)}
     Unpadded size: 4.00G
     Extra memory due to padding: 4.00G (2.0x expansion)
     XLA label: %multiply.9 = f32[1024,1024,2048]{2,1,0:T(8,128)} multiply(f32[] %a, f32[] %b)
     Allocation type: HLO temp
     ==========================

  2. Size: 2.00G
     Shape: f32[512]
     XLA label: fusion.3 = fusion(p.1), kind=kLoop
     ==========================
"""
GPU = """E0000 buffer_assignment.cc:1] RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3221225472 bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:    2.77GiB
        maybe_live_out allocation:    2.77GiB
     preallocated temp allocation:   25.16GiB
                 total allocation:   27.93GiB
Peak buffers:
\tBuffer 1:
\t\tSize: 3.00GiB
\t\tEntry Parameter Subshape: f32[805306368]
\t\t==========================

\tBuffer 2:
\t\tSize: 96.00MiB
\t\tOperator: op_name="jit(f)/dot_general[precision=None]" source_file="model.py" source_line=12
\t\tXLA Label: custom-call
\t\tShape: bf16[128,6,256,256]
\t\t==========================
"""


def test_a_message_of_a_tpu():
    found = read_pasted(TPU.split("\n"))
    assert (found.used, found.limit, found.space, found.shared) == (20 * GI, 16 * GI, "hbm", 12 * 1024)
    assert dict(found.parts)["program: HLO temp"] == round(19.41 * GI)
    first, second = found.buffers
    assert (first.size, first.name, first.opcode, first.unpadded) == (
        8 * GI,
        "multiply.9",
        "multiply",
        4 * GI,
    )
    assert (first.op_name, first.file, first.line) == ("jit(step)/block/mul", "model.py", 88)
    assert (second.size, second.name, second.opcode) == (2 * GI, "fusion.3", "fusion")


def test_a_message_of_a_gpu():
    found = read_pasted(GPU.split("\n"))
    assert (found.wanted, found.used) == (3 * GI, round(27.93 * GI))
    assert dict(found.parts)["temporary"] == round(25.16 * GI)
    first, second = found.buffers
    assert (first.size, first.opcode, first.shape) == (3 * GI, "parameter", "f32[805306368]")
    assert (second.size, second.opcode, second.line) == (96 * MI, "custom-call", 12)


PREFIXES = (
    "(EngineCore_DP0 pid=8969) ", "2020-05-04 09:05:40.721128: E    1578 xla/xla_client/xla_util.cc:76] ", "> ",
    "\x1b[2m\x1b[36m(Worker pid=489)\x1b[0m ", "71[2m[36m(Worker pid=489)[0m ", "    ", "\t", "[rank3]: ",
    "I0504 09:05:40.721128    1578 xla_util.cc:76] ",
)  # fmt: skip


@pytest.mark.parametrize("text", [TPU, GPU])
@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_a_log_puts_before_the_lines_changes_nothing(text, prefix):
    assert read_pasted([prefix + line for line in text.split("\n")]) == read_pasted(text.split("\n"))


def test_a_name_over_several_lines():
    text = GPU.replace("[precision=None]", "[\n      precision=None\n  Size of it ]")
    assert read_pasted(text.split("\n")).buffers[1].line == 12
    assert "Size of it ]" in read_pasted(text.split("\n")).buffers[1].op_name


def test_a_name_that_is_never_closed_takes_no_other_buffer_with_it():
    text = TPU.replace('jit(step)/block/mul"', "jit(step)/block/mul")
    assert [buffer.size for buffer in read_pasted(text.split("\n")).buffers] == [8 * GI, 2 * GI]


def test_scoped_memory():
    text = (
        "Ran out of memory in memory space vmem. Scoped allocation with size 17.35M and limit 16.00M exceeded"
    )
    found = read_pasted([text])
    assert (found.wanted, found.limit) == (round(17.35 * MI), 16 * MI)


def test_what_is_no_such_message():
    assert read_pasted(["HloModule jit_f", "  %a = f32[4] add(%b, %c)", "Shape: f32[4]"]).is_empty


@pytest.mark.parametrize(
    ("snippet", "size", "name", "opcode", "op_name", "line"),
    [
        ("01_", 32 * GI, "copy.4048", "copy", "slice_7/paint/FloorMod", 0),
        ("02_", 384 * MI, "copy.1326", "copy", "params['model.layers.1.experts.w13_weight']", 0),
        ("03_", 570 * MI, "fusion.11", "fusion", "", 0),
        ("04_", 48 * MI, "reshape.1524", "reshape", "", 0),
        ("05_", 64 * MI, "broadcast.8220", "broadcast", "jit(apply_fn)/scan/while/body/broadcast_in_dim[", 177),
        ("06_", 96 * MI, "", "fusion", "", 0),
        ("07_", round(3.83 * GI), "", "convert", "parallelize(inference_step_mesh_1)/jit(main)/Model/lm_head/", 97),
        ("09_", 4 * MI, "", "parameter", "", 0),
    ],
)  # fmt: skip
def test_the_biggest_owner_of_what_people_pasted(snippet, size, name, opcode, op_name, line):
    (path,) = (corpus_dir() / "snippets").glob(f"{snippet}*")
    first = read_pasted(path.read_text("utf-8", "replace").split("\n")).buffers[0]
    assert (first.size, first.name, first.opcode, first.line) == (size, name, opcode, line)
    assert first.op_name.startswith(op_name)


LINES = [*TPU.split("\n"), *GPU.split("\n")]


@given(st.lists(st.one_of(st.text(max_size=60), st.sampled_from(LINES)), max_size=60))
def test_any_lines_are_read(given_lines):
    found = read_pasted(given_lines)
    sizes = [buffer.size for buffer in found.buffers]
    assert sizes == sorted(sizes, reverse=True)
