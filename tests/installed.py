"""Environments for tests, as installers leave them: files, and a ``.dist-info`` with RECORD for each project."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.shared_objects import shared_object
from tests.wheels import record_of

PYTHON_312 = "cpython-312-x86_64-linux-gnu.so"
TORCH_FILES = {
    "torch/__init__.py": b"",
    "torch/version.py": b"__version__ = '2.11.0+cu130'\ncuda = '13.0'\n",
    **{f"torch/lib/{name}": shared_object(soname=name) for name in ("libtorch.so", "libc10.so", "libtorch_cuda.so")},
}
RUNTIME = {"nvidia/cu13/lib/libcudart.so.13": shared_object(soname="libcudart.so.13")}
EXTENSION = shared_object(needed=["libtorch.so", "libtorch_cuda.so", "libcudart.so.13"])
FLASH = "2.8.3+cu130torch2.11"
FLASH_FILES = {"flash_attn/__init__.py": b"import torch\n", f"flash_attn_2_cuda.{PYTHON_312}": EXTENSION}


def install(
    site: Path,
    project: str,
    version: str,
    files: Mapping[str, bytes],
    *,
    tag: str = "cp312-cp312-manylinux_2_28_x86_64",
    requires: Sequence[str] = (),
    origin: str | None = None,
    installer: str = "uv",
) -> Path:
    """Put a project into a folder of packages, and return its ``.dist-info``."""
    folder = f"{project.replace('-', '_')}-{version}.dist-info"
    lines = [f"Name: {project}", f"Version: {version}", *(f"Requires-Dist: {each}" for each in requires)]
    members = {
        **files,
        f"{folder}/METADATA": "\n".join(["Metadata-Version: 2.1", *lines, ""]).encode(),
        f"{folder}/WHEEL": f"Wheel-Version: 1.0\nTag: {tag}\n".encode(),
        f"{folder}/INSTALLER": f"{installer}\n".encode(),
    }
    if origin:
        members[f"{folder}/direct_url.json"] = json.dumps({"url": origin}).encode()
    record = f"{folder}/RECORD"
    for name, content in {**members, record: record_of(members, record)}.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(content)
    return site / folder


def install_sound(site: Path) -> None:
    """torch 2.11 for CUDA 13.0, what it requires, and flash-attn for it."""
    install(site, "nvidia-cuda-runtime", "13.0.96", RUNTIME, tag="py3-none-manylinux2014_x86_64")
    install(site, "torch", "2.11.0", TORCH_FILES, requires=["nvidia-cuda-runtime==13.0.96"])
    install(site, "flash-attn", FLASH, FLASH_FILES, requires=["torch==2.11.*"])
