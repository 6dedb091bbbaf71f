"""Indexes of variant wheels, as other people make them (PEP 825)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.page_server import Answer, PageServer, in_pieces, links_page
from tests.wheels import write_wheel

Properties = Mapping[str, Mapping[str, list[str]]]

SCHEMA = "https://variants-schema.wheelnext.dev/peps/850/v0.2.0.json"
PROVIDERS: Mapping[str, Mapping[str, Any]] = {
    "nvidia": {
        "requires": ["nvidia-variant-provider>=0.0.1,<1.0.0"],
        "plugin-api": "nvidia_variant_provider.plugin:NvidiaVariantPlugin",
    },
    "x86_64": {"requires": ["x86-64-variant-provider"], "plugin-api": "x86_64_variant_provider"},
    "aarch64": {"requires": ["somebody-elses"], "plugin-api": "somebody_elses.plugin:Plugin"},
    "abi_dependency": {"builtin": "abi_dependency"},
}


def gpu(*values: str, cuda: str = "12.8") -> Properties:
    """What a variant for GPUs asks for."""
    return {"nvidia": {"cuda_version_lower_bound": [cuda], "sm_arch": list(values)}}


SEVEN: Mapping[str, Properties] = {
    "cu128_sm90": gpu("90_real", "90_virtual"),
    "cu128_all": gpu("80_real", "90_real", "120_real"),
    "cu130_sm120": gpu("120_real", cuda="13.0"),
    "cu130": {"nvidia": {"cuda_version_lower_bound": ["13.0"]}},
    "x86_64_v3": {"x86_64": {"level": ["v3"]}},
    "arm": {"aarch64": {"version": ["8.1a"]}},
    "null": {},
}
"""Variants of one version, which are listed beside a plain wheel."""


def metadata_of(variants: Mapping[str, Properties], **other: Any) -> bytes:
    """A list of variants, or the ``variant.json`` of one."""
    namespaces = list(dict.fromkeys(name for each in variants.values() for name in each)) or ["nvidia"]
    content = {
        "$schema": SCHEMA,
        "default-priorities": {"namespace": namespaces},
        "providers": {name: PROVIDERS[name] for name in namespaces},
        "variants": variants,
    }
    return json.dumps(content | other).encode()


def serve_variants(
    server: PageServer,
    folder: Path,
    variants: Mapping[str, Properties],
    *,
    project: str = "demo",
    version: str = "1.0",
    plain: bool = True,
    requires: str = "",
    **other: Any,
) -> None:
    """Serve a project's page below ``/simple/``, with its wheels and their list."""
    stem = f"{project}-{version}-py3-none-any"
    base = f"/simple/{project.replace('_', '-')}/"
    listed = metadata_of(variants, **other)
    said = json.loads(listed)
    text = f"Metadata-Version: 2.1\nName: {project.replace('_', '-')}\nVersion: {version}\n{requires}"
    files = {f"{project}-{version}-variants.json": listed}
    for label, properties in variants.items():
        own = json.dumps(said | {"variants": {label: properties}}).encode()
        inside = {f"{project}-{version}.dist-info/variant.json": own}
        wheel = write_wheel(folder / label / f"{stem}.whl", metadata=text, files=inside)
        files[f"{stem}-{label}.whl"] = wheel.read_bytes()
    if plain:
        files[f"{stem}.whl"] = write_wheel(folder / f"{stem}.whl", metadata=text).read_bytes()
    server.pages |= {f"{base}{quote(name)}": in_pieces(content) for name, content in files.items()}
    server.pages[base] = Answer(links_page(*files, sha256=None))
