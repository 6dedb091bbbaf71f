"""The list of sources lies on the site with its hash."""

import subprocess
from pathlib import Path

from wheelmill.index.source_list import source_list_pages
from wheelmill.index.write import write_site


def test_sha256sum_finds_it_whole(tmp_path: Path) -> None:
    write_site(source_list_pages(b"sources: {}\n"), tmp_path / "site")
    assert (tmp_path / "site" / "sources.yml").read_bytes() == b"sources: {}\n"
    subprocess.run(["sha256sum", "--check", "sources.yml.sha256"], cwd=tmp_path / "site", check=True)
