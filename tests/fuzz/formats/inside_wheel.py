"""What a wheel says of itself in JSON: how it was built, and bills of materials."""

import json

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated
from wheelmill.errors import UnreadableError
from wheelmill.names import Sha256
from wheelmill.wheel.build_facts import (
    AppliedPatch,
    BuildFacts,
    SourceFacts,
    build_facts_bytes,
    read_build_facts,
    read_sbom,
)

BUILT = BuildFacts(
    wheelmill="0.1.0",
    project="demo",
    version="1.0",
    python="3.12",
    pythons=("3.12",),
    platform="linux_x86_64",
    source=SourceFacts(kind="commit", sha256=Sha256("1" * 64), repository="https://git.example/demo", commit="a" * 40),
    patches=(AppliedPatch(file="mend.patch", sha256=Sha256("2" * 64)),),
    licence="MIT",
    on_package_index=True,
    cuda="13.0",
    toolkit="13.0.2",
    torch=None,
    architectures=("9.0",),
    variables={"CUDAARCHS": "90"},
    build_requirements=("ninja==1.13.2",),
)
CYCLONE = {"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [{"name": "zlib", "scope": "excluded"}]}
SPDX = {"spdxVersion": "SPDX-2.3", "packages": [{"name": "zlib", "versionInfo": "1.3"}]}
WORDS = [b"null", b"1e999", b"[" * 2000, b'{"a":' * 2000, rb"\ud800", b"\xff", b'"', b",", b"NaN", b"9" * 5000, b"\0"]


def read(content: bytes) -> None:
    """Each reader for itself: what is none for one may be sound for the other."""
    try:
        built = read_build_facts(content)
    except UnreadableError:
        sbom = read_sbom("x", content)
        "".join([sbom.form, *(f"{each.name}{each.version}" for each in sbom.contained)]).encode()
    else:
        build_facts_bytes(built)


INPUTS = [json.dumps(CYCLONE).encode(), json.dumps(SPDX).encode(), build_facts_bytes(BUILT)]
FORMAT = Format(inputs=mutated(INPUTS, WORDS), read=read)
