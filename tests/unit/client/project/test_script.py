"""Scripts with inline metadata: what is read, and what stays."""

from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.refusals import coded
from tests.unit.client.targets import candidate, resolution
from wheelmill.client.project.change import add_wheels, remove_packages
from wheelmill.client.project.script import ScriptEditor
from wheelmill.errors import UsageError
from wheelmill.names import project_name

BLOCK = '# /// script\n# dependencies = ["rich"]  # my \u2028 own\n#\n# [tool.other]\n# a = 1\n# ///\n'


def add_and_remove(path: Path) -> tuple[bytes, bytes]:
    """The script with a wheel, and after it was removed."""
    chosen = resolution(candidate("flash_attn-2.8.3-cp312-cp312-linux_x86_64.whl"))
    add_wheels(ScriptEditor.read(path), [Requirement("flash-attn")], [chosen]).write()
    added = path.read_bytes()
    remove_packages(ScriptEditor.read(path), [project_name("flash-attn")]).write()
    return added, path.read_bytes()


@pytest.mark.parametrize(
    "text",
    [
        f"#!/usr/bin/env python3\n\n{BLOCK}\nprint( )  \n\n\n",
        f"{BLOCK}import flash_attn",
        f"# /// other\n# a\n# ///\n\n{BLOCK}# a comment\n",
        f"\ufeff{BLOCK}print()\n",
        f"{BLOCK}print()\n".replace("\n", "\r\n"),
    ],
)
def test_all_but_the_block_stays_as_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(text.encode())
    added, removed = add_and_remove(path)
    assert b'["rich", "flash-attn @ https://' in added
    assert b'# packages = ["flash-attn"]' in added
    assert removed.decode() == text


@pytest.mark.parametrize(
    "head", ["", "#!/usr/bin/env python3\n", "#!/bin/sh\n# -*- coding: utf-8 -*-\n", "# coding=utf-8\n"]
)
def test_a_new_block_is_below_the_first_lines_that_python_reads(head: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(f"{head}# a comment\nprint()\n")
    added, _ = add_and_remove(path)
    assert added.decode().startswith(f'{head}# /// script\n# requires-python = "==3.12.*"\n# dependencies = [\n')
    assert added.decode().endswith("# ///\n# a comment\nprint()\n")


def test_two_blocks_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(f"{BLOCK}\n{BLOCK}")
    with pytest.raises(UsageError, check=coded("script-blocks", "train.py")):
        ScriptEditor.read(path)


def test_a_comment_that_would_end_the_block_is_not_taken_into_it(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("# a = 1\n# ///\nprint()\n")
    with pytest.raises(UsageError, check=coded("toml-form-unsupported", "train.py")):
        add_and_remove(path)
    path.write_text("print()\n# ///\n")
    assert b"# packages =" in add_and_remove(path)[0]
