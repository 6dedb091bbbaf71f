"""Turning a wheel into a variant wheel (PEP 825, a draft), and back; each can be reproduced from the other.

Variants of one version share it, so the CUDA of the label is not in it: ``2.8.3+cu130torch2.11`` becomes
``2.8.3+torch2.11`` in file name, METADATA and ``.dist-info``. Beside ``variant.json`` stands which plain wheel it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct, structs
from msgspec.json import Decoder, encode
from packaging.version import Version

from wheelmill.errors import IntegrityError, UnreadableError
from wheelmill.names import Sha256
from wheelmill.system.folders import temporary_folder
from wheelmill.wheel.archive import check_archive, open_archive, pack, read_member, unpack
from wheelmill.wheel.cuda_variant import Variant, metadata_of
from wheelmill.wheel.label import Label
from wheelmill.wheel.limits import MAX_METADATA
from wheelmill.wheel.metadata import dist_info_of
from wheelmill.wheel.name import WheelFile, WheelName
from wheelmill.wheel.record import record_of
from wheelmill.wheel.variant_label import VariantLabel, split_label
from wheelmill.wheel.variant_metadata import VARIANT_FILE, variant_metadata_bytes
from wheelmill.wheel.variant_name import VariantWheelName

PLAIN_FILE: Final = "wheelmill-plain.json"
"""Its name in ``.dist-info``: tells in an environment, too, which CUDA an installed variant is for."""


class PlainWheel(Struct, frozen=True, kw_only=True):
    """The wheel that a variant wheel was made of."""

    filename: str
    sha256: Sha256


def variant_name(plain: WheelName, label: VariantLabel) -> VariantWheelName:
    """The name of a wheel as a variant.

    Raises:
        UnreadableError: its version has no label of ours.
    """
    own = Label.parse(plain.version.local or "")
    if own is None:
        raise UnreadableError("label-without-cuda", f"{plain.filename} has no label that says its CUDA")
    return VariantWheelName(plain=structs.replace(plain, version=own.without_cuda(plain.version)), label=label)


def make_variant(wheel: WheelFile, variant: Variant, folder: Path) -> WheelFile:
    """Make a variant wheel of one that was packed here: the same wheel and variant give the same bytes.

    Args:
        wheel: the plain wheel.
        variant: which machines it is for.
        folder: where the variant wheel is put.

    Raises:
        UnreadableError: the wheel cannot be read, or its version has no label of ours.
        IntegrityError: the plain wheel could not be made of it again.
    """
    plain = WheelName.parse(wheel.filename)
    name = variant_name(plain, variant.label)
    with _workspace(folder, wheel.filename) as workspace:
        unpacked = _unpack(wheel.path, workspace / "wheel")
        dist_info = _rename(unpacked, plain.version, name.plain.version)
        said = metadata_of({variant.label: variant.properties})
        (dist_info / VARIANT_FILE).write_bytes(variant_metadata_bytes(said))
        (dist_info / PLAIN_FILE).write_bytes(encode(PlainWheel(filename=wheel.filename, sha256=wheel.sha256)) + b"\n")
        made = _pack(unpacked, dist_info, workspace / name.filename)
        unmake_variant(made.path, workspace)
        return replace(made, path=made.path.rename(folder / name.filename))


def unmake_variant(wheel: Path, folder: Path) -> WheelFile:
    """Turn a variant wheel back into the plain wheel that it was made of.

    Args:
        wheel: the variant wheel, which may be anybody's.
        folder: where the plain wheel is put.

    Raises:
        UnreadableError: it is none, or nobody wrote in it what it was made of.
        IntegrityError: what comes out is not what stands there.
    """
    name, plain = VariantWheelName.parse(wheel.name), plain_of(wheel)
    assert plain  # noqa: S101 - a name with a label
    plain_name = WheelName.parse(plain.filename)
    if variant_name(plain_name, name.label) != name:
        raise UnreadableError(
            "variant-of-another",
            f"{wheel.name} says that it was {plain.filename!r}, of which it would be another variant",
        )
    with _workspace(folder, wheel.name) as workspace:
        unpacked = _unpack(wheel, workspace / "wheel")
        dist_info = _rename(unpacked, name.plain.version, plain_name.version)
        (dist_info / VARIANT_FILE).unlink(missing_ok=True)
        (dist_info / PLAIN_FILE).unlink()
        made = _pack(unpacked, dist_info, workspace / plain.filename)
        if made.sha256 != plain.sha256:
            raise IntegrityError(
                "hash-differs", f"{wheel.name} gives a wheel with sha256 {made.sha256}, not {plain.sha256}"
            )
        return replace(made, path=made.path.rename(folder / plain.filename))


def plain_of(wheel: Path) -> PlainWheel | None:
    """Which wheel a variant wheel was made of; None for a plain wheel.

    Raises:
        UnreadableError: it cannot be read, or nobody wrote in it what it was made of.
    """
    if split_label(wheel.name)[1] is None:
        return None
    try:
        with wheel.open("rb") as file, open_archive(file) as archive:
            return _plain_decoder.decode(read_member(archive, f"{dist_info_of(archive)}/{PLAIN_FILE}", MAX_METADATA))
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError("plain-file-invalid", f"{wheel.name}: {PLAIN_FILE}: {error}") from None


_plain_decoder: Final = Decoder(PlainWheel)


@contextmanager
def _workspace(folder: Path, filename: str) -> Iterator[Path]:
    """A folder for what is in a wheel; files and folders in each other's place are the wheel's fault."""
    with temporary_folder(folder) as workspace:
        try:
            yield workspace
        except (FileNotFoundError, IsADirectoryError) as error:
            raise UnreadableError(
                "file-failed", f"{filename}: {Path(str(error.filename)).name}: {error.strerror}"
            ) from None


def _unpack(wheel: Path, folder: Path) -> Path:
    if findings := check_archive(wheel):
        raise UnreadableError("wheel-unfit", f"{wheel.name}: {'; '.join(finding.detail for finding in findings)}")
    unpack(wheel, folder)
    return folder


def _rename(unpacked: Path, old: Version, new: Version) -> Path:
    """Give what is unpacked another version, in METADATA and the names of its folders; returns its ``.dist-info``."""
    for folder in (*unpacked.glob(f"*-{old}.dist-info"), *unpacked.glob(f"*-{old}.data")):
        renamed = folder.with_name(folder.name.replace(f"-{old}.", f"-{new}."))
        if renamed.exists():
            raise UnreadableError("dist-info-folders", f"it has both {folder.name} and {renamed.name}")
        folder.rename(renamed)
    dist_infos = [*unpacked.glob(f"*-{new}.dist-info")]
    if len(dist_infos) != 1:
        raise UnreadableError("dist-info-folders", f"expected one folder *-{old}.dist-info")
    metadata = dist_infos[0] / "METADATA"
    lines = metadata.read_bytes().splitlines(keepends=True)
    said = f"Version: {old}".encode()
    fields = takewhile(lambda line: line.strip(b"\r\n"), lines)
    at = next((number for number, line in enumerate(fields) if line.rstrip(b"\r\n") == said), None)
    if at is None:
        raise UnreadableError("metadata-differs", f"METADATA does not say {said.decode()!r}")
    lines[at] = lines[at].replace(said, f"Version: {new}".encode())
    metadata.write_bytes(b"".join(lines))
    return dist_infos[0]


def _pack(unpacked: Path, dist_info: Path, wheel: Path) -> WheelFile:
    (dist_info / "RECORD").write_bytes(record_of(unpacked, dist_info.name))
    pack(unpacked, wheel)
    return WheelFile.at(wheel)
