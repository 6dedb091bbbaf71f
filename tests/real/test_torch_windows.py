"""Other people's wheels, read over ranges of bytes, could load in the torch that they were built for."""

import pytest

from tests.real.conftest import sampled
from wheelmill.installers.package_index import files_of, open_index
from wheelmill.names import TorchVersion, project_name
from wheelmill.web.ranges import RangeFile
from wheelmill.wheel.archive import open_archive
from wheelmill.wheel.shared_objects import read_members
from wheelmill.wheel.torch_links import window_of
from wheelmill.wheel.torch_window import TorchWindow

pytestmark = pytest.mark.real


def window(project: str, version: str) -> TorchWindow:
    with open_index() as web:
        start = f"{project}-{version}-cp312-cp312-"
        names = {file.filename: file.url for file in files_of(project_name(project), web)}
        url = next(url for name, url in names.items() if name.startswith(start) and name.endswith("x86_64.whl"))
        with open_archive(RangeFile(web, url, piece=1 << 20, budget=64 << 20)) as archive:
            members = [member for member in archive.infolist() if member.filename.endswith(".so")]
            found = window_of(read_members(archive, members))
    assert found is not None
    return found


NEWEST = ("torchvision", "0.26.0", 11, "its symbols exist in torch 2.11 only")


@sampled(
    ("project", "version", "minor", "says"),
    [
        ("torchvision", "0.20.1", 5, "its symbols exist in torch 2.5 only"),
        ("torchaudio", "2.6.0", 6, "its symbols exist in torch 2.6 only"),
        ("torchvision", "0.22.1", 7, "its symbols exist in torch 2.7 only"),
        ("torchaudio", "2.8.0", 8, "its symbols exist in torch 2.8 only"),
        ("torchvision", "0.25.0", 10, "its symbols exist in torch 2.10 and 2.11 only"),
        NEWEST,
    ],
    NEWEST,
)
def test_the_window_contains_the_torch_that_a_wheel_was_built_for(
    project: str, version: str, minor: int, says: str
) -> None:
    found = window(project, version)
    assert found.lacking(TorchVersion(2, minor)) == ()
    assert str(found) == says
