"""What is built for this machine alone."""

from dataclasses import replace

from packaging.requirements import Requirement

from tests.unit.plan.examples import CONFIG, CUDA_12, DEMO, HOPPER, PACKAGE, PY_12, TORCH_9, X86
from wheelmill.names import project_version
from wheelmill.plan.here import target_here


def test_the_newest_version_that_was_asked_for_is_built() -> None:
    versions = tuple(map(project_version, ("2.9", "2.10", "3.0")))
    config = replace(CONFIG, packages={DEMO: replace(PACKAGE, versions=versions)})
    target = target_here(
        Requirement("demo<3"),
        config,
        python=PY_12,
        cuda=CUDA_12,
        torch=TORCH_9,
        platform=X86,
        architectures=(HOPPER,),
    )
    assert (target.cell.version, target.architectures) == ("2.10", (HOPPER,))
