"""``compatibility.yml`` for the client: reading YAML takes longer than choosing, so it is read once."""

from __future__ import annotations

import json
from typing import Any

from wheelmill.client.sources.page_cache import PageCache
from wheelmill.config.model.compatibility import Compatibility, CudaRelease, TorchRelease
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion
from wheelmill.system import resources
from wheelmill.system.files import sha256_of_bytes


def read_facts(cache: PageCache) -> Compatibility:
    """Read the facts that ship, or what the cache keeps of exactly these."""
    content = (resources.CONFIG / "compatibility.yml").read_bytes()
    key = f"compatibility/2:{sha256_of_bytes(content)}"
    kept = cache.fact(key)
    if kept is None:
        import yaml  # noqa: PLC0415 - not for what the cache has

        # This file is ours: 'wheelmill config check' has compared it with its form, which takes long.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        kept = json.dumps(yaml.load(content, Loader=loader), default=str)  # noqa: S506 - a safe loader
        cache.keep_fact(key, kept)
    return _facts_of(json.loads(kept))


def _facts_of(plain: dict[str, Any]) -> Compatibility:
    return Compatibility(
        cuda={
            CudaVersion.parse(version): CudaRelease(
                toolkit=release["toolkit"],
                minimum_driver=release["minimum_driver"],
                host_gcc=release["host_gcc"],
                architectures=frozenset(release["architectures"]),
            )
            for version, release in plain["cuda"]["releases"].items()
        },
        torch={
            TorchVersion.parse(version): TorchRelease(
                release=release["release"],
                cuda={
                    Platform.parse(name): frozenset(map(CudaVersion.parse, cudas))
                    for name, cudas in release["cuda"].items()
                },
                python=frozenset(map(PythonVersion.parse, release["python"])),
                default_cuda=CudaVersion.parse(release["default_cuda"]),
                old_cxx_abi=frozenset(map(CudaVersion.parse, release.get("old_cxx_abi", ()))),
                glibc=release["glibc"],
            )
            for version, release in plain["torch"]["releases"].items()
        },
        torch_index=plain["torch"]["index"],
        pythons=tuple(sorted(map(PythonVersion.parse, plain["pythons"]))),
        platforms=tuple(map(Platform.parse, plain["platforms"])),
    )
