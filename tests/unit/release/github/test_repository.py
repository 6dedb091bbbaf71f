"""Which repository, and on which server."""

import pytest

from tests.refusals import coded
from wheelmill.errors import UsageError
from wheelmill.release.github import Repository


def test_a_job_on_github_needs_nothing_set() -> None:
    repository = Repository.parse("octo/wheels", {})
    assert (repository.api_url, repository.token) == ("https://api.github.com", None)
    wheel = "demo-1.0+cu130-py3-none-any.whl"
    assert repository.download("v2026-11-21", wheel) == (
        "https://github.com/octo/wheels/releases/download/v2026-11-21/demo-1.0%2Bcu130-py3-none-any.whl"
    )


def test_the_variables_of_a_job_lead_to_another_server() -> None:
    environment = {
        "GITHUB_API_URL": "https://ghe.test/api/v3",
        "GITHUB_SERVER_URL": "https://ghe.test/",
        "GITHUB_TOKEN": "t",
    }
    repository = Repository.parse("octo/wheels", environment)
    assert repository.api_url == "https://ghe.test/api/v3"
    assert repository.downloads == "https://ghe.test/octo/wheels/releases/download"


@pytest.mark.parametrize(
    "text", ["", "octo", "octo/", "/wheels", "octo/..", "../wheels", "octo/a/b", "octo/a?b", "octo/$(id)"]
)
def test_what_is_no_repository_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, check=coded("repository-invalid")):
        Repository.parse(text, {})
