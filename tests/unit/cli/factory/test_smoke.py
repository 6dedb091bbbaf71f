"""``wheelmill smoke``."""

import json
from pathlib import Path

import pytest

from tests.wheels import write_wheel
from wheelmill.cli.factory.smoke import smoke
from wheelmill.errors import SmokeError
from wheelmill.release.github import store
from wheelmill.release.store import Quotas


def test_what_github_would_not_take_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = write_wheel(tmp_path / "demo-1.0-py3-none-any.whl")
    monkeypatch.setattr(store, "QUOTAS", Quotas(asset=wheel.stat().st_size))
    with pytest.raises(SmokeError, match=r"refused: demo-1\.0"):
        smoke([wheel], as_json=True)
    (verdict,) = json.loads(capsys.readouterr().out)["wheels"]
    assert [finding["code"] for finding in verdict["findings"]] == ["size"]
    assert verdict["kernels"] is None  # nothing was tried
