"""Torch beside the wheels, wheels for any torch of a range, and manifests that tell of wheels."""

import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs
from packaging.requirements import Requirement

from tests.page_server import Answer, PageServer, links_page
from tests.refusals import coded
from tests.unit.build.conftest import CELL, PROVENANCE
from tests.unit.client.choose.test_wheel_inspection import Site
from tests.unit.client.conftest import TARGET, Resolve, chosen, find
from wheelmill.client.choose.explain import Offer, explain, find_offer
from wheelmill.client.choose.fit import TorchPlace
from wheelmill.client.choose.resolve import is_pure_on_index, read_facts, resolve
from wheelmill.client.records import Resolution, Search, TargetEnvironment, WheelInspection
from wheelmill.config.load import load_compatibility
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UsageError
from wheelmill.installers import uv
from wheelmill.installers.uv import torch_options
from wheelmill.names import (
    Architecture,
    CudaVersion,
    Gpu,
    Platform,
    ReleaseTag,
    Sha256,
    StableTorch,
    TorchVersion,
    project_name,
    project_version,
)
from wheelmill.release.manifest.record import ManifestEntry, manifest_bytes, manifest_of
from wheelmill.smoke.verdict import Certificate, Evidence
from wheelmill.system import own_installation


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
        (["demo-1.0-py3-none-any.whl", "demo-1.0-cp312-cp312-win_amd64.whl", "demo-2.0rc1-cp39-cp39-win32.whl"], True),
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


def test_they_are_what_the_configuration_says() -> None:
    assert read_facts() == load_compatibility(own_installation.CONFIG)


def test_they_are_read_without_what_is_slow_to_import() -> None:
    code = (
        "import sys; from wheelmill.client.choose.resolve import read_facts; read_facts();"
        "print(sorted({'pydantic', 'pydantic_core', 'yaml'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


CPU = replace(
    TARGET, torch_release="2.8.0+cpu", cuda=None, cpu_only=True, interpreter=Path("/env/bin/python"), origins={}
)
WHEELS = [f"demo-1.0+{label}-cp312-cp312-linux_x86_64.whl" for label in ("cu126torch2.8", "cu128torch2.8")]


def test_the_command_of_uv_replaces_it(resolved: Resolve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uv, "find_uv", lambda: Path("uv"))
    (missing,) = resolved(WHEELS, "demo", target=CPU).unresolved.values()
    assert missing.reason.startswith("torch 2.8.0+cpu, which is installed, is built without CUDA; 2 wheels, none for ")
    found, command = (missing.suggestion or "").split(": ", 1)
    assert found == "put torch for CUDA 12.8 in its place"
    words = ["uv", "pip", "install", "--python", "/env/bin/python", "torch==2.8.*", "--reinstall-package", "torch"]
    assert shlex.split(command) == words  # the usual index has torch 2.8 for CUDA 12.8
    (other,) = resolved(WHEELS[:1], "demo", target=CPU).unresolved.values()
    assert shlex.split(other.suggestion or "")[-2:] == ["--torch-backend", "cu126"]


def test_the_command_of_pip_names_the_index(resolved: Resolve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uv, "find_uv", lambda: None)
    monkeypatch.setenv("WHEELMILL_TORCH_INDEX", "https://mirror.example/cu{cuda}")
    (missing,) = resolved(WHEELS[:1], "demo", target=CPU).unresolved.values()
    pip = "/env/bin/python -m pip"
    install = f"{pip} install 'torch==2.8.*' --index-url https://mirror.example/cu126"
    assert missing.suggestion == f"put torch for CUDA 12.6 in its place: {pip} uninstall --yes torch && {install}"


def test_a_torch_that_was_only_asked_for_is_asked_for_with_cuda(resolved: Resolve) -> None:
    asked = replace(CPU, torch_release=None, origins={"cuda": "UV_TORCH_BACKEND"})
    (missing,) = resolved(WHEELS, "demo", target=asked).unresolved.values()
    assert missing.reason.startswith("UV_TORCH_BACKEND asks for torch without CUDA; 2 wheels")
    assert missing.suggestion == "--torch 2.8 --cuda 12.8"


def test_it_is_no_reason_where_no_wheel_is_refused_for_it(resolved: Resolve) -> None:
    (missing,) = resolved(["demo-1.0-cp311-cp311-linux_x86_64.whl"], "demo", target=CPU).unresolved.values()
    assert missing.reason.startswith("1 wheel, none for ")


WHEEL = "demo-1.1+cu128torch2.8-cp312-cp312-linux_x86_64.whl"
SHA = Sha256("ab" * 32)
BLACKWELL = replace(TARGET, gpus=(Gpu(capability=Architecture.parse("12.0")),))
EVIDENCE = Evidence(
    policy="linux_x86_64",
    needed=("libcudart.so.12",),
    glibc="2.28",
    glibcxx=None,
    cuda_major=12,
    sass=("sm_80", "sm_90a"),
    ptx=(),
    undefined_symbols=3,
)
ENTRY = ManifestEntry(
    filename=WHEEL,
    sha256=SHA,
    size=7,
    metadata_sha256=SHA,
    name="demo",
    version="1.1+cu128torch2.8",
    requires_python=">=3.9",
    requires_dist=("torch==2.8.*",),
    certificate=Certificate(sha256=SHA, evidence=EVIDENCE, clean_rooms=(), provenance=None),
)

OWN_CELL = replace(
    CELL, version=project_version("1.1"), python=TARGET.python, cuda=CudaVersion(12, 8), torch=TorchVersion(2, 8)
)

Released = Callable[..., Search]


@pytest.fixture
def released(server: PageServer) -> Released:
    """Publish the wheel with a manifest beside it; nothing can be read of the wheel itself."""

    def publish(entry: ManifestEntry = ENTRY, wheel: str = WHEEL) -> Search:
        link = f'<a href="../../v1/{wheel.replace("+", "%2B")}#sha256={SHA}">{wheel}</a>'
        server.pages["/simple/demo/"] = Answer(link.encode())
        manifest = manifest_of(ReleaseTag("v1"), [entry], now=datetime(2026, 11, 21, tzinfo=UTC))
        server.pages["/v1/manifest.json"] = Answer(manifest_bytes(manifest))
        server.pages[f"/v1/{wheel.replace('+', '%2B')}"] = Answer(status=403)
        return Search(named=(f"{server.url}/simple/",))

    return publish


def resolved(search: Search) -> Resolution:
    return resolve([Requirement("demo")], TARGET, search)


def test_a_driver_that_its_code_needs_is_heeded(released: Released) -> None:
    """It may be newer than what the CUDA of its label needs."""
    made = replace(PROVENANCE, sha256=SHA, cell=OWN_CELL, driver="550.54.14")
    search = released(structs.replace(ENTRY, certificate=replace(ENTRY.certificate, provenance=made)))
    for driver, reasons in (("550.54.14", []), ("545.10", ["its code needs driver 550.54.14, the target has 545.10"])):
        target = replace(TARGET, driver=driver)
        (verdict,) = explain(Requirement("demo"), target, search).verdicts
        assert [each.reason for each in verdict.against] == reasons


@pytest.mark.parametrize("driver", ["new", "580.65.06; rm", "9" * 5000])
def test_a_driver_that_is_none_is_not_believed(driver: str, released: Released) -> None:
    made = replace(PROVENANCE, sha256=SHA, cell=OWN_CELL, driver=driver)
    search = released(structs.replace(ENTRY, certificate=replace(ENTRY.certificate, provenance=made)))
    (verdict,) = explain(Requirement("demo"), replace(TARGET, driver="580.65.06"), search).verdicts
    assert isinstance(verdict.inside, str)


def test_it_is_asked_once_and_the_wheel_never(released: Released, server: PageServer) -> None:
    search = released()
    for _ in range(2):
        (choice,) = resolved(search).choices.values()
        assert (choice.requires_dist, choice.notes) == (("torch==2.8.*",), ())
    assert [path for path, _ in server.asked if path.startswith("/v1/")] == ["/v1/manifest.json"]


def test_a_wheel_that_is_gone_is_left_out_before_its_download(released: Released, server: PageServer) -> None:
    search = replace(released(), confirm=True)
    del server.pages[f"/v1/{WHEEL.replace('+', '%2B')}"]
    assert chosen(resolved(search)) is None


def test_a_wheel_without_code_for_the_gpu_is_left_out_for_its_evidence(released: Released) -> None:
    resolution = resolve([Requirement("demo")], BLACKWELL, released())
    assert chosen(resolution) is None
    assert "has no machine code for sm_120" in resolution.warnings[0]


def test_explain_shows_what_is_inside_and_what_speaks_against_it(released: Released) -> None:
    search = released()
    (verdict,) = explain(Requirement("demo"), TARGET, search).verdicts
    assert verdict.against == ()
    assert str(verdict.inside) == "needs glibc 2.28 and CUDA 12; machine code for sm_80, sm_90a"
    (verdict,) = explain(Requirement("demo"), BLACKWELL, search).verdicts
    assert isinstance(verdict.inside, WheelInspection)
    assert [mismatch.aspect for mismatch in verdict.against] == ["gpu"]


@pytest.mark.parametrize(
    "entry",
    [
        structs.replace(ENTRY, sha256=Sha256("cd" * 32)),
        structs.replace(ENTRY, requires_dist=("not a requirement!",)),
        structs.replace(ENTRY, certificate=replace(ENTRY.certificate, evidence=replace(EVIDENCE, sass=("sm_",)))),
        structs.replace(ENTRY, certificate=replace(ENTRY.certificate, evidence=replace(EVIDENCE, glibc="new"))),
    ],
)
def test_what_is_not_of_these_bytes_or_says_nonsense_is_not_believed(released: Released, entry: ManifestEntry) -> None:
    (choice,) = resolved(released(entry)).choices.values()
    assert choice.requires_dist is None
    assert choice.notes[0].startswith("could not be inspected")


def test_what_is_no_manifest_is_passed_over(released: Released, server: PageServer) -> None:
    search = released()
    server.pages["/v1/manifest.json"] = Answer(b"[1]")
    assert chosen(resolved(search)) == WHEEL


def test_nobody_is_asked_about_wheels_that_are_not_labelled_as_ours(released: Released, server: PageServer) -> None:
    resolved(released(wheel="demo-1.1+cu12torch2.8abi1-cp312-cp312-linux_x86_64.whl"))
    assert "/v1/manifest.json" not in [path for path, _ in server.asked]


STABLE = "demo-1.0+cu130-cp39-abi3-linux_x86_64.whl"
ORDINARY = "demo-1.0+cu130torch2.11-cp312-cp312-linux_x86_64.whl"
ANDHIGHER = "demo-1.0+cu130torch2.9.0andhigher-cp39-abi3-linux_x86_64.whl"


def beside(torch: str | None) -> TargetEnvironment:
    known = TorchVersion.parse(torch) if torch else None
    return replace(TARGET, torch=known, cuda=CudaVersion(13, 0) if torch else None)


@pytest.fixture
def site(server: PageServer, tmp_path: Path) -> Site:
    """A page with a wheel that METADATA says is for any torch from 2.10."""
    site = Site(server, tmp_path)
    site.add(STABLE, "Requires-Dist: torch>=2.10")
    return site


@pytest.mark.parametrize("torch", ["2.10", "2.11", "2.14", "2.15", "2.99"])
def test_it_is_chosen_for_every_torch_of_its_range(site: Site, torch: str) -> None:
    (choice,) = site.resolve(target=beside(torch)).choices.values()
    assert (choice.candidate.filename, choice.candidate.torch) == (STABLE, StableTorch(oldest=TorchVersion(2, 10)))


def test_it_is_never_chosen_for_an_older_one(site: Site) -> None:
    resolution = site.resolve(target=beside("2.9"))
    assert chosen(resolution) is None
    assert [missing.suggestion for missing in resolution.unresolved.values()] == ["--torch 2.10"]


def test_what_is_chosen_unseen_after_many_that_did_not_fit_says_so(site: Site) -> None:
    for minor in range(1, 11):
        site.add(STABLE.replace("1.0", f"1.{minor}"), "Requires-Dist: torch>=2.10")
    (choice,) = site.resolve(target=beside("2.9")).choices.values()
    assert (choice.candidate.filename, choice.notes) == (STABLE, ("was not inspected: 10 better ones did not fit",))


def test_an_open_target_gets_the_newest_torch(site: Site) -> None:
    resolution = site.resolve(target=beside(None))
    assert (chosen(resolution), str(resolution.environment.torch)) == (STABLE, "2.15")


def test_a_wheel_for_just_this_torch_comes_first(site: Site) -> None:
    site.add(ORDINARY, "Requires-Dist: torch==2.11.*")
    assert chosen(site.resolve(target=beside("2.11"))) == ORDINARY
    assert chosen(site.resolve(target=beside("2.12"))) == STABLE


def test_a_higher_version_comes_before_one_for_just_this_torch(site: Site) -> None:
    site.add(ORDINARY, "Requires-Dist: torch==2.11.*")
    newer = site.add(STABLE.replace("1.0", "1.1"), "Requires-Dist: torch>=2.10")
    assert chosen(site.resolve(target=beside("2.11"))) == newer


def test_what_others_write_into_names_means_the_same(site: Site) -> None:
    site.add(ANDHIGHER.replace("1.0", "2.0"), "Requires-Dist: torch")
    (choice,) = site.resolve(target=beside("2.9")).choices.values()
    assert choice.candidate.torch == StableTorch(oldest=TorchVersion(2, 9))
    verdicts = explain(Requirement("demo"), beside("2.8"), Search(named=(f"find-links:{site.server.url}/",))).verdicts
    reasons = {verdict.candidate.filename: [each.reason for each in verdict.against] for verdict in verdicts}
    assert reasons == {
        ANDHIGHER.replace("1.0", "2.0"): ["is for any torch from 2.9, the target has 2.8"],
        STABLE: ["requires torch>=2.10, the target has 2.8"],
    }


def offered(site: Site, *, inspect: bool = True) -> Offer:
    search = Search(named=(f"find-links:{site.server.url}/",), inspect=inspect)
    return find_offer(project_name("demo"), TARGET.platform, beside("2.11"), search)


def test_available_looks_into_wheels_whose_names_say_no_torch(site: Site) -> None:
    site.add(ORDINARY)
    offer = offered(site)
    assert [(each.cuda, each.torch, each.torch_in_words, each.pythons) for each in offer.combinations] == [
        ("13.0", "2.11", "2.11", ("cp312",)),
        ("13.0", "2.10+", "any torch from 2.10", ("cp39+",)),
    ]
    assert offer.warnings == ()
    (_, unread) = offered(site, inspect=False).combinations
    assert unread.torch == "2.11"


def test_available_names_the_pythons_of_both_stable_abis(site: Site) -> None:
    site.add(STABLE.replace("cp39-abi3", "cp315-abi3.abi3t"))
    assert [each.pythons for each in offered(site).combinations] == [("cp39+", "cp315+", "cp315t+")]


def test_a_page_of_many_cudas_does_not_have_all_of_them_looked_into(site: Site) -> None:
    page = site.server.pages["/"]
    assert isinstance(page, Answer)
    links = (f"demo-1.0+cu{major}.0-cp39-abi3-linux_x86_64.whl" for major in range(20, 70))
    site.server.pages["/"] = Answer(page.body + links_page(*links))
    offered(site)
    assert len({path for path, _ in site.server.asked if path.endswith(".whl")}) == 20
