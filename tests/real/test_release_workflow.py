"""release.yml under act: from a tag of wheelmill itself to what the package index, GitHub and Sigstore get."""

import hashlib
import shutil
import tomllib
from collections.abc import Iterator

import pytest

from tests.real.act import Host, git, new_host
from tests.real.conftest import ROOT

pytestmark = pytest.mark.real

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
TAG = f"wheelmill-{VERSION}"
FILES = {f"wheelmill-{VERSION}.tar.gz", f"wheelmill-{VERSION}-py3-none-any.whl"}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with new_host(tmp_path_factory.mktemp("host")) as made:
        shutil.rmtree(made.repository / "config")  # of the demo
        shutil.copytree(ROOT / "config", made.repository / "config")
        yield made


def push(host: Host, tag: str, *, exit_code: int = 0) -> str:
    """Push a tag of the last commit."""
    git(host.repository, "tag", tag)
    return host.run("push", "release", payload={"ref": f"refs/tags/{tag}"}, exit_code=exit_code)


def test_a_tag_that_is_not_of_the_version_publishes_nothing(host: Host) -> None:
    printed = push(host, "wheelmill-99.0.0", exit_code=1)
    assert f"pyproject.toml says {VERSION}, so the tag is {TAG}, not wheelmill-99.0.0" in printed
    assert not (host.served / "pages").exists()
    assert not host.log.exists()


def test_a_tag_publishes_what_was_built_checked_and_signed(host: Host) -> None:
    changelog = host.repository / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("\n## ", f"\n## [{VERSION}]\n\n- What is new.\n\n## ", 1))
    host.commit()
    push(host, TAG)
    published = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (host.served / "pages").iterdir()}
    assert published.keys() == FILES
    *signed, release = host.log.read_text().splitlines()
    assert {line.split("  ")[1]: line.split("  ")[0] for line in signed} == published
    assert release.startswith(f"gh release create {TAG} ")
    assert all(f"/{name} " in release for name in FILES)
    assert release.endswith(f"--verify-tag --title wheelmill {VERSION} --notes-file out/release/notes.md")
    assert (host.artifacts / "distributions-1" / "notes.md").read_text() == "- What is new.\n"
