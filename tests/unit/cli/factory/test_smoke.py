"""``wheelmill smoke``."""

import json
from pathlib import Path

import pytest

from tests.reference.schemas import strict_validator
from tests.refusals import coded
from tests.wheels import write_wheel
from wheelmill.cli.factory.smoke import smoke, verdict_content
from wheelmill.errors import SmokeError
from wheelmill.release.github import store
from wheelmill.release.store import Quotas
from wheelmill.smoke.verdict import Evidence, Verdict
from wheelmill.system.records import json_default
from wheelmill.wheel.name import WheelFile
from wheelmill.wheel.torch_symbols import TorchFit, TorchWindow


def test_githubs_limits_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = write_wheel(tmp_path / "demo-1.0-py3-none-any.whl")
    monkeypatch.setattr(store, "QUOTAS", Quotas(asset=wheel.stat().st_size))
    with pytest.raises(SmokeError, check=coded("wheels-refused", "demo-1.0")):
        smoke([wheel], as_json=True)
    (verdict,) = json.loads(capsys.readouterr().out)["wheels"]
    assert [finding["code"] for finding in verdict["findings"]] == ["size"]
    assert verdict["kernels"] is None  # nothing was tried


def test_a_torch_is_written_as_everywhere_else(tmp_path: Path) -> None:
    window = TorchWindow(symbols=1, cuda=False, torches=(TorchFit(torch="2.11", lacks=("_Z1f",)),))
    evidence = Evidence(
        policy="manylinux_2_28_x86_64",
        needed=("libc10.so",),
        glibc="2.28",
        glibcxx=None,
        cuda_major=None,
        sass=(),
        ptx=(),
        undefined_symbols=1,
        torch_window=window,
    )
    file = WheelFile.at(write_wheel(tmp_path / "demo-1.0-py3-none-any.whl"))
    verdict = Verdict(file=file, provenance=None, findings=(), evidence=evidence, clean_rooms=(), sizes=None)
    printed = json.loads(json.dumps(verdict_content(verdict), default=json_default))
    strict_validator("wheelmill.smoke/1").validate({"schema": "wheelmill.smoke/1", "wheels": [printed]})
    assert printed["evidence"]["torch_window"]["torches"] == [{"torch": "2.11", "lacks": ["_Z1f"]}]
