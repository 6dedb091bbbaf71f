"""A wheel that requires another one at a URL with a variable, into which uv puts a secret of this machine."""

from hashlib import sha256
from pathlib import Path

import pytest

from tests.integration.conftest import Command, publish
from tests.integration.test_hostile_pages import TARGET
from tests.page_server import Answer, PageServer, in_pieces
from tests.wheels import wheel_name, write_wheel

METADATA = "Metadata-Version: 2.1\nName: demo\nVersion: {version}+cu128torch2.8\nRequires-Dist: beside @ {url}"
FILE = "beside-1-py3-none-any.whl"


@pytest.mark.parametrize(
    "command",
    [
        "lock --output pylock.toml",
        "lock --format requirements --output requirements.txt",
        "add --no-sync --project pyproject.toml",
        "add --no-sync --project requirements.txt",
    ],
)
def test_a_wheel_whose_requirement_would_hold_a_secret_is_left_out(
    command: str, index: Path, wheelmill: Command, server: PageServer, tmp_path: Path
) -> None:
    publish(index, "torch-2.8.0-py3-none-any.whl")
    links = ""
    for version, folder in (("1.0.0", "plain"), ("1.0.1", "${SECRET}"), ("1.0.2", "a;b")):
        marker = " ; sys_platform == 'win32'" if folder == "plain" else ""
        metadata = METADATA.format(version=version, url=f"{server.url}/{folder}/{FILE}{marker}")
        wheel = write_wheel(tmp_path / wheel_name(version, tag="py3-none", platform="any"), metadata=metadata)
        content = wheel.read_bytes()
        server.pages[f"/files/{wheel.name}"] = in_pieces(content)
        links += f'<a href="/files/{wheel.name}#sha256={sha256(content).hexdigest()}">{wheel.name}</a>'
    server.pages["/hostile/"] = Answer(links.encode())
    word, *options = command.split()
    project = tmp_path / options[-1]
    sources = f"find-links:{server.url}/hostile/"
    variables = {"WHEELMILL_SOURCES": sources, "SECRET": "s3cret"}
    done = wheelmill(word, "demo", *options[:-1], project, *TARGET, **variables)
    assert [f"left out demo-1.0.{number}" in done.stderr for number in (0, 1, 2)] == [False, True, True]
    assert "demo-1.0.0" in project.read_text()
    assert not any("s3cret" in path for path, _ in server.asked)
