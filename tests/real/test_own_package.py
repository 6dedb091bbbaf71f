"""A package's own repository, from a tag to an index that pip installs from: it calls our workflow, run by act."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.real.act import RELEASE, WORKFLOWS, Host, git, new_package_host
from wheelmill.installers.environments import cached_sdist
from wheelmill.installers.package_index import unpack_sdist
from wheelmill.names import ProjectName, Sha256

pytestmark = pytest.mark.real

CUVEC = Sha256("bd6c1e4f3704372e9e60fa9234e9c420620bef1376e774903ded004959ae0e29")
"""Of cuvec 6.0.1, which others wrote: setuptools-scm gives its version, and its CMake asks for the builder's GPU."""


def push_tag(host: Host, tag: str) -> tuple[Path, dict[str, Any]]:
    """Push a tag, of which one Python and one CUDA are enough; gives its manifest and the only wheel's entry."""
    workflow = host.repository / ".github" / "workflows" / "wheels.yml"
    narrowed = "      config: wheelmill.yml\n      python: '3.12'\n      cuda: '13.0'\n"
    workflow.write_text(workflow.read_text().replace("      config: wheelmill.yml\n", narrowed))
    git(host.repository, "tag", tag)
    ours = host.repository.with_name("repositories").joinpath(WORKFLOWS).resolve()
    options = ("--local-repository", f"{WORKFLOWS}@{RELEASE}={ours}")
    host.run("push", "wheels", *options, payload={"ref": f"refs/tags/{tag}", "created": True, "before": "0" * 40})
    (manifest,) = host.served.glob("releases/v*/manifest.json")
    (entry,) = json.loads(manifest.read_bytes())["wheels"]
    return manifest, entry


def test_from_a_tag_to_an_index_that_pip_installs_from(tmp_path: Path) -> None:
    with new_package_host(tmp_path / "host") as host:
        manifest, entry = push_tag(host, "v1.0.0")
        assert entry["filename"].startswith("wheelmill_demo-1.0.0+cu130-cp312-")
        assert manifest.with_name("attestations.jsonl").exists()
        place = f"/releases/{manifest.parent.name}/{entry['filename']}"
        assert host.installed_by_pip(tmp_path / "installed").endswith(place)


@pytest.mark.nightly
def test_a_package_of_others_gets_its_version_and_its_wheel_from_a_tag(tmp_path: Path) -> None:
    archive = cached_sdist(ProjectName("cuvec"), "cuvec-6.0.1.tar.gz", CUVEC)
    source = unpack_sdist(archive, tmp_path / "source")
    (source / "PKG-INFO").unlink()  # which their repository has not
    with new_package_host(tmp_path / "host", source) as host:
        manifest, entry = push_tag(host, "v6.1.0")
        assert entry["filename"].startswith("cuvec-6.1.0+cu130-cp312-")
        place = f"/releases/{manifest.parent.name}/{entry['filename']}"
        assert host.installed_by_pip(tmp_path / "installed", "cuvec").endswith(place)
