"""Files that others read are what docs/reference promises."""

import json
from pathlib import Path

import pytest

from tests.fuzz.formats.inside_wheel import BUILT
from tests.integration.conftest import Command
from tests.reference.schemas import strict_validator
from tests.unit.release.conftest import certified_wheel
from wheelmill.smoke.verdict import certificate_path
from wheelmill.system.records import write_record
from wheelmill.wheel.build_facts import build_facts_bytes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, python: Command) -> Path:
    """With a release of one wheel, and its index."""
    folder = tmp_path_factory.mktemp("promised")
    wheel = certified_wheel(folder / "wheels" / "demo-1.0-py3-none-any.whl")
    write_record(certificate_path(wheel.file.path), wheel.certificate)
    store = ("--store", f"dir:{folder / 'releases'}")
    python("-m", "wheelmill", "release", folder / "wheels", *store, "--json", exit_code=0)
    python("-m", "wheelmill", "index", "build", *store, "--output", folder / "site", exit_code=0)
    return folder


@pytest.mark.parametrize("pattern", ["releases/*/manifest.json", "site/wheels.json", "site/hashes/index.json"])
def test_a_file_is_as_its_schema_says(pattern: str, folder: Path) -> None:
    (path,) = folder.glob(pattern)
    content = json.loads(path.read_bytes())
    strict_validator(content["schema"]).validate(content)


def test_what_a_wheel_tells_of_its_build() -> None:
    content = json.loads(build_facts_bytes(BUILT))
    strict_validator(content["schema"]).validate(content)


def test_the_table_of_symbols(python: Command) -> None:
    told = json.loads(python("-m", "wheelmill", "config", "symbols", "--json", exit_code=0).stdout)
    assert told["table"]["builds"]
