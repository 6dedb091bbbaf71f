"""How many compilers run at once."""

import itertools
import os

import pytest

from wheelmill.build.parallelism import MEMORY_PER_COMPILER, Parallelism, parallelism_for


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
