from __future__ import annotations

import io
import os
import struct
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.files.npz import read_npz, write_npz

Arrays = dict[str, NDArray[Any]]


class Refused(Exception):
    pass


def read(path: Path, max_bytes: int = 1_000_000, **options: Any) -> Arrays:
    return read_npz(path, max_bytes=max_bytes, error=Refused, **options)


def some_arrays() -> Arrays:
    rng = np.random.default_rng(0)
    return {
        "noise": rng.normal(size=(100, 50)).astype(np.float32),
        "steps": np.repeat(np.arange(50.0), 50).reshape(50, 50),
        "columns": np.asfortranarray(rng.normal(size=(3, 4, 5))),
        "foreign": np.arange(6, dtype=">i4").reshape(2, 3),
        "strided": np.arange(20, dtype=np.uint16)[::3],
        "scalar": np.array(2.5),
        "none": np.zeros((0, 7)),
        "flags": rng.random(17) < 0.5,
        "half": np.array([1.5], np.float16),
        "text": np.array('{"é": 1}'),
        "texts": np.array([b"ab", b"c"]),
        "blank": np.array(["", ""]),
    }


def assert_same(found: Arrays, expected: Arrays) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].shape == array.shape, name
        assert found[name].dtype == array.dtype.newbyteorder("="), name
        assert np.array_equal(found[name], array), name


@pytest.mark.parametrize("compress", [False, True])
def test_what_is_written_is_read_by_this_by_numpy_and_by_zip_tools(tmp_path: Path, compress: bool) -> None:
    path = tmp_path / "x.npz"
    with path.open("wb") as stream:
        write_npz(stream, some_arrays(), compress=compress)
    assert_same(read(path), some_arrays())
    with np.load(path, allow_pickle=False) as loaded:
        assert_same(
            {name: array.astype(array.dtype.newbyteorder("=")) for name, array in loaded.items()}, some_arrays()
        )
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_writes_is_read(tmp_path: Path, save: Callable[..., None]) -> None:
    save(tmp_path / "x.npz", **some_arrays())
    assert_same(read(tmp_path / "x.npz"), some_arrays())


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_all_versions_of_the_array_header_are_read(tmp_path: Path, version: tuple[int, int]) -> None:
    member = io.BytesIO()
    np.lib.format.write_array(member, np.arange(4), version=version)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.npy", member.getvalue())
    assert read(tmp_path / "x.npz")["a"].tolist() == [0, 1, 2, 3]


def test_arrays_are_fresh_and_writable(tmp_path: Path) -> None:
    for compress in (False, True):
        with (tmp_path / "x.npz").open("wb") as stream:
            write_npz(stream, some_arrays(), compress=compress)
        for array in read(tmp_path / "x.npz").values():
            assert array.flags.writeable
            assert array.flags.c_contiguous


def test_only_wanted_arrays_are_read_and_missing_ones_left_out(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.arange(3), b=np.arange(4))
    assert_same(read(tmp_path / "x.npz", wanted=("b", "c")), {"b": np.arange(4)})


@pytest.mark.parametrize("compress", [False, True])
def test_the_same_arrays_give_the_same_bytes(compress: bool) -> None:
    first, second = io.BytesIO(), io.BytesIO()
    write_npz(first, some_arrays(), compress=compress)
    write_npz(second, some_arrays(), compress=compress)
    assert first.getvalue() == second.getvalue()


def test_compression_shrinks_what_repeats_and_what_does_not() -> None:
    rng = np.random.default_rng(0)
    for array in (np.zeros((300, 50), np.float32), rng.random((300, 50)).astype(np.float32)):
        stream = io.BytesIO()
        write_npz(stream, {"a": array}, compress=True)
        assert len(stream.getvalue()) < 0.95 * array.nbytes


@pytest.mark.parametrize(
    "array",
    [np.array([{}], object), np.zeros(2, [("a", "f4")]), np.zeros(2, "M8[s]"), np.zeros(2, complex)],
)
def test_what_could_not_be_read_is_not_written(array: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match="only plain numbers"):
        write_npz(io.BytesIO(), {"a": array}, compress=False)


@pytest.mark.parametrize("name", ["", "a/b", "../a", "a\\b", "x" * 200])
def test_odd_names_are_not_written(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name an array"):
        write_npz(io.BytesIO(), {name: np.zeros(1)}, compress=False)


def test_shapes_are_checked_before_anything_is_allocated(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", big=np.zeros(50_000_000, np.uint8), small=np.zeros(3))

    def check(shapes: Any) -> None:
        assert shapes == {"big": (50_000_000,), "small": (3,)}
        raise Refused("too big for me")

    tracemalloc.start()
    with pytest.raises(Refused, match="too big for me"):
        read(tmp_path / "x.npz", 100_000_000, check=check)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_the_limit_is_on_the_sum_of_all_members(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.zeros(60_000, np.uint8), b=np.zeros(60_000, np.uint8))
    with pytest.raises(Refused, match="limit is 100,000 bytes"):
        read(tmp_path / "x.npz", 100_000)
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(60_000, np.uint8), b=np.zeros(60_000, np.uint8))
    with pytest.raises(Refused, match="limit is 100,000 bytes"):
        read(tmp_path / "x.npz", 100_000, wanted=("a",))


def npz_of(npy: bytes, method: int = zipfile.ZIP_STORED, name: str = "a.npy") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr(name, npy)
    return stream.getvalue()


def npy_of(header: str, data: bytes = b"", version: int = 1) -> bytes:
    text = header.encode("latin-1") + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def header(descr: str = "'<f4'", order: str = "False", shape: str = "(2,)") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


GOOD = npz_of(npy_of(header(), bytes(8)))
CENTRAL = GOOD.rindex(b"PK\x01\x02")


def patched(position: int, new: bytes) -> bytes:
    return GOOD[:position] + new + GOOD[position + len(new) :]


BAD_HEADERS = {
    "object dtype": header("'|O'"),
    "structured dtype": header("[('a', '<f4')]"),
    "unknown dtype": header("'<q9'"),
    "impossible size": header("'<f3'"),
    "huge text": header("'<U999999999'"),
    "long double": header("'<f16'", shape="(0,)"),
    "negative side": header(shape="(-2,)"),
    "overflowing sides": header(shape="(4294967296, 4294967296, 4294967296, 4294967296)"),
    "zero times overflow": header(shape="(0, 99999999999999999999999999)"),
    "too many sides": header(shape="(" + "1," * 40 + "2,)"),
    "no numbers": header(shape="(2, 'x')"),
    "only commas": header(shape="(,)"),
    "shape and size differ": header(shape="(3,)"),
    "code instead of a dict": "__import__('os').system('true')",
    "deep nesting": "(" * 900,
    "missing key": "{'descr': '<f4', 'shape': (2,), }",
    "wrong order": header("'<f4'", "0"),
    "quotes": header("'<f4\\''"),
}


@pytest.mark.parametrize("text", BAD_HEADERS.values(), ids=BAD_HEADERS.keys())
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_array_headers_that_promise_nonsense_are_refused(tmp_path: Path, text: str, method: int) -> None:
    (tmp_path / "x.npz").write_bytes(npz_of(npy_of(text, bytes(8)), method))
    with pytest.raises(Refused, match=r"x\.npz holds a"):
        read(tmp_path / "x.npz")


BAD_FILES = {
    "empty": b"",
    "short": b"PK",
    "no zip": b"x" * 1000,
    "an array alone": npy_of(header(), bytes(8)),
    "truncated": GOOD[:-1],
    "something behind": GOOD + b"x",
    "something before": b"x" + GOOD,
    "long array header": npz_of(npy_of(header() + " " * 60_000, bytes(8))),
    "array header beyond the end": npz_of(b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + bytes(20)),
    "unknown array version": npz_of(npy_of(header(), bytes(8), version=9)),
    "no array": npz_of(b"hello, world, this is no array"),
    "bz2": npz_of(npy_of(header(), bytes(8)), zipfile.ZIP_BZIP2),
    "lzma": npz_of(npy_of(header(), bytes(8)), zipfile.ZIP_LZMA),
    "path": npz_of(npy_of(header(), bytes(8)), name="../a.npy"),
    "absolute path": npz_of(npy_of(header(), bytes(8)), name="/a.npy"),
    "no .npy": npz_of(npy_of(header(), bytes(8)), name="a"),
    "bools of two": npz_of(npy_of(header("'|b1'", shape="(2,)"), b"\x01\x02")),
    "encrypted": patched(CENTRAL + 8, b"\x01\x00"),
    "newer zip": patched(CENTRAL + 6, b"\xff\x00"),
    "checksum": patched(CENTRAL + 16, b"\x00\x00\x00\x00"),
    "sizes": patched(CENTRAL + 20, b"\xff\xff\xff\x7f\xff\xff\xff\x7f"),
    "stored but of two sizes": patched(CENTRAL + 24, b"\x05"),
    "position": patched(CENTRAL + 42, b"\x01"),
    "position beyond the end": patched(CENTRAL + 42, b"\xff\xff\xff\xff"),
    "names that differ": patched(CENTRAL + 46, b"b"),
    "member count": patched(len(GOOD) - 12, b"\x02\x00"),
    "directory size": patched(len(GOOD) - 10, b"\xff\xff\xff\xff"),
    "disk": patched(len(GOOD) - 18, b"\x01"),
    "damaged data": patched(CENTRAL - 1, b"\x01"),
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES.keys())
def test_files_that_are_no_sound_npz_are_refused_with_a_reason(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(Refused, match=r"x\.npz \w+ .{5,}\.$"):
        read(tmp_path / "x.npz")


def test_the_file_that_the_bad_ones_derive_from_is_good(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(GOOD)
    assert read(tmp_path / "x.npz")["a"].tolist() == [0, 0]


def test_members_that_expand_to_another_size_than_promised_are_refused(tmp_path: Path) -> None:
    for promised in (990, 1010):
        # Array header and directory agree; only the compressed data does not.
        begin = npy_of(header("'|u1'", shape=f"({promised},)"))
        content = bytearray(npz_of(begin + bytes(1000), zipfile.ZIP_DEFLATED))
        struct.pack_into("<I", content, content.rindex(b"PK\x01\x02") + 24, len(begin) + promised)
        (tmp_path / "x.npz").write_bytes(content)
        with pytest.raises(Refused, match="does not expand to"):
            read(tmp_path / "x.npz")


def test_too_many_members_and_duplicates_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        for i in range(65):
            archive.writestr(f"a{i}.npy", npy_of(header(), bytes(8)))
    with pytest.raises(Refused, match="64 members are allowed"):
        read(tmp_path / "x.npz")
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.npy", npy_of(header(), bytes(8)))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.npy", npy_of(header(), bytes(8)))
    with pytest.raises(Refused, match="holds a twice"):
        read(tmp_path / "x.npz")


def test_files_that_cannot_be_opened_stay_os_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing.npz")


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes among files on Windows")
def test_a_pipe_in_place_of_a_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.npz")
    with pytest.raises(Refused, match="not a regular file"):
        read(tmp_path / "x.npz")
