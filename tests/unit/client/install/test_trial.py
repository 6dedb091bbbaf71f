"""What becomes of packages that are tried."""

from pathlib import Path

import pytest

from tests.unit.client.targets import LINUX
from wheelmill.client.install.trial import Trial, explain_failure, try_packages
from wheelmill.config.model import Expectations
from wheelmill.names import project_name

DEMO = project_name("demo")


def tried(folder: Path, python: str) -> Trial:
    """Try a package with a Python that does nothing but this."""
    interpreter = folder / "python"
    interpreter.write_text(f"#!/bin/sh\n{python}\n")
    interpreter.chmod(0o755)
    (trial,) = try_packages({DEMO: "1.0+cu130"}, interpreter, LINUX, {DEMO: Expectations(imports=("demo",))})
    return trial


def test_what_imports_is_not_launched_without_a_gpu(tmp_path: Path) -> None:
    trial = tried(tmp_path, "exit 0")
    assert (trial.failure, trial.kernel) == (None, "there is no GPU")


@pytest.mark.parametrize(
    ("python", "code", "detail"),
    [
        ("echo ModuleNotFoundError: demo; exit 1", "import", "ModuleNotFoundError: demo\npython exited with 1"),
        ("kill -SEGV $$", "crash", "\npython exited with -11"),
    ],
)
def test_a_failure_is_told_by_its_own_words(tmp_path: Path, python: str, code: str, detail: str) -> None:
    failure = tried(tmp_path, python).failure
    assert failure
    assert (failure.code, failure.detail) == (code, detail)


@pytest.mark.parametrize(
    ("printed", "code"),
    [
        ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "no-kernel-image"),
        ("ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2E", "undefined-symbol"),
        ("CUDA error: cudaErrorCallRequiresNewerDriver", "driver-too-old"),
        ("RuntimeError: The NVIDIA driver on your system is too old (found version 11040)", "driver-too-old"),
        ("RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.", "driver-too-old"),
        ("ImportError: libcudart.so.12: cannot open shared object file", "cuda-library"),
        ("ImportError: /lib/libc.so.6: version `GLIBC_2.32' not found", "glibc"),
        ("ImportError: libtorch_cuda.so: cannot open shared object file", "torch-library"),
        ("ModuleNotFoundError: No module named 'einops'", "import"),
        ("python exited with -11", "crash"),
    ],
)
def test_failures_have_a_name(printed: str, code: str) -> None:
    assert explain_failure(printed).code == code


def test_the_line_that_names_the_cause_is_shown_where_others_follow_it() -> None:
    reason, last = "OSError: _C.so: undefined symbol: _ZN5torch1fEv", ["OSError: Could not load _C.so", "exited with 1"]
    printed = "\n".join(["Traceback", reason, "", "The above exception", *last])
    assert explain_failure(printed).telling == [reason, *last]
    assert explain_failure(f"Traceback\n{reason}\nexited with 1").telling == [reason, "exited with 1"]
