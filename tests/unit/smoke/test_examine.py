"""Trying a wheel beside others of ours."""

from dataclasses import replace
from pathlib import Path

from tests.unit.build.conftest import CELL, PROVENANCE
from tests.unit.plan.examples import FACTS
from tests.unit.release.conftest import certified_wheel
from wheelmill.build.provenance import BuiltWheel, keep_provenance
from wheelmill.errors import ReleaseError
from wheelmill.names import project_name
from wheelmill.pipeline.run import serve_candidate
from wheelmill.smoke.environment import LocalEnvironments
from wheelmill.smoke.examine import AvailableWheel, examine_wheel
from wheelmill.system.progress import Progress
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.name import WheelFile

REQUIRED = project_name("torch-scatter")


def lost(_folder: Path) -> WheelFile:
    raise ReleaseError("release-unreadable", "v2026-11-21/torch_scatter.whl has another hash")


def test_a_released_wheel_that_cannot_be_had_refuses_the_one_that_needs_it_and_no_other(tmp_path: Path) -> None:
    file = certified_wheel(tmp_path / "demo-1.0-cp311-cp311-linux_x86_64.whl").file
    expectations = replace(PROVENANCE.expectations, requires=(REQUIRED,))
    keep_provenance(
        BuiltWheel(
            file=file, provenance=replace(PROVENANCE, sha256=file.sha256, architectures=(), expectations=expectations)
        )
    )
    beside = AvailableWheel(cell=replace(CELL, project=REQUIRED), pythons=PROVENANCE.pythons, requires=(), fetch=lost)
    verdict = examine_wheel(
        file, LocalEnvironments(compatibility=FACTS), serve_candidate, available=[beside], progress=Progress()
    )
    assert verdict.findings == (
        Finding(code=Code.ENVIRONMENT, detail="v2026-11-21/torch_scatter.whl has another hash"),
    )
