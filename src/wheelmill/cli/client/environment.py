"""``wheelmill environment`` and ``cache``: the detected target, and the cache folder of the client."""

from __future__ import annotations

import os
import shlex
import shutil
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from wheelmill.cli.shared.commands import JsonOption, print_json
from wheelmill.cli.shared.options import TargetOptions, with_groups
from wheelmill.client.install.wheel_cache import CacheContent, clean_cache
from wheelmill.client.records import TargetEnvironment
from wheelmill.errors import UsageError
from wheelmill.system.hardware import parallelism_for
from wheelmill.system.progress import number_of, size

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import CacheClean, CacheFiles, CacheInfo, DetectedTarget


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
        bool, typer.Option("--shell", help="Print variables for building by hand, for a shell to evaluate.")
    ] = False,
    conda: Annotated[
        bool,
        typer.Option(
            "--conda", help="Print the variables that tell conda and pixi about this machine, for a shell to evaluate."
        ),
    ] = False,
) -> None:
    """Show the detected target: Python, torch, CUDA, driver, GPUs."""
    if [as_json, shell, conda].count(True) > 1:
        raise UsageError("options-conflict", "--json, --shell and --conda are three forms; give one of them")
    detected = target.here().detect()
    if shell or conda:
        variables = build_variables(detected) if shell else conda_variables(detected)
        for name, value in variables.items():
            print(f"export {name}={shlex.quote(value)}")
    elif as_json:
        print_json(environment_content(detected))
    else:
        _print_lines(detected)


def environment_content(target: TargetEnvironment) -> DetectedTarget:
    """Return an environment as JSON; unknown facts are null."""
    return {
        "schema": "wheelmill.environment/1",
        **target.in_json,
        "python_release": target.python_release,
        "free_threaded": target.python.free_threaded,
        "interpreter": str(target.interpreter) if target.interpreter else None,
        "libc": str(target.libc) if target.libc else None,
        "torch_release": target.torch_release,
        "cuda_major": target.cuda.major if target.cuda else target.cuda_major,
        "cpu_only": target.cpu_only,
        "cxx11_abi": target.cxx11_abi,
        "driver": target.driver,
        "driver_cuda": target.driver_cuda,
        "gpus": [{"name": gpu.name, "capability": gpu.capability.capability} for gpu in target.gpus],
        "tags": list(map(str, target.tag_places)),
        "origins": dict(target.origins),
    }


def _print_lines(target: TargetEnvironment) -> None:
    content: dict[str, object] = {**environment_content(target)}
    if target.cuda is None and (target.cpu_only or target.cuda_major):
        content["cuda"] = "none" if target.cpu_only else f"any {target.cuda_major}"
    content["gpus"] = ", ".join(f"{gpu.name or 'GPU'} ({gpu.capability.sm})" for gpu in target.gpus) or "none"
    for name in _SHOWN:
        value = content[name] if content[name] is not None else "not known"
        origin = f"  ({target.origins[name]})" if name in target.origins else ""
        print(f"{name:<12} {value}{origin}")


def conda_variables(target: TargetEnvironment) -> dict[str, str]:
    """List the variables for conda, mamba and pixi that run on another machine or see no driver.

    An empty ``CONDA_OVERRIDE_CUDA`` says that there is none.
    https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-virtual.html
    """
    from wheelmill.client.choose.fit import driver_cuda_of
    from wheelmill.client.choose.resolve import read_facts

    cuda = None if target.cpu_only else driver_cuda_of(target, read_facts()) or target.cuda
    libc = target.libc if target.libc and target.libc.family == "glibc" else None
    glibc = {"CONDA_OVERRIDE_GLIBC": f"{libc.major}.{libc.minor}"} if libc else {}
    return {"CONDA_OVERRIDE_CUDA": str(cuda) if cuda else "", **glibc}


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


app = typer.Typer(no_args_is_help=True, help="Show and clean the cache of pages and downloads.")

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@app.command()
def info(*, as_json: JsonOption = False) -> None:
    """Show where the cache is and how much it holds."""
    measured = clean_cache(None, dry_run=True)
    if as_json:
        content: CacheInfo = {
            "schema": "wheelmill.cache-info/1",
            "folder": str(measured.folder),
            **_files_content(measured),
            "oldest": measured.oldest.isoformat() if measured.oldest else None,
        }
        print_json(content)
        return
    print(f"{measured.folder}: {number_of(measured.files, 'file')}, {size(measured.size)}")
    if measured.oldest:
        print(f"the oldest was last used {measured.oldest:%Y-%m-%d %H:%M} UTC")
    if measured.leftovers:
        print(f"killed commands left {size(measured.leftovers)}")


@app.command()
def clean(
    *,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than", help="Delete only what was not used for this long: 30m, 12h, 7d, 4w.", metavar="AGE"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be deleted, and delete nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete the content of the cache, and leftovers of killed commands."""
    done = clean_cache(_age(older_than) if older_than else None, dry_run=dry_run)
    if as_json:
        content: CacheClean = {"schema": "wheelmill.cache-clean/1", **_files_content(done)}
        print_json(content)
        return
    what = f"{number_of(done.files, 'file')}, {size(done.size)}"
    left = f", and {size(done.leftovers)} that killed commands left" if done.leftovers else ""
    print(f"{'would delete' if dry_run else 'deleted'} {what}{left}")


def _files_content(measured: CacheContent) -> CacheFiles:
    return {"files": measured.files, "bytes": measured.size, "leftovers": measured.leftovers}


def _age(text: str) -> timedelta:
    number, unit = text[:-1], _UNITS.get(text[-1:])
    if unit is None or not (number.isascii() and number.isdigit()):
        raise UsageError(
            "age-invalid", f"--older-than: expected a number and one of {', '.join(_UNITS)}, such as 7d; not {text!r}"
        )
    try:
        return timedelta(**{unit: int(number)})
    except (OverflowError, ValueError):  # Python makes no number of more than 4,300 digits
        raise UsageError("age-too-large", f"--older-than: {text:.20} is more time than can be counted") from None
