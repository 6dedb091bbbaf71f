"""``packages.yml``, which anybody may change in a pull request."""

import tempfile
from pathlib import Path

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated
from wheelmill.config.load import PACKAGES
from wheelmill.config.model.package import Packages
from wheelmill.config.yaml import read_file

PLAIN = b'packages:\n  demo:\n    versions: ["1.0"]\n'
FULL = (Path(__file__).parents[3] / "config" / PACKAGES).read_bytes()
ENTRY = rb"""# Comment
packages:
  demo:
    versions: ">=1,<3"
    description: "A \"text\""
    source: {git: "https://index.example/demo.git", ref: "v{version}", submodules: true}
    patches: ["a.patch"]
    build_args: "--no-build-isolation --config-settings=a=b"
    extra_deps: ["torch", "ninja>=1.11; python_version < '3.12'"]
    env: {MAX_JOBS: "2"}
    architectures: ["8.0", "9.0a", "12.0+PTX"]
    exclude:
      - {cuda: ">=13", torch: "<2.9", reason: "none"}
    test_import: [demo, demo.kernels]
    smoke_script: run.py
    memory_per_job: 4
"""
WORDS = b"""[ ] { } - : ? | > ' " # % &a *a !!x <<: yes 2.10 ../ packages:""".split()
WORDS += [b"\n", b"  ", b"\t", b": ", b"- ", b"---\n", b"\x00", b"\xff", b"\xef\xbb\xbf"]
WORDS += [b"[" * 5000, b"9" * 5000, b"(" * 5000]


def read(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / PACKAGES).write_bytes(content)
        read_file(Path(folder) / PACKAGES, Packages)


FORMAT = Format(inputs=mutated([PLAIN, ENTRY, FULL], WORDS), read=read)
