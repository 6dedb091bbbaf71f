"""Sources that no wheel can, or need, be built of, and why."""

from __future__ import annotations

import re
from typing import Final

from wheelmill.config.pyproject import PYPROJECT
from wheelmill.config.survey.facts import Facts
from wheelmill.config.survey.setup_script import SETUP
from wheelmill.errors import UsageError

_COMPILED_AT_USE: Final = (
    (re.compile(r"\bcpp_extension\b.*\bload(_inline)?\b|\bload(_inline)?\s*\(\s*name\s*="), "compiles at first use"),
    (re.compile(r"^[ \t]*(?:import|from) triton\b", re.MULTILINE), "its kernels are Triton's, compiled at first use"),
    (re.compile(r"\bRawKernel\b|\bnumba\.cuda\b|\bfrom numba import cuda\b"), "compiles at first use"),
)


def check_needs_build(name: str, facts: Facts) -> None:
    """Make sure that a source has GPU code that somebody must compile before it is used.

    Raises:
        UsageError: it has not; says the line that shows it.
    """
    if missing := facts.missing:
        place, path = missing
        urls = [url for url in facts.declared.urls if url.startswith("https://")]
        hint = f"build it from git: wheelmill config add {urls[0].rstrip('/')}.git" if urls else "build it from git"
        raise UsageError("source-incomplete", f"the source of {name} lacks {path}, which {place} names", hint=hint)
    line = facts.setup.extension_line
    if not (line or facts.build_file):
        raise UsageError(
            "no-build-needed",
            f"{name} needs no build: {_why_not_compiled(facts)}",
            hint="any installer takes its own wheel",
        )
    has_submodules = ".gitmodules" in facts.tree.files  # which may have GPU code
    if facts.cuda is None and not facts.native.cuda_files and not has_submodules:
        place = facts.at_setup(line) if line else facts.at_word(facts.build_file or "", "project")
        raise UsageError(
            "no-build-needed",
            f"{name} needs no build: it has no GPU code; {place} compiles for the CPU alone",
            hint="its own wheels do not depend on CUDA",
        )


def _why_not_compiled(facts: Facts) -> str:
    if binaries := sorted(name for name in facts.tree.files if name.endswith(".so")):
        return f"its source holds what is compiled already ({binaries[0]})"
    for pattern, why in _COMPILED_AT_USE:
        if found := next(facts.tree.search(pattern, ".py"), None):
            return f"{why} ({found[0]})"
    if facts.folder + SETUP in facts.tree.files:
        return f"{facts.at_word(SETUP, 'setup(')} declares no extension"
    return f"{facts.at_word(PYPROJECT, 'build-backend')} names a backend that compiles nothing"
