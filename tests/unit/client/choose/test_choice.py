"""The wheel that is chosen; what gpkg chooses wrongly is in integration/test_gpkg_defects.py."""

from dataclasses import replace

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.page_server import Answer, PageServer, in_pieces, links_page
from tests.refusals import coded
from tests.unit.client.conftest import TARGET, Resolve, candidates, chosen
from tests.wheels import wheel_name as name
from wheelmill.client.choose.choice import choose
from wheelmill.client.choose.resolve import resolve
from wheelmill.client.records import Resolution, Search
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UsageError
from wheelmill.names import CudaVersion, Platform, TorchVersion, project_name
from wheelmill.wheel.name import AliasWheel


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


def test_a_yanked_wheel_is_taken_for_a_pin_only_if_no_other_fits_and_named_so(facts: Compatibility) -> None:
    """https://peps.python.org/pep-0592/#installers."""
    rebuilt, kept = sorted(candidates([name(), name(tag="2-cp312-cp312")]), key=lambda wheel: wheel.build, reverse=True)
    yanked = replace(rebuilt, yanked="it crashes")
    wanted, project = [Requirement("demo==1.0")], kept.project
    (choice,) = choose(wanted, TARGET, {project: [kept, yanked]}, facts).choices.values()
    assert choice.candidate == kept
    (choice,) = choose(wanted, TARGET, {project: [yanked]}, facts).choices.values()
    assert any(note.startswith("was yanked") and "it crashes" in note for note in choice.notes)


def test_joined_digits_are_read_by_what_exists_and_two_readings_are_said(resolved: Resolve) -> None:
    target = replace(TARGET, torch=TorchVersion(2, 10), torch_release=None)
    open_name, old, own = (name(label=label) for label in ("cu12torch210", "cu121torch210", "cu128.torch210"))
    assert chosen(resolved([old, open_name, own], "demo", target=target)) == own
    assert chosen(resolved([old], "demo", target=target)) is None
    (choice,) = resolved([old, open_name], "demo", target=target).choices.values()
    assert choice.candidate.filename == open_name
    assert any("2.1 or 2.10" in note for note in choice.notes)


def test_the_abi_can_be_given_by_hand(resolved: Resolve) -> None:
    names = [name(label=f"cu12torch2.8cxx11abi{abi}") for abi in ("TRUE", "FALSE")]
    assert chosen(resolved(names, "demo", target=replace(TARGET, cxx11_abi=False))) == names[1]


def test_an_old_driver_runs_no_new_cuda(resolved: Resolve) -> None:
    target = replace(TARGET, cuda=CudaVersion(13, 0), driver="550.54.14")
    resolution = resolved([name(label="cu130torch2.8")], "demo", target=target)
    assert chosen(resolution) is None
    (missing,) = resolution.unresolved.values()
    assert missing.suggestion == "driver 580.65.06 or newer"


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
    names = [name(label="cu130torch2.10", platform="win_amd64"), name(label="cu128torch2.10", platform="win_amd64")]
    windows = replace(target, platform=Platform.parse("win_amd64"), libc=None)  # whose drivers have other numbers
    assert chosen(resolved(names, "demo", target=windows)) == names[0]


@pytest.mark.parametrize(
    ("labels", "preferred", "cuda"),
    [
        (["cu126", "cu128", "cu129"], "12.6", "12.6"),  # of the torch that is there
        (["cu128"], "12.6", "12.8"),  # which has no wheel
        (["cu128"], "13.0", "12.8"),  # which this torch does not have
        (["cu126"], None, "12.6"),  # the wheel's own
        (["cu129"], None, "12.9"),
        (["cu126", "cu128", "cu129"], None, "12.8"),  # the usual index's
        (["cu12"], None, "12.8"),
        (["cu126", "cu129"], None, "12.9"),  # the newest
    ],
)
def test_an_open_cuda_changes_little(resolved: Resolve, labels: list[str], preferred: str | None, cuda: str) -> None:
    target = replace(TARGET, cuda=None, preferred_cuda=CudaVersion.parse(preferred) if preferred else None)
    resolution = resolved([name(label=f"{label}torch2.8") for label in labels], "demo", target=target)
    assert (str(resolution.environment.cuda), chosen(resolution) is not None) == (cuda, True)
    assert resolution.torch_backend == (None if cuda == "12.8" else CudaVersion.parse(cuda).tag)


def test_the_cuda_that_most_wheels_are_for_is_the_least_change(resolved: Resolve) -> None:
    names = [name(label=f"{label}torch2.8") for label in ("cu126", "cu128")]
    names.append(name(label="cu126torch2.8", project="other"))
    resolution = resolved(names, "demo", "other", target=replace(TARGET, cuda=None))
    assert resolution.environment.cuda == CudaVersion(12, 6)


@pytest.mark.parametrize(
    ("asked", "torch"),
    [("torch", "2.9"), ("torch==2.8.*", "2.8"), ("torch>=2.5,<2.9", "2.8"), ("torch==2.8.0+cu128", "2.8")],
)
@pytest.mark.parametrize("installed", [None, "2.9.1+cu128"])
def test_a_requested_torch_limits_torch(resolved: Resolve, asked: str, torch: str, installed: str | None) -> None:
    names = [name(label=f"cu128torch{minor}") for minor in ("2.7", "2.8", "2.9")]
    target = replace(TARGET, torch=None, cuda=None)
    if installed:
        target = replace(TARGET, torch=TorchVersion(2, 9), torch_release=installed)
    resolution = resolved(names, asked, "demo", target=target)
    assert (str(resolution.torch), list(resolution.choices), resolution.unresolved) == (torch, ["demo"], {})
    assert resolution.environment.torch_release == (installed if torch == "2.9" else None)


def test_a_range_without_a_known_torch_and_one_against_the_option_are_refused(resolved: Resolve) -> None:
    with pytest.raises(UsageError, check=coded("torch-unknown", "<1.13")):
        resolved([name()], "torch<1.13", "demo", target=replace(TARGET, torch=None, cuda=None))
    with pytest.raises(UsageError, check=coded("options-conflict", "torch==2.9.*", "2.8")):
        resolved([name()], "torch==2.9.*", "demo")


def test_what_one_package_lacks_is_said_while_the_others_are_chosen(resolved: Resolve) -> None:
    resolution = resolved([name()], "demo", "other")
    assert chosen(resolution) == name()
    (missing,) = resolution.unresolved.values()
    assert missing.reason == "no source has a wheel of it"
    assert "--extra-source names another one, which no project remembers" in str(missing.suggestion)


@pytest.mark.parametrize(
    ("names", "suggestion"),
    [
        ([name(label="cu128torch2.9"), name(label="cu126torch2.8", tag="cp311-cp311")], "--torch 2.9"),
        ([name(label="cu129torch2.8")], "--cuda 12.9"),
        ([name(label="cu130torch2.9")], "--torch 2.9 --cuda 13.0"),
        ([name(label="cu13torch2.9")], "--torch 2.9 --cuda 13.0"),
        ([name(tag="cp311-cp311")], "--python 3.11"),
        ([name(tag="cp37-cp37m"), name(tag="cp311-cp311")], "--python 3.11"),
        ([name(platform="manylinux_2_39_x86_64")], "a Linux with a newer glibc"),
        ([name(platform="win_amd64")], None),
        ([name(label="cu118torch2.8")], None),  # there never was such a torch
    ],
)
def test_the_smallest_change_is_named(resolved: Resolve, names: list[str], suggestion: str | None) -> None:
    resolution = resolved(names, "demo")
    (missing,) = resolution.unresolved.values()
    assert missing.suggestion == suggestion


def test_a_version_that_there_is_not_is_not_blamed_on_a_torch_that_nobody_asked_for(resolved: Resolve) -> None:
    resolution = resolved([name(), name("1.1.0")], "demo>5", target=replace(TARGET, torch=None, cuda=None))
    (missing,) = resolution.unresolved.values()
    assert missing.reason.endswith("torch (any) and CUDA (any) on linux_x86_64: 2 for another version")
    assert missing.suggestion == "demo==1.1.0"


def test_a_wheel_for_a_torch_that_is_not_known_says_so(resolved: Resolve) -> None:
    resolution = resolved([name(label="cu130torch2.99")], "demo", target=replace(TARGET, torch=None, cuda=None))
    (missing,) = resolution.unresolved.values()
    assert missing.reason.endswith("for a torch that is not known")


def test_windows_wheels_are_for_windows(resolved: Resolve) -> None:
    windows, linux = name(platform="win_amd64"), name()
    target = replace(TARGET, platform=Platform.parse("win_amd64"), libc=None)
    assert chosen(resolved([windows, linux], "demo", target=target)) == windows
    assert chosen(resolved([windows, linux], "demo")) == linux


LABELLED = "1.0+cu128torch2.8"


def find(
    server: PageServer, *requires: str, inspect: bool = True, name: str = "demo-cu12", version: str = LABELLED
) -> Resolution:
    """Ask for an alias, whose wheel requires these."""
    project, _, _ = name.partition("[")
    name = project_name(project)
    wheel = AliasWheel(project=name, version=Version(version), summary="an alias", requires_dist=requires)
    file = wheel.name.filename
    server.pages |= {"/wheels/": Answer(links_page(file, sha256=None)), f"/wheels/{file}": in_pieces(wheel.content)}
    server.pages[f"/wheels/{file.replace('+', '%2B')}"] = server.pages[f"/wheels/{file}"]
    search = Search(named=(f"find-links:{server.url}/wheels/",), inspect=inspect)
    return resolve([Requirement(name)], TARGET, search)


def test_an_alias_is_named_with_the_wheel_to_ask_for(server: PageServer) -> None:
    resolution = find(server, f"demo=={LABELLED}")
    assert resolution.choices == {}
    (absence,) = resolution.unresolved.values()
    assert absence.project == "demo-cu12"
    assert absence.reason.startswith("is an alias of demo: its wheel demo_cu12-1.0+cu128torch2.8-py3-none-any.whl has ")
    assert absence.suggestion == f"name demo, whose wheel is chosen here, or 'demo=={LABELLED}' for that one"


@pytest.mark.parametrize("requires", [(), ("demo==1.0",), (f"demo=={LABELLED}", "numpy"), ("demo>=1.0",)])
def test_a_wheel_that_requires_anything_else_is_none(server: PageServer, requires: tuple[str, ...]) -> None:
    assert chosen(find(server, *requires), "demo-cu12")


def test_what_was_not_looked_into_is_none(server: PageServer) -> None:
    assert chosen(find(server, f"demo=={LABELLED}", inspect=False), "demo-cu12")


def test_an_alias_with_extras_is_named_with_the_package_to_ask_for(server: PageServer) -> None:
    requires = ['demo-cu13<=1.0,>=1.0; extra == "cuda13"', 'demo-cu12<=1.0,>=1.0; extra == "cuda12"']
    resolution = find(server, *requires, name="demo-gpu[cuda12]", version="1.0+extras.13.12")
    assert resolution.choices == {}
    (absence,) = resolution.unresolved.values()
    file = "demo_gpu-1.0+extras.13.12-py3-none-any.whl"
    assert absence.reason == f"is an alias of demo with an extra for each CUDA: its wheel {file} has no files"
    assert absence.suggestion == "name demo: its wheel for this CUDA is chosen here"


@pytest.mark.parametrize("requires", [(), ("demo-cu13==1.0",), ('one-cu13; extra == "a"', 'two-cu13; extra == "b"')])
def test_a_wheel_with_other_extras_is_none(server: PageServer, requires: tuple[str, ...]) -> None:
    assert chosen(find(server, *requires, name="demo-gpu", version="1.0+extras.13"), "demo-gpu")
