"""A package's own repository, from a tag to an index that pip installs from: it calls our workflow, run by act."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.act import RELEASE, WORKFLOWS, Host, git, new_package_host

pytestmark = pytest.mark.real

TAG = "refs/tags/v1.0.0"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with new_package_host(tmp_path_factory.mktemp("host")) as made:
        yield made


def push(host: Host, reference: str) -> str:
    """Push a tag or a branch, of which one Python and one CUDA are enough, and return what was printed."""
    workflow = host.repository / ".github" / "workflows" / "wheels.yml"
    narrowed = "      config: wheelmill.yml\n      python: '3.12'\n      cuda: '13.0'\n"
    workflow.write_text(workflow.read_text().replace("      config: wheelmill.yml\n", narrowed))
    ours = host.repository.with_name("repositories").joinpath(WORKFLOWS).resolve()
    options = ("--local-repository", f"{WORKFLOWS}@{RELEASE}={ours}")
    return host.run("push", "wheels", *options, payload={"ref": reference, "created": True, "before": "0" * 40})


def test_from_a_tag_to_an_index_that_pip_installs_from(host: Host, tmp_path: Path) -> None:
    git(host.repository, "tag", "v1.0.0")
    push(host, TAG)
    (manifest,) = host.served.glob("releases/v*/manifest.json")
    (entry,) = json.loads(manifest.read_bytes())["wheels"]
    assert entry["filename"].startswith("wheelmill_demo-1.0.0+cu130-cp312-")
    assert manifest.with_name("attestations.jsonl").exists()
    assert host.installed_by_pip(tmp_path).endswith(f"/releases/{manifest.parent.name}/{entry['filename']}")
