"""Which file systems send no events; the tables are as proc(5) describes them."""

from __future__ import annotations

import pytest

from hlo_tui.dump.mounts import silent_file_system

TABLE = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 0:40 / /home rw,relatime shared:1 master:2 - nfs4 server:/home rw,vers=4.2
41 40 0:41 / /home/a/local rw - xfs /dev/vdb rw
42 27 0:42 / /mnt/with\040blank rw - fuse.sshfs host:/x rw
43 27 0:43 / /mnt/twice rw - ext4 /dev/vdc rw
44 43 0:44 / /mnt/twice rw - lustre mgs:/fs rw
45 27 0:45 / /tmp rw - tmpfs tmpfs rw
damaged
46 27
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/tmp/dump", None),
        ("/", None),
        ("/home", "nfs4"),
        ("/home/b/dump", "nfs4"),
        ("/home/a/local/dump", None),
        ("/homework", None),
        ("/mnt/with blank/dump", "fuse.sshfs"),
        ("/mnt/twice/dump", "lustre"),
    ],
)
def test_the_file_system_that_holds_a_path(path: str, expected: str | None) -> None:
    assert silent_file_system(path, TABLE) == expected


def test_no_table_says_nothing() -> None:
    assert silent_file_system("/tmp", "") is None
