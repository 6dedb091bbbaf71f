"""Bills of materials that anybody put into a wheel."""

import json
import zipfile
from pathlib import Path

import pytest

from tests.wheels import write_wheel
from wheelmill.errors import UnreadableError
from wheelmill.wheel.build_facts import MAX_SBOM, SbomComponent, read_sbom, sboms_in

DIST_INFO = "demo-1.0.dist-info"


def test_both_forms_are_read() -> None:
    components = [{"name": "zlib", "version": "1.3", "type": "library"}, {"name": "gcc", "scope": "excluded"}]
    cyclone = {"bomFormat": "CycloneDX", "specVersion": "1.4", "components": components}
    found = read_sbom("x", json.dumps(cyclone).encode())
    assert (found.form, found.contained) == ("CycloneDX 1.4", (SbomComponent(name="zlib", version="1.3"),))
    spdx = {"spdxVersion": "SPDX-2.3", "packages": [{"name": "zlib", "versionInfo": "1.3"}]}
    assert read_sbom("x", json.dumps(spdx).encode()).components == found.contained


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"bomFormat": 1}', b"[" * 100_000])
def test_what_is_neither_is_refused(content: bytes) -> None:
    with pytest.raises(UnreadableError):
        read_sbom("x", content)


def test_one_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    good = b'{"spdxVersion": "SPDX-2.3"}'
    files = {"a.json": b"no", "b.json": b" " * (MAX_SBOM + 1), "c.spdx.json": good}
    wheel = write_wheel(
        tmp_path / "demo-1.0-py3-none-any.whl",
        files={f"{DIST_INFO}/sboms/{name}": content for name, content in files.items()},
    )
    with zipfile.ZipFile(wheel) as archive:
        *broken, sound = sboms_in(archive, DIST_INFO)
    assert (sound.form, sound.fault) == ("SPDX-2.3", None)
    assert [each.fault is not None for each in broken] == [True, True]


def test_many_take_no_more_together_than_one_may(tmp_path: Path) -> None:
    large = b'{"spdxVersion": "SPDX-2.3"}'.ljust(MAX_SBOM * 2 // 3)
    files = {f"{DIST_INFO}/sboms/{name}.json": large for name in "abc"}
    with zipfile.ZipFile(write_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files=files)) as archive:
        found = list(sboms_in(archive, DIST_INFO))
    assert [each.fault is None for each in found] == [True, False, False]
    assert f"more than {MAX_SBOM - len(large)} bytes" in str(found[1].fault)
