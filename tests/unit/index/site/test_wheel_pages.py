"""What pages say of wheels follows from their certificates."""

import html
import re
from dataclasses import replace

import msgspec
import pytest
from msgspec import structs

from tests.site_of_many import site_of_many
from tests.unit.build.conftest import PROVENANCE
from tests.unit.index.conftest import EVERY_KIND, Release, people
from wheelmill.build.provenance import Provenance
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.wheel_pages import build_facts, build_key, evidence_facts, external_facts
from wheelmill.names import project_name
from wheelmill.release.manifest.record import External, ListedCertificate, ListedProvenance, ListedRelease
from wheelmill.smoke.verdict import ListedRoom
from wheelmill.system.records import record_bytes
from wheelmill.wheel.build_facts import SourceFacts
from wheelmill.wheel.findings import ListedFinding
from wheelmill.wheel.sizes import Sizes

ROOM = ListedRoom(python="3.11.7", skipped=())
IMAGE = "almalinux:8@sha256:1"
STUB = f"import: libcuda.so.1 is not part of wheels, and {IMAGE} has none, so modules were imported beside a stub of it"
BESIDE_STUB = ListedRoom(python="3.11.7", place=IMAGE, skipped=(STUB,))
WITHOUT_GPU = ListedRoom(python="3.11.7", skipped=("smoke script: this machine has no GPU",))
ON_GPU = ListedRoom(python="3.11.7", skipped=(), gpus=("NVIDIA H200, driver 580.65.06",))
EVERY = "Each was installed and imported before it was published."
VERSION = "packages/demo/1.0/index.html"
WHEELS = "packages/demo/1.0/cu130torch2.11/index.html"


def tried(release: Release, *rooms: tuple[ListedRoom, ...]) -> dict[str, str]:
    """The pages of an index whose wheels were tried in these rooms."""
    (manifest,) = release(*EVERY_KIND[: len(rooms)])
    pairs = zip(manifest.wheels, rooms, strict=True)
    wheels = [with_certificate(entry.certificate, clean_rooms=each) for entry, each in pairs]
    return pages_of(manifest, wheels)


def with_certificate(certificate: ListedCertificate, **changes: object) -> ListedCertificate:
    return structs.replace(certificate, **changes)


def pages_of(manifest: ListedRelease, certificates: list[ListedCertificate]) -> dict[str, str]:
    entries = zip(manifest.wheels, certificates, strict=True)
    wheels = tuple(structs.replace(entry, certificate=certificate) for entry, certificate in entries)
    site = site_of_releases([structs.replace(manifest, wheels=wheels)], "")
    return {path: page.decode() for path, page in people(site).items()}


@pytest.mark.parametrize(
    ("rooms", "sentence"),
    [
        (((ROOM,), (WITHOUT_GPU,)), EVERY),
        (((ROOM,), (BESIDE_STUB,)), "1 of them was installed and imported before it was published."),
        (((ROOM,), ()), "1 of them was installed and imported before it was published."),
        (((ROOM,), (ROOM,), (ROOM, BESIDE_STUB)), "2 of them were installed and imported before they were published."),
        (((BESIDE_STUB,), ()), None),
    ],
)
def test_only_what_was_imported_is_said_to_be(
    rooms: tuple[tuple[ListedRoom, ...], ...], sentence: str | None, release: Release
) -> None:
    pages = tried(release, *rooms)
    said = re.findall(r"[^.>]* before (?:it was|they were) published\.", pages["index.html"])
    assert [each.strip() for each in said] == ([sentence] if sentence else [])
    assert ("CUDA wheels that install and import" in pages["index.html"]) is (sentence == EVERY)
    assert ("imported there" in pages["about/index.html"]) is (sentence is not None)


def test_the_page_of_a_wheel_says_what_makes_it_large_where_that_is_known(release: Release) -> None:
    (manifest,) = release(*EVERY_KIND[:1])
    certificate = manifest.wheels[0].certificate
    sizes = Sizes(gpu_code={"sm_90": 490_000}, host_code=1_780_000, debug=0, other=60_000)
    page = pages_of(manifest, [with_certificate(certificate, sizes=sizes)])[WHEELS]
    assert "<th>Unpacked<td>sm_90 490 kB, host code 1.8 MB, other files 60.0 kB" in page
    assert "Unpacked" not in pages_of(manifest, [certificate])[WHEELS]


def test_the_page_of_a_version_says_what_the_largest_wheel_of_a_label_holds(release: Release) -> None:
    (manifest,) = release(EVERY_KIND[0], EVERY_KIND[0].replace("cp311", "cp312"))
    small, large = (
        Sizes(gpu_code={"sm_90": 490_000, "compute_120": 90_000}, host_code=host, debug=0, other=0)
        for host in (1_000, 1_780_000)
    )
    one, other = manifest.wheels
    sized = structs.replace(manifest, wheels=(structs.replace(one, size=1), structs.replace(other, size=817_059)))
    certificates = [with_certificate(one.certificate, sizes=small), with_certificate(other.certificate, sizes=large)]
    rows = re.findall(r'<tr><th scope="row">(<a.*)', pages_of(sized, certificates)[VERSION])
    cells = ("Linux x86_64", "817 kB", "sm_90 490 kB, compute_120 90.0 kB", "1.8 MB")
    assert rows == ["<td>".join(('<a href="cu130torch2.11/">cu130torch2.11</a>', *cells))]
    assert 'id="size"' not in pages_of(manifest, [one.certificate, other.certificate])[VERSION]


def test_the_page_of_a_wheel_says_where_it_was_tried_and_what_was_left_out(release: Release) -> None:
    page = tried(release, (BESIDE_STUB, WITHOUT_GPU, ON_GPU))[WHEELS]
    assert "installed on Python 3.11.7, in almalinux:8; not tried: import: libcuda.so.1 is not part of wheels" in page
    assert "installed and imported on Python 3.11.7; not tried: smoke script: this machine has no GPU" in page
    assert "installed and imported on Python 3.11.7; kernels ran on NVIDIA H200, driver 580.65.06" in page


@pytest.mark.parametrize(
    ("room", "sentence"),
    [(WITHOUT_GPU, "No wheel's kernels were run on a GPU."), (ON_GPU, "Kernels of 1 wheel ran on a GPU.")],
)
def test_kernels_that_ran_are_counted(room: ListedRoom, sentence: str, release: Release) -> None:
    assert sentence in html.unescape(tried(release, (room,))["about/index.html"])


def test_a_fault_that_is_allowed_is_shown_with_its_reason(release: Release) -> None:
    (manifest,) = release(EVERY_KIND[0])
    found = ListedFinding(code="glibc", detail="needs glibc <2.34>", reason="For our own & other clusters")
    (entry,) = manifest.wheels
    pages = pages_of(manifest, [with_certificate(entry.certificate, findings=(found,))])
    assert (
        "<code>glibc</code> needs glibc &lt;2.34&gt; (allowed, because: For our own &amp; other clusters)"
        in pages[WHEELS]
    )
    assert "For 1 of them the maintainers allowed one of these" in pages["about/index.html"]


def test_what_differs_between_wheels_of_a_platform_is_said_of_each() -> None:
    site = site_of_many(42, [project_name("demo"), project_name("other")])
    alike = next(page for path, page in people(site).items() if path.endswith("cu126torch2.6/index.html")).decode()
    assert alike.count("<th>Has machine code for") == 3
    assert alike.count("<th>sha256") == 21


def test_code_that_runs_is_told_from_code_that_is_there(release: Release) -> None:
    (manifest,) = release(EVERY_KIND[0])
    evidence = replace(manifest.wheels[0].certificate.evidence, sass=("sm_80", "sm_90a"), ptx=("compute_90",))
    facts = dict(evidence_facts(evidence))
    assert facts["Has machine code for"] == "8.0, 9.0a"
    lines = re.findall(r"<b>([\d.]+)</b> [^<]*: ([^<]+)", facts["Runs on"])
    assert lines == [
        ("8.0", "runs its machine code for 8.0"),
        ("8.6", "runs its machine code for 8.0"),
        ("8.9", "runs its machine code for 8.0"),
        ("9.0", "runs its machine code for 9.0a"),
        *(
            (gpu, "the driver compiles its PTX for 9.0 at first use")
            for gpu in ("10.0", "10.3", "11.0", "12.0", "12.1")
        ),
    ]


def listed(made: Provenance) -> ListedProvenance:
    return msgspec.json.decode(record_bytes(made), type=ListedProvenance)


def test_the_oldest_driver_and_the_commit_are_said_and_tell_wheels_apart() -> None:
    source = SourceFacts(
        kind="commit", sha256=PROVENANCE.source_sha256, repository="https://git.example/<b>", commit="a1"
    )
    made = listed(replace(PROVENANCE, driver="580.65.06", source=source))
    facts = dict(build_facts(made))
    assert facts["Needs NVIDIA driver"] == "580.65.06 or newer, on Linux"
    assert facts["Commit"] == "<code>a1</code> of <code>https://git.example/&lt;b&gt;</code>"
    for other in (replace(PROVENANCE, driver="550.54.14", source=source), replace(PROVENANCE, driver="580.65.06")):
        assert build_key(listed(other)) != build_key(made)
    assert {"Needs NVIDIA driver", "Commit"}.isdisjoint(dict(build_facts(listed(PROVENANCE))))


def test_what_no_package_index_has_is_said() -> None:
    facts = dict(external_facts(External(dependencies=("dep:generic/glibc@>=2.28",))))
    assert facts == {"Needs from the system": "<code>dep:generic/glibc@&gt;=2.28</code>"}
    assert external_facts(None) == external_facts(External()) == ()
