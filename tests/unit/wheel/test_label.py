"""What a wheel needs of torch, as its METADATA says."""

from dataclasses import replace

import pytest
from packaging.specifiers import SpecifierSet

from wheelmill.client.choose.resolve import read_facts
from wheelmill.names import CudaVersion, StableTorch, TorchNeed, TorchVersion, project_version
from wheelmill.wheel.label import BuiltFor, Label, has_release_of, needed_torch, pinned_torch, runs_beside

WITH_TORCH = Label(cuda=CudaVersion(12, 8), torch=TorchVersion(2, 8))
FOR_CANDIDATE = Label(cuda=CudaVersion(13, 0), torch=TorchVersion(2, 16, 1))
WITHOUT_TORCH = Label(cuda=CudaVersion(13, 0), torch=None)
EXISTING = read_facts().torches_of


@pytest.mark.parametrize(
    ("local", "label"),
    [
        *(("cu128torch2.8", WITH_TORCH), ("cu130", WITHOUT_TORCH), ("cu130torch2.16rc1", FOR_CANDIDATE)),
        *(("git1a2b.cu128torch2.8", WITH_TORCH), ("cu118.cu130", WITHOUT_TORCH), ("torch.cu130", WITHOUT_TORCH)),
    ],
)
def test_a_label_is_read_from_a_local_version(local: str, label: Label) -> None:
    assert Label.parse(local) == label


@pytest.mark.parametrize(
    "local",
    [
        *("", "cu", "cpu", "git1a2b", "torch2.8", "cu12torch2.8cxx11abitrue", "cu128torch", "cu128torch2"),
        *("cu128torch2.8.0", "cu128torch2.8gite2743ab", "cu128torch2.8.0rc1", "cu128torch2.8rc01"),
        *("cu128torch2.8.git1a2b", "cu128torch2.08", "cu0128", "cu12.8", "CU128", "pt28cu128", "1cu128", "cu128 "),
    ],
)
def test_other_local_versions_are_no_labels(local: str) -> None:
    assert Label.parse(local) is None


@pytest.mark.parametrize(
    ("label", "version", "labelled"),
    [
        (WITH_TORCH, "2.8.3", "2.8.3+cu128torch2.8"),
        (WITHOUT_TORCH, "0.0.32.post2", "0.0.32.post2+cu130"),
        (WITH_TORCH, "2.8.3+git1a2b", "2.8.3+git1a2b.cu128torch2.8"),
    ],
)
def test_a_label_stands_after_what_upstream_wrote(label: Label, version: str, labelled: str) -> None:
    assert str(label.on(project_version(version))) == labelled


@pytest.mark.parametrize(
    ("label", "trees"),
    [
        (WITH_TORCH, ("cu128", "cu128/torch2.8")),
        (WITHOUT_TORCH, ("cu130",)),
        (FOR_CANDIDATE, ("rc/cu130/torch2.16rc1",)),
    ],
)
def test_a_wheel_stands_in_the_tree_of_its_cuda_and_of_its_torch(label: Label, trees: tuple[str, ...]) -> None:
    assert label.trees == trees


@pytest.mark.parametrize(
    ("local", "cuda", "torch", "abi"),
    [
        ("cu130torch2.11", "13.0", "2.11", None),
        ("cu12torch2.8cxx11abitrue", "12", "2.8", True),
        ("cu12torch2.6cxx11abifalse", "12", "2.6", False),
        ("20251104.cu126torch280cxx11abitrue.4cfdf9", "12.6", "2.8", True),
        ("torch2100cu128", "12.8", "2.10", None),
        ("torch28cu128", "12.8", "2.8", None),
        ("cu130torch2.16rc1", "13.0", "2.16rc1", None),
        ("cu130.torch2.16.0rc2", "13.0", "2.16rc2", None),
        ("cu130torch2.16.1rc2", "13.0", "2.16", None),
        ("d20260529.cu132torch2.13.0.dev20260528cxx11abi1", "13.2", "2.13rc0", True),
        ("cu130.torch2.11", "13.0", "2.11", None),
        ("cu.12.8.torch.2.10", "12.8", "2.10", None),
        ("cu128torch2.8gite2743ab", "12.8", "2.8", None),
        ("pt28cu128", "12.8", "2.8", None),
        ("pt210cu130", "13.0", "2.10", None),
        ("cu121", "12.1", None, None),
        ("cu132torch2.13gite2743ab", "13.2", "2.13", None),
        ("cuda12.8.torch2.10.0", "12.8", "2.10", None),
        ("cu13.0torch2.9", "13.0", "2.9", None),
        ("torch2.11cu130", "13.0", "2.11", None),
        ("torch290cu130", "13.0", "2.9", None),
        ("pt213cu130", "13.0", "2.13", None),
        ("fd27788pt2.5.0cu121", "12.1", "2.5", None),
        ("abcdefapt2.5.0cu121", "12.1", "2.5", None),
        ("cu128torch2.9.0cxx11abi1", "12.8", "2.9", True),
        ("cu128torch2.9.0cxx11abi0", "12.8", "2.9", False),
        ("d20260714.cu132torch2.13.0cxx11abitrue", "13.2", "2.13", True),
        ("cu12torch2.8.0+cu129cxx11abitrue", "12.9", "2.8", True),
        ("cu12.4cfdf91", "12", None, None),
        ("torch2.9.20260330", None, "2.9", None),
        ("73b6ea4.cu13", "13", None, None),
        ("cu130gb10", "13.0", None, None),
        ("cu118.cu130", "13.0", None, None),
        ("rocm6.2.cu130", "13.0", None, None),
        ("nocuda12", None, None, None),
        ("opt2.script12", None, None, None),
        ("accept1.0", None, None, None),
        ("adept2.5", None, None, None),
        ("fd2778apt2.5.0cu121", "12.1", "2.5", None),
        ("g98e91a960", None, None, None),
        ("custom", None, None, None),
        ("cu12..5", "12", None, None),
        ("cu..12torch2..8", None, None, None),
        ("", None, None, None),
    ],
)
def test_labels_of_others_are_read(local: str, cuda: str | None, torch: str | None, *, abi: bool | None) -> None:
    label = BuiltFor.parse(local)
    major = str(label.cuda_major) if label.cuda_major else None
    assert (str(label.cuda) if label.cuda else major) == cuda
    assert (str(label.torch) if label.torch else None) == torch
    assert label.cxx11_abi is abi


@pytest.mark.parametrize(
    ("local", "torch"),
    [
        *(("cu130.torch213", "2.13"), ("cu130.torch210.gb300", "2.10"), ("cu128.torch210", "2.10")),
        *(("torch210cu121", "2.1"), ("cu118torch212", "2.1"), ("cu126torch212cxx11abitrue", "2.12")),
        *(("cu131torch211", "2.11"), ("cu130torch216", "2.16"), ("cu130torch215rc1", "2.15rc1")),
        *(("cu12torch210", "2.1 or 2.10"), ("torch210", "2.1 or 2.10"), ("torch212", "2.1 or 2.12")),
        *(("cu130.torch29", "2.9"), ("torch2100cu128", "2.10"), ("cu121", "")),
    ],
)
def test_the_torches_that_exist_decide_what_joined_digits_mean(local: str, torch: str) -> None:
    """The names with ``cu130.torch213`` and ``torch210`` stand on pages of NVIDIA's Cosmos."""
    label = BuiltFor.parse(local).decided(EXISTING)
    assert label.torch_words.removeprefix("torch ") == torch
    assert (label.torch is None) == (" or " in torch or not torch)


def test_without_known_torches_joined_digits_stay_open() -> None:
    label = BuiltFor.parse("cu130.torch213")
    assert label.decided({}) is label
    assert (label.torch, label.torch_words) == (None, "torch 2.1 or 2.13")


@pytest.mark.parametrize(("page", "torch"), [("torch2.10", "torch 2.10"), ("torch2.9", "torch 2.1 or 2.10")])
def test_the_page_of_a_wheel_decides_between_readings_alone(page: str, torch: str) -> None:
    assert BuiltFor.parse("torch210").filled_in(BuiltFor.parse(page)).torch_words == torch


@pytest.mark.parametrize(
    ("local", "accelerator"),
    [
        *(("rocm6.4.torch2.8.0", "ROCm"), ("rocm720", "ROCm"), ("musa43", "MUSA"), ("xpu", "Intel's XPU")),
        *(("cpu", "the CPU alone"), ("cpu.cxx11.abi", "the CPU alone"), ("cu118.cpu", "the CPU alone")),
    ],
)
def test_what_is_built_for_another_accelerator_is_for_no_cuda(local: str, accelerator: str) -> None:
    label = BuiltFor.parse(local)
    assert (label.other_accelerator, label.cuda_major, label.label) == (accelerator, None, None)
    assert str(label) == accelerator


def test_a_local_version_of_any_length_is_read() -> None:
    assert BuiltFor.of_installed(f"1.0+cu{'9' * 10_000}").cuda_major == 99


def test_and_higher_is_a_minimum() -> None:
    label = BuiltFor.parse("cu128torch2.9.0andhigher.post1")
    assert label.torch == StableTorch(oldest=TorchVersion(2, 9))


@pytest.mark.parametrize(
    ("own", "page", "both"),
    [
        ("", "cu128torch2.8", "cu128torch2.8"),
        ("torch2.9", "cu128torch2.8", "cu128torch2.9"),
        ("cu12", "cu128torch2.8", "cu128torch2.8"),
        ("cu126", "cu128torch2.8", "cu126torch2.8"),
        ("cu13", "cu128", "cu13"),
        ("cpu", "cu128", "cpu"),
    ],
)
def test_what_a_wheel_says_counts_before_what_its_page_says(own: str, page: str, both: str) -> None:
    assert BuiltFor.parse(own).filled_in(BuiltFor.parse(page)) == BuiltFor.parse(both)


def test_a_label_that_names_one_release_of_cuda_is_ours_too() -> None:
    assert BuiltFor.parse("cu128torch2.8").label == WITH_TORCH
    assert BuiltFor.parse("cu128torch2.8andhigher").label == replace(WITH_TORCH, torch=None)
    assert BuiltFor.parse("cu12torch2.8").label is None


def test_a_label_is_shown_as_the_release_of_cuda_that_it_names() -> None:
    shown = [str(BuiltFor.parse(local)) for local in ("cu128", "cu12", "torch2.8", "")]
    assert shown == ["CUDA 12.8", "CUDA 12", "no CUDA label", "no CUDA label"]


TEN, ELEVEN = TorchVersion(2, 10), TorchVersion(2, 11)


@pytest.mark.parametrize(
    ("requirements", "needed"),
    [
        (("einops", "torch>=2.10"), StableTorch(oldest=TEN)),
        (("Torch>=2.10.1,<2.16",), StableTorch(oldest=TEN, below=TorchVersion(2, 16))),
        (("torch>=2.4", "torch>=2.10,<2.15.2"), StableTorch(oldest=TEN, below=TorchVersion(2, 16))),
        (("torch~=2.10,<=2.15",), StableTorch(oldest=TEN, below=TorchVersion(2, 16))),
        (("torch==2.11.*",), ELEVEN),
        (("torch==2.11.0",), ELEVEN),
        (("torch",), None),
        (("torch<2.11",), None),
        (("torch>=2.11,<2.10",), None),
        (("torch>=2.10; python_version < '3.9'", "not a requirement!"), None),
        ((), None),
    ],
)
def test_a_range_differs_from_one_release_and_none(requirements: tuple[str, ...], needed: TorchNeed | None) -> None:
    assert needed_torch(requirements) == needed


@pytest.mark.parametrize(
    "requirements", [("torch>=2.10",), ("torch>=2.10.5",), ("torch<2.11", "torch>=2.4"), ("torch",), ()]
)
def test_a_torch_stands_beside_a_wheel_if_one_of_its_releases_is_in_the_range(requirements: tuple[str, ...]) -> None:
    assert runs_beside(requirements, TEN)


@pytest.mark.parametrize("requirements", [("torch>=2.11",), ("torch>=2.4", "torch<2.10"), ("torch!=2.10.*,>=2.9",)])
def test_it_does_not_if_none_is(requirements: tuple[str, ...]) -> None:
    assert not runs_beside(requirements, TEN)


def test_a_release_candidate_is_newer_than_a_range_that_ends_before_its_release() -> None:
    candidate = TorchVersion.parse("2.16rc1")
    assert runs_beside(("torch>=2.10",), candidate)
    assert not runs_beside(("torch>=2.10,<2.16",), candidate)


@pytest.mark.parametrize(
    ("bound", "torch"),
    [
        *((bound, "2.11") for bound in ("==2.11.0", "==2.11.*", "==2.11.0+cu130", "~=2.11.0")),
        *(("==2.16.0rc1", "2.16rc1"), ("==2.16.1rc1", "2.16")),
        *((bound, None) for bound in (">=2.11", "==2.*", "===any-text", "")),
    ],
)
def test_a_range_pins_one_torch_or_none(bound: str, torch: str | None) -> None:
    pinned = pinned_torch(SpecifierSet(bound))
    assert (str(pinned) if pinned else None) == torch


def test_a_label_does_not_take_a_release_out_of_a_range() -> None:
    assert has_release_of(ELEVEN, SpecifierSet("==2.11.0+cu130"))
    assert not has_release_of(TEN, SpecifierSet("==2.11.0+cu130"))
