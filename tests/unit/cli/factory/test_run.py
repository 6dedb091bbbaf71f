"""What a run says and refuses before anything is built."""

from dataclasses import replace

import pytest

from tests.refusals import coded
from tests.unit.plan.examples import BLACKWELL, CELL, CONFIG, CUDA_13, DEMO, PACKAGE, PY_12, TORCH_11, V1, X86
from wheelmill.cli.factory.inputs import BuildOptions, SandboxKind
from wheelmill.cli.factory.plan import check_all_buildable
from wheelmill.cli.factory.run import plan_run, smallest
from wheelmill.errors import BuildError, UsageError
from wheelmill.names import CudaVersion, ReleaseTag, project_name
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import Filters

USER = project_name("user")


def test_a_sample_is_of_the_newest_cuda_that_can_be_built_and_one_architecture() -> None:
    any_of_it = Filters(projects=(DEMO,), platforms=(X86,), sample=True)
    where = BuildOptions(sandbox=SandboxKind.LOCAL)
    planned = plan_run(CONFIG, any_of_it, {}, lambda _target: None, smallest(where, CONFIG))
    assert [(it.cell.cuda, it.architectures, it.sample) for it in planned.targets] == [(CUDA_13, (BLACKWELL,), True)]


def test_a_required_package_that_was_asked_for_and_is_skipped_does_not_hold_up_the_others() -> None:
    user = replace(PACKAGE, name=USER, requires=(DEMO,))
    licensed = replace(PACKAGE, redistributable=False)
    config = replace(CONFIG, packages={USER: user, DEMO: licensed})
    both = Filters(
        projects=(USER, DEMO), versions=(V1,), pythons=(PY_12,), cudas=(CUDA_13,), torches=(TORCH_11,), platforms=(X86,)
    )
    planned = plan_run(config, both, {}, lambda _target: None)
    assert [target.cell.project for target in planned.targets] == [USER]
    with pytest.raises(BuildError, check=coded("requirement-not-in-run", "user", "demo")):
        plan_run(config, replace(both, projects=(USER,)), {}, lambda _target: None)


@pytest.mark.parametrize("policy", ["manylinux_2_29", "manylinux_2_28_x86_64", "musllinux_1_2"])
def test_a_policy_that_auditwheel_has_not_is_refused_before_the_build(policy: str) -> None:
    with pytest.raises(UsageError, check=coded("policy-unknown", policy)):
        BuildOptions(policy=policy).resolve_policy()


@pytest.mark.parametrize("policy", ["auto", "manylinux_2_28", "manylinux2014"])
def test_a_policy_that_auditwheel_has_is_taken(policy: str) -> None:
    assert BuildOptions(policy=policy).resolve_policy() == policy


def test_a_project_of_which_no_wheel_can_be_is_refused_with_the_reason() -> None:
    unknown = Filters(projects=(DEMO,), cudas=(CudaVersion(14, 0),), platforms=(X86,), newest_torch=True)
    with pytest.raises(BuildError, check=coded("nothing-to-build", "demo", "CUDA 14.0 is not in compatibility.yml")):
        check_all_buildable(make_plan(CONFIG, unknown, {}), (DEMO,))


def test_a_project_that_is_published_has_nothing_to_build() -> None:
    one = Filters(
        projects=(DEMO,), pythons=(PY_12,), cudas=(CUDA_13,), torches=(TORCH_11,), platforms=(X86,), versions=(V1,)
    )
    planned = make_plan(CONFIG, one, {CELL: ReleaseTag("v2026-11-21")})
    assert planned.targets == ()
    check_all_buildable(planned, (DEMO,))
    check_all_buildable(make_plan(CONFIG, one, {}), (DEMO,))
