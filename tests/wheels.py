"""Small wheels for tests, whole unless a test asks for a fault."""

import base64
import csv
import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import wheelmill.wheel.record
from wheelmill.wheel.archive import pack, unpack

NOTHING: Mapping[str, bytes] = MappingProxyType({})
DEFAULT_MODES: Mapping[str, int] = MappingProxyType({})


def wheel_name(
    version: str = "1.0.0",
    *,
    label: str = "cu128torch2.8",
    tag: str = "cp312-cp312",
    platform: str = "manylinux_2_28_x86_64",
    project: str = "demo",
) -> str:
    """The file name of a wheel that is built for a CUDA and a torch."""
    return f"{project}-{version}+{label}-{tag}-{platform}.whl"


def write_wheel(
    path: Path,
    *,
    metadata: str | None = None,
    files: Mapping[str, bytes] = NOTHING,
    record: bytes | None = None,
    tag: str | None = None,
    dist_info: str | None = None,
    modes: Mapping[str, int] = DEFAULT_MODES,
) -> Path:
    """Write a wheel that any installer takes, and return its path.

    Args:
        path: where, with a wheel's file name: ``tmp_path / "demo-1.0-py3-none-any.whl"``. The project, the version
            and the tags inside are those of this name. Missing folders are made.
        metadata: the whole METADATA file; without it, one that has no more than the required fields.
        files: what the wheel holds beside its ``.dist-info``, as ``{"demo/__init__.py": b""}``. A name inside the
            ``.dist-info`` replaces what would stand there.
        record: the whole RECORD file; without it, one that agrees with the other files.
        tag: the tag that the WHEEL file states, where it should differ from the file name's.
        dist_info: the name of the folder with METADATA, where it should differ from the file name's.
        modes: of its files, where they are not 0o644.
    """
    project, version, *_, interpreter, abi, platform = path.name.removesuffix(".whl").split("-")
    dist_info = dist_info or f"{project}-{version}.dist-info"
    tag = tag or f"{interpreter}-{abi}-{platform}"
    pure = str(tag.endswith("-none-any")).lower()
    members = {
        **files,
        f"{dist_info}/METADATA": (metadata or f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n").encode(),
        f"{dist_info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode(),
        **{name: content for name, content in files.items() if name.startswith(dist_info)},
    }
    own_name = f"{dist_info}/RECORD"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        record = record if record is not None else record_of(members, own_name)
        for name, content in [*members.items(), (own_name, record)]:
            member = zipfile.ZipInfo(name)  # of 1980, so that the same content gives the same bytes
            member.external_attr = modes.get(name, 0o644) << 16
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
    return path


def packed_wheel(path: Path, *, files: Mapping[str, bytes] = NOTHING, metadata: str | None = None) -> Path:
    """Write a wheel as `write_wheel` does, and pack it as the wheels that we build are."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        unpack(write_wheel(folder / path.name, files=files, metadata=metadata), folder / "wheel")
        (dist_info,) = folder.glob("wheel/*.dist-info")
        (dist_info / "RECORD").write_bytes(wheelmill.wheel.record.record_of(folder / "wheel", dist_info.name))
        path.parent.mkdir(parents=True, exist_ok=True)
        pack(folder / "wheel", path)
    return path


def record_of(members: Mapping[str, bytes], own_name: str) -> bytes:
    """The RECORD of these members, which stands among them under its own name."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for name, content in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        rows.writerow((name, f"sha256={digest}", len(content)))
    rows.writerow((own_name, "", ""))
    return text.getvalue().encode()
