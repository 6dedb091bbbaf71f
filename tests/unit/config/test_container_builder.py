"""What the installed cibuildwheel builds and pins, and what wheelmill plans and ships for it."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.refusals import coded
from wheelmill.config.load import load_config, load_images
from wheelmill.config.model import container_builder
from wheelmill.config.model.container_builder import IMAGES, PYTHONS, identifier_of, installed_builder
from wheelmill.errors import UnreadableError
from wheelmill.installers.uv import own_uv
from wheelmill.names import Platform, PythonVersion
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import Filters, Obstacle, Plan
from wheelmill.system import own_installation, process

X86 = Platform.parse("linux_x86_64")
Tables = Callable[[str, str], None]


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tables]:
    """Replace a table of cibuildwheel by a text."""
    (tmp_path / "resources").mkdir()
    monkeypatch.setattr(container_builder, "files", lambda _package: tmp_path)

    def write(name: str, text: str) -> None:
        (tmp_path / "resources" / name).write_text(text)

    installed_builder.cache_clear()
    yield write
    installed_builder.cache_clear()


@pytest.fixture(scope="module")
def shipped_plan() -> Plan:
    return make_plan(load_config(own_installation.CONFIG), Filters(builder=installed_builder()), {})


def test_the_plan_that_ships_has_no_python_without_a_builder(shipped_plan: Plan) -> None:
    builder = installed_builder()
    assert builder
    assert shipped_plan.targets
    cells = [target.cell for target in shipped_plan.targets]
    assert {cell.id for cell in cells if not builder.has(cell.python, cell.platform)} == set()
    unbuilt = {each.cell.python for each in shipped_plan.skips if each.obstacle is Obstacle.NO_BUILDER}
    assert PythonVersion(3, 8) in unbuilt


def test_uv_has_every_python_that_is_planned(shipped_plan: Plan) -> None:
    """A free-threaded one is needed beside the images, too, and any in a local sandbox."""
    words = ("python", "list", "--all-versions", "--only-downloads", "--offline", "--output-format", "json")
    downloads = [each for each in json.loads(process.run([own_uv(), *words])) if each["implementation"] == "cpython"]
    offered = {
        PythonVersion(each["version_parts"]["major"], each["version_parts"]["minor"], each["variant"] == "freethreaded")
        for each in downloads
    }
    assert {each.cell.python for each in shipped_plan.targets} <= offered


def test_the_images_that_ship_are_those_that_cibuildwheel_pins() -> None:
    builder = installed_builder()
    assert builder
    assert set(map(str, load_images(own_installation.CONFIG).manylinux.images.values())) < builder.images


PINNED = f"[x86_64]\nnew = quay.io/pypa/new_x86_64@sha256:{'0' * 64}  # 2026.1\n"
LISTED = """
[linux]
python_configurations = [{identifier = "cp399t-manylinux_x86_64", new = 1}]
[other]
python_configurations = [{identifier = "pp310-manylinux_x86_64"}]
"""


def test_tables_are_read(tables: Tables) -> None:
    tables(PYTHONS, LISTED)
    tables(IMAGES, PINNED)
    builder = installed_builder()
    assert builder
    assert re.fullmatch(r"cibuildwheel \d+\.\d+.*", builder.name)
    assert builder.images == {f"quay.io/pypa/new_x86_64:2026.1@sha256:{'0' * 64}"}
    assert builder.pythons(X86) == {PythonVersion(3, 99, free_threaded=True)}
    assert builder.has(PythonVersion(3, 99, free_threaded=True), X86)
    assert not builder.has(PythonVersion(3, 99), X86)
    assert not builder.has(PythonVersion(3, 99, free_threaded=True), Platform.parse("linux_aarch64"))


@pytest.mark.parametrize(
    ("listed", "pinned"),
    [
        *((text, PINNED) for text in ("no TOML", "linux = 1", "[linux]", "[linux]\npython_configurations = [1]")),
        *(("[[linux]]\npython_configurations = []", PINNED), (None, PINNED), (LISTED, None)),
        (LISTED, "[x86_64]\nmanylinux_2_28 = quay.io/pypa/x:1\n"),
    ],
)
def test_other_tables_are_a_fault_of_that_cibuildwheel(listed: str | None, pinned: str | None, tables: Tables) -> None:
    for name, text in ((PYTHONS, listed), (IMAGES, pinned)):
        if text:
            tables(name, text)
    with pytest.raises(UnreadableError, check=coded("builder-unreadable", "cibuildwheel")):
        installed_builder()


def test_without_the_factory_extra_there_is_no_builder(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    tables(PYTHONS, LISTED)

    def absent(package: str) -> Path:
        raise ModuleNotFoundError(package)

    monkeypatch.setattr(container_builder, "files", absent)
    assert installed_builder() is None


def test_a_build_has_the_name_that_cibuildwheel_gives_it() -> None:
    assert identifier_of(PythonVersion(3, 14, free_threaded=True), X86) == "cp314t-manylinux_x86_64"
