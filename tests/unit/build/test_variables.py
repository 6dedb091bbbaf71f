"""The environment variables of a build. How many compilers run at once."""

import itertools
import os
from dataclasses import replace
from pathlib import PurePath
from typing import Literal

import pytest

from tests.unit.build.conftest import TARGET
from wheelmill.build.parallelism import MEMORY_PER_COMPILER, Parallelism, parallelism_for
from wheelmill.build.variables import variables_of
from wheelmill.config.model import ArchVariable, Package
from wheelmill.names import Architecture

GENCODE = "-gencode=arch=compute"
NEWEST_ALONE = (Architecture(9, 0, "a"), Architecture(12, 0, ptx=True))


def variables(package: Package = TARGET.package, **changes: tuple[object, ...]) -> dict[str, str]:
    target = replace(TARGET, package=package, **changes)  # type: ignore[arg-type]  # names
    places = {"packages": PurePath("/packages"), "toolkit": PurePath("/cuda")}
    return variables_of(target, Parallelism(jobs=4, threads=2), **places)


def test_the_build_is_told_what_to_compile_for_and_how_many_compilers_may_run() -> None:
    told = variables()
    assert told["TORCH_CUDA_ARCH_LIST"] == "9.0;12.0+PTX"
    assert told["CUDAARCHS"] == "90-real;120"
    assert (told["MAX_JOBS"], told["NVCC_THREADS"]) == ("4", "2")
    assert "WHEELMILL_GENCODE" not in told


def test_variables_of_the_package_have_the_last_word() -> None:
    told = variables(replace(TARGET.package, env={"MAX_JOBS": "1000", "FORCE_CUDA": "1"}))
    assert (told["MAX_JOBS"], told["FORCE_CUDA"]) == ("1000", "1")


def test_flags_of_the_target_stand_behind_those_of_every_build() -> None:
    told = variables(nvcc_flags=("--compress-mode=size", "-lineinfo"))
    assert told["NVCC_APPEND_FLAGS"] == "--frandom-seed=wheelmill --threads=2 --compress-mode=size -lineinfo"


@pytest.mark.parametrize(("form", "value"), [("dotted", "9.0a;12.0"), ("digits", "90a;120"), ("cmake", "90a-real;120")])
def test_a_package_is_told_its_architectures_in_its_own_variable(
    form: Literal["dotted", "digits", "cmake"], value: str
) -> None:
    env = {"CMAKE_ARGS": f"-DDEMO=on -DARCHS={{architectures:{form}}} -DMORE={{other}}"}
    package = replace(TARGET.package, arch_variable=ArchVariable(name="DEMO_ARCHS", form=form), env=env)
    told = variables(package, architectures=NEWEST_ALONE)
    assert told["DEMO_ARCHS"] == value
    assert told["CMAKE_ARGS"] == f"-DDEMO=on -DARCHS={value} -DMORE={{other}}"
    assert told["TORCH_CUDA_ARCH_LIST"] == "9.0a;12.0+PTX"


@pytest.mark.parametrize(
    ("architectures", "gencode", "known_to_torch"),
    [
        (
            TARGET.architectures,
            f"{GENCODE}_90,code=sm_90 {GENCODE}_120,code=sm_120 {GENCODE}_120,code=compute_120",
            "9.0;12.0+PTX",
        ),
        (  # torch 2.14's extension builder refuses 10.0f
            (Architecture(9, 0, "a"), Architecture(10, 0, "f")),
            f"{GENCODE}_90a,code=sm_90a {GENCODE}_100f,code=sm_100f",
            "9.0a;10.0",
        ),
    ],
    ids=["with PTX", "of a family"],
)
def test_the_compiler_is_told_what_takes_the_place_of_the_sources_architectures(
    architectures: tuple[Architecture, ...], gencode: str, known_to_torch: str
) -> None:
    told = variables(replace(TARGET.package, gencode="replace"), architectures=architectures)
    assert (told["WHEELMILL_GENCODE"], told["TORCH_CUDA_ARCH_LIST"]) == (gencode, known_to_torch)


@pytest.mark.parametrize(
    ("architectures", "cores", "compilers_in_memory", "expected"),
    [
        (1, 8, 100, Parallelism(jobs=8, threads=1)),
        (1, 8, 3, Parallelism(jobs=3, threads=1)),
        (4, 16, 16, Parallelism(jobs=8, threads=2)),
        (4, 16, 5, Parallelism(jobs=2, threads=2)),
        (4, 16, 1, Parallelism(jobs=1, threads=1)),
        (4, 16, 0.5, Parallelism(jobs=1, threads=1)),
        (4, 1, 100, Parallelism(jobs=1, threads=1)),
    ],
)
def test_cores_and_memory_are_divided(
    architectures: int, cores: int, compilers_in_memory: float, expected: Parallelism
) -> None:
    memory = int(compilers_in_memory * MEMORY_PER_COMPILER)
    assert parallelism_for(architectures, cores=cores, memory=memory) == expected


def test_compilers_never_need_more_memory_than_there_is() -> None:
    for architectures, cores, compilers in itertools.product(range(1, 6), range(1, 20), range(1, 20)):
        each = architectures << 30
        chosen = parallelism_for(architectures, per_compiler=each, cores=cores, memory=compilers * each)
        assert chosen.jobs * chosen.threads <= compilers
        assert chosen.jobs <= cores
        assert chosen.threads <= architectures


def test_this_machine_is_asked_when_nothing_is_told() -> None:
    assert 1 <= parallelism_for(1).jobs <= len(os.sched_getaffinity(0))
