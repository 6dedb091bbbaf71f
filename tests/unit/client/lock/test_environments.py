from dataclasses import replace

import pytest

from tests.unit.client.targets import ARM, LINUX, candidate, resolution
from wheelmill.client.records import TargetEnvironment

REQUIRES = (
    "einops",
    "odd ; python_version ~= 'odd'",
    "pytest ; extra == 'test'",
    "arm-only ; extra == 'test' and platform_machine == 'aarch64'",
)


@pytest.mark.parametrize(
    ("extras", "environment", "required"),
    [
        ((), LINUX, ["einops"]),
        (("other",), LINUX, ["einops"]),
        (("other", "test"), LINUX, ["einops", "pytest"]),
        (("test",), ARM, ["einops", "pytest", "arm-only"]),
    ],
)
def test_what_is_for_an_extra_is_required_where_that_was_asked_for(
    extras: tuple[str, ...], environment: TargetEnvironment, required: list[str]
) -> None:
    (choice,) = resolution(candidate("demo-1.0-py3-none-any.whl"), requires=REQUIRES).choices.values()
    assert [str(each) for each in replace(choice, extras=frozenset(extras)).requirements(environment)] == required
