"""Which wheels are wanted, and that all others are skipped for a reason."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from packaging.specifiers import SpecifierSet

from tests.refusals import Coded, coded
from tests.unit.plan.examples import (
    ARM,
    BLACKWELL,
    CELL,
    CONFIG,
    CUDA_12,
    CUDA_13,
    DEMO,
    FACTS,
    HOPPER,
    LOCKED,
    PACKAGE,
    PLAIN,
    PY_12,
    PY_13T,
    TORCH_9,
    TORCH_11,
    TORCH_12_RC,
    V1,
    V2,
    VOLTA,
    WITH_CANDIDATE,
    X86,
)
from wheelmill.config.load import load_config
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.config import Config
from wheelmill.config.model.container_builder import ContainerBuilder, identifier_of
from wheelmill.config.model.files import Lock, LockedCommit
from wheelmill.config.model.package import Package
from wheelmill.config.model.package_parts import GitSource, MatrixRule, RequiresDist, Window
from wheelmill.errors import UsageError
from wheelmill.names import (
    CudaVersion,
    Platform,
    PythonVersion,
    ReleaseTag,
    TorchNeed,
    TorchVersion,
    project_name,
    project_version,
)
from wheelmill.plan.matrix import make_plan, newest_torch
from wheelmill.plan.targets import BuildTarget, Cell, Channel, Filters, Obstacle, Plan, Skip
from wheelmill.system import own_installation

MISSION = Path(__file__).parents[2] / "data" / "mission"

ONE = Filters(
    projects=(DEMO,), versions=(V1,), pythons=(PY_12,), cudas=(CUDA_13,), torches=(TORCH_11,), platforms=(X86,)
)


def target(config: Config = CONFIG, filters: Filters = ONE) -> BuildTarget:
    (only,) = make_plan(config, filters, {}).targets
    return only


def cells_of(plan: Plan) -> list[Cell]:
    return [*(target.cell for target in plan.targets), *(skip.cell for skip in plan.skips)]


def test_a_target_has_all_that_its_build_needs() -> None:
    assert target() == BuildTarget(
        cell=CELL,
        package=PACKAGE,
        source=LOCKED,
        toolkit="13.0.2",
        torch_release="2.11.0",
        torch_backend=None,
        architectures=(BLACKWELL,),
        driver="580.65.06",
        pythons=(PY_12,),
    )


def test_torch_comes_from_its_own_index_where_the_usual_one_has_none_for_the_cuda() -> None:
    assert target(filters=replace(ONE, cudas=(CUDA_12,))).torch_backend == "cu128"
    (on_arm,) = {each.torch_backend for each in make_plan(CONFIG, replace(ONE, platforms=(ARM,)), {}).targets}
    assert on_arm == "cu130"


def test_a_release_candidate_is_planned_only_when_it_is_asked_for() -> None:
    package = replace(PACKAGE, window=Window(torch=SpecifierSet("<2.10")))
    config = replace(CONFIG, compatibility=WITH_CANDIDATE, packages={**CONFIG.packages, DEMO: package})
    everything = Filters(pythons=(PY_12,), versions=(V1,), platforms=(X86,))
    unasked = make_plan(config, everything, {})
    assert TORCH_12_RC not in {cell.torch for cell in cells_of(unasked)}
    by_name = make_plan(config, replace(everything, projects=(DEMO,), torches=(TORCH_12_RC,)), {})
    by_channel = make_plan(config, replace(everything, channel=Channel.RC), {})
    assert by_name == by_channel, "what needs no torch is not built for a candidate"
    assert [each.cell.id for each in by_channel.targets] == [
        "demo-1.0+cu128torch2.12rc1-cp312-linux_x86_64",
        "demo-1.0+cu130torch2.12rc1-cp312-linux_x86_64",
    ]
    older, newer = by_channel.targets
    assert (newer.torch_release, newer.torch_backend) == ("2.12.0rc1", "https://torch.example/test/cu130")
    assert older.torch_backend == "https://torch.example/test/cu128"
    assert newer.cxx_standard == 20


def test_a_torch_of_which_there_is_a_candidate_alone_is_not_taken_for_it() -> None:
    planned = make_plan(replace(CONFIG, compatibility=WITH_CANDIDATE), replace(ONE, torches=(TorchVersion(2, 12),)), {})
    (skip,) = planned.skips
    assert "2.12rc1" in skip.reason


def test_a_release_candidate_is_never_the_newest_torch() -> None:
    config = replace(CONFIG, compatibility=WITH_CANDIDATE)
    assert target(config, replace(ONE, torches=(), newest_torch=True)).cell.torch == TORCH_11


@pytest.mark.parametrize(("wanted", "standard"), [(None, 20), ("as-is", None), (23, 23)])
def test_torch_or_package_raises_the_standard(wanted: Literal["as-is"] | int | None, standard: int | None) -> None:
    releases = {TORCH_9: replace(FACTS.torch[TORCH_9], cxx=20), TORCH_11: FACTS.torch[TORCH_11]}
    facts = replace(FACTS, torch=replace(FACTS.torch, releases=releases))
    package = replace(PACKAGE, cxx_standard=wanted)
    config = replace(CONFIG, compatibility=facts, packages={DEMO: package})
    assert target(config).cxx_standard == standard, "what an older torch asks for holds for a newer one"
    assert target().cxx_standard is None


@pytest.mark.parametrize(
    ("cuda", "compress", "flags", "driver"),
    [
        ("12.6", None, (), "525.60.13"),
        ("12.6", "size", (), "525.60.13"),
        ("12.8", None, (), "525.60.13"),
        ("12.8", "size", ("--compress-mode=size",), "550.54.14"),
        ("13.0", None, ("--compress-mode=size",), "580.65.06"),
        ("13.0", "as-is", (), "580.65.06"),
    ],
)
def test_gpu_code_is_compressed_where_that_takes_no_newer_driver_or_is_asked_for(
    cuda: str, compress: Literal["size", "as-is"] | None, flags: tuple[str, ...], driver: str
) -> None:
    """By the facts that ship."""
    package = replace(PACKAGE, compress=compress, nvcc_flags=("-lineinfo",))
    facts = load_config(own_installation.CONFIG).compatibility
    config = replace(CONFIG, compatibility=facts, packages={DEMO: package})
    filters = replace(ONE, cudas=(CudaVersion.parse(cuda),), torches=(), newest_torch=True)
    planned = target(config, filters)
    assert (planned.nvcc_flags, planned.driver) == ((*flags, "-lineinfo"), driver)


def test_every_entry_that_ships_is_planned_for_the_newest_torch() -> None:
    """Or says in its own words why it is not, and since when."""
    config = load_config(own_installation.CONFIG)
    newest = max(config.compatibility.torch)
    planned = {each.package.name for each in make_plan(config, Filters(torches=(newest,)), {}).targets}
    needing = {name for name, package in config.packages.items() if package.needs_torch and package.redistributable}
    forgotten = [
        name
        for name in needing - planned
        if not any(rule.since and rule.torch and str(newest) in rule.torch for rule in config.packages[name].exclude)
    ]
    assert forgotten == []


def test_what_is_not_locked_yet_is_planned_without_a_source() -> None:
    assert target(filters=replace(ONE, versions=(V2,))).source is None


def test_a_commit_that_nobody_looked_up_yet_is_a_reason_for_a_skip_of_that_package_alone() -> None:
    source = GitSource(git="https://git.example/demo", ref="v{version}")
    package = replace(PACKAGE, source=source)
    config = replace(CONFIG, packages={**CONFIG.packages, DEMO: package}, lock=Lock(sdists={}))
    planned = make_plan(config, Filters(), {})
    assert {target.cell.project for target in planned.targets} == {PLAIN}
    (skip,) = make_plan(config, replace(ONE, force=True), {}).skips
    assert skip.obstacle is Obstacle.NOT_LOCKED
    assert "'wheelmill config lock demo'" in skip.reason
    commit = LockedCommit(git=source.git, ref="v1.0", commit="a" * 40)
    locked = replace(config, lock=Lock(sdists={}, commits={DEMO: {V1: commit}}))
    assert target(locked).source == commit


def test_a_source_is_built_for_the_pythons_that_it_says_it_is_for() -> None:
    """Python 3.12 is taken for its newest patch release."""
    for wanted, count in ((">=3.12.1", 1), (">=3.13", 0), ("<3.13", 1), ("!=3.12.*", 0)):
        source = replace(LOCKED, requires_python=SpecifierSet(wanted))
        planned = make_plan(replace(CONFIG, lock=Lock(sdists={DEMO: {V1: source}})), ONE, {})
        assert len(planned.targets) == count, wanted
        assert [skip.reason for skip in planned.skips] == [f"demo 1.0 requires Python {wanted}"] * (1 - count)


def _cudas_and_torches(package: Package, *requires_dist: str) -> set[tuple[CudaVersion, TorchNeed | None]]:
    """Those of the targets of a source with static requirements; each other cell is a skip that names one of them."""
    source = replace(LOCKED, requires_dist=requires_dist)
    config = replace(CONFIG, packages={DEMO: package}, lock=Lock(sdists={DEMO: {V1: source}}))
    every = Filters(projects=(DEMO,), versions=(V1,), platforms=(X86,), pythons=(PY_12,))
    planned = make_plan(config, every, {})
    reasons = {skip.reason for skip in planned.skips if skip.obstacle is Obstacle.REQUIRES_DIST}
    assert reasons <= {f"demo 1.0 requires {text}" for text in requires_dist}
    without = make_plan(replace(config, lock=Lock(sdists={DEMO: {V1: LOCKED}})), every, {})
    assert bool(reasons) == (len(planned.targets) < len(without.targets))
    return {(target.cell.cuda, target.cell.torch) for target in planned.targets}


def test_a_source_is_built_for_the_torches_and_cudas_that_it_always_requires() -> None:
    old, between, new = (CUDA_12, TORCH_9), (CUDA_12, TORCH_11), (CUDA_13, TORCH_11)
    assert _cudas_and_torches(PACKAGE) == {old, between, new}
    assert _cudas_and_torches(PACKAGE, "torch>=2.9") == {old, between, new}
    assert _cudas_and_torches(PACKAGE, "torch<2.12,>=2.10") == {between, new}
    assert _cudas_and_torches(PACKAGE, 'torch<2; python_version < "3.12"') == {old, between, new}
    assert _cudas_and_torches(PACKAGE, "jax[cuda12]") == {old, between}
    assert _cudas_and_torches(PACKAGE, "cupy-cuda13x", "torch<2.11") == set()
    assert _cudas_and_torches(replace(PACKAGE, cuda=SpecifierSet(">=13")), "torch>=2.9") == {new}
    assert _cudas_and_torches(replace(PACKAGE, cuda=SpecifierSet(">=13")), "jax[cuda12]") == set()


def test_an_entry_may_change_or_include_what_its_source_excludes() -> None:
    for changes in RequiresDist(remove=(project_name("jax"),)), RequiresDist(replace=("jax[cuda13]",)):
        package = replace(PACKAGE, requires_dist=changes)
        assert len(_cudas_and_torches(package, "jax[cuda12]")) == 3
        assert len(_cudas_and_torches(package, "jax[cuda12]", "cupy-cuda12x")) == 2
    rule = MatrixRule(torch=SpecifierSet("==2.9"), cuda=SpecifierSet("<13"), reason="a patch makes it compile")
    package = replace(PACKAGE, include=(rule,))
    assert _cudas_and_torches(package, "torch>=2.12") == {(CUDA_12, TORCH_9)}


def test_a_commit_is_built_for_what_it_requires_too() -> None:
    source = GitSource(git="https://git.example/demo", ref="v{version}")
    commit = LockedCommit(git=source.git, ref="v1.0", commit="a" * 40, requires_dist=("torch<2.10",))
    lock = Lock(sdists={}, commits={DEMO: {V1: commit}})
    config = replace(CONFIG, packages={DEMO: replace(PACKAGE, source=source)}, lock=lock)
    planned = make_plan(config, Filters(projects=(DEMO,), versions=(V1,)), {})
    assert {target.cell.torch for target in planned.targets} == {TORCH_9}


def test_what_is_not_built_by_default_is_built_when_asked_for() -> None:
    package = replace(PACKAGE, window=Window(torch=SpecifierSet(">=2.10"), python=SpecifierSet("<3.13")))
    config = replace(CONFIG, packages={DEMO: package})
    everything = Filters(projects=(DEMO,), versions=(V1,), platforms=(X86,))
    planned = make_plan(config, everything, {})
    assert {(target.cell.torch, target.cell.python) for target in planned.targets} == {(TORCH_11, PY_12)}
    assert Obstacle.NOT_BY_DEFAULT in {skip.obstacle for skip in planned.skips}
    asked = make_plan(config, replace(everything, torches=(TORCH_9,), pythons=(PY_12, PY_13T)), {})
    assert {(target.cell.torch, target.cell.python) for target in asked.targets} == {
        (TORCH_9, PY_12),
        (TORCH_9, PY_13T),
    }


def test_free_threaded_pythons_are_left_out_by_default_and_built_when_asked_for() -> None:
    def pythons(filters: Filters, *, default: bool, entry: bool | None) -> set[PythonVersion]:
        package = replace(PACKAGE, free_threaded=entry, window=Window(free_threaded=default if entry is None else True))
        return {each.cell.python for each in make_plan(replace(CONFIG, packages={DEMO: package}), filters, {}).targets}

    every_python = Filters(projects=(DEMO,), versions=(V1,), platforms=(X86,), torches=(TORCH_9,))
    assert PY_13T in pythons(every_python, default=True, entry=None)
    assert PY_13T not in pythons(every_python, default=False, entry=None)
    assert PY_13T in pythons(every_python, default=False, entry=True)
    assert PY_13T in pythons(replace(every_python, pythons=(PY_13T,)), default=False, entry=None)
    assert PY_13T in pythons(replace(every_python, everything=True), default=False, entry=None)
    assert PY_13T not in pythons(replace(every_python, pythons=(PY_13T,)), default=True, entry=False)


def test_a_package_that_does_not_link_to_torch_has_no_torch_axis_and_the_pythons_of_the_facts() -> None:
    without_torch = target(filters=replace(ONE, projects=(PLAIN,)))
    assert without_torch.cell == replace(CELL, project=PLAIN, torch=None)
    assert without_torch.torch_release is None
    assert without_torch.source == Path("config/plain")
    planned = make_plan(CONFIG, Filters(projects=(PLAIN,)), {})
    assert {cell.python for cell in cells_of(planned)} == set(FACTS.pythons) < set(FACTS.torch_pythons)


def test_cells_follow_each_other_from_version_to_python_which_alone_makes_no_group() -> None:
    planned = make_plan(CONFIG, Filters(projects=(DEMO,), platforms=(X86,)), {})
    assert [target.cell.id for target in planned.targets] == [
        *("demo-1.0+cu128torch2.9-cp312-linux_x86_64", "demo-1.0+cu128torch2.9-cp313t-linux_x86_64"),
        *("demo-1.0+cu128torch2.11-cp312-linux_x86_64", "demo-1.0+cu130torch2.11-cp312-linux_x86_64"),
        *("demo-2.0+cu128torch2.9-cp312-linux_x86_64", "demo-2.0+cu128torch2.9-cp313t-linux_x86_64"),
        *("demo-2.0+cu128torch2.11-cp312-linux_x86_64", "demo-2.0+cu130torch2.11-cp312-linux_x86_64"),
    ]
    assert CELL.group == replace(CELL, python=PY_13T).group == "demo-1.0+cu130torch2.11-linux_x86_64"
    assert replace(CELL, platform=ARM).group != CELL.group


def test_the_reason_against_a_cell_is_the_reason_of_its_skip() -> None:
    not_for_arm = MatrixRule(platform=(ARM,), reason="Its assembly is for x86")
    config = replace(CONFIG, packages={DEMO: replace(PACKAGE, exclude=(not_for_arm,))})
    planned = make_plan(config, replace(ONE, platforms=(X86, ARM)), {})
    assert [target.cell for target in planned.targets] == [CELL]
    cell = replace(CELL, platform=ARM)
    assert planned.skips == (Skip(cell=cell, obstacle=Obstacle.LEFT_OUT, reason="Its assembly is for x86"),)


def test_what_is_published_is_skipped_unless_it_is_forced() -> None:
    published = {CELL: ReleaseTag("v2026-11-21")}
    planned = make_plan(CONFIG, ONE, published)
    assert [(skip.obstacle, skip.reason[-11:]) for skip in planned.skips] == [(Obstacle.PUBLISHED, "v2026-11-21")]
    assert make_plan(CONFIG, replace(ONE, force=True), published).targets == (target(),)


def test_a_sample_is_compiled_for_the_architectures_that_were_asked_for() -> None:
    """Nobody releases it, so neither a licence nor a published wheel is in its way."""
    licensed = replace(CONFIG, packages={DEMO: replace(PACKAGE, redistributable=False)})
    sample = replace(ONE, sample=True, architectures=(HOPPER,))
    planned = make_plan(licensed, sample, {CELL: ReleaseTag("v2026-11-21")})
    assert [(each.architectures, each.sample) for each in planned.targets] == [((HOPPER,), True)]
    assert target(filters=replace(ONE, sample=True)).architectures == target().architectures
    planned = make_plan(CONFIG, replace(ONE, sample=True, architectures=(VOLTA,)), {})
    assert [skip.obstacle for skip in planned.skips] == [Obstacle.NO_GPU_CODE]


@pytest.mark.parametrize(
    ("names", "unknown", "meant", "known"),
    [
        (("demo", "demoo"), "demoo", True, False),
        (("demo", "other"), "other", False, True),
        (("demoo", "other"), "demoo, other", True, True),
        (("demoo", "ddemo"), "demoo, ddemo", True, False),
        (("other", "other"), "other", False, True),
    ],
)
def test_an_unknown_project_has_suggestions(names: tuple[str, ...], unknown: str, *, meant: bool, known: bool) -> None:
    with pytest.raises(UsageError, check=coded("package-unknown", "packages.yml", unknown)) as caught:
        make_plan(CONFIG, Filters(projects=tuple(map(project_name, names))), {})
    hint = str(caught.value.hint)
    assert ("demo?" in hint, "demo, plain" in hint) == (meant, known)


@pytest.mark.parametrize(
    ("filters", "refusal"),
    [
        (
            Filters(versions=(V1, project_version("3.0"))),
            coded("version-unknown", "3.0", "packages.yml", "demo has 1.0, 2.0; plain has 1.0"),
        ),
        (
            Filters(platforms=(X86, Platform.parse("linux_riscv64"))),
            coded("platform-unknown", "linux_riscv64", "linux_x86_64, linux_aarch64"),
        ),
    ],
    ids=["version", "platform"],
)
def test_what_is_unknown_is_refused_and_the_known_ones_are_named(filters: Filters, refusal: Coded) -> None:
    with pytest.raises(UsageError, check=refusal):
        make_plan(CONFIG, filters, {})


def test_a_tag_stands_for_the_packages_that_have_it() -> None:
    tagged = replace(CONFIG, packages={**CONFIG.packages, DEMO: replace(PACKAGE, tags=("graph", "3d"))})
    named = {cell.project for cell in cells_of(make_plan(tagged, Filters(tags=("3d", "moe")), {}))}
    assert named == {DEMO} < set(tagged.packages)
    assert not cells_of(make_plan(tagged, Filters(tags=("moe",)), {}))


def test_a_package_that_did_not_change_is_known_and_not_planned() -> None:
    planned = make_plan(CONFIG, Filters(versions=(V1, V2), changed=frozenset({PLAIN})), {})
    assert {target.cell.project for target in planned.targets} == {PLAIN}
    assert make_plan(CONFIG, replace(ONE, changed=frozenset()), {}) == Plan(targets=(), skips=())


def test_a_group_holds_its_own_cells_and_one_without_cells_is_refused() -> None:
    assert make_plan(CONFIG, Filters(groups=(CELL.group,)), {}).targets == (target(),)
    with pytest.raises(UsageError, check=coded("group-unknown", "demo-9")):
        make_plan(CONFIG, Filters(groups=(CELL.group, "demo-9")), {})


def test_every_cell_of_the_form_that_people_have_is_built_or_explained() -> None:
    wanted = Filters(
        pythons=(PythonVersion.parse("3.12"), PythonVersion.parse("3.13")),
        cudas=(CudaVersion.parse("12.1.0"), CudaVersion.parse("13.0")),
        torches=(TorchVersion.parse("2.11"),),
        platforms=(X86,),
    )
    planned = make_plan(load_config(MISSION), wanted, {})
    assert [target.cell.id for target in planned.targets] == [
        f"flash-attn-{version}+cu130torch2.11-{python}-linux_x86_64"
        for version in ("2.5.0", "2.5.6")
        for python in ("cp312", "cp313")
    ]
    assert [(skip.cell.version, str(skip.cell.python)) for skip in planned.skips] == [
        (version, python) for version in ("2.5.0", "2.5.6") for python in ("3.12", "3.13")
    ]
    assert {skip.obstacle for skip in planned.skips} == {Obstacle.NO_TORCH}


def test_the_newest_torch_is_one_that_installs_without_another_index_if_there_is_any() -> None:
    def facts(newer: CudaVersion, *, on_arm: CudaVersion) -> Compatibility:
        release = FACTS.torch[TORCH_11]
        release = replace(release, default_cuda=newer, cuda={**release.cuda, ARM: frozenset({on_arm})})
        return replace(FACTS, torch=replace(FACTS.torch, releases={**FACTS.torch.releases, TORCH_11: release}))

    assert newest_torch(CUDA_12, facts(CUDA_13, on_arm=CUDA_12)) == TORCH_9
    assert newest_torch(CUDA_12, facts(CUDA_12, on_arm=CUDA_12)) == TORCH_11
    assert newest_torch(CUDA_13, facts(CUDA_12, on_arm=CUDA_12)) == TORCH_11, "one of its platforms has it"
    assert newest_torch(CudaVersion(12, 1), FACTS) is None


def test_a_python_without_a_builder_is_skipped() -> None:
    builder = ContainerBuilder(name="builder 1", identifiers=frozenset({identifier_of(PY_12, X86)}))
    wanted = replace(ONE, platforms=(X86, ARM), builder=builder)
    plan = make_plan(CONFIG, wanted, {})
    assert [each.cell.platform for each in plan.targets] == [X86]
    assert [(each.cell.platform, each.obstacle) for each in plan.skips] == [(ARM, Obstacle.NO_BUILDER)]
    assert plan.skips[0].reason == "builder 1 has no Python 3.12 for linux_aarch64"
    assert len(make_plan(CONFIG, replace(wanted, builder=None), {}).targets) == 2


def test_a_torch_that_is_not_published_is_the_first_reason_though_the_builder_lacks_the_python() -> None:
    builder = ContainerBuilder(name="builder 1", identifiers=frozenset())
    (skip,) = make_plan(CONFIG, replace(ONE, pythons=(PY_13T,), builder=builder), {}).skips
    assert skip.obstacle is Obstacle.NO_TORCH
