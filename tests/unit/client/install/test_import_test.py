"""What becomes of packages that are tried."""

from collections import Counter
from pathlib import Path

import pytest

from tests.trouble_page import sections
from tests.unit.client.targets import LINUX
from wheelmill.client.doctor.rules import DefectCode
from wheelmill.client.install import import_test
from wheelmill.client.install.import_test import FAILURES, SECTIONS, Trial, explain_failure, name_sections, try_packages
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
    assert explain_failure(printed).key_lines == [reason, *last]
    assert explain_failure(f"Traceback\n{reason}\nexited with 1").key_lines == [reason, "exited with 1"]


BY_PYTHON = ("ImportError: ", "OSError: ", "RuntimeError: ")


def test_each_finding_is_explained_in_one_section() -> None:
    told = Counter(code for codes in SECTIONS.values() for code in codes)
    assert set(told) == {*DefectCode, *FAILURES}
    assert set(told.values()) == {1}


def test_the_page_has_each_section_with_its_codes() -> None:
    on_page = {title: section.codes for title, section in sections().items() if section.codes}
    assert on_page == SECTIONS


@pytest.mark.parametrize("title", sections())
def test_a_section_shows_what_is_seen_and_a_command(title: str) -> None:
    section = sections()[title]
    assert section.said
    assert section.commands


@pytest.mark.parametrize("title", SECTIONS)
def test_a_message_of_python_is_told_by_a_code_of_its_section(title: str) -> None:
    codes = SECTIONS[title]
    said = [line for line in sections()[title].said if line.startswith(BY_PYTHON)]
    assert [(line, explain_failure(line).code) for line in said if explain_failure(line).code not in codes] == []


@pytest.mark.parametrize("page", ["/checkout/page.md", None])
def test_findings_name_their_sections_once_and_in_order(page: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_test, "own_document", lambda _path: page)
    named = f'explained in {page}: "Undefined symbol", "glibc too old"' if page else None
    assert name_sections([DefectCode.GLIBC, DefectCode.TORCH, DefectCode.ABI]) == named
