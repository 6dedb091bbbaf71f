"""CUDA wheels as variants: the driver and the GPUs that they are for, in properties that uv and others compare.

NVIDIA's provider knows them (``nvidia-variant-provider`` on the package index); uv stands in for it. To it
``90_real`` is a GPU of the same major release and no older minor one, ``90_virtual`` the same, and several are "or".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from msgspec.json import encode

from wheelmill.names import Architecture, CudaVersion
from wheelmill.wheel.gpu_code import CARDS, is_for_one_gpu
from wheelmill.wheel.variant_label import NULL, VariantLabel
from wheelmill.wheel.variant_metadata import SCHEMA, Priorities, Properties, Provider, VariantMetadata

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
_DIGITS: Final = 8
"""Of the hash in a label: of a version there are some dozens of variants at most."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One variant of a version."""

    label: VariantLabel
    properties: Properties

    @classmethod
    def of(cls, cuda: CudaVersion, sass: Iterable[Architecture], ptx: Iterable[Architecture]) -> Self | None:
        """The variant that a wheel is; None where these words cannot say which of the GPUs it runs on.

        A label stands for the same properties in every wheel of a version, so it ends in their hash: wheels of one CUDA
        have code for other GPUs on another platform, or since ``packages.yml`` was changed.

        Args:
            cuda: the release that it was built with.
            sass: what it has machine code for.
            ptx: what it has portable assembly for.
        """
        machine, portable = frozenset(sass), frozenset(ptx)
        values = [f"{each.major}{each.minor}_real" for each in sorted(machine) if _is_for_later_ones(each)]
        values += [f"{each.major}{each.minor}_virtual" for each in sorted(portable) if not each.feature]
        if not values and (machine or portable):
            return None
        features = {DRIVER: (str(cuda),), **({GPU: tuple(dict.fromkeys(values))} if values else {})}
        digest = hashlib.sha256(encode(features, order="sorted")).hexdigest()
        return cls(label=VariantLabel(f"{cuda.tag}_{digest[:_DIGITS]}"), properties={NAMESPACE: features})

    @classmethod
    def of_code(cls, cuda: CudaVersion, sass: Iterable[str], ptx: Iterable[str]) -> Self | None:
        """The same, of the words in a wheel's evidence: ``sm_90``, ``compute_120``.

        Raises:
            ValueError: one of them is no GPU architecture.
        """
        return cls.of(cuda, *(map(Architecture.of_code, code) for code in (sass, ptx)))


NULL_VARIANT: Final = Variant(label=NULL, properties={})
"""What a machine takes that can take no other: one without a driver, such as where an image is made."""


def metadata_of(variants: Mapping[VariantLabel, Properties]) -> VariantMetadata:
    """What is said of these variants, in one of them or in the list of all."""
    return VariantMetadata(
        schema=SCHEMA,
        default_priorities=Priorities(namespace=(NAMESPACE,)),
        providers=PROVIDERS,
        variants={
            label: {namespace: dict(features) for namespace, features in properties.items()}
            for label, properties in variants.items()
        },
    )


def _is_for_later_ones(code: Architecture) -> bool:
    """Whether machine code runs on all GPUs of its major release from its minor one on, as ``_real`` says."""
    later = (gpu for gpu in CARDS if gpu.major == code.major and gpu.minor > code.minor)
    return not is_for_one_gpu(code) or not any(later)
