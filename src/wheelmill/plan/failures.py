"""Builds that failed before: the same inputs would fail again, so they are not tried again unasked."""

from __future__ import annotations

from pathlib import Path

from wheelmill.names import Sha256
from wheelmill.plan.targets import BuildTarget
from wheelmill.system.files import sha256_of, sha256_of_bytes


def inputs_of(target: BuildTarget) -> Sha256:
    """Hash everything that decides how a target's build goes, so that a change to any of it is worth a new try."""
    package = target.package
    folder = sorted(target.source.rglob("*")) if isinstance(target.source, Path) else ()
    inputs = (
        *(target.cell, target.source, target.requirements, target.toolkit, target.torch_release, target.architectures),
        *(package.build_args, package.extra_deps, package.env, package.arch_variable, package.expectations),
        *(package.memory_per_job, package.timeout, *(sha256_of(patch) for patch in package.patches)),
        *(sha256_of(path) for path in folder if path.is_file()),
    )
    return sha256_of_bytes(repr(inputs).encode())
