"""Git, asked for other people's repositories."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from wheelmill.system import git, process


def test_git_goes_through_the_proxy_and_is_told_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = "http://me:word@proxy.example:3128"
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    told: dict[str, str] = {}

    def run(_argv: object, *, env: Mapping[str, str], cwd: Path | None = None) -> str:
        told.update(env, cwd=str(cwd))
        return ""

    monkeypatch.setattr(process, "run", run)
    assert git.find_commit("https://git.example/demo", "v1") is None
    assert told["HTTPS_PROXY"] == proxy
    assert "secret" not in told.values()
