"""What the manifest of a release tells of a wheel takes the place of looking into it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from msgspec import structs
from packaging.requirements import Requirement

from tests.page_server import Answer, PageServer
from tests.unit.build.conftest import CELL, PROVENANCE
from tests.unit.client.conftest import TARGET, chosen
from wheelmill.client.choose.explain import explain
from wheelmill.client.choose.resolve import resolve
from wheelmill.client.records import Resolution, Search, WheelInspection
from wheelmill.names import Architecture, CudaVersion, Gpu, ReleaseTag, Sha256, TorchVersion, project_version
from wheelmill.release.manifest.record import ManifestEntry, manifest_bytes, manifest_of
from wheelmill.smoke.verdict import Certificate, Evidence

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
