"""The quick way to the facts leads to the same facts."""

import subprocess
import sys

from wheelmill.client.choose.resolve import read_facts
from wheelmill.config.load import load_compatibility
from wheelmill.system import own_installation


def test_they_are_what_the_configuration_says() -> None:
    assert read_facts() == load_compatibility(own_installation.CONFIG)


def test_they_are_read_without_what_is_slow_to_import() -> None:
    code = (
        "import sys; from wheelmill.client.choose.resolve import read_facts; read_facts();"
        "print(sorted({'pydantic', 'pydantic_core', 'yaml'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
