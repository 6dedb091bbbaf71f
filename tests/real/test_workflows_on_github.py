"""wheels.yml under act with the releases of a repository: an emulator of GitHub's API that is not ours."""

from pathlib import Path

import pytest

from tests.github_server import REPOSITORY
from tests.real.act import new_host
from tests.real.github_emulator import Description, emulator, npm_packages

pytestmark = pytest.mark.real

WANTED = {
    "package": "wheelmill-demo",
    "python_versions": "3.12",
    "cuda_versions": "13.0",
    "platforms": "linux_x86_64",
}


def test_a_dispatch_ends_with_a_release_an_index_and_pip_installing_from_it(tmp_path: Path) -> None:
    modules = npm_packages()
    with emulator(modules, tmp_path) as front, new_host(tmp_path, front) as host:
        printed = host.dispatch(WANTED)
        (release,) = front.releases()
        assert not release["draft"]
        names = {asset["name"] for asset in release["assets"]}
        (wheel,) = (name for name in names if name.endswith(".whl"))
        assert names == {wheel, f"{wheel}.metadata", f"{wheel}.cdx.json", "manifest.json", "attestations.jsonl"}
        assert "findings: 0; read: 1 of 1 project pages, 1 of 1 files" in printed  # where the site is deployed
        releases = f"{front.origin}/{REPOSITORY}/releases/download"
        assert host.installed_by_pip(tmp_path / "installed") == f"{releases}/{release['tag_name']}/{wheel}"

        assert "Main Release" in printed
        assert "Main Release" not in host.dispatch(WANTED)
        assert len(front.releases()) == 1
        description = Description(modules)
        assert [fault for call in front.calls for fault in description.faults(call)] == []
