"""Requirements (PEP 508), ranges and versions (PEP 440), as people, pages and METADATA write them."""

from contextlib import suppress

from packaging.version import Version

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated_text
from wheelmill.cli.shared.options import requirements_of
from wheelmill.client.choose.fit import within
from wheelmill.client.project.tools import specifiers_of
from wheelmill.config.fields import index_requirement
from wheelmill.errors import UsageError
from wheelmill.names import project_name, project_version, read_range, read_requirement

TEXTS = [
    "ninja>=1.11",
    ">=2.7,<3,!=2.9.*",
    "1!2.0rc1.post2.dev3+cu130.torch2.11",
    "flash_attn[all,cuda]~=2.8.3; (python_version >= '3.9' and os_name == 'posix') or extra == 'x'",
    "demo @ https://files.example/demo-1.0-py3-none-any.whl ; sys_platform != 'win32'",
]
WORDS = ["(", ")", "[", "]", ",", ";", "'", '"', "==", "~=", "===", ">", "*", "!", "+", ".dev", "os_name"]
WORDS += [" or ", " and ", " in ", " @ file:///etc", "\0", "\n", "\ud7ff"]
WORDS += ["(" * 900, "(" * 20_000, "9" * 5000, "extra == 'x' or " * 300]


def read(text: str) -> None:
    within(text, Version("3.12"))
    for reader in (project_name, project_version, read_range, index_requirement, specifiers_of):
        with suppress(ValueError):
            assert isinstance(str(reader(text)), str)
    try:
        requirement = read_requirement(text)
    except ValueError as error:
        assert len(str(error)) < 500  # noqa: PT017
        raise UsageError("value-invalid", str(error)) from None
    assert str(read_requirement(str(requirement))) == str(requirement)
    requirement.specifier.contains(Version("1.0"))
    if requirement.marker:
        with suppress(ValueError):  # comparisons that have no meaning
            requirement.marker.evaluate({"extra": ""})
    requirements_of([text])


FORMAT = Format(inputs=mutated_text(TEXTS, WORDS), read=read)
