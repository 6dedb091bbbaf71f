"""The index that a wheel is tried from before it is released."""

from pathlib import Path

import pytest

from tests.wheels import write_wheel
from wheelmill.pipeline.run import serve_candidate
from wheelmill.wheel.name import WheelFile

TAGS = "cp311-cp311-manylinux_2_28_x86_64.whl"


@pytest.mark.parametrize(
    ("torch", "path"), [("2.11", "site/simple/"), ("2.16rc1", "site/rc/cu130/torch2.16rc1/simple/")]
)
def test_a_wheel_is_tried_from_a_tree_that_has_it(torch: str, path: str, tmp_path: Path) -> None:
    names = (f"demo-1.0+cu130torch{torch}-{TAGS}", f"plain-1.0+cu130-{TAGS}")
    wheels = [WheelFile.at(write_wheel(tmp_path / name)) for name in names]
    (tmp_path / "index").mkdir()
    with serve_candidate(tmp_path / "index", wheels) as index:
        assert index.path == path
        for wheel in wheels:
            page = (index.folder / index.path / wheel.filename.partition("-")[0] / "index.html").read_text()
            assert wheel.filename in page
