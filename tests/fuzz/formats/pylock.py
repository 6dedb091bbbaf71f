"""Locks of any program (PEP 751)."""

import tempfile
from pathlib import Path

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated
from tests.fuzz.pages import TARGET
from wheelmill.client.lock.files import pylock_text, read_lock, wheels_for

PLAIN = b'lock-version = "1.0"\ncreated-by = "x"\npackages = []\n'
FULL = f"""lock-version = "1.0"
environments = ["python_version == '3.12'"]
requires-python = ">=3.9"
extras = ["x"]
dependency-groups = ["dev"]
created-by = "fuzz"

[[packages]]
name = "demo"
version = "1.0"
marker = "sys_platform == 'linux' and 'x' in extras"
requires-python = ">=3.9"
index = "https://index.example/simple"
dependencies = [{{name = "other"}}]
wheels = [{{name = "demo-1.0-py3-none-any.whl", upload-time = 2026-11-21T12:30:15Z, url = "https://files.example/demo-1.0-py3-none-any.whl", size = 5, hashes = {{sha256 = "{"a" * 64}"}}}}]

[[packages]]
name = "other"
version = "2.0"
[packages.sdist]
name = "other-2.0.tar.gz"
url = "https://files.example/other-2.0.tar.gz"
hashes = {{sha256 = "{"b" * 64}"}}
[packages.tool.x]
y = 1979-05-27
""".encode()  # noqa: E501 - an inline table has one line
WORDS = rb"""= " ''' [ ] { } nan 1e999 2026-99-99 \u0000 \ud800 os_name .. ../ file:/// =true""".split()
WORDS += [b"[[packages]]\n", b"\n", b"\xff", b"[" * 2000, b"9" * 5000, b"a." * 900, b"(" * 900]


def read(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pylock.toml"
        path.write_bytes(content)
        lock = read_lock(path)
        pylock_text(lock)
        wheels_for(lock, TARGET)


FORMAT = Format(inputs=mutated([PLAIN, FULL], WORDS), read=read)
