"""Which variant wheel a machine gets is the one that uv takes, over drivers and GPUs that both are told of."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.page_server import Answer, PageServer, in_pieces, links_page
from tests.real.conftest import Command, or_nightly
from tests.unit.client.conftest import TARGET
from tests.variant_index import PROVIDERS, SEVEN, Properties, gpu, serve_variants
from tests.wheels import write_wheel
from wheelmill.client.records import Search
from wheelmill.client.variants.explain import VariantExplanation, VariantVerdict, explain_variants, is_seen
from wheelmill.client.variants.machine import FORCED_CUDA, FORCED_GPU
from wheelmill.installers.uv import own_uv

pytestmark = pytest.mark.real

BOUNDS = ["10.2", "11", "11.8", "12", "12.0", "12.8", "12.8.1", "13", "13.0", "13.30", "15", "15.20", "16"]
CODE = ["75", "80", "86", "89", "90", "90a", "100", "103", "120", "121"]
SINGLE: dict[str, Properties] = {
    **{f"low{number}": {"nvidia": {"cuda_version_lower_bound": [each]}} for number, each in enumerate(BOUNDS)},
    **{f"high{number}": {"nvidia": {"cuda_version_upper_bound": [each]}} for number, each in enumerate(BOUNDS)},
    **{f"real{each}": {"nvidia": {"sm_arch": [f"{each}_real"]}} for each in CODE},
    **{f"virtual{each}": {"nvidia": {"sm_arch": [f"{each}_virtual"]}} for each in ["70", *CODE]},
    **{f"word{number}": {"nvidia": {"sm_arch": [each]}} for number, each in enumerate(["12.0", "sm_90", "90"])},
    **{f"level{each}": {"x86_64": {"level": [f"v{each}"]}} for each in range(1, 6)},
    "avx2": {"x86_64": {"avx2": ["on"]}},
    "arm": {"aarch64": {"version": ["8.1a"]}},
}
"""Projects with one variant beside the null variant: what is taken of each shows whether a machine has a property."""
BETWEEN: dict[str, dict[str, Properties]] = {
    "seven": dict(SEVEN),
    "newest": {f"b{number}": {"nvidia": {"cuda_version_lower_bound": [each]}} for number, each in enumerate(BOUNDS)},
    "code": {f"c{each}": gpu(f"{each}_real", f"{each}_virtual", cuda="12.0") for each in CODE},
    "more": {"a": gpu("90_real"), "b": {"nvidia": {"cuda_version_lower_bound": ["12.8"]}}, "c": gpu("80_real")},
    "alike": {"b": gpu("90_real"), "a": gpu("90_real"), "null": {}},
}
"""Projects with several that fit: which is taken shows their order."""
FIRST: Properties = {"nvidia": {"cuda_version_lower_bound": ["11"]}, "x86_64": {"level": ["v1"]}}
REQUIRED = {
    f"required{number}": (namespace, [f"{PROVIDERS[namespace]['requires'][0].partition('>')[0]}{each}"])
    for number, (namespace, each) in enumerate(
        product(FIRST, ["", "==0.0.1", "<0.0.1", ">0.0.1,<1", "==0.2.1", ">0.2.1", "<0.2.1", ">=1.0.0"])
    )
}
"""Projects whose lists require certain versions of a provider."""
MACHINES = [
    ("13.0", "12.0"),
    ("13.0", "12.1"),
    ("12.8", "9.0"),
    ("12.8", "8.9"),
    ("12.4", "8.7"),
    ("12.9", None),
    ("11.8", "7.5"),
    ("15.20", "10.3"),
    ("12.8", "4.0"),
    (None, "9.0"),
    (None, None),
]


@pytest.fixture
def projects(server: PageServer, tmp_path: Path) -> list[str]:
    for name, properties in SINGLE.items():
        serve_variants(server, tmp_path / name, {"it": properties, "null": {}}, project=name, plain=False)
    for name, variants in BETWEEN.items():
        serve_variants(server, tmp_path / name, variants, project=name)
    for name, (namespace, required) in REQUIRED.items():
        providers = {namespace: {**PROVIDERS[namespace], "requires": required}}
        properties = {namespace: FIRST[namespace]}
        serve_variants(
            server, tmp_path / name, {"it": properties, "null": {}}, project=name, plain=False, providers=providers
        )
    return [*SINGLE, *BETWEEN, *REQUIRED]


def taken_by_uv(projects: list[str], server: PageServer, folder: Path) -> dict[str, str | None]:
    """The label of what uv installs of each; None for a plain wheel."""
    argv: list[str | Path] = [
        own_uv(),
        "pip",
        "install",
        "--preview-features",
        "wheel-variants",
        "--no-cache",
        "--target",
        folder,
    ]
    subprocess.run([*argv, "--default-index", f"{server.url}/simple/", *projects], check=True, capture_output=True)
    files = {name: folder / f"{name}-1.0.dist-info" / "variant.json" for name in projects}
    return {
        name: next(iter(json.loads(file.read_bytes())["variants"])) if file.exists() else None
        for name, file in files.items()
    }


def explained(project: str, server: PageServer) -> VariantExplanation:
    search = Search(named=(f"simple:{server.url}/simple/",), inspect=False)
    return explain_variants(Requirement(project), TARGET, search)


@pytest.fixture(params=or_nightly(MACHINES, ("13.0", "12.0"), ("12.8", "8.9"), (None, None)))
def machine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for variable, value in zip((FORCED_CUDA, FORCED_GPU), request.param, strict=True):
        monkeypatch.setenv(variable, value) if value else monkeypatch.delenv(variable, raising=False)


@pytest.mark.usefixtures("machine")
def test_what_fits_and_what_is_taken_is_the_same(projects: list[str], server: PageServer, tmp_path: Path) -> None:
    found = {name: explained(name, server) for name in projects}
    assert {name: each.taken and each.taken.wheel.label for name, each in found.items()} == taken_by_uv(
        projects, server, tmp_path / "installed"
    )
    for each in found.values():
        assert each.taken == each.best or is_null_without_code(each.taken)


def is_null_without_code(verdict: VariantVerdict | None) -> bool:
    """Whether this is the null variant for a GPU that has been seen and runs no other: uv takes it all the same."""
    return verdict is not None and verdict.wheel.label == "null" and [*map(is_seen, verdict.against)] == [False]


def test_the_explained_command_installs_its_wheel(wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    serve_variants(server, tmp_path, SEVEN)
    subprocess.run([own_uv(), "venv", "-q", tmp_path / "venv"], check=True)
    machine = {FORCED_CUDA: "12.8", FORCED_GPU: "9.0"}
    options = ("--source", f"simple:{server.url}/simple/", "--python-path", tmp_path / "venv", "--no-cache", "--json")
    content = json.loads(wheelmill("explain", "--variants", "demo", *options, env=machine).stdout)
    assert content["gets"] == "demo-1.0-py3-none-any-cu128_all.whl"
    path = f"{own_uv().parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | machine | {"PATH": path, "UV_NO_CACHE": "1"}
    subprocess.run(["bash", "-c", content["command"]], check=True, env=environment)
    (inside,) = (tmp_path / "venv").rglob("variant.json")
    assert list(json.loads(inside.read_bytes())["variants"]) == ["cu128_all"]


@pytest.mark.usefixtures("machine")
def test_an_index_of_variantlib_is_read_as_uv_reads_it(server: PageServer, tmp_path: Path) -> None:
    _make_with_variantlib(server, tmp_path)
    found = explained("demo", server)
    assert found.warnings == ()
    assert found.taken is not None
    assert {"demo": found.taken.wheel.label} == taken_by_uv(["demo"], server, tmp_path / "installed")


def _make_with_variantlib(server: PageServer, folder: Path) -> None:
    """An index as other people make it: a null variant, and one for each CUDA and its GPUs."""
    plain = write_wheel(folder / "demo-1.0-py3-none-any.whl")
    project = folder / "pyproject.toml"
    project.write_text(
        '[variant.default-priorities]\nnamespace = ["nvidia"]\n[variant.providers.nvidia]\n'
        'requires = ["nvidia-variant-provider>=0.0.1"]\n'
        'plugin-api = "nvidia_variant_provider.plugin:NvidiaVariantPlugin"\n'
    )
    index = folder / "index"
    index.mkdir()
    words = {
        "cu128": ["-p", "nvidia :: cuda_version_lower_bound :: 12.8", "nvidia :: sm_arch :: 90_real"],
        "cu130": ["-p", "nvidia :: cuda_version_lower_bound :: 13.0", "nvidia :: sm_arch :: 120_real"],
    }
    given: list[str | Path] = ["-f", plain, "-o", index, "--pyproject-toml", project, "--skip-plugin-validation"]
    _variantlib("make-variant", *given, "--null-variant")
    for label, properties in words.items():
        _variantlib("make-variant", *given, "--variant-label", label, *properties)
    _variantlib("generate-index-json", "-d", index)
    files = {path.name: path.read_bytes() for path in index.iterdir()}
    server.pages |= {f"/simple/demo/{name}": in_pieces(content) for name, content in files.items()}
    server.pages["/simple/demo/"] = Answer(links_page(*files, sha256=None))


def _variantlib(*arguments: str | Path) -> None:
    subprocess.run([Path(sys.executable).parent / "variantlib", *arguments], check=True, capture_output=True)
