from __future__ import annotations

import sys
from pathlib import Path

import pytest

from understudy.machine.file_systems import network_kind, synchronised_by

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
//nas/games /mnt/my\\040games cifs rw 0 0
tmpfs /home/me/fast tmpfs rw 0 0
nas:/games /mnt/ssh fuse.sshfs rw 0 0
smbnetfs /mnt/smb fuse.smbnetfs rw 0 0
/dev/sdb1 /mnt/usb fuseblk rw 0 0
short line
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows is asked in another way")
@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/work/run", None),
        ("/home/me/run", "nfs4"),
        ("/homework/run", None),
        ("/mnt/my games/run", "cifs"),
        ("/home/me/fast/run", None),
        ("/mnt/ssh/run", "fuse.sshfs"),
        ("/mnt/smb/run", "fuse.smbnetfs"),
        ("/mnt/usb/run", None),
    ],
)
def test_the_innermost_mount_decides(folder: str, kind: str | None, tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert network_kind(Path(folder), mounts) == kind


@pytest.mark.skipif(sys.platform == "win32", reason="links need a permission there")
def test_a_link_counts_as_the_place_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "nas" / "Dropbox").mkdir(parents=True)
    (tmp_path / "run").symlink_to(tmp_path / "nas" / "Dropbox")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nnas:/all {tmp_path}/nas nfs rw 0 0\n")
    assert network_kind(tmp_path / "run", mounts) == "nfs"
    assert synchronised_by(tmp_path / "run") == "Dropbox"


def test_a_machine_that_does_not_tell_its_mounts_has_no_network_drive(tmp_path: Path) -> None:
    assert network_kind(tmp_path, tmp_path / "nothing") is None


@pytest.mark.parametrize(
    ("folder", "by"),
    [
        ("/home/me/Dropbox/run", "Dropbox"),
        ("/Users/me/Library/CloudStorage/OneDrive-Home/run", "CloudStorage"),
        ("/Users/me/OneDrive - Company/run", "OneDrive - Company"),
        ("/Users/me/Google Drive/run", "Google Drive"),
        ("/home/me/local_training", None),
    ],
)
def test_synchronised_folders_are_known_by_their_names(folder: str, by: str | None) -> None:
    assert synchronised_by(Path(folder)) == by
