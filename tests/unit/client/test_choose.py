"""The wheel that is chosen. Tests that say gpkg name what gpkg 0.4.3 does instead."""

from dataclasses import replace

import pytest

from tests.unit.client.conftest import TARGET, Resolve, chosen
from wheelmill.client.target_tags import Libc
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion


def name(
    version: str = "1.0.0",
    *,
    label: str = "cu128torch2.8",
    tag: str = "cp312-cp312",
    platform: str = "manylinux_2_28_x86_64",
    project: str = "demo",
) -> str:
    return f"{project}-{version}+{label}-{tag}-{platform}.whl"


def test_wheels_of_the_targets_processor_are_chosen_where_gpkg_takes_any_manylinux(resolved: Resolve) -> None:
    arm, intel = name(platform="manylinux_2_28_aarch64"), name()
    assert chosen(resolved([arm, intel], "demo")) == intel
    assert chosen(resolved([arm], "demo")) is None


def test_free_threaded_wheels_are_for_free_threaded_python_where_gpkg_takes_them_for_any(resolved: Resolve) -> None:
    free, normal = name(tag="cp313-cp313t"), name(tag="cp313-cp313")
    target = replace(TARGET, python=PythonVersion(3, 13), python_release=None)
    assert chosen(resolved([free, normal], "demo", target=target)) == normal
    assert chosen(resolved([free], "demo", target=target)) is None
    threads = replace(target, python=PythonVersion(3, 13, free_threaded=True))
    assert chosen(resolved([free, normal], "demo", target=threads)) == free


def test_final_releases_come_before_later_pre_releases_where_gpkg_takes_the_development_release(
    resolved: Resolve,
) -> None:
    names = [name("2.8.3"), name("2.8.3.dev1"), name("2.8.4rc1")]
    assert chosen(resolved(names, "demo")) == name("2.8.3")
    resolution = resolved(names[1:], "demo")
    assert chosen(resolution) == name("2.8.4rc1")
    assert "pre-release" in "".join(next(iter(resolution.choices.values())).notes)


def test_hashes_of_links_are_kept_where_gpkg_drops_links_with_a_hash(resolved: Resolve) -> None:
    resolution = resolved([name()], "demo")
    (choice,) = resolution.choices.values()
    assert choice.candidate.sha256 == "0" * 64
    assert "#" not in choice.candidate.url
    assert choice.candidate.url.endswith("%2Bcu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl")


@pytest.mark.parametrize("version", ["1.0", "2.8.3rc1", "3.0.0b1", "1!2.0"])
def test_every_version_counts_where_gpkg_knows_three_numbers_only(resolved: Resolve, version: str) -> None:
    assert chosen(resolved([name(version)], "demo")) == name(version)


def test_the_highest_build_number_is_chosen_where_gpkg_rejects_build_numbers(resolved: Resolve) -> None:
    names = [
        f"demo-1.0.0+cu128torch2.8-{build}cp312-cp312-manylinux_2_28_x86_64.whl" for build in ("", "2-", "10-", "9-")
    ]
    assert chosen(resolved(names, "demo")) == names[2]


def test_signatures_are_no_wheels_where_gpkg_matches_them(resolved: Resolve) -> None:
    assert chosen(resolved([f"{name()}.asc", f"{name()}.metadata"], "demo")) is None


def test_an_older_minor_release_of_the_same_cuda_fits_where_gpkg_wants_the_same(resolved: Resolve) -> None:
    target = replace(TARGET, cuda=CudaVersion(12, 9))
    older, newer = name(label="cu126torch2.8"), name(label="cu128torch2.8")
    assert chosen(resolved([older, newer], "demo", target=target)) == newer
    assert chosen(resolved([name(label="cu129torch2.8")], "demo")) is None
    assert chosen(resolved([name(label="cu118torch2.8")], "demo")) is None


def test_the_targets_own_cuda_comes_before_a_higher_version_for_an_older_one(resolved: Resolve) -> None:
    older, only_major, own = (
        name("1.2", label="cu126torch2.8"),
        name("1.1", label="cu12torch2.8"),
        name("1.0", label="cu128torch2.8"),
    )
    assert chosen(resolved([older, own], "demo")) == own
    assert chosen(resolved([older, only_major, own], "demo")) == only_major
    assert chosen(resolved([older], "demo")) == older
    same = [name(label="cu12torch2.8"), name(label="cu128torch2.8")]
    assert chosen(resolved(same, "demo")) == same[1]


def test_requirements_have_versions_and_any_spelling_where_gpkg_finds_neither(resolved: Resolve) -> None:
    names = [name("1.0.0", project="flash_attn"), name("2.0.0", project="flash_attn")]
    assert chosen(resolved(names, "Flash_Attn<2"), "flash-attn") == names[0]
    assert chosen(resolved(names, "flash.attn==2.*"), "flash-attn") == names[1]


def test_torch_and_higher_fits_a_newer_torch_where_gpkg_wants_exactly_it(resolved: Resolve) -> None:
    wheel = name(label="cu128torch2.7.0andhigher.post1")
    assert chosen(resolved([wheel], "demo")) == wheel
    assert chosen(resolved([wheel], "demo", target=replace(TARGET, torch=TorchVersion(2, 6)))) is None


@pytest.mark.parametrize(("torch", "cuda", "fits"), [("2.6", "12.4", "FALSE"), ("2.6", "12.6", "TRUE")])
def test_the_abi_is_that_of_the_torch_where_gpkg_always_takes_the_new_one(
    resolved: Resolve, torch: str, cuda: str, fits: str
) -> None:
    names = [name(label=f"cu12torch2.6cxx11abi{abi}") for abi in ("TRUE", "FALSE")]
    target = replace(TARGET, torch=TorchVersion.parse(torch), cuda=CudaVersion.parse(cuda))
    assert chosen(resolved(names, "demo", target=target)) == name(label=f"cu12torch2.6cxx11abi{fits}")


def test_the_abi_can_be_given_by_hand(resolved: Resolve) -> None:
    names = [name(label=f"cu12torch2.8cxx11abi{abi}") for abi in ("TRUE", "FALSE")]
    assert chosen(resolved(names, "demo", target=replace(TARGET, cxx11_abi=False))) == names[1]


def test_wheels_for_a_newer_glibc_are_left_where_gpkg_takes_them(resolved: Resolve) -> None:
    names = [name("2.0", platform="manylinux_2_34_x86_64"), name("1.0")]
    assert chosen(resolved(names, "demo", target=replace(TARGET, libc=Libc("glibc", 2, 28)))) == names[1]
    musl = name(platform="musllinux_1_2_x86_64")
    assert chosen(resolved([musl], "demo")) is None
    assert chosen(resolved([musl], "demo", target=replace(TARGET, libc=Libc("musl", 1, 2)))) == musl


def test_an_old_driver_runs_no_new_cuda(resolved: Resolve) -> None:
    target = replace(TARGET, cuda=CudaVersion(13, 0), driver="550.54.14")
    resolution = resolved([name(label="cu130torch2.8")], "demo", target=target)
    assert chosen(resolution) is None
    (missing,) = resolution.unresolved.values()
    assert missing.suggestion == "a driver from 580.65.06 on"


def test_one_torch_is_found_that_every_package_has_a_wheel_for(resolved: Resolve) -> None:
    names = [
        *(name(label=f"cu130torch2.{minor}", project="flash_attn") for minor in (9, 10, 12)),
        *(name(label=f"cu130torch2.{minor}", project="mamba_ssm") for minor in (9, 10, 11)),
    ]
    target = replace(TARGET, torch=None, cuda=None)
    resolution = resolved(names, "flash-attn", "mamba-ssm", target=target)
    assert resolution.environment.torch == TorchVersion(2, 10)
    assert {chosen(resolution, project) for project in ("flash-attn", "mamba-ssm")} == {names[1], names[4]}


def test_an_open_cuda_stays_within_what_the_driver_runs(resolved: Resolve) -> None:
    names = [name(label="cu130torch2.10"), name(label="cu128torch2.10")]
    target = replace(TARGET, torch=None, cuda=None, driver="550.54.14")
    assert chosen(resolved(names, "demo", target=target)) == names[1]


def test_a_torch_without_cuda_takes_no_wheel_for_cuda(resolved: Resolve) -> None:
    resolution = resolved([name()], "demo", target=replace(TARGET, cuda=None, cpu_only=True))
    assert chosen(resolution) is None


def test_what_one_package_lacks_is_said_while_the_others_are_chosen(resolved: Resolve) -> None:
    resolution = resolved([name()], "demo", "other")
    assert chosen(resolution) == name()
    assert [missing.reason for missing in resolution.unresolved.values()] == ["no source has a wheel of it"]


@pytest.mark.parametrize(
    ("names", "suggestion"),
    [
        ([name(label="cu128torch2.9"), name(label="cu126torch2.8", tag="cp311-cp311")], "--torch 2.9"),
        ([name(label="cu129torch2.8")], "--cuda 12.9"),
        ([name(label="cu130torch2.9")], "--torch 2.9 --cuda 13.0"),
        ([name(tag="cp311-cp311")], "--python 3.11"),
        ([name(platform="manylinux_2_39_x86_64")], "a Linux with a newer glibc"),
        ([name(platform="win_amd64")], "build it: wheelmill build --here"),
        ([name(label="cu118torch2.8")], "build it: wheelmill build --here"),  # there never was such a torch
    ],
)
def test_the_smallest_change_is_named(resolved: Resolve, names: list[str], suggestion: str) -> None:
    resolution = resolved(names, "demo")
    (missing,) = resolution.unresolved.values()
    assert missing.suggestion == suggestion


def test_windows_wheels_are_for_windows(resolved: Resolve) -> None:
    windows, linux = name(platform="win_amd64"), name()
    target = replace(TARGET, platform=Platform("win_amd64"), libc=None)
    assert chosen(resolved([windows, linux], "demo", target=target)) == windows
    assert chosen(resolved([windows, linux], "demo")) == linux
