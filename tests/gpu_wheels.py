"""Wheels with GPU code that pass the rules on bytes, for the Python of the tests."""

import sys
from pathlib import Path

from tests.shared_objects import shared_object
from tests.wheels import packed_wheel
from wheelmill.smoke.examine import examine_bytes
from wheelmill.smoke.verdict import Certificate, TestedWheel
from wheelmill.wheel.name import WheelFile

TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"


def gpu_wheel(folder: Path, project: str, label: str, gpus: tuple[int, ...]) -> TestedWheel:
    """Write a wheel of version 1.0 with a label and code for some GPUs, packed as ours are, and examine it."""
    version = f"1.0+{label}"
    requires = "Requires-Dist: torch==2.11.*\n" if "torch" in label else ""
    path = packed_wheel(
        folder / f"{project}-{version}-{TAG}-{TAG}-linux_x86_64.whl",
        metadata=f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n{requires}",
        files={
            f"{project}/__init__.py": f"label = {label!r}\n".encode(),
            **{f"{project}/_{gpu}.so": shared_object(sm=gpu) for gpu in gpus},
        },
    )
    file = WheelFile.at(path)
    _, verdict = examine_bytes(file, None)
    assert verdict.evidence, verdict
    certificate = Certificate(sha256=file.sha256, evidence=verdict.evidence, clean_rooms=(), provenance=None)
    return TestedWheel(file=file, certificate=certificate)
