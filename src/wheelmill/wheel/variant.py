"""Variant wheels (PEP 825, a draft): conversion from plain wheels and back, and the machines that they are for.

Variants of one version share it, so the CUDA of the label is not in it: ``2.8.3+cu130torch2.11`` becomes
``2.8.3+torch2.11`` in file name, METADATA and ``.dist-info``. ``variant.json`` has driver and GPUs as properties, which
uv and others compare; ``wheelmill-plain.json`` names the plain wheel.

https://peps.python.org/pep-0825/#variant-metadata and https://peps.python.org/pep-0850/

NVIDIA's provider knows the properties (``nvidia-variant-provider`` on the package index); uv stands in for it. To it
``90_real`` is a GPU of the same major release and no older minor one, ``90_virtual`` the same, and several are "or".
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Final, Self

from msgspec import DecodeError, Meta, Struct, field, structs
from msgspec.json import decode, encode
from msgspec.json import format as indented
from packaging.version import Version

from wheelmill.errors import IntegrityError, UnreadableError
from wheelmill.names import Architecture, CudaVersion, Sha256
from wheelmill.system.folders import temporary_folder
from wheelmill.wheel.archive import check_archive, open_archive, unpack
from wheelmill.wheel.gpu_code import CARDS, is_for_one_gpu
from wheelmill.wheel.label import Label
from wheelmill.wheel.metadata import metadata_in
from wheelmill.wheel.name import NULL, VariantLabel, VariantWheelName, WheelFile, WheelName, is_label, split_label
from wheelmill.wheel.record import pack_wheel

VARIANT_FILE: Final = "variant.json"
"""Name in ``.dist-info``."""
SCHEMA: Final = "https://variants-schema.wheelnext.dev/peps/850/v0.2.0.json"
"""The draft that our variant wheels follow, and which uv 0.13.8 reads without a warning."""
KNOWN_SCHEMAS: Final = frozenset(
    {
        SCHEMA,
        "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
        "https://variants-schema.wheelnext.dev/v0.2.0.json",  # variantlib 0.2.2 writes it
    }
)
"""Drafts that we read; the values of others have no known meaning."""
MAX_VARIANT_METADATA: Final = 1 << 20
"""Bytes. A list of a hundred variants has 20,000."""
MAX_VALUES: Final = 10_000
"""Values of all variants of a list together."""

Text = Annotated[str, Meta(max_length=1_000)]
Properties = Mapping[str, Mapping[str, tuple[Text, ...]]]
"""The properties of a variant, by namespace and feature: of each feature, a machine must have one of the values."""

_IN_NAME: Final = frozenset(string.digits + string.ascii_lowercase + "_")
_IN_VALUE: Final = _IN_NAME | {"."}


class Priorities(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Order of variants that a machine could all take; the first counts most."""

    namespace: tuple[Text, ...]
    feature: dict[str, tuple[Text, ...]] = field(default_factory=dict)
    """By namespace."""
    property: dict[str, dict[str, tuple[Text, ...]]] = field(default_factory=dict)
    """By namespace and feature."""


class Provider(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="kebab"):
    """Distribution that reads a machine's properties in a namespace; installers call or replace it."""

    requires: tuple[Text, ...] = ()
    plugin_api: Text | None = None
    """Object in it to call: ``module:object``."""
    enable_if: Text | None = None
    """A marker (PEP 508)."""
    optional: bool = False


class VariantMetadata(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="kebab"):
    """Properties of variants: of one in a wheel, of all in a list."""

    schema: Text = field(name="$schema")
    default_priorities: Priorities
    providers: dict[str, Provider] = field(default_factory=dict)
    """By namespace."""
    variants: Mapping[str, Properties]
    """The properties of each, by its label."""

    @property
    def is_known(self) -> bool:
        """True if it follows a draft that we read."""
        return self.schema in KNOWN_SCHEMAS


def read_variant_metadata(content: bytes) -> VariantMetadata:
    """Read ``variant.json`` or a version's list of variants, without unknown keys; raises UnreadableError."""
    if len(content) > MAX_VARIANT_METADATA:
        message = f"it has {len(content)} bytes, more than {MAX_VARIANT_METADATA}"
        raise UnreadableError("variant-metadata-too-large", message)
    try:
        metadata = decode(content, type=VariantMetadata)
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError("variant-metadata-invalid", f"it says nothing of variants: {error}") from None
    if fault := next(_faults(metadata), None):
        raise UnreadableError("variant-metadata-invalid", fault)
    return metadata


def variant_metadata_bytes(metadata: VariantMetadata) -> bytes:
    """Encode variant metadata: the same content gives the same bytes."""
    return indented(encode(metadata, order="sorted"), indent=2) + b"\n"


def _faults(metadata: VariantMetadata) -> Iterator[str]:
    namespaces = metadata.default_priorities.namespace
    known, properties = frozenset(namespaces), metadata.variants.values()
    if len(known) != len(namespaces):
        yield "default-priorities.namespace names one twice"
    values = (each for namespaced in properties for features in namespaced.values() for each in features.values())
    if sum(map(len, values)) > MAX_VALUES:
        yield f"it has more than {MAX_VALUES} values"
    for label, namespaced in metadata.variants.items():
        if not is_label(label):
            yield f"expected a variant's label, not {label!r:.100}"
        if label == NULL and any(namespaced.values()):
            yield f"the variant {NULL!r} has properties"
        for namespace, features in namespaced.items():
            if namespace not in known:
                yield f"variants.{label} has properties of {namespace!r:.100}, which is not in default-priorities"
            yield from _faults_of_features(f"variants.{label}", namespace, features)


def _faults_of_features(place: str, namespace: str, features: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for word in (namespace, *features):
        if not word or not _IN_NAME.issuperset(word):
            yield f"{place}: expected a name of a-z, 0-9 and _, not {word!r:.100}"
    for feature, values in features.items():
        if not values or len({*values}) != len(values):
            yield f"{place}.{namespace}.{feature}: expected values, each once"
        for value in values:
            if not value or not _IN_VALUE.issuperset(value):
                yield f"{place}.{namespace}.{feature}: expected a value of a-z, 0-9, _ and ., not {value!r:.100}"


NAMESPACE: Final = "nvidia"
DRIVER: Final = "cuda_version_lower_bound"
"""The newest CUDA that the driver knows must be this one, or later."""
GPU: Final = "sm_arch"
PROVIDERS: Final = {
    NAMESPACE: Provider(
        requires=("nvidia-variant-provider>=0.0.1,<1.0.0",),
        plugin_api="nvidia_variant_provider.plugin:NvidiaVariantPlugin",
    )
}
_HASH_DIGITS: Final = 8
"""Digits of the hash in a label: a version has some dozens of variants at most."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One variant of a version."""

    label: VariantLabel
    properties: Properties

    @classmethod
    def of(cls, cuda: CudaVersion, sass: Iterable[str], ptx: Iterable[str]) -> Self | None:
        """Variant of a wheel with this CUDA and code; None if its properties cannot express the GPUs that it runs on.

        Code is named as in evidence, ``sm_90`` and ``compute_120``; raises ValueError for others. A label ends in the
        hash of its properties, since wheels of one version and CUDA may have code for different GPUs.
        """
        machine, portable = (frozenset(map(Architecture.of_code, code)) for code in (sass, ptx))
        values = [f"{each.major}{each.minor}_real" for each in sorted(machine) if _is_for_later_ones(each)]
        values += [f"{each.major}{each.minor}_virtual" for each in sorted(portable) if not each.feature]
        if not values and (machine or portable):
            return None
        features = {DRIVER: (str(cuda),), **({GPU: tuple(dict.fromkeys(values))} if values else {})}
        digest = hashlib.sha256(encode(features, order="sorted")).hexdigest()
        return cls(label=VariantLabel(f"{cuda.tag}_{digest[:_HASH_DIGITS]}"), properties={NAMESPACE: features})


NULL_VARIANT: Final = Variant(label=NULL, properties={})
"""Variant for machines that can take no other, such as those without a driver, where an image is made."""


def metadata_of(variants: Mapping[str, Properties]) -> VariantMetadata:
    """Metadata of these variants, for one of them or the list of all."""
    priorities = Priorities(namespace=(NAMESPACE,))
    return VariantMetadata(schema=SCHEMA, default_priorities=priorities, providers=PROVIDERS, variants=variants)


def _is_for_later_ones(code: Architecture) -> bool:
    """True if machine code runs on all GPUs of its major release from its minor one on, as ``_real`` means."""
    later = (gpu for gpu in CARDS if gpu.major == code.major and gpu.minor > code.minor)
    return not is_for_one_gpu(code) or not any(later)


PLAIN_FILE: Final = "wheelmill-plain.json"
"""Name in ``.dist-info``; names the CUDA of an installed variant."""


class PlainWheel(Struct, frozen=True, kw_only=True):
    """Plain wheel that a variant wheel was made of."""

    filename: str
    sha256: Sha256


def variant_name(plain: WheelName, label: VariantLabel) -> VariantWheelName:
    """Name of a wheel as a variant; raises UnreadableError if its version has no label of ours."""
    own = Label.parse(plain.version.local or "")
    if own is None:
        raise UnreadableError("label-without-cuda", f"{plain.filename} has no label that says its CUDA")
    return VariantWheelName(plain=structs.replace(plain, version=own.without_cuda(plain.version)), label=label)


def make_variant(wheel: WheelFile, variant: Variant, folder: Path) -> WheelFile:
    """Make a variant, in `folder`, of a plain wheel that was packed here: the same input gives the same bytes.

    Raises UnreadableError without a label of ours, and IntegrityError if the plain wheel cannot be made of it again.
    """
    plain = WheelName.parse(wheel.filename)
    name = variant_name(plain, variant.label)
    with _workspace(folder, wheel.path) as (workspace, unpacked):
        dist_info = _rename(unpacked, plain.version, name.plain.version)
        (dist_info / VARIANT_FILE).write_bytes(variant_metadata_bytes(metadata_of({variant.label: variant.properties})))
        (dist_info / PLAIN_FILE).write_bytes(encode(PlainWheel(filename=wheel.filename, sha256=wheel.sha256)) + b"\n")
        made = WheelFile.at(pack_wheel(dist_info, workspace / name.filename))
        unmake_variant(made.path, workspace)
        return replace(made, path=made.path.rename(folder / name.filename))


def unmake_variant(wheel: Path, folder: Path) -> WheelFile:
    """Restore, in `folder`, the plain wheel of an untrusted variant wheel.

    Raises UnreadableError if it does not name its plain wheel, and IntegrityError if the result is another one.
    """
    name, plain = VariantWheelName.parse(wheel.name), plain_of(wheel)
    assert plain  # noqa: S101 - a name with a label
    plain_name = WheelName.parse(plain.filename)
    if variant_name(plain_name, name.label) != name:
        message = f"{wheel.name} says that it was {plain.filename!r}, of which it would be another variant"
        raise UnreadableError("variant-of-another", message)
    with _workspace(folder, wheel) as (workspace, unpacked):
        dist_info = _rename(unpacked, name.plain.version, plain_name.version)
        (dist_info / VARIANT_FILE).unlink(missing_ok=True)
        (dist_info / PLAIN_FILE).unlink()
        made = WheelFile.at(pack_wheel(dist_info, workspace / plain.filename))
        if made.sha256 != plain.sha256:
            message = f"{wheel.name} gives a wheel with sha256 {made.sha256}, not {plain.sha256}"
            raise IntegrityError("hash-differs", message)
        return replace(made, path=made.path.rename(folder / plain.filename))


def plain_of(wheel: Path) -> PlainWheel | None:
    """Plain wheel of a variant wheel; None for a plain one, UnreadableError if the variant does not name it."""
    if split_label(wheel.name)[1] is None:
        return None
    try:
        with wheel.open("rb") as file, open_archive(file) as archive:
            return decode(metadata_in(archive, PLAIN_FILE), type=PlainWheel)
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError("plain-file-invalid", f"{wheel.name}: {PLAIN_FILE}: {error}") from None


@contextmanager
def _workspace(folder: Path, wheel: Path) -> Iterator[tuple[Path, Path]]:
    """Yield a folder, and one in it with a wheel's contents; files and folders in each other's place are its fault."""
    with temporary_folder(folder) as workspace:
        try:
            if findings := check_archive(wheel):
                details = "; ".join(finding.detail for finding in findings)
                raise UnreadableError("wheel-unfit", f"{wheel.name}: {details}")
            unpack(wheel, workspace / "wheel")
            yield workspace, workspace / "wheel"
        except (FileNotFoundError, IsADirectoryError) as error:
            name = Path(str(error.filename)).name
            raise UnreadableError("file-failed", f"{wheel.name}: {name}: {error.strerror}") from None


def _rename(unpacked: Path, old: Version, new: Version) -> Path:
    """Give an unpacked wheel another version, in METADATA and folder names; returns its ``.dist-info``."""
    for folder in (*unpacked.glob(f"*-{old}.dist-info"), *unpacked.glob(f"*-{old}.data")):
        renamed = folder.with_name(folder.name.replace(f"-{old}.", f"-{new}."))
        if renamed.exists():
            raise UnreadableError("dist-info-folders", f"it has both {folder.name} and {renamed.name}")
        folder.rename(renamed)
    dist_infos = [*unpacked.glob(f"*-{new}.dist-info")]
    if len(dist_infos) != 1:
        raise UnreadableError("dist-info-folders", f"expected one folder *-{old}.dist-info")
    metadata = dist_infos[0] / "METADATA"
    lines = metadata.read_bytes().splitlines(keepends=True)
    version = f"Version: {old}".encode()
    fields = takewhile(lambda line: line.strip(b"\r\n"), lines)
    at = next((number for number, line in enumerate(fields) if line.rstrip(b"\r\n") == version), None)
    if at is None:
        raise UnreadableError("metadata-differs", f"METADATA does not say {version.decode()!r}")
    lines[at] = lines[at].replace(version, f"Version: {new}".encode())
    metadata.write_bytes(b"".join(lines))
    return dist_infos[0]
