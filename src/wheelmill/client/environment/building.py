"""Variables with which most CUDA extensions build for a target: what a person would set by hand."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from wheelmill.build.parallelism import parallelism_for
from wheelmill.client.records import TargetEnvironment


def build_variables(target: TargetEnvironment) -> dict[str, str]:
    """List the variables, for every GPU of the target and no other.

    https://docs.pytorch.org/docs/stable/cpp_extension.html
    """
    capabilities = sorted({gpu.capability for gpu in target.gpus})
    parallelism = parallelism_for(max(1, len(capabilities)))
    variables = {"MAX_JOBS": str(parallelism.jobs), "NVCC_THREADS": str(parallelism.threads)}
    if capabilities:
        variables["TORCH_CUDA_ARCH_LIST"] = " ".join(map(str, capabilities))
        variables["CUDAARCHS"] = ";".join(str(each).replace(".", "") for each in capabilities)
    if target.cuda:
        variables["UV_TORCH_BACKEND"] = target.cuda.tag
        variables["FORCE_CUDA"] = "1"
    if nvcc := shutil.which("nvcc"):
        variables.setdefault("CUDA_HOME", os.environ.get("CUDA_HOME") or str(Path(nvcc).resolve().parent.parent))
    return variables
