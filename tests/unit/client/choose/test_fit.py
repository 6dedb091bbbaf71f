"""Each reason against a wheel: a wheel that it holds against, and beside it one that differs in that alone and fits."""

from dataclasses import replace

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.unit.client.conftest import TARGET, candidates
from wheelmill.client.choose.fit import mismatches, mismatches_inside
from wheelmill.client.records import Aspect, Source, SourceKind, TargetEnvironment, WheelInspection
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.names import Architecture, CudaVersion, Gpu, TorchVersion
from wheelmill.wheel.platforms import Libc
from wheelmill.wheel.torch_symbols import TorchFit, TorchWindow


def test_a_wheel_for_a_release_candidate_is_for_nobody_else(facts: Compatibility) -> None:
    (candidate,) = candidates(["demo-1.0+cu130torch2.16rc1-cp312-cp312-manylinux_2_28_x86_64.whl"])

    def reasons(torch: TorchVersion | None) -> list[str]:
        target = replace(TARGET, torch=torch, torch_release=None, cuda=CudaVersion(13, 0))
        return [mismatch.reason for mismatch in mismatches(candidate, Requirement("demo"), target, facts)]

    assert reasons(TorchVersion(2, 16, 1)) == []
    for other in (None, TorchVersion(2, 15), TorchVersion(2, 16), TorchVersion(2, 16, 2)):
        assert reasons(other) == ["is built for torch 2.16rc1, a release candidate"]


def test_a_wheel_for_another_accelerator_fits_no_cuda(facts: Compatibility) -> None:
    for label, accelerator in (("rocm6.4.torch2.8.0", "ROCm"), ("musa43", "MUSA"), ("xpu", "Intel's XPU")):
        for target in (TARGET, replace(TARGET, cuda=None), replace(TARGET, cuda=None, cpu_only=True)):
            assert against(label, target, facts) == [f"is built for {accelerator}, not for CUDA"]
    assert against("cpu", TARGET, facts) == ["is built for the CPU alone, not for CUDA"]
    assert against("cpu", replace(TARGET, cuda=None, cpu_only=True), facts) == []


def against(label: str, target: TargetEnvironment, facts: Compatibility) -> list[str]:
    (candidate,) = candidates([f"demo-1.0+{label}-cp312-cp312-manylinux_2_28_x86_64.whl"])
    return [mismatch.reason for mismatch in mismatches(candidate, Requirement("demo"), target, facts)]


def test_wheels_for_certain_gpus_need_one_of_them_where_gpkg_asks_for_none(facts: Compatibility) -> None:
    source = Source(name="a", kind=SourceKind.FIND_LINKS, url="http://a/", gpus=(Architecture.parse("12.0"),))
    (candidate,) = candidates(["demo-1.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl"], source=source)

    def aspects(*gpus: str) -> list[Aspect]:
        target = replace(TARGET, gpus=tuple(Gpu(capability=Architecture.parse(gpu)) for gpu in gpus))
        return [mismatch.aspect for mismatch in mismatches(candidate, Requirement("demo"), target, facts)]

    assert aspects() == [Aspect.GPU]
    assert aspects("9.0") == [Aspect.GPU]
    assert aspects("12.0") == []
    assert aspects("12.0", "9.0") == [Aspect.GPU]  # every GPU of the machine must run it


@pytest.mark.parametrize(
    ("wanted", "torch", "fits"),
    [
        (">=2.8.1", {"torch_release": "2.8.1"}, True),
        (">=2.8.1", {"torch_release": "2.8.0"}, False),
        (">=2.8.1", {}, True),  # some release of 2.8 is in the range
        (">=2.9", {}, False),
        (">=2.8.0a0", {"torch_release": "2.8.0rc1"}, True),
        (">=2.9", {"torch": None}, True),  # any torch may be installed beside the wheel
    ],
)
def test_a_torch_range_of_a_source(wanted: str, torch: dict[str, object], *, fits: bool, facts: Compatibility) -> None:
    source = Source(name="a", kind=SourceKind.FIND_LINKS, url="http://a/", torch=SpecifierSet(wanted))
    (candidate,) = candidates(["demo-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"], source=source)
    target = replace(TARGET, **torch)  # type: ignore[arg-type]  # fields of the target
    found = [mismatch.aspect for mismatch in mismatches(candidate, Requirement("demo"), target, facts)]
    assert found == ([] if fits else [Aspect.TORCH])


@pytest.mark.parametrize(("torch", "fits"), [((2, 1), True), ((2, 10), True), ((2, 8), False)])
def test_an_ambiguous_name_may_be_for_either_torch(torch: tuple[int, int], *, fits: bool, facts: Compatibility) -> None:
    (candidate,) = candidates(["demo-1.0+cu12torch210-cp312-cp312-manylinux_2_28_x86_64.whl"])
    target = replace(TARGET, torch=TorchVersion(*torch), torch_release=None)
    found = [mismatch.aspect for mismatch in mismatches(candidate, Requirement("demo"), target, facts)]
    assert found == ([] if fits else [Aspect.TORCH])


@pytest.mark.parametrize(
    ("local", "tags", "fits"),
    [
        ("cu128torch2.8", "cp312-cp312-manylinux_2_28_x86_64", True),
        ("cu128torch2.8", "cp311-cp311-manylinux_2_28_x86_64", False),
        ("cu128torch2.9", "cp312-cp312-manylinux_2_28_x86_64", False),
    ],
)
def test_a_group_of_wheels_fits_as_each_member(local: str, tags: str, *, fits: bool, facts: Compatibility) -> None:
    names = [f"demo-1.0+{local}-{tags}.whl"]
    assert bool(candidates(names, fitting=True)) is fits
    (candidate,) = candidates(names)
    assert ([*mismatches(candidate, Requirement("demo"), TARGET, facts)] == []) is fits


def window(*lacking: str) -> TorchWindow:
    """What the target's torch has of the symbols of a wheel."""
    return TorchWindow(symbols=1, cuda=False, torches=(TorchFit(torch="2.8", lacks=lacking),))


HOPPER = (Gpu(capability=Architecture.parse("9.0")),)
LACKING = "_ZN3c105ErrorC2ENS_14SourceLocationESs"


@pytest.mark.parametrize(
    ("aspect", "against", "fits", "target"),
    [
        (Aspect.FILE, {"gone": "404 Not Found"}, {}, {}),
        (
            Aspect.METADATA,
            {"requires_dist": ("a @ https://h/${SECRET}/a.whl",)},
            {"requires_dist": ("a @ https://h/a.whl",)},
            {},
        ),
        (Aspect.PYTHON, {"requires_python": ">=3.13"}, {"requires_python": ">=3.12.4"}, {}),
        (Aspect.PYTHON, {"requires_python": "<3.12.4"}, {"requires_python": "no range"}, {}),
        (Aspect.TORCH, {"requires_dist": ("torch<2.8",)}, {"requires_dist": ("torch>=2.8",)}, {}),
        (Aspect.TORCH, {"requires_dist": ("torch==2.7.*",)}, {"requires_dist": ("numpy<2",)}, {}),
        (Aspect.TORCH, {"torch_window": window(LACKING)}, {"torch_window": window()}, {}),
        (Aspect.GLIBC, {"glibc": "2.35"}, {"glibc": "2.34"}, {}),
        (Aspect.CUDA, {"cuda_major": 13}, {"cuda_major": 12}, {}),
        (Aspect.ABI, {"cxx11_abi": False}, {"cxx11_abi": True}, {"cxx11_abi": True}),
        (Aspect.ABI, {"cxx11_abi": True}, {"cxx11_abi": None}, {"cxx11_abi": False}),
        (Aspect.DRIVER, {"driver": "570.26"}, {"driver": "550.54.14"}, {"driver": "550.54.14"}),
        (Aspect.GPU, {"sass": ("8.0", "10.0")}, {"sass": ("9.0",)}, {"gpus": HOPPER}),
        (Aspect.GPU, {"ptx": ("10.0",)}, {"ptx": ("8.0",)}, {"gpus": HOPPER}),
        (Aspect.GPU, {"sass": ("8.6",)}, {"sass": (), "ptx": ()}, {"gpus": HOPPER}),
    ],
)
def test_what_is_inside_a_wheel_stands_against_it_or_does_not(
    aspect: Aspect, against: dict[str, object], fits: dict[str, object], target: dict[str, object]
) -> None:
    def aspects(**inside: object) -> list[Aspect]:
        (candidate,) = candidates(["demo-1.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl"])
        read = replace(WheelInspection(requires_dist=(), code_read=True), **inside)  # type: ignore[arg-type]  # its fields
        described = replace(TARGET, **target)  # type: ignore[arg-type]  # fields of the target
        return [each.aspect for each in mismatches_inside(read, candidate.label, described)]

    assert aspects(**against) == [aspect]
    assert aspects(**fits) == []


@pytest.mark.parametrize(
    ("against", "unknown"),
    [
        ({"glibc": "2.99"}, {"libc": None}),
        ({"cuda_major": 13}, {"cuda": None}),
        ({"cxx11_abi": False}, {"cxx11_abi": None}),
        ({"driver": "999.0"}, {"driver": None}),
        ({"sass": ("1.0",)}, {"gpus": ()}),
        ({"torch_window": window(LACKING)}, {"torch": None, "torch_release": None}),
        ({"requires_dist": ("torch<1",)}, {"torch": None, "torch_release": None}),
    ],
)
def test_an_unknown_fact_stands_against_nothing(against: dict[str, object], unknown: dict[str, object]) -> None:
    (candidate,) = candidates(["demo-1.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl"])
    inside = replace(WheelInspection(requires_dist=(), code_read=True), **against)  # type: ignore[arg-type]  # its fields
    described = replace(TARGET, **unknown)  # type: ignore[arg-type]  # fields of the target
    assert [*mismatches_inside(inside, candidate.label, described)] == []


@pytest.mark.parametrize(
    ("aspect", "against", "fits", "target"),
    [
        (Aspect.CUDA, "cu130torch2.8", "cu128torch2.8", {}),
        (Aspect.CUDA, "cu129torch2.8", "cu126torch2.8", {}),
        (Aspect.CUDA, "cu128torch2.8", "cpu", {"cuda": None, "cpu_only": True}),
        (Aspect.TORCH, "cu128torch2.7", "cu128torch2.8", {}),
        (Aspect.TORCH, "cu128torch2.9", "cu128", {}),
        (Aspect.ABI, "cu128torch2.8cxx11abiFALSE", "cu128torch2.8cxx11abiTRUE", {"cxx11_abi": True}),
    ],
)
def test_what_the_label_of_a_wheel_says_stands_against_it_or_does_not(
    aspect: Aspect, against: str, fits: str, target: dict[str, object], facts: Compatibility
) -> None:
    def aspects(label: str) -> list[Aspect]:
        (candidate,) = candidates([f"demo-1.0+{label}-cp312-cp312-manylinux_2_28_x86_64.whl"])
        described = replace(TARGET, **target)  # type: ignore[arg-type]  # fields of the target
        return [each.aspect for each in mismatches(candidate, Requirement("demo"), described, facts)]

    assert aspects(against) == [aspect]
    assert aspects(fits) == []


def test_a_driver_that_is_older_than_a_cuda_needs_stands_against_its_wheels(facts: Compatibility) -> None:
    """https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/ has the oldest driver of each CUDA."""
    for driver, reasons in (("525.60.12", 1), ("525.60.13", 0), (None, 0)):
        for label in ("cu128torch2.8", "torch2.8"):  # that says no CUDA is for the target's
            assert len(against(label, replace(TARGET, driver=driver), facts)) == reasons
        assert against("cu128torch2.8", replace(TARGET, driver=driver, cuda=None), facts) == against(
            "cu128torch2.8", replace(TARGET, driver=driver), facts
        )


def test_a_target_without_torch_has_no_wrong_one(facts: Compatibility) -> None:
    assert against("cu128torch2.9", replace(TARGET, torch=None), facts) == []


@pytest.mark.parametrize(
    ("aspect", "against", "fits"),
    [
        (Aspect.PYTHON, "cp311-cp311-manylinux_2_28_x86_64", "cp312-cp312-manylinux_2_28_x86_64"),
        (Aspect.PYTHON, "cp313-abi3-manylinux_2_28_x86_64", "cp310-abi3-manylinux_2_28_x86_64"),
        (Aspect.PLATFORM, "cp312-cp312-manylinux_2_28_aarch64", "cp312-cp312-linux_x86_64"),
        (Aspect.PLATFORM, "cp312-cp312-win_amd64", "py3-none-any"),
        (Aspect.GLIBC, "cp312-cp312-manylinux_2_35_x86_64", "cp312-cp312-manylinux_2_34_x86_64"),
    ],
)
def test_tags_stand_against_a_wheel_or_not(aspect: Aspect, against: str, fits: str, facts: Compatibility) -> None:
    def aspects(tags: str) -> list[Aspect]:
        (candidate,) = candidates([f"demo-1.0+cu128torch2.8-{tags}.whl"])
        target = replace(TARGET, libc=Libc("glibc", 2, 34))
        return [each.aspect for each in mismatches(candidate, Requirement("demo"), target, facts)]

    assert aspects(against) == [aspect]
    assert aspects(fits) == []


@pytest.mark.parametrize(("libc", "shown"), [(Libc("glibc", 2, 34), "glibc 2.34"), (None, "linux_x86_64")])
def test_it_names_what_the_target_and_the_wheel_have(libc: Libc | None, shown: str, facts: Compatibility) -> None:
    (candidate,) = candidates(["demo-1.0+cu128torch2.8-cp312-cp312-win_amd64.whl"])
    (found,) = mismatches(candidate, Requirement("demo"), replace(TARGET, libc=libc), facts)
    assert found.reason.startswith("is for win_amd64, the target is linux_x86_64")
    assert found.reason.endswith(shown)


def test_the_abi_of_a_wheel_is_said_before_that_of_torch(facts: Compatibility) -> None:
    for own, torch, first in (("FALSE", True, "old C++"), ("TRUE", False, "C++11")):
        (reason,) = against(f"cu128torch2.8cxx11abi{own}", replace(TARGET, cxx11_abi=torch), facts)
        assert reason.startswith(f"has the {first} ABI")


def test_a_version_that_was_not_asked_for_and_one_that_was_yanked_stand_against_a_wheel(facts: Compatibility) -> None:
    (candidate,) = candidates(["demo-1.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl"])
    yanked = replace(candidate, yanked="it corrupts memory")

    def aspects(each: object, wanted: str) -> list[Aspect]:
        return [found.aspect for found in mismatches(each, Requirement(wanted), TARGET, facts)]  # type: ignore[arg-type]

    assert aspects(candidate, "demo>1.0") == aspects(candidate, "demo==1.1") == [Aspect.VERSION]
    assert aspects(candidate, "demo") == aspects(candidate, "demo>=1.0") == aspects(candidate, "demo==1.0") == []
    assert aspects(yanked, "demo") == aspects(yanked, "demo>=1.0") == aspects(yanked, "demo==1.*") == [Aspect.YANKED]
    assert aspects(yanked, "demo==1.0+cu128torch2.8") == []
