"""What wheels are tried beside, and what is said where that is not there."""

from dataclasses import replace

import pytest

from tests.unit.plan.examples import (
    CELL,
    CONFIG,
    CUDA_12,
    CUDA_13,
    DEMO,
    PACKAGE,
    PLAIN,
    PY_12,
    TORCH_9,
    TORCH_11,
    V1,
    V2,
    X86,
)
from wheelmill.names import StableTorch, TorchVersion, project_name
from wheelmill.plan.matrix import find_missing, make_plan
from wheelmill.plan.targets import Cell, Filters, Plan

USER = project_name("user")
CONFIGURATION = replace(CONFIG, packages={USER: replace(PACKAGE, name=USER, requires=(DEMO,)), **CONFIG.packages})
ONE = Filters(versions=(V1,), pythons=(PY_12,), cudas=(CUDA_13,), torches=(TORCH_11,), platforms=(X86,))


def planned(*projects: str) -> Plan:
    return make_plan(CONFIGURATION, replace(ONE, projects=tuple(map(project_name, projects))), {})


def test_a_package_that_is_neither_published_nor_planned_is_named() -> None:
    (missing,) = find_missing(planned("user"), ())
    assert (missing.project, missing.requires, missing.cells) == (USER, DEMO, (replace(CELL, project=USER),))


def test_what_is_planned_too_or_published_in_any_version_is_not_missing() -> None:
    assert find_missing(planned("user", "demo"), ()) == ()
    assert find_missing(planned("user"), [replace(CELL, version=V2)]) == ()
    assert find_missing(planned("user"), [replace(CELL, torch=StableTorch(oldest=TORCH_9))]) == ()


@pytest.mark.parametrize(
    "published",
    [
        replace(CELL, project=PLAIN),
        replace(CELL, cuda=CUDA_12),
        replace(CELL, torch=StableTorch(oldest=TorchVersion(2, 12))),
        replace(CELL, python=replace(PY_12, minor=11)),
    ],
)
def test_what_is_published_for_something_else_is_missing(published: Cell) -> None:
    assert len(find_missing(planned("user"), [published])) == 1


def test_a_wheel_for_several_pythons_needs_the_other_one_on_each() -> None:
    (target,) = planned("user").targets
    shared = replace(target, pythons=(PY_12, replace(PY_12, minor=14)))
    assert find_missing(Plan(targets=(shared,), skips=()), [CELL]) != ()
    assert find_missing(Plan(targets=(shared,), skips=()), [CELL, replace(CELL, python=shared.pythons[1])]) == ()
