"""``wheelmill environment``: what wheels are chosen for."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import Annotated, Final

import typer

from wheelmill.build.parallelism import parallelism_for
from wheelmill.cli.shared.options import with_groups
from wheelmill.cli.shared.output import JsonOption, print_json
from wheelmill.cli.shared.target import TargetOptions
from wheelmill.client.records import TargetEnvironment
from wheelmill.errors import UsageError

_SHOWN: Final = (
    *("python", "interpreter", "platform", "libc", "torch", "cuda", "cxx11_abi"),
    *("driver", "driver_cuda", "gpus"),
)


@with_groups
def environment(
    *,
    target: TargetOptions,
    as_json: JsonOption = False,
    shell: Annotated[
        bool, typer.Option("--shell", help="Print variables for building by hand, for a shell's eval.")
    ] = False,
) -> None:
    """Show what wheels are chosen for: Python, torch, CUDA, driver, GPUs."""
    if as_json and shell:
        raise UsageError("--json and --shell cannot be given together")
    found = target.detect()
    if shell:
        for name, value in build_variables(found).items():
            print(f"export {name}={shlex.quote(value)}")  # noqa: T201 - read by a shell
    elif as_json:
        print_json("wheelmill.environment/1", **environment_content(found))
    else:
        _print_lines(found)


def environment_content(found: TargetEnvironment) -> dict[str, object]:
    """The environment as JSON shows it; what is not known is null."""
    return {
        "python": str(found.python),
        "python_release": found.python_release,
        "free_threaded": found.python.free_threaded,
        "interpreter": str(found.interpreter) if found.interpreter else None,
        "platform": str(found.platform),
        "libc": str(found.libc) if found.libc else None,
        "torch": str(found.torch) if found.torch else None,
        "torch_release": found.torch_release,
        "cuda": str(found.cuda) if found.cuda else None,
        "cuda_major": found.cuda.major if found.cuda else found.cuda_major,
        "cpu_only": found.cpu_only,
        "cxx11_abi": found.cxx11_abi,
        "driver": found.driver,
        "driver_cuda": str(found.driver_cuda) if found.driver_cuda else None,
        "gpus": [{"name": gpu.name, "capability": gpu.capability.capability} for gpu in found.gpus],
        "tags": list(map(str, found.tag_places)),
        "origins": dict(found.origins),
    }


def _print_lines(found: TargetEnvironment) -> None:
    content = environment_content(found)
    if found.cuda is None and (found.cpu_only or found.cuda_major):
        content["cuda"] = "none" if found.cpu_only else f"any {found.cuda_major}"
    content["gpus"] = ", ".join(f"{gpu.name or 'GPU'} ({gpu.capability.sm})" for gpu in found.gpus) or "none"
    for name in _SHOWN:
        value = content[name] if content[name] is not None else "not known"
        origin = f"  ({found.origins[name]})" if name in found.origins else ""
        print(f"{name:<12} {value}{origin}")  # noqa: T201 - the result


def build_variables(target: TargetEnvironment) -> dict[str, str]:
    """List the variables with which most CUDA extensions build for the target: for its GPUs and no others.

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
