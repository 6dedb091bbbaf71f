"""What a build prints, which is foreign code: its first error is looked for, and shown to people."""

import tempfile
from pathlib import Path

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated
from wheelmill.build.compiler_output import explain_failure, unit_in
from wheelmill.config.model.package import Package
from wheelmill.errors import CompileError, ProcessError
from wheelmill.names import project_name, project_version

LOGS = sorted((Path(__file__).parents[2] / "data" / "build_logs").glob("*.log"))
PACKAGE = Package(name=project_name("demo"), versions=(project_version("1.0"),))
WORDS = b"""error: fatal: FAILED: ld: ninja: *** CMake Traceback (most recent call last): File " killed {x}""".split()
WORDS += [b"::set-env", b"\n", b"  ", b"\x1b[2J", b"\x00", b"\xff", b"Error\n", b"error:\n"]
WORDS += [b" " * 2000, b"(" * 2000, b":1" * 500, b"\n  File " * 200]


def read(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.write_bytes(content)
        failure = ProcessError("program-failed", "it exited with 1", returncode=1, tail="the end")
        error = explain_failure(failure, log, package=PACKAGE, source=log.parent, seen="/work/source")
    assert len(str(error)) < 10_000
    assert not any(line.lstrip().startswith("::") for line in error.explained.splitlines())
    for line in content.decode(errors="replace").splitlines():
        assert len(unit_in(line)) <= len(line)
    if isinstance(error, CompileError):
        raise error


FORMAT = Format(inputs=mutated([log.read_bytes() for log in LOGS], WORDS), read=read)
