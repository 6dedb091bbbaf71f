"""Every variant wheel of a project is found, and what speaks against it is said."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from packaging.requirements import Requirement

from tests.page_server import Answer, PageServer, in_pieces, links_page
from tests.unit.client.conftest import TARGET
from tests.variant_index import PROVIDERS, SEVEN, gpu, metadata_of, serve_variants
from tests.wheels import write_wheel
from wheelmill.client.choose.explain import explain
from wheelmill.client.choose.resolve import resolve
from wheelmill.client.records import Search, TargetEnvironment
from wheelmill.client.variants.explain import VariantExplanation, explain_variants
from wheelmill.names import Architecture, Gpu
from wheelmill.wheel.variant import MAX_VARIANT_METADATA

GIVEN = {"driver": "--driver", "gpus": "--gpu"}
H100 = replace(TARGET, driver="570.86.10", gpus=(Gpu(capability=Architecture(9, 0)),), origins=GIVEN)
LIST = "/simple/demo/demo-1.0-variants.json"


@pytest.fixture
def seven(server: PageServer, tmp_path: Path) -> PageServer:
    serve_variants(server, tmp_path, SEVEN)
    return server


def explained(
    server: PageServer,
    target: TargetEnvironment = H100,
    wanted: str = "demo",
    *,
    inspect: bool = False,
    offline: bool = False,
) -> VariantExplanation:
    named = (f"simple:{server.url}/simple/",)
    return explain_variants(Requirement(wanted), target, Search(named=named, inspect=inspect, offline=offline))


def labels(explanation: VariantExplanation) -> list[str | None]:
    """Of those that fit."""
    return [each.wheel.label for each in explanation.verdicts if not each.against]


def reason(explanation: VariantExplanation, label: str | None) -> str:
    (verdict,) = (each for each in explanation.verdicts if each.wheel.label == label)
    return "; ".join(mismatch.reason for mismatch in verdict.against)


def test_all_seven_are_found_with_the_plain_wheel_and_ordered(seven: PageServer) -> None:
    found = explained(seven)
    assert len(found.verdicts) == 8
    assert labels(found)[:2] == ["cu128_all", "cu128_sm90"]
    assert labels(found)[-2:] == ["null", None]
    assert found.best == found.taken == found.verdicts[0]
    assert found.warnings == ()


def test_each_of_the_others_says_why_not(seven: PageServer) -> None:
    found = explained(seven)
    assert reason(found, "cu130") == (
        "asks for nvidia :: cuda_version_lower_bound :: 13.0; "
        "the driver knows CUDA 12.8 (driver 570.86.10), and the GPU is sm_90"
    )
    assert "sm_arch :: 120_real" in reason(found, "cu130_sm120")
    assert "the provider, somebody_elses.plugin:Plugin or somebody-elses, is neither" in reason(found, "arm")


def test_without_a_driver_null_follows_those_of_processors(seven: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wheelmill.client.variants.machine.x86_64_level", lambda: 2)
    found = explained(seven, TARGET)
    assert labels(found) == ["null", None]
    assert "the processor here has level v2" in reason(found, "x86_64_v3")
    monkeypatch.setattr("wheelmill.client.variants.machine.x86_64_level", lambda: None)
    assert "is not known" in reason(explained(seven, TARGET), "x86_64_v3")


def test_what_is_installed_for_torch_is_compared_by_nobody_else(server: PageServer, tmp_path: Path) -> None:
    of_torch = {"t": {"abi_dependency": {"torch": ["2.8"]}}, "null": {}}
    serve_variants(server, tmp_path, of_torch)
    assert "uv passes over it" in reason(explained(server), "t")


def test_a_variant_for_another_torch_is_refused_though_uv_takes_it(server: PageServer, tmp_path: Path) -> None:
    serve_variants(server, tmp_path, {"cu": gpu("90_real"), "null": {}}, version="2.0+torch2.11", plain=False)
    pages = dict(server.pages)
    serve_variants(server, tmp_path, {"cu": gpu("90_real"), "null": {}}, version="1.0+torch2.8", plain=False)
    both = [unquote(path).rpartition("/")[2] for path in {**pages, **server.pages} if "." in path]
    server.pages = {**pages, **server.pages, "/simple/demo/": Answer(links_page(*both, sha256=None))}
    found = explained(server)
    assert found.best is not None
    assert found.taken is not None
    assert str(found.best.wheel.candidate.version) == "1.0+torch2.8"
    assert str(found.taken.wheel.candidate.version) == "2.0+torch2.11"


def test_a_look_inside_finds_the_torch_that_metadata_asks_for(server: PageServer, tmp_path: Path) -> None:
    serve_variants(server, tmp_path, {"cu": gpu("90_real"), "null": {}}, requires="Requires-Dist: torch==2.11.*\n")
    found = explained(server, inspect=True)
    assert found.best is None
    assert found.taken is not None
    assert found.taken.wheel.label == "cu"
    assert "torch" in reason(found, "cu")


def test_another_cuda_than_torchs_is_noted(server: PageServer, tmp_path: Path) -> None:
    serve_variants(server, tmp_path, {"old": gpu("90_real", cuda="11.8"), "own": gpu("90_real")})
    old, own = ([each for each in explained(server).verdicts if each.wheel.label == label] for label in ("old", "own"))
    assert "torch 2.8 here is for CUDA 12.8, which installers do not compare with 11.8" in old[0].notes
    assert own[0].notes == ()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(b"", 404), "404"),
        (Answer(b"{}"), "it says nothing of variants"),
        (Answer(b"\xff" * 9), "it says nothing of variants"),
        (Answer(b"[" * 100_000), "it says nothing of variants"),
        (Answer(b'{"x": "\xff"}'), "it says nothing of variants"),
        (Answer(b" " * (MAX_VARIANT_METADATA + 1)), str(MAX_VARIANT_METADATA)),
        (Answer(metadata_of({"other": {}})), "the list of variants does not have it"),
    ],
)
def test_a_list_that_cannot_be_used_leaves_the_plain_wheel(seven: PageServer, answer: Answer, said: str) -> None:
    seven.pages[LIST] = answer
    found = explained(seven)
    assert labels(found) == [None]
    assert said in reason(found, "null")


def test_a_draft_that_is_not_known_is_read_with_a_warning(server: PageServer, tmp_path: Path) -> None:
    keys: dict[str, Any] = {"$schema": "https://else.example/v9\x1b[2J.json"}
    serve_variants(server, tmp_path, SEVEN, **keys)
    found = explained(server)
    assert labels(found)[0] == "cu128_all"
    (said,) = found.warnings
    assert said == (
        f"{server.url}{LIST} follows an unknown draft, and is read as a known one: "
        r"'https://else.example/v9\x1b[2J.json'"
    )


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ({"requires": ["nvidia-variant-provider"]}, "nvidia-variant-provider, is neither uv's nor ours"),
        ({**PROVIDERS["nvidia"], "optional": True}, "its provider is optional"),
        ({**PROVIDERS["nvidia"], "requires": ["evil"]}, "is neither uv's nor ours"),
        ({**PROVIDERS["nvidia"], "requires": ["nvidia-variant-provider>=1.0.0"]}, "is neither uv's nor ours"),
        ({**PROVIDERS["nvidia"], "requires": ["; \n"]}, r"; \n"),
        ({"requires": ["e"], "plugin-api": "\x1b[2J"}, r"\x1b[2J"),
        (None, "names no provider"),
    ],
)
def test_an_unknown_provider_is_not_ours(provider: object, said: str, server: PageServer, tmp_path: Path) -> None:
    serve_variants(server, tmp_path, {"cu": gpu("90_real")}, providers={"nvidia": provider} if provider else {})
    found = explained(server)
    assert labels(found) == [None]
    assert said in reason(found, "cu")
    assert reason(found, "cu").isprintable()


def test_of_many_values_the_first_are_said(server: PageServer, tmp_path: Path) -> None:
    serve_variants(server, tmp_path, {"cu": gpu(*(f"{each}1_real" for each in range(20, 900)))})
    assert reason(explained(server), "cu").partition(";")[0].endswith("311_real or 868 more")


def test_bytes_that_nobody_reads_do_no_harm(seven: PageServer) -> None:
    seven.pages[LIST] = Answer(metadata_of(SEVEN, x="?").replace(b"?", b"\xff"))
    assert labels(explained(seven)) == labels(explained(seven, offline=True))


def test_a_list_with_another_hash_is_refused(seven: PageServer) -> None:
    names = [path.rpartition("/")[2] for path in seven.pages if "." in path]
    seven.pages["/simple/demo/"] = Answer(links_page(*names, sha256="0" * 64))
    assert "the page says 000" in reason(explained(seven), "null")


def test_a_page_without_a_list_says_so(seven: PageServer) -> None:
    names = [path.rpartition("/")[2] for path in seven.pages if path.endswith(".whl")]
    seven.pages["/simple/demo/"] = Answer(links_page(*names, sha256=None))
    assert reason(explained(seven), "null") == "its page has no list of the variants of its version"


def test_offline_does_with_what_was_read(seven: PageServer) -> None:
    online = explained(seven)
    seven.pages.clear()
    assert explained(seven, offline=True).verdicts == online.verdicts


def test_nothing_is_read_of_versions_that_nobody_wants(seven: PageServer) -> None:
    found = explained(seven, wanted="demo>=2")
    assert found.best is None
    assert LIST not in [path for path, _ in seven.asked]


def test_what_chooses_plain_wheels_says_how_many_were_passed_over(seven: PageServer) -> None:
    search = Search(named=(f"simple:{seven.url}/simple/",), inspect=False)
    found = resolve([Requirement("demo")], TARGET, search)
    (choice,) = found.choices.values()
    assert choice.candidate.filename == "demo-1.0-py3-none-any.whl"
    (said,) = found.warnings
    assert said.startswith("demo: ignoring 7 variant wheels (PEP 825); run 'wheelmill explain --variants demo'")
    assert explain(Requirement("demo"), TARGET, search).warnings == (said,)


def test_the_command_is_uvs_for_a_variant_of_an_index(seven: PageServer) -> None:
    found = explained(seven, inspect=True)
    assert found.is_as_uv
    assert found.command == f"uv pip install --preview-features wheel-variants --index {seven.url}/simple/ demo==1.0"
    named = (f"find-links:{seven.url}/simple/demo/",)
    assert explain_variants(Requirement("demo"), H100, Search(named=named)).command is None


def test_there_is_no_command_where_uv_takes_another_wheel_of_the_version(server: PageServer, tmp_path: Path) -> None:
    variants = {"a": gpu("90_real"), "b": gpu("80_real"), "null": {}}
    serve_variants(server, tmp_path, variants, requires="Requires-Dist: torch==2.11.*\n", plain=False)
    right = write_wheel(tmp_path / "demo-1.0-py3-none-any.whl").read_bytes()
    server.pages["/simple/demo/demo-1.0-py3-none-any-null.whl"] = in_pieces(right)
    found = explained(server, inspect=True)
    assert found.best is not None
    assert found.best.wheel.label == "null"
    assert not found.is_as_uv
    assert found.command is None


def test_there_is_none_for_a_plain_wheel(server: PageServer, tmp_path: Path) -> None:
    serve_variants(server, tmp_path, {"arm": SEVEN["arm"]})
    found = explained(server)
    assert labels(found) == [None]
    assert (found.is_as_uv, found.command) == (True, None)


GPUS = {"cu128": gpu("80_real", "90_real"), "cu130": gpu("90_real", "90_virtual", cuda="13.0"), "null": {}}


@pytest.mark.parametrize(
    ("driver", "capability", "named"),
    [
        ("570.86.10", (9, 0), "cu128"),
        ("570.86.10", (8, 9), "cu128"),
        ("580.65.06", (10, 0), "null"),  # CUDA compiles the PTX, which installers do not take
        ("550.54.14", (9, 0), "null"),  # knows CUDA 12.4, and runs what is for 12.8 all the same
        (None, (7, 5), "null"),
        ("570.86.10", None, "null"),
        ("570.86.10", (7, 5), None),
        ("520.61.05", (9, 0), None),  # knows CUDA 11.8
    ],
)
def test_the_null_variant_is_of_a_machine_whose_gpu_is_unseen_or_may_run_it(
    driver: str | None, capability: tuple[int, int] | None, named: str | None, server: PageServer, tmp_path: Path
) -> None:
    serve_variants(server, tmp_path, GPUS, plain=False)
    gpus = (Gpu(capability=Architecture(*capability)),) if capability else ()
    found = explained(server, replace(TARGET, driver=driver, gpus=gpus, origins=GIVEN))
    assert (found.best and found.best.wheel.label) == named
    assert found.taken is not None
    assert found.taken.wheel.label == (named or "null")
    assert found.is_as_uv == (named is not None)
    if named is None:
        assert "no variant for GPUs runs here" in reason(found, "null")
        assert found.command is None


def test_null_beside_variants_of_processors_alone_is_for_every_gpu(server: PageServer, tmp_path: Path) -> None:
    serve_variants(server, tmp_path, {"arm": SEVEN["arm"], "null": {}}, plain=False)
    found = explained(server)
    assert labels(found) == ["null"]
