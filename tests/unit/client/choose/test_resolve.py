"""What is resolved beside the wheels: where torch comes from when the usual index has it for another CUDA."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.page_server import Answer, PageServer, links_page
from tests.refusals import coded
from tests.unit.client.conftest import TARGET, find
from wheelmill.client.choose.fit import TorchPlace
from wheelmill.client.choose.resolve import is_pure_on_index
from wheelmill.client.records import Resolution
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UsageError
from wheelmill.installers.uv import torch_options
from wheelmill.names import CudaVersion, Platform, TorchVersion


def resolved_for(server: PageServer, torch: str, cuda: str, platform: str = "linux_x86_64") -> Resolution:
    server.pages["/wheels/"] = Answer(links_page())
    machine = Platform.parse(platform)
    target = replace(TARGET, torch=TorchVersion.parse(torch), cuda=CudaVersion.parse(cuda), platform=machine)
    return find(f"find-links:{server.url}/wheels/", target=target)


def test_the_usual_index_has_torch_for_one_cuda(server: PageServer, facts: Compatibility) -> None:
    assert resolved_for(server, "2.8", str(facts.torch[TorchVersion(2, 8)].default_cuda)).torch_index is None


def test_other_cudas_have_an_index_of_their_own(server: PageServer, facts: Compatibility) -> None:
    found = resolved_for(server, "2.8", "12.6")
    assert found.torch_backend == "cu126"
    assert found.torch_index == facts.torch.index.replace("{cuda}", "126")


@pytest.mark.parametrize(("platform", "asks"), [("linux_x86_64", False), ("win_amd64", True)])
def test_wheels_for_other_platforms_are_named(server: PageServer, tmp_path: Path, platform: str, *, asks: bool) -> None:
    server.pages["/wheels/"] = Answer(links_page())
    entry = f"{{find_links: '{server.url}/wheels/', projects: [demo], platforms: [win_amd64]}}"
    (tmp_path / "sources.yml").write_text(f"sources:\n  windows: {entry}\n")
    target = replace(TARGET, platform=Platform.parse(platform))
    found = find(str(tmp_path / "sources.yml"), target=target)
    (absence,) = found.unresolved.values()
    assert ("win_amd64" in absence.reason) is not asks
    assert bool(server.asked) is asks


def test_candidates_have_an_index(server: PageServer, facts: Compatibility, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever mirrors the releases."""
    monkeypatch.setenv("WHEELMILL_TORCH_INDEX", "https://mirror.example/torch-cu{cuda}/simple")
    test_index = facts.torch.test_index
    assert test_index
    found = resolved_for(server, "99.0rc1", "13.0")
    assert found.torch_place == found.torch_index == test_index.replace("{cuda}", "130")
    assert resolved_for(server, "2.8", "12.6").torch_place == "cu126"


@pytest.mark.parametrize(("torch", "cuda"), [("2.8", "12.8"), ("99.0", "13.0")])
@pytest.mark.parametrize("platform", ["win_amd64", "linux_aarch64"])
def test_the_usual_index_may_have_torch_for_cpus(torch: str, cuda: str, platform: str, server: PageServer) -> None:
    assert resolved_for(server, torch, cuda, platform).torch_backend == CudaVersion.parse(cuda).tag


def test_a_mirror_takes_its_place(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEELMILL_TORCH_INDEX", "https://mirror.example/torch-cu{cuda}/simple")
    assert resolved_for(server, "2.8", "12.6").torch_index == "https://mirror.example/torch-cu126/simple"
    monkeypatch.setenv("WHEELMILL_TORCH_INDEX", "mirror.example")
    with pytest.raises(UsageError, check=coded("torch-index-invalid", "WHEELMILL_TORCH_INDEX")):
        resolved_for(server, "2.8", "12.6")


@pytest.mark.parametrize(("torch", "key"), [("2.8", "torch.index"), ("99.0rc1", "torch.test_index")])
def test_a_bad_address_of_ours_is_not_blamed_on_the_mirror(torch: str, key: str, facts: Compatibility) -> None:
    broken = replace(facts, torch=replace(facts.torch, index="torch.example", test_index="torch.example"))
    with pytest.raises(UsageError, check=coded("torch-index-invalid", f"compatibility.yml: {key}")):
        TorchPlace.of(TorchVersion.parse(torch), CudaVersion(12, 6), TARGET.platform, broken)


@pytest.mark.parametrize(
    ("place", "options"),
    [
        (None, []),
        ("cu126", ["--index", "https://mirror.example/torch-cu126/simple"]),
        ("cpu", ["--torch-backend", "cpu"]),
        ("https://test.example/cu126", ["--index", "https://test.example/cu126"]),
    ],
)
def test_installs_ask_the_mirror(place: str | None, options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert torch_options(place) == (
        [] if place is None else ["--torch-backend", place] if "://" not in place else options
    )
    monkeypatch.setenv("WHEELMILL_TORCH_INDEX", "https://mirror.example/torch-cu{cuda}/simple")
    assert torch_options(place) == options


@pytest.mark.parametrize(
    ("names", "is_pure"),
    [
        (
            ["demo-1.0-py3-none-any.whl", "demo-1.0-cp312-cp312-win_amd64.whl", "demo-2.0rc1-cp312-cp312-win32.whl"],
            True,
        ),
        (["demo-1.0-py3-none-any.whl", "demo-1.1-cp312-cp312-win_amd64.whl"], False),
        (["demo-0.9-py3-none-any.whl", "demo-1.0.tar.gz"], False),
    ],
)
def test_a_project_is_pure_if_its_newest_version_is(
    names: list[str], server: PageServer, set_index: Callable[[str], None], *, is_pure: bool
) -> None:
    set_index(f"{server.url}/simple/")
    server.pages["/simple/demo/"] = Answer(links_page(*names))
    assert is_pure_on_index(Requirement("demo>=1")) is is_pure
    assert not is_pure_on_index(Requirement("absent"))
