"""The kind of storage of a run directory: a local disk, a network drive, or a synchronised folder."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

_NETWORK_KINDS = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "afpfs",
    "9p",
    "davfs",
    "fuse.davfs2",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.smbnetfs",
    "fuse.sshfs",
    "ceph",
    "lustre",
    "beegfs",
    "gpfs",
    "vboxsf",
    "fuse.vmhgfs-fuse",
    "fuse.blobfuse2",
    "fuse.juicefs",
)
_SYNCHRONISED = re.compile(
    r"(?:onedrive|dropbox|google ?drive|icloud|mobile documents|nextcloud|owncloud|cloudstorage|pcloud|syncthing)", re.I
)
_REMOTE_DRIVE = 4  # of GetDriveTypeW


def network_kind(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """The kind of network file system that holds a folder; None if it is local or not known."""
    folder = folder.resolve()  # a link on a local disk may lead to a network drive
    if sys.platform == "win32":
        anchor = folder.anchor
        remote = anchor.startswith("\\\\") or ctypes.windll.kernel32.GetDriveTypeW(anchor) == _REMOTE_DRIVE
        return "a network drive" if remote else None
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    best, kind = -1, ""
    for line in lines:
        _, place, found, *_ = [*line.split(), "", "", ""]
        place = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), place)  # a space is \040
        if place and (folder.is_relative_to(place)) and len(place) >= best:
            best, kind = len(place), found
    return kind if kind in _NETWORK_KINDS else None


def synchronised_by(folder: Path) -> str | None:
    """The part of a path that names a folder synchronisation program; None if there is none."""
    parts = (*folder.absolute().parts, *folder.resolve().parts)
    return next((part for part in parts if _SYNCHRONISED.search(part)), None)
