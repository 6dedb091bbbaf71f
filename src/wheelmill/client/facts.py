"""``compatibility.yml`` for the client: reading YAML takes longer than choosing, so it is read once."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from wheelmill import resources
from wheelmill.client.page_cache import PageCache
from wheelmill.config.records.compatibility import Compatibility, CudaRelease, TorchRelease
from wheelmill.errors import ConfigurationError
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion


def read_facts(cache: PageCache) -> Compatibility:
    """Read the facts that ship, or what the cache keeps of exactly these."""
    path = resources.CONFIG / "compatibility.yml"
    key = f"compatibility/1:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    kept = cache.fact(key)
    if kept is None:
        kept = json.dumps(_plain(_read_yaml(path)))
        cache.keep_fact(key, kept)
    return _facts_of(json.loads(kept))


def _read_yaml(path: Path) -> Compatibility:
    from wheelmill.config.compatibility_file import CompatibilityFile, compatibility_of  # noqa: PLC0415 - slow
    from wheelmill.config.read import read_file  # noqa: PLC0415 - slow

    faults: list[str] = []
    file = read_file(path, CompatibilityFile, faults)
    if file is None:
        raise ConfigurationError(tuple(faults))
    return compatibility_of(file)


def _plain(facts: Compatibility) -> dict[str, Any]:
    return {
        "cuda": {
            str(version): [release.toolkit, release.minimum_driver, release.host_gcc, sorted(release.architectures)]
            for version, release in facts.cuda.items()
        },
        "torch": {
            str(version): [
                release.release,
                {platform: list(map(str, cudas)) for platform, cudas in release.cuda.items()},
                list(map(str, release.python)),
                str(release.default_cuda),
                list(map(str, release.old_cxx_abi)),
                release.glibc,
            ]
            for version, release in facts.torch.items()
        },
        "pythons": list(map(str, facts.pythons)),
        "platforms": facts.platforms,
    }


def _facts_of(plain: dict[str, Any]) -> Compatibility:
    return Compatibility(
        cuda={
            CudaVersion.parse(version): CudaRelease(
                toolkit=toolkit, minimum_driver=driver, host_gcc=gcc, architectures=frozenset(architectures)
            )
            for version, (toolkit, driver, gcc, architectures) in plain["cuda"].items()
        },
        torch={
            TorchVersion.parse(version): TorchRelease(
                release=release,
                cuda={Platform(name): frozenset(map(CudaVersion.parse, cudas)) for name, cudas in cuda.items()},
                python=frozenset(map(PythonVersion.parse, pythons)),
                default_cuda=CudaVersion.parse(default),
                old_cxx_abi=frozenset(map(CudaVersion.parse, old)),
                glibc=glibc,
            )
            for version, (release, cuda, pythons, default, old, glibc) in plain["torch"].items()
        },
        pythons=tuple(map(PythonVersion.parse, plain["pythons"])),
        platforms=tuple(map(Platform, plain["platforms"])),
    )
