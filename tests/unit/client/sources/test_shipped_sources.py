"""Each source that ships, read from a page in its own form, which ``tests/data/sources`` has with where it was seen."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.page_server import Answer, PageServer
from tests.unit.client.conftest import TARGET
from wheelmill.client.choose.fit import group_fits
from wheelmill.client.records import Candidate, TargetEnvironment
from wheelmill.client.source_records import Outcome, Source, SourceKind
from wheelmill.client.sources.listing import candidates_of, outcomes_of, places_of
from wheelmill.client.sources.page_cache import PageCache
from wheelmill.client.sources.pages import Pages
from wheelmill.client.sources.selection import SHIPPED
from wheelmill.client.sources.sources_file import read_sources_file
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion, project_name
from wheelmill.wheel.platforms import Libc

DATA = Path(__file__).parents[3] / "data" / "sources"


class Known(NamedTuple):
    """A target, and what the recorded page of a source has for it."""

    project: str
    python: str
    torch: str
    cuda: str
    platform: str
    filename: str
    label: str
    """What the wheel is taken to be built for: CUDA, then torch."""


LINUX, WINDOWS = "linux_x86_64", "win_amd64"
KNOWN = {
    "mjun0812-flash-attn": Known(
        *("flash-attn", "3.12", "2.10", "13.0", LINUX),
        *("flash_attn-2.8.3+cu130torch2.10-cp312-cp312-linux_x86_64.whl", "CUDA 13.0, 2.10"),
    ),
    "mjun0812-flash-attn-3": Known(
        *("flash-attn-3", "3.12", "2.9", "12.8", LINUX),
        "flash_attn_3-3.0.0+cu128torch2.9gite2743ab-cp39-abi3-manylinux_2_24_x86_64.manylinux_2_28_x86_64.whl",
        "CUDA 12.8, 2.9",
    ),
    "Dao-AILab-flash-attn": Known(
        *("flash-attn", "3.12", "2.9", "12.8", LINUX),
        *("flash_attn-2.8.3+cu12torch2.9cxx11abiTRUE-cp312-cp312-linux_x86_64.whl", "CUDA 12, 2.9"),
    ),
    "windreamer-flash-attn-3": Known(
        *("flash-attn-3", "3.12", "2.10", "12.8", WINDOWS),
        "flash_attn_3-3.0.0+20260318.cu128torch2100cxx11abitrue.8afc61-cp39-abi3-win_amd64.whl",
        "CUDA 12.8, 2.10",
    ),
    "Dao-AILab-causal-conv1d": Known(
        *("causal-conv1d", "3.12", "2.9", "12.8", LINUX),
        *("causal_conv1d-1.6.1+cu12torch2.9cxx11abiTRUE-cp312-cp312-linux_x86_64.whl", "CUDA 12, 2.9"),
    ),
    "state-spaces-mamba": Known(
        *("mamba-ssm", "3.12", "2.7", "12.8", LINUX),
        *("mamba_ssm-2.3.2.post1+cu12torch2.7cxx11abiTRUE-cp312-cp312-linux_x86_64.whl", "CUDA 12, 2.7"),
    ),
    "SHI-Labs-natten": Known(
        *("natten", "3.12", "2.13", "13.2", LINUX),
        *("natten-0.21.7+torch2130cu132-cp312-cp312-linux_x86_64.whl", "CUDA 13.2, 2.13"),
    ),
    "fanshiqing-grouped-gemm": Known(
        *("grouped-gemm", "3.11", "2.6", "12.4", LINUX),
        *("nv_grouped_gemm-1.1.4.post8+cu12torch2.6cxx11abiFALSE-cp311-cp311-linux_x86_64.whl", "CUDA 12, 2.6"),
    ),
    "woct0rdho-sageattention": Known(
        *("sageattention", "3.12", "2.5", "12.4", WINDOWS),
        *("sageattention-2.1.1+cu124torch2.5.1-cp312-cp312-win_amd64.whl", "CUDA 12.4, 2.5"),
    ),
    "mobcat40-sageattention": Known(
        *("sageattention", "3.11", "2.11", "12.8", LINUX),
        *("sageattention-2.2.0+cu128.torch2.11-cp311-cp311-linux_x86_64.whl", "CUDA 12.8, 2.11"),
    ),
    "astral": Known(
        *("sageattention", "3.13", "2.11", "13.0", LINUX),
        *("sageattention-2.2.0+cu.13.0.torch.2.11-cp313-cp313-manylinux_2_24_x86_64.whl", "CUDA 13.0, 2.11"),
    ),
    "pytorch": Known(
        *("xformers", "3.12", "2.10", "13.0", WINDOWS),
        *("xformers-0.0.35-py39-none-win_amd64.whl", "CUDA 13.0, None"),
    ),
    "vllm": Known(
        *("vllm", "3.12", "2.10", "12.8", LINUX),
        *("vllm-0.19.0+cu128-cp38-abi3-manylinux_2_35_x86_64.whl", "CUDA 12.8, None"),
    ),
    "vllm-windows": Known(
        *("vllm", "3.12", "2.11", "13.2", WINDOWS),
        *("vllm-0.29.0+cu132-cp312-cp312-win_amd64.whl", "CUDA 13.2, None"),
    ),
    "sglang": Known(
        *("sglang-kernel", "3.12", "2.11", "13.0", LINUX),
        *("sglang_kernel-0.4.0+cu130-cp310-abi3-manylinux2014_x86_64.whl", "CUDA 13.0, None"),
    ),
    "flashinfer-jit-cache": Known(
        *("flashinfer-jit-cache", "3.12", "2.11", "13.0", LINUX),
        *("flashinfer_jit_cache-0.6.13+cu130-cp39-abi3-manylinux_2_28_x86_64.whl", "CUDA 13.0, None"),
    ),
    "flashinfer": Known(
        *("flashinfer-cubin", "3.12", "2.11", "13.0", LINUX),
        *("flashinfer_cubin-0.6.18-py3-none-any.whl", "no CUDA label, None"),
    ),
    "pyg": Known(
        *("torch-scatter", "3.11", "2.8", "12.8", LINUX),
        *("torch_scatter-2.1.2+pt28cu128-cp311-cp311-linux_x86_64.whl", "CUDA 12.8, 2.8"),
    ),
    "llama-cpp-python": Known(
        *("llama-cpp-python", "3.12", "2.13", "13.2", LINUX),
        *("llama_cpp_python-0.3.29-py3-none-manylinux_2_35_x86_64.whl", "CUDA 13.2, None"),
    ),
    "JamePeng-llama-cpp-python": Known(
        *("llama-cpp-python", "3.12", "2.11", "13.0", LINUX),
        *("llama_cpp_python-0.3.27+cu130.basic-cp312-cp312-linux_x86_64.whl", "CUDA 13.0, None"),
    ),
    "gsplat": Known(
        *("gsplat", "3.10", "2.4", "12.4", LINUX),
        *("gsplat-1.5.3+pt24cu124-cp310-cp310-linux_x86_64.whl", "CUDA 12.4, 2.4"),
    ),
    "exllamav3": Known(
        *("exllamav3", "3.12", "2.11", "13.2", LINUX),
        *("exllamav3-1.5.1+cu132.torch2.11.0-cp312-cp312-linux_x86_64.whl", "CUDA 13.2, 2.11"),
    ),
    "exllamav2": Known(
        *("exllamav2", "3.12", "2.7", "12.8", LINUX),
        *("exllamav2-0.3.1+cu128.torch2.7.0-cp312-cp312-linux_x86_64.whl", "CUDA 12.8, 2.7"),
    ),
    "gptqmodel": Known(
        *("gptqmodel", "3.12", "2.8", "12.8", LINUX),
        *("gptqmodel-5.8.0+cu128torch2.8-cp312-cp312-linux_x86_64.whl", "CUDA 12.8, 2.8"),
    ),
    "nunchaku": Known(
        *("nunchaku", "3.11", "2.9", "13.0", WINDOWS),
        *("nunchaku-1.2.1+cu13.0torch2.9-cp311-cp311-win_amd64.whl", "CUDA 13.0, 2.9"),
    ),
    "k2": Known(
        *("k2", "3.12", "2.7", "12.8", LINUX),
        "k2-1.24.4.dev20250714+cuda12.8.torch2.7.1-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
        "CUDA 12.8, 2.7",
    ),
    "dgl": Known(
        *("dgl", "3.12", "2.4", "12.4", LINUX),
        *("dgl-2.4.0+cu124-cp312-cp312-manylinux1_x86_64.whl", "CUDA 12.4, 2.4"),
    ),
    "kaolin": Known(
        *("kaolin", "3.11", "2.5", "12.4", WINDOWS),
        *("kaolin-0.17.0-cp311-cp311-win_amd64.whl", "CUDA 12.4, 2.5"),
    ),
    "mmcv": Known(
        *("mmcv", "3.10", "2.4", "12.1", LINUX),
        *("mmcv-2.2.0-cp310-cp310-manylinux1_x86_64.whl", "CUDA 12.1, 2.4"),
    ),
    "comfy-forge": Known(
        *("nvdiffrast", "3.12", "2.8", "12.8", LINUX),
        "nvdiffrast-0.4.0+cu128torch2.8-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
        "CUDA 12.8, 2.8",
    ),
    "comfy-org": Known(
        *("sageattention", "3.12", "2.11", "13.0", LINUX),
        "sageattention-2.2.0+cu130torch2.11-cp312-cp312-manylinux_2_34_x86_64.manylinux_2_35_x86_64.whl",
        "CUDA 13.0, 2.11",
    ),
    "MiroPsota": Known(
        *("pytorch3d", "3.11", "2.6", "12.4", LINUX),
        *("pytorch3d-0.7.9+d9839a9pt2.6.0cu124-cp311-cp311-linux_x86_64.whl", "CUDA 12.4, 2.6"),
    ),
    "woct0rdho-spargeattn": Known(
        *("spas-sage-attn", "3.12", "2.8", "12.8", WINDOWS),
        *("spas_sage_attn-0.1.0+cu128torch2.8.0.post1-cp39-abi3-win_amd64.whl", "CUDA 12.8, 2.8"),
    ),
    "mengqin-sageattn3": Known(
        *("sageattn3", "3.12", "2.7", "12.8", WINDOWS),
        *("sageattn3-1.0.0+cu128torch271-cp312-cp312-win_amd64.whl", "CUDA 12.8, 2.7"),
    ),
    "Wildminder-windows": Known(
        *("natten", "3.14", "2.13", "13.2", WINDOWS),
        "natten-0.21.7.dev0+d20260714.cu132torch2.13.0cxx11abiTRUE-cp314-cp314-win_amd64.whl",
        "CUDA 13.2, 2.13",
    ),
    "lldacing-flash-attn": Known(
        *("flash-attn", "3.11", "2.4", "12.4", WINDOWS),
        *("flash_attn-2.7.0.post2+cu124torch2.4.0cxx11abiFALSE-cp311-cp311-win_amd64.whl", "CUDA 12.4, 2.4"),
    ),
    "lldacing-natten": Known(
        *("natten", "3.12", "2.7", "12.8", WINDOWS),
        *("natten-0.17.5+torch270cu128-cp312-cp312-win_amd64.whl", "CUDA 12.8, 2.7"),
    ),
}


@pytest.fixture
def sources(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, Source]:
    """Those that ship, each with the server of the test in the place of its own."""
    monkeypatch.setenv("GITHUB_API_URL", server.url)
    return {source.name: _moved(source, server.url) for source in read_sources_file(SHIPPED).sources}


def _moved(source: Source, url: str) -> Source:
    origin = "://".join(urlsplit(source.url)[:2])
    return replace(source, url=source.url.replace(origin, url, 1))


def target_of(known: Known) -> TargetEnvironment:
    platform = Platform.parse(known.platform)
    return replace(
        TARGET,
        python=PythonVersion.parse(known.python),
        torch=TorchVersion.parse(known.torch),
        cuda=CudaVersion.parse(known.cuda),
        platform=platform,
        libc=Libc("glibc", 2, 39) if platform.is_linux else None,
        cxx11_abi=None,
    )


def find(source: Source, known: Known, server: PageServer, facts: Compatibility) -> list[Candidate]:
    """The wheels of a source's recorded page that fit a target."""
    project, target = project_name(known.project), target_of(known)
    places = places_of(project, [source], [target], facts)
    recorded = next(DATA.glob(f"{source.name}.*"))
    content_type = "text/html" if recorded.suffix == ".html" else "application/json"
    for place in places:
        page = Answer(recorded.read_bytes(), headers={"Content-Type": content_type})
        server.pages[place.url.removeprefix(server.url)] = page
    unguarded = replace(source, gpus=())  # which GPUs they are for is another matter
    with PageCache(None) as cache:
        pages = Pages(cache)
        pages.update(place.url for place in places)
        assert [each.outcome for each in outcomes_of(project, places, pages)] == [Outcome.FOUND]
        assert pages.warnings == []
        return candidates_of(
            project,
            places,
            pages,
            lambda place, group: group_fits(replace(place, source=unguarded), group, target, facts),
        )


def test_every_source_that_ships_has_a_recorded_page_and_no_other_has() -> None:
    names = {source.name for source in read_sources_file(SHIPPED).sources}
    assert names == set(KNOWN) == {path.stem for path in DATA.iterdir()}
    assert len(names) >= 30
    assert all(b"seen" in path.read_bytes().lower() for path in DATA.iterdir())


@pytest.mark.parametrize("name", KNOWN)
def test_a_source_is_read_in_its_own_form(
    name: str, sources: dict[str, Source], server: PageServer, facts: Compatibility
) -> None:
    (candidate,) = find(sources[name], KNOWN[name], server, facts)
    assert candidate.filename == KNOWN[name].filename
    assert f"{candidate.label}, {candidate.label.torch}" == KNOWN[name].label


def test_no_source_is_shown_a_credential(
    sources: dict[str, Source], server: PageServer, facts: Compatibility, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GitHub's token is for GitHub's API, and Hugging Face's for nobody."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("GITHUB_API_URL", "https://api.github.test")
    others = [source for source in sources.values() if source.kind is not SourceKind.GITHUB]
    for source in others:
        find(source, KNOWN[source.name], server, facts)
    assert len(server.asked) == len(others)
    assert set(server.authorizations) == {None}
