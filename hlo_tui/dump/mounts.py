"""Which file systems tell of changes: on those of a network, other machines' writes send no events."""

from __future__ import annotations

import os
import re

_SILENT = {
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "drvfs", "gfs", "gfs2", "glusterfs", "gpfs", "lustre",
    "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "pvfs2", "smb3", "smbfs", "virtiofs", "wekafs",
}  # fmt: skip
_OCTAL = re.compile(r"\\([0-7]{3})")


def silent_file_system(path: str, mounts: str) -> str | None:
    """Give the type of the file system that holds `path` where it sends no events for all changes.

    Args:
        path: absolute, without links.
        mounts: the contents of `/proc/self/mountinfo`.

    Returns:
        The type as the kernel names it; None for one that sends events, or where nothing is known.
    """
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields, _, filesystem = line.partition(" - ")
        parts = fields.split(" ")
        types = filesystem.split(" ")
        if len(parts) < 5:
            continue
        point = _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), parts[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        # A later mount on the same point hides the earlier one.
        if inside and len(point) >= best:
            best, kind = len(point), types[0]
    return kind if kind in _SILENT or kind.startswith("fuse.") or kind == "fuse" else None


def silence_at(path: str) -> str | None:
    """As `silent_file_system`, on this machine; None where the system has no list of mounts."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
            mounts = table.read()
    except OSError:
        return None
    return silent_file_system(os.path.realpath(path), mounts)
