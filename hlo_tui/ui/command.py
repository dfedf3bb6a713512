"""What a command is, what it may depend on, and the reasons for which it cannot run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Situation:
    """What the commands depend on.

    Attributes:
        pane: where the focus is: "modules", "code", "info" or "replay".
        opened: whether a file is open.
        scanned: whether all of it is known.
        hlo: whether it is HLO.
        looked: whether the line under the cursor has been looked at.
        instruction: whether the cursor is on an instruction.
        name: whether there is a name on the line to go to.
        replay: "none", "busy", "standing", "dead" or "failed".
        at: where it stands: "begin", "stop" or "end".
        elsewhere: whether what is replayed is another module than the one that is open.
        replayed: the module that is replayed.
        runs: whether runs of the open module were recorded.
        crashed: whether XLA ended the engine, and what it died of can be saved.
        partitions: whether it runs on several devices.
        pattern: whether something has been searched for.
        back, forward: whether there is a place to go to.
        earlier, later: whether there is a stage before or after this one.
        changed: whether the open file was replaced.
        task: whether something is being read or searched.
        empty: whether there is no module, and a command to copy instead of a line.
        job: "none", "running" or "ended": the job that was started with the screen.
    """

    pane: str = "modules"
    opened: bool = False
    scanned: bool = False
    hlo: bool = False
    looked: bool = True
    instruction: bool = False
    name: bool = False
    replay: str = "none"
    at: str = "begin"
    elsewhere: bool = False
    replayed: str = ""
    runs: bool = False
    crashed: bool = False
    partitions: bool = False
    pattern: bool = False
    back: bool = False
    forward: bool = False
    earlier: bool = False
    later: bool = False
    changed: bool = False
    task: bool = False
    empty: bool = False
    job: str = "none"


Check = Callable[[Situation], str | None]


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Attributes:
        id: its name in the program.
        keys: as Textual calls them; none for a command of the palette alone.
        title: what it does, a few words.
        group: the heading under which the help has it.
        check: gives None where it can run, else why it cannot.
        footer: its word in the footer, empty where it is not there.
        help: what it does, a sentence.
        on: the screen that it is on: "main", or "value" for the one that looks at a value.
    """

    id: str
    keys: tuple[str, ...]
    title: str
    group: str
    check: Check
    footer: str = ""
    help: str = ""
    on: str = "main"


# Reasons that go away by themselves: a command that is asked for meanwhile is run then.
STILL_READING = "the file is still being read"
STILL_LOOKING = "the line is still being looked at"
AT_WORK = "the replay is at work: ctrl+c stops it"


def always(_: Situation) -> str | None:
    """It always can."""
    return None


def opened(now: Situation) -> str | None:
    """A file has to be open."""
    return None if now.opened else "open a module first"


def scanned(now: Situation) -> str | None:
    """All of the file has to be known."""
    return opened(now) or (None if now.scanned else STILL_READING)


def copyable(now: Situation) -> str | None:
    """There has to be a line, or a command, to copy."""
    return None if now.empty else scanned(now)


def is_hlo(now: Situation) -> str | None:
    """The file has to be HLO."""
    return scanned(now) or (None if now.hlo else "this file is no HLO")


def on_instruction(now: Situation) -> str | None:
    """The cursor has to be on an instruction."""
    if not now.looked:
        return is_hlo(now) or STILL_LOOKING
    return is_hlo(now) or (None if now.instruction else "the cursor is on no instruction")


def looked(now: Situation) -> str | None:
    """The line has to have been looked at."""
    return is_hlo(now) or (None if now.looked else STILL_LOOKING)


def on_name(now: Situation) -> str | None:
    """There has to be a name on the line."""
    return scanned(now) or (None if now.name else "there is no name on this line")


def idle(now: Situation) -> str | None:
    """The replay must not be at work."""
    return AT_WORK if now.replay == "busy" else None


def can_go_on(now: Situation) -> str | None:
    """The replay has to be able to go on, or to begin."""
    if now.replay == "none" or now.elsewhere:
        return is_hlo(now)
    if now.replay == "standing" and now.at == "end":
        return "the replay is at its end"
    return idle(now)


def standing(now: Situation) -> str | None:
    """The open module has to be replayed, and to stand."""
    if now.replay == "none":
        return "nothing is being replayed: c begins"
    if now.elsewhere:
        return f"{now.replayed or 'another module'} is being replayed: d goes there"
    return idle(now)


def can_go_back(now: Situation) -> str | None:
    """There has to be something to go back to."""
    return standing(now) or ("the replay is at its beginning" if now.at == "begin" else None)


def inside(now: Situation) -> str | None:
    """The replay has to stand at an instruction."""
    return standing(now) or (None if now.at == "stop" else "the replay is in no computation")


def towards(now: Situation) -> str | None:
    """The replay has to stand at an instruction, of this module or of another one."""
    return None if now.elsewhere and now.replay != "none" else inside(now)


def here(now: Situation) -> str | None:
    """It has to be able to go on, and the cursor be on an instruction."""
    return on_instruction(now) or can_go_on(now)


def here_back(now: Situation) -> str | None:
    """It has to be able to go back, and the cursor be on an instruction."""
    return on_instruction(now) or can_go_back(now)


def replayed(now: Situation) -> str | None:
    """Something has to be replayed."""
    return None if now.replay != "none" else "nothing is being replayed: c begins"


def has_value(now: Situation) -> str | None:
    """The replay has to stand, and the cursor be on an instruction."""
    return on_instruction(now) or standing(now)


def when(fact: str, reason: str) -> Check:
    """A fact has to hold; else this is the reason."""

    def check(now: Situation) -> str | None:
        return None if getattr(now, fact) else reason

    return check


def interruptible(now: Situation) -> str | None:
    """Something has to be under way."""
    return None if now.replay == "busy" or now.task else "nothing is under way; twice quits"
