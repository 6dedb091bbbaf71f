"""A project's file or a script, and a wheel that is added: what is written is TOML with the old values and the new."""

import tempfile
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated
from wheelmill.client.lock.pins import Index, Pin
from wheelmill.client.project.pyproject import PyprojectEditor, UvPyproject
from wheelmill.client.project.script import ScriptEditor
from wheelmill.client.project.tools import PdmPyproject, PoetryPyproject
from wheelmill.errors import WheelmillError
from wheelmill.names import project_name

UV = b"""[project]
name = "a"
dependencies = ["demo>=1 ; python_version < '3.13'", "b"]
[tool.uv.sources]
demo = [{ index = "x", marker = "sys_platform == 'win32'" }]
[[tool.uv.index]]
name = "x"
url = "https://h/"
"""
POETRY = b"""[tool.poetry.dependencies]
python = "^3.12"
demo = { version = "^1", source = "y" } # mine
[[tool.poetry.source]]
name = "y"
url = "https://h/"
priority = "explicit"
"""
SCRIPT = b"""#!/bin/sh
# /// script
# dependencies = ["demo"]
# [tool.wheelmill]
# packages = ["demo"]
# ///
print()
"""
WORDS = [
    *(b"[", b"]", b"{", b"}", b".", b"=", b"# ///", b"# /// script\n", b"\n", b'"', b"'", b'"""'),
    b"[[tool.uv.index]]",
]
WORDS += [b"[project.x]\n", b"project.a = 1\n", b"nan", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\\", b"a = " + b"[" * 200]
DEMO = project_name("demo")
PIN = Pin(requirement="demo==1+cu130", index=Index(name="wheelmill-h", url="https://h.example/a%20b/simple/"))


def read(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pyproject.toml"
        path.write_bytes(content)
        written, refused = 0, None
        for editor in (UvPyproject, PdmPyproject, PoetryPyproject, ScriptEditor):
            try:
                tables = editor.read(path)
                tables.pin(DEMO, [PIN])
                text = tables.text
            except WheelmillError as error:
                refused = error
            else:
                written += 1
                check(editor, path, text)
    if refused and not written:
        raise refused


def check(editor: type[PyprojectEditor], path: Path, text: str) -> None:
    """The written text has the wheel, and is read again."""
    path.write_bytes(text.encode())
    again = editor.read(path)
    found = [each for each in map(Requirement, again.dependencies_on(DEMO)) if "1+cu130" in str(each)]
    assert found, text
    if editor is not ScriptEditor:
        tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))


FORMAT = Format(inputs=mutated([UV, POETRY, SCRIPT], WORDS), read=read)
