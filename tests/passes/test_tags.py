"""Tags through the stages: counted against the plain text, followed, lost and replaced."""

from __future__ import annotations

import re
from pathlib import Path

from hlo_tui.dump import listing
from hlo_tui.passes import tags
from hlo_tui.passes.stages import readable_stages
from hlo_tui.passes.tags import Survival
from tests.corpus import corpus_dir
from tests.passes.dumped import PASSES, opened, stage_file


def survivals(directory: Path) -> list[Survival]:
    dump = listing.load(directory)
    return [tags.survival(dump, module) for module in tags.tagged_modules(dump)]


def counted_in_text(path: Path) -> dict[tuple[str, str], int]:
    """How often each key and value stands in frontend attributes of instructions, by a search in the text."""
    found: dict[tuple[str, str], int] = {}
    for line in path.read_text().splitlines()[1:]:
        for inside in re.findall(r"frontend_attributes=\{((?:[^{}\"]|\"(?:[^\"\\]|\\.)*\")*)\}", line):
            for key, value in re.findall(r'([\w.]+)="((?:[^"\\]|\\.)*)"', inside):
                found[key, value] = found.get((key, value), 0) + 1
    return found


def check_counts(root: Path) -> int:
    """Check that the places of each tag are those of the text at every stage; how many modules were looked at."""
    found = survivals(root)
    for one in found:
        for stage in readable_stages(one.module):
            counts: dict[tuple[str, str], int] = {}
            for life in one.tags:
                places = life.where.get(stage.label, [])
                # As the text has it, with its escapes.
                value = life.value.replace("\\", "\\\\").replace('"', '\\"')
                value = "".join(c if c.isascii() else "".join(f"\\{b:o}" for b in c.encode()) for c in value)
                if places:
                    counts[life.key, value] = counts.get((life.key, value), 0) + len(places)
            assert counts == counted_in_text(root / stage.main.path), (one.module.name, stage.label)
    return len(found)


def test_places_at_each_stage_are_those_of_the_text() -> None:
    assert check_counts(PASSES) == 1


def test_the_survival_tables_of_real_programs() -> None:
    for name in ("jax0102-p01_metadata-passes", "jax012-p01_metadata-passes"):
        assert check_counts(corpus_dir() / "dumps" / name) >= 10


def test_a_tag_multiplies_in_a_fusion() -> None:
    (one,) = survivals(PASSES)
    body = next(life for life in one.tags if life.value == "body")
    first, last = body.where[one.stages[0]], body.where[one.stages[-1]]
    assert [tag.opcode for tag in first] == ["tanh"]
    assert sorted(tag.opcode for tag in last) == ["fusion", "tanh"]
    assert body.lost_after is None


def test_a_lost_tag_names_the_pass_and_where_to_stop_instead() -> None:
    (one,) = survivals(PASSES)
    (lost,) = (life for life in one.tags if life.lost_after is not None)
    assert (lost.key, lost.value, lost.first.opcode) == ("breakpoint", "true", "add")
    assert lost.lost_after is not None
    assert ".after_algsimp." in lost.lost_after
    assert lost.instead is not None
    # What is added is added in one instruction now.
    assert (lost.instead.place.opcode, lost.instead.how, lost.instead.sure) == ("add", "merged", "likely")
    assert f"%{lost.instead.place.name} = " in stage_file("jit_tagged", "cpu_after").read_text()


def test_json_of_a_file_and_of_several_stages() -> None:
    single = tags.file_json(tags.file_tags(stage_file("jit_tagged", "before_opt")))
    assert sorted(tag["value"] for tag in single["tags"] if tag["key"] == "breakpoint") == [
        "body",
        "shape",
        "true",
    ]
    assert all(tag["line"] > 0 and tag["file"] == "programs.py" for tag in single["tags"])
    several = tags.to_json(survivals(PASSES))
    assert several["stages"][0] == "before_optimizations"
    assert all(set(tag["where"]) == set(several["stages"]) for tag in several["tags"])
    own = [tag for tag in several["tags"] if not tag["compiler"]]
    assert [len(tag["where"]["before_optimizations"]) for tag in own] == [1, 1, 1]
    assert [tag["id"] for tag in several["tags"]] == list(range(1, len(several["tags"]) + 1))


def test_a_module_without_tags_has_none() -> None:
    dump, module = opened("jit_inverse")
    assert tags.survival(dump, module).tags == ()
    assert tags.to_text([tags.survival(dump, module)]) == "no tags"
