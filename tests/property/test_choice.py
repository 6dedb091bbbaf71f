"""Whatever wheels there are: the one that is chosen can be installed, and does not depend on their order."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from tests.unit.client.conftest import candidates
from tests.wheels import wheel_name
from wheelmill.client.choose.choice import choose
from wheelmill.client.records import Candidate, Resolution, TargetEnvironment
from wheelmill.config.load import load_config
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion, project_name
from wheelmill.system import own_installation
from wheelmill.wheel.platforms import Libc

FACTS = load_config(own_installation.CONFIG).compatibility
DEMO = project_name("demo")
CUDAS, TORCHES = ("11.8", "12.4", "12.8", "13.0"), ("2.6", "2.8", "2.10")

labels = st.builds(
    lambda cuda, torch, abi: f"cu{cuda}torch{torch}{abi}",
    st.sampled_from([cuda.replace(".", "") for cuda in CUDAS] + ["12", "13"]),
    st.sampled_from(TORCHES),
    st.sampled_from(["", "cxx11abiTRUE", "cxx11abiFALSE"]),
)
names = st.builds(
    wheel_name,
    st.sampled_from(["1.0", "1.0.post1", "1.1rc1", "1.1", "2.0.dev1"]),
    label=labels,
    tag=st.sampled_from(["cp311-cp311", "cp312-cp312", "cp313-cp313", "cp313-cp313t", "cp39-abi3", "cp313-abi3"]),
    platform=st.sampled_from(
        [
            *("linux_x86_64", "manylinux_2_28_x86_64", "manylinux_2_34_x86_64", "musllinux_1_2_x86_64"),
            *("linux_aarch64", "manylinux2014_aarch64", "win_amd64", "macosx_14_0_arm64"),
        ]
    ),
)
lists = st.lists(names, min_size=1, max_size=12, unique=True)
targets = st.builds(
    TargetEnvironment,
    python=st.sampled_from([PythonVersion.parse(text) for text in ("3.11", "3.12", "3.13", "3.13t")]),
    python_release=st.none(),
    interpreter=st.none(),
    platform=st.sampled_from([Platform.parse("linux_x86_64"), Platform.parse("linux_aarch64")]),
    libc=st.sampled_from([Libc("glibc", 2, 28), Libc("glibc", 2, 39), Libc("musl", 1, 2)]),
    torch=st.sampled_from(TORCHES).map(TorchVersion.parse),
    cuda=st.sampled_from(CUDAS).map(CudaVersion.parse),
) | st.builds(
    TargetEnvironment,
    python=st.just(PythonVersion(3, 12)),
    python_release=st.none(),
    interpreter=st.none(),
    platform=st.just(Platform.parse("win_amd64")),
    libc=st.none(),
    torch=st.none(),
    cuda=st.none(),
)


def resolution_of(wheels: list[Candidate], target: TargetEnvironment) -> Resolution:
    return choose([Requirement("demo")], target, {DEMO: wheels}, FACTS)


def is_for(name: str, target: TargetEnvironment) -> bool:
    """Whether tags are those of a target, told from their text."""
    interpreter, abi, platform = name.removesuffix(".whl").split("-")[-3:]
    python, libc = target.python, target.libc
    runs = (
        abi == python.abi
        if abi != "abi3"
        else not python.free_threaded and int(interpreter.removeprefix("cp3")) <= python.minor
    )
    system, processor = target.platform.system, target.platform.machine
    if not platform.endswith(f"_{processor}"):
        return False
    if libc is None or platform.startswith(system):
        return runs and platform.startswith(system)
    if platform.startswith("musllinux"):
        return runs and libc.family == "musl"
    oldest = 17 if platform.startswith("manylinux2014") else int(platform.split("_")[2])
    return runs and libc.family == "glibc" and oldest <= libc.minor


@given(lists, targets)
def test_a_chosen_wheel_has_tags_of_the_target(wheels: list[str], target: TargetEnvironment) -> None:
    resolution = resolution_of(candidates(wheels), target)

    for choice in resolution.choices.values():
        assert is_for(choice.candidate.filename, target)


@given(lists, targets)
def test_a_chosen_wheel_is_for_the_torch_and_no_newer_cuda(wheels: list[str], target: TargetEnvironment) -> None:
    resolution = resolution_of(candidates(wheels), target)
    found = resolution.environment

    for choice in resolution.choices.values():
        label = choice.candidate.label
        assert found.torch
        assert found.cuda
        assert label.torch == found.torch
        assert label.cuda_major == found.cuda.major
        assert label.cuda is None or label.cuda <= found.cuda


@given(lists, targets, st.randoms(use_true_random=False))
def test_the_order_of_wheels_does_not_matter(wheels: list[str], target: TargetEnvironment, random: st.DrawFn) -> None:
    found = candidates(wheels)
    shuffled = random.sample(found, len(found))  # type: ignore[attr-defined]  # a random.Random

    first, second = (resolution_of(each, target) for each in (found, shuffled))

    assert first.environment == second.environment
    assert {name: choice.candidate for name, choice in first.choices.items()} == {
        name: choice.candidate for name, choice in second.choices.items()
    }
    assert first.unresolved == second.unresolved


@given(lists, targets)
def test_a_suggestion_of_options_works(wheels: list[str], target: TargetEnvironment) -> None:
    found = candidates(wheels)
    missing = resolution_of(found, target).unresolved.values()
    suggestion = next((each.suggestion or "" for each in missing), "").split()
    options = dict(zip(suggestion[::2], suggestion[1::2], strict=False))
    if not options or not options.keys() <= {"--torch", "--cuda", "--python"}:
        return

    changed = replace(
        target,
        torch=TorchVersion.parse(options["--torch"]) if "--torch" in options else target.torch,
        cuda=CudaVersion.parse(options["--cuda"]) if "--cuda" in options else target.cuda,
        python=PythonVersion.parse(options["--python"]) if "--python" in options else target.python,
    )

    assert resolution_of(found, changed).choices
