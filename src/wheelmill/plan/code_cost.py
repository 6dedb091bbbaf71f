"""Time to compile code, fitted to measured builds; docs/performance.md has their conditions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from statistics import geometric_mean, mean, median
from typing import Final

from wheelmill.config.model import Config, LockedCommit, LockedSdist, SourceCode
from wheelmill.names import ProjectName

# fmt: off
_BUILDS: Final = {
    "causal-conv1d": (4, 279), "chamferdist": (3, 394), "diso": (3, 198), "flash-attn": (132, 12_240),
    "grouped-gemm": (2, 439), "mamba-ssm": (10, 1818), "nerfacc": (5, 470), "nv-grouped-gemm": (4, 830),
    "pycuda": (1, 212), "spatial-correlation-sampler": (3, 221), "torch-cluster": (16, 2999),
    "torch-scatter": (7, 1136), "torch-sparse": (16, 2296), "torch-spline-conv": (5, 507), "torchsort": (2, 260),
    "warp-rnnt": (4, 153),
}
# fmt: on
"""Compilations, as packages.lock counts them, and seconds for sm_90 and one Python: "Builds", "The catalogue", "Two
Pythons in one group" and "flash-attn" in docs/performance.md."""

_REPEATED: Final = ((279, 340), (394, 234), (439, 332), (1136, 748), (260, 258), (153, 180))
"""Seconds of two builds of the same package, from the same tables."""

_SECOND_PYTHON: Final = {True: 561 / 657, False: mean([43 / 340, 115 / 748, 72 / 507])}
"""Seconds of a group's second Python for each of the first one, by whether CUDA files include ``Python.h``; if not, the
second one finds their objects in the compiler cache ("Two Pythons in one group")."""


def _spread(ratios: Iterable[float]) -> float:
    """Return the factor that four of five ratios of an estimate to a measurement are within, either way."""
    factors = sorted(max(ratio, 1 / ratio) for ratio in ratios)
    return factors[math.ceil(0.8 * len(factors)) - 1]


COMPILATION_SECONDS: Final = geometric_mean(seconds / count for count, seconds in _BUILDS.values())
"""The fit: half the time is as wrong as twice the time."""

TYPICAL_SECONDS: Final = round(median(seconds for _, seconds in _BUILDS.values()))
"""Seconds for each GPU architecture of a source whose code is not known."""

SPREAD_BY_CODE: Final = _spread(COMPILATION_SECONDS * count / seconds for count, seconds in _BUILDS.values())
SPREAD_OF_TYPICAL: Final = _spread(TYPICAL_SECONDS / seconds for _, seconds in _BUILDS.values())
SPREAD_OF_PRIOR: Final = _spread(again / seconds for seconds, again in _REPEATED)


def seconds_of_code(code: SourceCode, architectures: int) -> float:
    """Estimate the seconds of a build for one Python: CUDA files are compiled for each GPU architecture."""
    return COMPILATION_SECONDS * ((code.cuda_files or 0) * architectures + (code.bindings or 0))


def further_python(code: SourceCode | None) -> float:
    """Return the cost of a further Python of a group relative to the first one; unknown code counts as cached."""
    return _SECOND_PYTHON[code is not None and code.includes_python]


def fit_of(config: Config) -> Iterator[tuple[ProjectName, float, int]]:
    """Yield packages with `seconds` and known code: the estimated and the measured seconds for one architecture."""
    for package in config.packages.values():
        for source in (config.lock.source_of(package, version) for version in package.versions[-1:]):
            if package.seconds and isinstance(source, LockedSdist | LockedCommit) and source.code:
                yield package.name, seconds_of_code(source.code, 1), package.seconds
