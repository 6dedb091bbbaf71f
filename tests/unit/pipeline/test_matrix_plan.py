"""A plan that went from job to job as JSON stands for the same targets."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.unit.plan.examples import CONFIG, DEMO, PLAIN, PY_12, TORCH_9
from wheelmill.config.model.config import Config
from wheelmill.errors import IntegrityError, UsageError
from wheelmill.names import StableTorch
from wheelmill.pipeline.matrix_plan import MatrixPlan, matrix_content
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import BuildTarget, Filters
from wheelmill.release.store import Quotas
from wheelmill.system.records import read_record

ABI3 = replace(CONFIG, packages={**CONFIG.packages, PLAIN: replace(CONFIG.packages[PLAIN], abi="abi3")})
PACKAGE = replace(CONFIG.packages[DEMO], torch_abi=StableTorch(oldest=TORCH_9), abi="abi3")
STABLE = replace(CONFIG, packages={DEMO: PACKAGE})


def handed_on(config: Config, filters: Filters, path: Path) -> tuple[BuildTarget, ...]:
    """What a later job plans again from what the planning job wrote."""
    plan = make_plan(config, filters, {})
    path.write_text(json.dumps(matrix_content(plan, Quotas(wheels=3), {})))
    again = read_record(path, MatrixPlan).targets(config)
    assert {target.cell: target for target in again} == {target.cell: target for target in plan.targets}
    return again


@pytest.mark.parametrize("config", [CONFIG, ABI3, STABLE])
@pytest.mark.parametrize("filters", [Filters(), Filters(pythons=(PY_12,)), Filters(projects=(DEMO,))])
def test_the_targets_of_a_plan_are_planned_again(tmp_path: Path, config: Config, filters: Filters) -> None:
    assert handed_on(config, filters, tmp_path / "plan.json")


def test_a_python_that_was_not_asked_for_is_not_planned_again(tmp_path: Path) -> None:
    targets = handed_on(CONFIG, Filters(pythons=(PY_12,)), tmp_path / "plan.json")
    assert {target.cell.python for target in targets} == {PY_12}


def test_a_group_that_the_configuration_does_not_have_is_named(tmp_path: Path) -> None:
    plan = make_plan(CONFIG, Filters(projects=(DEMO,)), {})
    content = json.dumps(matrix_content(plan, Quotas(), {})).replace(f'"{DEMO}-', '"other-')
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(UsageError, check=coded("group-unknown", "other-")):
        read_record(tmp_path / "plan.json", MatrixPlan).targets(CONFIG)


def test_what_is_no_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text('{"shards": [{"include": [{"group": "x"}]}], "waiting": []}')
    with pytest.raises(IntegrityError, check=coded("record-invalid", "plan.json", "MatrixPlan")):
        read_record(tmp_path / "plan.json", MatrixPlan)
