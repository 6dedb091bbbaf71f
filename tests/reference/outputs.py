"""What commands and files of wheelmill promise to programs, by name: the types that the source has of it."""

import functools
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Generic, Literal, NotRequired, get_args, get_origin, get_type_hints

from msgspec import Struct, structs
from pydantic import AwareDatetime, Field
from typing_extensions import TypedDict, is_typeddict

from tests.source_code import attribute_docstrings
from wheelmill.cli.client import outputs as client_outputs
from wheelmill.cli.factory import outputs as factory_outputs
from wheelmill.pipeline import outputs as job_outputs
from wheelmill.release.manifest.record import Manifest, ManifestEntry
from wheelmill.wheel.build_facts import BuildFacts
from wheelmill.wheel.label import TorchRange


def _said(kind: Any, text: str) -> Any:
    return Annotated[kind, Field(description=text)]


def _keys_of(struct: type[Struct], name: str, text: str, **own: Any) -> Any:
    """A struct of the source as pydantic knows it, with types and texts of its own for what is encoded before."""
    classes = [base for base in (get_origin(struct) or struct).__mro__ if base not in (*Struct.__mro__, Generic)]
    texts = {key: text for base in reversed(classes) for key, text in attribute_docstrings(base).items()}
    keys: Any = {}
    for field in structs.fields(struct):
        kind = own.get(field.name, field.type)
        kind = _said(kind, texts[field.name]) if field.name in texts else kind
        keys[field.name] = kind if field.required else NotRequired[kind]
    made = TypedDict(name, keys)  # type: ignore[misc]
    made.__doc__ = text
    return made


class Shown(TypedDict):
    """What a wheel's bytes show."""

    policy: str
    needed: tuple[str, ...]
    glibc: str | None
    glibcxx: str | None
    cuda_major: int | None
    sass: tuple[str, ...]
    """``sm_90``"""
    ptx: tuple[str, ...]
    """``compute_120``"""
    torch_window: dict[str, bool] | None
    """Whether it could load in each torch that is known."""


class Tried(TypedDict):
    """Where it was installed and imported."""

    python: str
    place: str
    skipped: tuple[str, ...]
    """What was not tried there, and why."""
    gpus: tuple[str, ...]


class Built(TypedDict):
    """How it was built."""

    version: str
    toolkit: str
    torch: str | None
    pythons: tuple[str, ...]
    architectures: tuple[str, ...]
    source_sha256: str
    patches: tuple[str, ...]
    """Their sha256."""
    images: tuple[str, ...]
    seconds: int
    driver: str | None
    commit: str | None


class IndexedWheel(TypedDict):
    """A wheel of an index. Null is what is not known."""

    filename: str
    project: str
    version: str
    label: str | None
    cuda: str | None
    torch: str | None
    """``2.11``"""
    torch_abi: TorchRange | None
    build: str | None
    tags: list[str]
    url: str
    sha256: str
    size: int
    metadata_sha256: str | None
    requires_python: str | None
    requires_dist: tuple[str, ...]
    uploaded_at: str | None
    release: str | None
    yanked: str | None
    trees: list[str]
    attestation: str | None
    evidence: Shown | None
    tried: list[Tried]
    built: Built | None


_ENTRY = _keys_of(ManifestEntry, "ManifestEntry", "One wheel of a release.")
_MANIFEST = _keys_of(
    Manifest,
    "Manifest",
    "What ``manifest.json`` of a release says. The index is computed from manifests alone.",
    published_at=AwareDatetime,
    wheels=tuple[_ENTRY, ...],  # type: ignore[valid-type]
)


class ProjectStatus(TypedDict):
    """Of a project (PEP 792)."""

    status: str
    reason: str | None


class Wheels(TypedDict):
    """``wheels.json``: every wheel of an index."""

    schema: Literal["wheelmill.wheels/1"]
    trees: list[str]
    """The folders of its indexes: ``simple``, ``cu130/torch2.11/simple``."""
    projects: dict[str, ProjectStatus]
    wheels: list[IndexedWheel]


class Hashes(TypedDict):
    """``hashes/index.json``: the releases of an index, each with the sha256 of its file of hashes."""

    schema: Literal["wheelmill.hashes/1"]
    releases: dict[str, str]


@functools.cache
def outputs() -> Mapping[str, type]:
    """Every promised output, by its name: ``wheelmill.resolve/1``."""
    modules = (client_outputs, factory_outputs, job_outputs)
    kinds = [kind for module in modules for kind in vars(module).values()]
    printed = [kind for kind in kinds if is_typeddict(kind) and "schema" in kind.__annotations__]
    return {_name_of(kind): kind for kind in (*printed, _MANIFEST, BuildFacts, Wheels, Hashes)}


def _name_of(output: Any) -> str:
    if is_dataclass(output):
        return str(next(field.default for field in fields(output) if field.name == "schema"))
    return str(get_args(get_type_hints(output)["schema"])[0])
