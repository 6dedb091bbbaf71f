"""Configurations of every kind, and what people may wish of them."""

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from tests.unit.plan.examples import CONFIG, LOOKED_UP
from wheelmill.config.model.compatibility import Compatibility, CudaFacts, CudaRelease, TorchFacts, TorchRelease
from wheelmill.config.model.config import Config
from wheelmill.config.model.files import Listing, Lock
from wheelmill.config.model.package import Package
from wheelmill.config.model.package_parts import ArchitectureRule, MatrixRule, Part
from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    PythonVersion,
    StableTorch,
    TorchVersion,
    project_name,
    project_version,
)
from wheelmill.plan.targets import Filters

PROJECTS = [project_name(text) for text in ("demo", "demo-1", "demo-1-0")]
VERSIONS = [project_version(text) for text in ("1.0", "1.0.post1", "1.0+git1", "2.10rc1")]
PYTHONS = [PythonVersion.parse(text) for text in ("3.9", "3.12", "3.13", "3.13t")]
CUDAS = [CudaVersion.parse(text) for text in ("11.8", "12.8", "13.0")]
TORCHES = [TorchVersion.parse(text) for text in ("2.1", "2.10", "2.11")]
PLATFORMS = [Platform.parse("linux_x86_64"), Platform.parse("linux_aarch64")]
ARCHITECTURES = [Architecture.parse(text) for text in ("7.0", "9.0", "9.0a", "12.0+PTX")]

Value = TypeVar("Value")


def some(values: list[Value], at_least: int = 0) -> st.SearchStrategy[tuple[Value, ...]]:
    """Distinct values in any order."""
    return st.lists(st.sampled_from(values), min_size=at_least, unique=True).map(tuple)


def no_or_range(*texts: str) -> st.SearchStrategy[SpecifierSet | None]:
    return st.none() | st.sampled_from([SpecifierSet(text) for text in texts])


parts = st.builds(
    Part,
    version=no_or_range("<1.1", ">=1.0.post1"),
    python=no_or_range(">=3.12", "==3.13"),
    cuda=no_or_range("==12.*", ">=12.8,<14"),
    torch=no_or_range("<2.10", ">=2.10"),
    platform=st.none() | st.sampled_from([(PLATFORMS[0],), tuple(PLATFORMS)]),
)
rules = st.lists(
    st.builds(
        lambda part, reason: MatrixRule(**vars(part), reason=reason),
        parts,
        st.sampled_from(["Too old", "Does not link"]),
    ),
    max_size=2,
).map(tuple)

lists = some(ARCHITECTURES, at_least=1)
architecture_rules = st.builds(
    ArchitectureRule, list=lists, cuda=no_or_range(">=13"), platform=st.none() | st.just((PLATFORMS[0],))
)

packages = st.builds(
    Package,
    name=st.just(PROJECTS[0]),
    versions=some(VERSIONS, at_least=1),
    extra_deps=some(["ninja", "torch>=2"]),
    architectures=lists | st.lists(architecture_rules, min_size=1, max_size=2).map(tuple),
    needs=st.sampled_from([(), ("torch",)]),
    abi=st.just("cpython"),
    redistributable=st.sampled_from([True, True, True, False]),
    python=st.none() | parts.map(lambda part: part.python),
    cuda=st.none() | parts.map(lambda part: part.cuda),
    torch=st.none() | parts.map(lambda part: part.torch),
    platforms=st.none() | parts.map(lambda part: part.platform),
    exclude=rules,
    include=rules,
)


def for_many_torches(package: Package) -> Package:
    """The same package, if it has torch, for torch's stable ABI: no key of it takes torch for an axis."""
    exclude = tuple(rule for rule in package.exclude if rule.torch is None)
    abi = StableTorch(oldest=TorchVersion(2, 10)) if package.needs_torch else None
    return replace(package, torch_abi=abi, torch=None, include=(), exclude=exclude)


packages |= packages.map(for_many_torches)
cuda_releases = st.builds(
    CudaRelease,
    toolkit=st.sampled_from(["12.8.1", "13.0.2"]),
    minimum_driver=st.just("580.65.06"),
    host_gcc=st.just(15),
    architectures=some([architecture.capability for architecture in ARCHITECTURES], at_least=2).map(frozenset),
)
torch_releases = st.builds(
    TorchRelease,
    release=st.sampled_from(["2.10.0", "2.11.0"]),
    cuda=st.dictionaries(st.sampled_from(PLATFORMS), some(CUDAS, at_least=1).map(frozenset), min_size=1),
    python=st.fixed_dictionaries({platform: some(PYTHONS, at_least=2).map(frozenset) for platform in PLATFORMS}),
    default_cuda=st.sampled_from(CUDAS),
    glibc=st.just("2.28"),
)
compatibilities = st.builds(
    Compatibility,
    cuda=st.dictionaries(st.sampled_from(CUDAS), cuda_releases, min_size=2).map(
        lambda releases: CudaFacts(**LOOKED_UP, releases=releases)
    ),
    torch=st.dictionaries(st.sampled_from(TORCHES), torch_releases, min_size=1).map(
        lambda releases: TorchFacts(**LOOKED_UP, index="https://torch.example/cu{cuda}", releases=releases)
    ),
    pythons=some(PYTHONS, at_least=1),
    platforms=some(PLATFORMS, at_least=1),
)
configs = st.builds(
    Config,
    file=st.just(Path("config/packages.yml")),
    packages=st.dictionaries(st.sampled_from(PROJECTS), packages, min_size=2).map(
        lambda entries: {name: replace(package, name=name) for name, package in entries.items()}
    ),
    compatibility=compatibilities,
    lock=st.just(Lock(sdists={})),
    images=st.just(CONFIG.images),
    listing=st.just(Listing()),
)


@st.composite
def wishes(draw: st.DrawFn) -> tuple[Config, Filters]:
    """A configuration and filters for it, some of which name a Python, a CUDA or a torch that it does not know."""
    config = draw(configs)
    projects = draw(st.just(()) | some([*config.packages]))
    versions = {version for name in projects or config.packages for version in config.packages[name].versions}
    return config, Filters(
        projects=projects,
        versions=draw(st.just(()) | some(sorted(versions))),
        pythons=draw(st.just(()) | some(PYTHONS)),
        cudas=draw(st.just(()) | some(CUDAS)),
        torches=draw(st.just(()) | some(TORCHES)),
        platforms=draw(st.just(()) | some([*config.compatibility.platforms])),
    )
