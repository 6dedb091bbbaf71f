"""A wheel that needs a symbol which the torch of its label does not have."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.real.conftest import Command
from tests.wheels import write_wheel

pytestmark = pytest.mark.real

SOURCE = """
void _ZN2at4_ops10not_so_now4callEv(void);
void *PyInit__C(void) { _ZN2at4_ops10not_so_now4callEv(); return 0; }
"""


def test_it_is_refused_by_name_before_it_is_installed(wheelmill: Command, tmp_path: Path) -> None:
    shared_object = tmp_path / "_C.so"
    subprocess.run(
        ["gcc", "-x", "c", "-shared", "-fPIC", "-o", shared_object, "-"], input=SOURCE, text=True, check=True
    )
    wheel = write_wheel(
        tmp_path / "broken-1.0+cu130torch2.11-cp312-cp312-manylinux_2_34_x86_64.whl",
        metadata="Metadata-Version: 2.1\nName: broken\nVersion: 1.0+cu130torch2.11\nRequires-Dist: torch==2.11.*\n",
        files={"broken/__init__.py": b"", "broken/_C.so": shared_object.read_bytes()},
    )
    (verdict,) = json.loads(wheelmill("smoke", wheel, "--json", exit_code=5).stdout)["wheels"]
    assert [finding["code"] for finding in verdict["findings"]] == ["undefined-symbol"]
    assert "_ZN2at4_ops10not_so_now4callEv" in verdict["findings"][0]["detail"]
