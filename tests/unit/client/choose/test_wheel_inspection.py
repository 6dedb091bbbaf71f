"""What is seen in wheels by asking for pieces of them, and that those which do not fit are left out."""

import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.page_server import Answer, PageServer, in_pieces
from tests.refusals import coded
from tests.shared_objects import compiled
from tests.unit.client.conftest import TARGET, candidates, chosen
from tests.wheels import write_wheel
from wheelmill.client.choose.fit import mismatches_inside
from wheelmill.client.choose.resolve import resolve
from wheelmill.client.records import Aspect, Resolution, Search, TargetEnvironment, WheelInspection
from wheelmill.errors import UsageError
from wheelmill.names import Architecture, CudaVersion, Gpu, TorchVersion
from wheelmill.web.ranges import WHOLE
from wheelmill.wheel.platforms import Libc

SOURCE = """
__attribute__((section(".nv_fatbin"), used)) static const unsigned device_code[] = {
    0xba55ed50, 0x00100001, 72, 0, 2, 64, 8, 0, 0, 0, 0, 90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
extern int _ZN3c105ErrorC1ENSt7__cxx1112basic_stringE(int);
int own(int number) { return _ZN3c105ErrorC1ENSt7__cxx1112basic_stringE(number); }
"""
OLD, NEW = (f"demo-1.{minor}+cu128torch2.8-cp312-cp312-linux_x86_64.whl" for minor in (0, 1))


def metadata(filename: str, *lines: str) -> str:
    version = filename.split("-")[1]
    return "\n".join(("Metadata-Version: 2.1", "Name: demo", f"Version: {version}", *lines, ""))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Code for sm_90 that expects torch's new C++ ABI and CUDA 13."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "a.c").write_text(SOURCE)
    (folder / "cudart.c").write_text("int cudaMalloc(void) { return 0; }")
    gcc = ["gcc", "-shared", "-fPIC", "-Wl,--no-as-needed"]
    cudart = folder / "libcudart.so"
    subprocess.run([*gcc, "-Wl,-soname,libcudart.so.13", "-o", cudart, folder / "cudart.c"], check=True)
    subprocess.run([*gcc, "-o", folder / "a.so", folder / "a.c", cudart], check=True)
    return (folder / "a.so").read_bytes()


class Site:
    """A page of wheels that can be read in pieces."""

    def __init__(self, server: PageServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.links: list[str] = []

    def add(self, filename: str, *lines: str, code: bytes | None = None, sidecar: bool = False) -> str:
        described = metadata(filename, *lines)
        files = {"demo/__init__.py": b"", **({"demo/_C.so": code} if code else {})}
        content = write_wheel(self.folder / filename, metadata=described, files=files).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        self.server.pages[f"/{filename}"] = in_pieces(content)
        attribute = ""
        if sidecar:
            self.server.pages[f"/{filename}.metadata"] = Answer(described.encode())
            attribute = f' data-core-metadata="sha256={hashlib.sha256(described.encode()).hexdigest()}"'
        self.links.append(f'<a href="{filename}#sha256={digest}"{attribute}>{filename}</a>')
        self.server.pages["/"] = Answer("".join(self.links).encode())
        return filename

    def resolve(
        self,
        *,
        target: TargetEnvironment = TARGET,
        offline: bool = False,
        other_torch: bool = False,
        confirm: bool = False,
    ) -> Resolution:
        source = f"find-links:{self.server.url}/"
        search = Search(named=(source,), offline=offline, other_torch=other_torch, confirm=confirm)
        return resolve([Requirement("demo")], target, search)


@pytest.fixture
def site(server: PageServer, tmp_path: Path) -> Site:
    return Site(server, tmp_path)


def test_requirements_are_read_from_the_end_of_the_wheel(site: Site) -> None:
    site.add(OLD, "Requires-Dist: torch==2.8.*", "Requires-Dist: einops")
    resolution = site.resolve()
    (choice,) = resolution.choices.values()
    assert choice.requires_dist == ("torch==2.8.*", "einops")
    assert choice.notes == ()
    assert [headers.get("Range") for path, headers in site.server.asked if path != "/"] == ["bytes=-65536"]


def test_a_wheel_is_looked_into_once(site: Site) -> None:
    site.add(OLD, "Requires-Dist: einops")
    site.resolve()
    asked = len(site.server.asked)
    for offline in (False, True):
        (choice,) = site.resolve(offline=offline).choices.values()
        assert choice.requires_dist == ("einops",)
    assert len(site.server.asked) == asked


@pytest.mark.parametrize("sidecar", [False, True])
@pytest.mark.parametrize("status", [404, 410])
def test_a_wheel_whose_file_is_gone_falls_back_to_the_next(site: Site, status: int, *, sidecar: bool) -> None:
    site.add(OLD)
    site.add(NEW, sidecar=sidecar)
    site.server.pages[f"/{NEW}"] = Answer(status=status)
    resolution = site.resolve()
    assert chosen(resolution) == OLD
    (warning,) = resolution.warnings
    assert warning.startswith(f"left out {NEW}: ")
    assert str(status) in warning


def test_a_file_that_went_after_it_was_looked_into_is_met_before_it_is_downloaded(site: Site) -> None:
    site.add(OLD)
    site.add(NEW)
    site.resolve()
    site.server.pages[f"/{NEW}"] = Answer(status=404)
    assert chosen(site.resolve()) == NEW
    assert chosen(site.resolve(confirm=True)) == OLD
    assert chosen(site.resolve(confirm=True, offline=True)) == NEW


def test_no_wheel_is_left_where_every_file_is_gone(site: Site) -> None:
    site.add(NEW)
    site.server.pages[f"/{NEW}"] = Answer(status=404)
    (missing,) = site.resolve().unresolved.values()
    assert "1 no longer" in missing.reason


def test_a_server_that_only_refuses_a_file_may_still_have_it(site: Site) -> None:
    site.add(NEW)
    site.server.pages[f"/{NEW}"] = Answer(status=403)
    assert chosen(site.resolve(confirm=True)) == NEW


def test_a_wheel_that_requires_another_torch_than_its_name_says_is_left_out(site: Site) -> None:
    site.add(OLD)
    site.add(NEW, "Requires-Dist: torch==2.7.1")
    resolution = site.resolve()
    assert chosen(resolution) == OLD
    assert "torch==2.7.1" in resolution.warnings[0]


def test_a_python_that_only_the_wheel_names_counts(site: Site) -> None:
    site.add(NEW, "Requires-Python: >=3.13")
    assert chosen(site.resolve()) is None


def test_the_sidecar_is_enough_where_a_server_gives_no_pieces(site: Site) -> None:
    site.add(OLD, "Requires-Dist: einops", sidecar=True)
    site.server.pages[f"/{OLD}"] = Answer(bytes(WHOLE + 1), headers={})
    (choice,) = site.resolve().choices.values()
    assert choice.requires_dist == ("einops",)
    assert len(choice.notes) == 1


def test_a_small_wheel_is_inspected_where_a_server_gives_no_pieces(site: Site) -> None:
    site.add(OLD, "Requires-Dist: einops")
    site.server.pages[f"/{OLD}"] = Answer((site.folder / OLD).read_bytes(), headers={})
    (choice,) = site.resolve().choices.values()
    assert choice.requires_dist == ("einops",)
    assert not choice.notes


def test_a_small_wheel_with_another_hash_is_not_believed(site: Site) -> None:
    site.add(OLD)
    other = write_wheel(site.folder / "other" / OLD, metadata=metadata(OLD, "Requires-Dist: einops"))
    site.server.pages[f"/{OLD}"] = Answer(other.read_bytes(), headers={})
    (choice,) = site.resolve().choices.values()
    assert choice.requires_dist is None
    assert str(choice.candidate.sha256) in choice.notes[0]


@pytest.mark.parametrize(
    ("sidecar", "problem"),
    [
        (b"Metadata-Version: 2.1\nName: other\nVersion: 1\n", "its METADATA is of other"),
        (b"\xff\0", "METADATA"),
        (bytes(2 << 20), "1048576"),
    ],
)
def test_a_hostile_sidecar_is_a_note_that_names_it(site: Site, sidecar: bytes, problem: str) -> None:
    site.add(OLD)
    site.server.pages[f"/{OLD}.metadata"] = Answer(sidecar)
    page = site.server.pages["/"]
    assert isinstance(page, Answer)
    site.server.pages["/"] = Answer(page.body.replace(b"<a ", b'<a data-core-metadata="true" '))
    (choice,) = site.resolve().choices.values()
    assert problem in choice.notes[0]


def test_a_sidecar_with_another_hash_is_a_note_that_names_it(site: Site) -> None:
    site.add(OLD, sidecar=True)
    site.server.pages[f"/{OLD}.metadata"] = Answer(b"Metadata-Version: 2.1\nName: demo\nVersion: 1\n")
    (choice,) = site.resolve().choices.values()
    assert f"{OLD}.metadata" in choice.notes[0]


@pytest.mark.parametrize("answer", [Answer(bytes(WHOLE + 1), headers={}), Answer(b"", 403), Answer(b"x", 206, {})])
def test_a_wheel_that_gives_no_pieces_is_chosen_by_its_name_with_a_note(site: Site, answer: Answer) -> None:
    site.add(OLD)
    site.server.pages[f"/{OLD}"] = answer
    (choice,) = site.resolve().choices.values()
    assert choice.requires_dist is None
    assert choice.notes[0].startswith("could not be inspected: the server")


def test_what_is_no_zip_is_a_note(site: Site) -> None:
    site.add(OLD)
    site.server.pages[f"/{OLD}"] = in_pieces(b"no zip" * 100)
    (choice,) = site.resolve().choices.values()
    assert "zip" in choice.notes[0]


def test_code_for_another_cuda_or_gpu_is_left_out(site: Site, library: bytes) -> None:
    site.add(OLD)
    site.add(NEW, code=library)
    resolution = site.resolve(target=replace(TARGET, gpus=(Gpu(capability=Architecture.parse("8.0")),)))
    assert chosen(resolution) == OLD
    (warning,) = resolution.warnings
    assert "CUDA 13" in warning
    assert "sm_80" in warning


def aspects(inside: WheelInspection, **target: object) -> list[Aspect]:
    (candidate,) = candidates([OLD])
    described = replace(TARGET, **target)  # type: ignore[arg-type]  # fields of the target
    return [mismatch.aspect for mismatch in mismatches_inside(inside, candidate.label, described)]


def test_every_reason_is_given() -> None:
    inside = WheelInspection(
        requires_dist=("torch>=2.9", "torch<2; extra == 'old'", "not a requirement!"),
        requires_python="<3.12",
        glibc="2.35",
        cuda_major=13,
        cxx11_abi=False,
    )
    first = [Aspect.PYTHON, Aspect.METADATA]
    assert aspects(inside, cxx11_abi=True) == [*first, Aspect.TORCH, Aspect.GLIBC, Aspect.CUDA, Aspect.ABI]
    assert aspects(inside, libc=Libc("glibc", 2, 35), torch=None, cuda=None) == first
    assert aspects(WheelInspection(requires_dist=("torch==2.8.1",), requires_python=None)) == []
    assert aspects(
        WheelInspection(requires_dist=("torch==2.8.1",), requires_python=None), torch_release="2.8.0+cu128"
    ) == [Aspect.TORCH]


def test_an_open_target_gets_the_newest_torch_that_the_wheel_requires(site: Site) -> None:
    site.add("demo-1.0+cu130-cp39-abi3-linux_x86_64.whl", "Requires-Dist: torch<2.14,>=2.10")
    resolution = site.resolve(target=replace(TARGET, torch=None, cuda=None))
    assert str(resolution.environment.torch) == "2.13"
    assert (len(resolution.choices), resolution.warnings) == (1, ())


def test_what_shows_only_inside_a_wheel_is_advice_too(site: Site) -> None:
    site.add("demo-1.0+cu128-cp39-abi3-linux_x86_64.whl", "Requires-Dist: torch>=2.10")
    (missing,) = site.resolve().unresolved.values()
    assert missing.reason.endswith("1 for another torch")
    assert missing.suggestion == "--torch 2.10"


def test_no_other_gpu_is_advised_where_a_wheel_lacks_code_for_the_one_that_is_there(site: Site, library: bytes) -> None:
    site.add("demo-1.0+cu130-cp39-abi3-linux_x86_64.whl", code=library)
    target = replace(TARGET, cuda=CudaVersion(13, 0), gpus=(Gpu(capability=Architecture.parse("8.0")),))
    (missing,) = site.resolve(target=replace(target, torch=TorchVersion(2, 11))).unresolved.values()
    assert missing.suggestion is None


FOR_27, FOR_28, UNLABELLED = (
    f"demo-1.{minor}{label}-cp312-cp312-linux_x86_64.whl"
    for minor, label in enumerate(("+cu128torch2.7", "+cu128torch2.8", "+cu128"), start=2)
)


@pytest.fixture(scope="module")
def until_27(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Code that sets the device as torch 2.7 did: the function has a second argument in torch 2.8."""
    return calling("_ZN3c104cuda9SetDeviceEa", tmp_path_factory.mktemp("until"))


@pytest.fixture(scope="module")
def for_both(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Code that asks for the number of devices, as in every torch."""
    return calling("_ZN3c104cuda12device_countEv", tmp_path_factory.mktemp("both"))


def calling(symbol: str, folder: Path) -> bytes:
    return compiled(folder / "a.so", f"extern int {symbol}(void); int own(void) {{ return {symbol}(); }}").read_bytes()


def test_a_wheel_whose_symbols_the_torch_lacks_is_left_out(site: Site, until_27: bytes) -> None:
    site.add(UNLABELLED, code=until_27)
    resolution = site.resolve()
    assert chosen(resolution) is None
    (warning,) = resolution.warnings
    assert warning.startswith(f"left out {UNLABELLED}: torch 2.8 lacks ")
    assert chosen(site.resolve(target=replace(TARGET, torch=TorchVersion(2, 7)))) == UNLABELLED


def test_symbols_do_not_make_a_wheel_for_another_torch_fit(site: Site, for_both: bytes) -> None:
    site.add(FOR_27, code=for_both)
    assert chosen(site.resolve()) is None


def test_a_wheel_for_another_torch_is_taken_when_that_is_accepted(site: Site, for_both: bytes) -> None:
    site.add(FOR_27, code=for_both)
    (choice,) = site.resolve(other_torch=True).choices.values()
    assert choice.candidate.filename == FOR_27
    assert [("torch 2.7" in note, "torch 2.8" in note) for note in choice.notes] == [(True, True)]


def test_a_wheel_for_another_torch_without_its_symbols_is_never_taken(site: Site, until_27: bytes) -> None:
    site.add(FOR_27, code=until_27)
    resolution = site.resolve(other_torch=True)
    assert chosen(resolution) is None
    assert "torch 2.8 lacks " in resolution.warnings[0]


def test_a_torch_that_is_not_known_is_never_taken_for_another(site: Site, for_both: bytes) -> None:
    site.add(FOR_27, code=for_both)
    resolution = site.resolve(target=replace(TARGET, torch=TorchVersion(2, 99)), other_torch=True)
    assert chosen(resolution) is None
    assert "torch 2.99" in resolution.warnings[0]


def test_a_wheel_for_another_torch_that_cannot_be_looked_into_is_never_taken(site: Site, for_both: bytes) -> None:
    site.add(FOR_27, code=for_both)
    site.server.pages[f"/{FOR_27}"] = Answer(b"", status=404)
    resolution = site.resolve(other_torch=True)
    assert chosen(resolution) is None
    assert "torch 2.8" in resolution.warnings[0]


def test_what_a_wheel_for_another_torch_requires_counts(site: Site, for_both: bytes) -> None:
    site.add(FOR_27, "Requires-Dist: torch==2.7.*", code=for_both)
    assert chosen(site.resolve(other_torch=True)) is None


def test_an_older_wheel_for_the_torch_itself_is_better(site: Site, for_both: bytes) -> None:
    newer = "demo-9.0+cu128torch2.7-cp312-cp312-linux_x86_64.whl"
    site.add(newer, code=for_both)
    site.add(FOR_28, code=for_both)
    assert chosen(site.resolve(other_torch=True)) == FOR_28


def test_no_torch_is_no_reason_for_another(site: Site) -> None:
    with pytest.raises(UsageError, check=coded("no-torch-to-compare")):
        site.resolve(target=replace(TARGET, torch=None), other_torch=True)


def test_gpus_are_told_in_their_order_and_not_in_that_of_the_alphabet() -> None:
    inside = WheelInspection(requires_dist=(), sass=("10.0", "9.0"), code_read=True)
    assert str(inside) == "machine code for sm_90, sm_100"
