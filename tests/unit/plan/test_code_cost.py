"""The time of a build is known from its source within a factor of two."""

from wheelmill.config.load import load_config
from wheelmill.config.model import SourceCode
from wheelmill.plan.groups import _BUILDS, COMPILATION_SECONDS, fit_of, further_python
from wheelmill.system import own_installation


def test_measured_packages_take_what_their_code_lets_expect_within_a_factor_of_two() -> None:
    """torch-spline-conv's seconds are a fifth of a build for five architectures; warp-rnnt's files include no torch."""
    ratios = {
        project: estimated / measured for project, estimated, measured in fit_of(load_config(own_installation.CONFIG))
    }
    near = {project for project, ratio in ratios.items() if 0.5 < ratio < 2}
    assert near >= {"causal-conv1d", "flash-attn", "mamba-ssm", "nerfacc", "torch-cluster", "torch-scatter"}
    assert ratios.keys() - near <= {"torch-spline-conv", "warp-rnnt"}


def test_measured_builds_have_as_many_compilations_as_packages_lock_counts() -> None:
    fit = fit_of(load_config(own_installation.CONFIG))
    locked = {project: round(estimated / COMPILATION_SECONDS) for project, estimated, _ in fit}
    assert locked == {project: compilations for project, (compilations, _) in _BUILDS.items()}


def test_a_further_python_costs_little_unless_kernels_include_python() -> None:
    with_python, without = (SourceCode(cuda_files=1, includes_python=each) for each in (True, False))
    assert 0.8 < further_python(with_python) < 1
    assert further_python(without) == further_python(None) < 0.2
