"""What uv and pip print tells what was at fault; each text was printed by one of them."""

import pytest

from wheelmill.errors import InstallError, IntegrityError, NetworkError, ProcessError
from wheelmill.installers.uv import failure_of, torch_options


@pytest.mark.parametrize(
    ("tail", "kind"),
    [
        (
            (
                "error: Failed to fetch: http://127.0.0.1:9/simple/six/\n"
                "  cause: error sending request for url (http://127.0.0.1:9/simple/six/)\n"
                "  cause: client error (Connect)\n  cause: tcp connect error\n  cause: Connection refused"
            ),
            NetworkError,
        ),
        (
            (
                "error: Failed to fetch: http://nohost.invalid/simple/six/\n  cause: client error (Connect)\n"
                "  cause: dns error\n  cause: failed to lookup address information: Name or service not known"
            ),
            NetworkError,
        ),
        (
            (
                "error: Failed to download `six @ http://127.0.0.1:8799/six-1.0-py3-none-any.whl`\n"
                "  cause: HTTP status server error (503 Service Unavailable) for url (http://127.0.0.1:8799/six-1.0.whl)"
            ),
            NetworkError,
        ),
        (
            (
                "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by "
                "'NewConnectionError(\"HTTPConnection(host='127.0.0.1', port=9): Failed to establish a new connection: "
                "[Errno 111] Connection refused\")': /simple/six/\n"
                "ERROR: Could not find a version that satisfies the requirement six (from versions: none)"
            ),
            NetworkError,
        ),
        ("  ERROR: HTTP error 404 while getting http://127.0.0.1:8799/six-1.0-py3-none-any.whl", NetworkError),
        (
            (
                "error: No solution found when resolving dependencies\n  cause: Because six was not found in the "
                "package registry and you require six, we can conclude that your requirements are unsatisfiable."
            ),
            InstallError,
        ),
        ("ERROR: No matching distribution found for six", InstallError),
        ("error: Hash mismatch for `six @ http://127.0.0.1:8799/six-1.0-py3-none-any.whl`", IntegrityError),
    ],
)
def test_the_network_is_told_from_other_causes(tail: str, kind: type[Exception]) -> None:
    error = failure_of(
        ProcessError("program-failed", "uv failed", returncode=2, tail=tail),
        otherwise=InstallError("install-failed", tail),
    )
    assert (type(error), str(error)) == (kind, tail)


def test_torch_comes_from_an_index_that_uv_knows_or_from_one_that_has_a_url() -> None:
    assert torch_options(None) == []
    assert torch_options("cu130") == ["--torch-backend", "cu130"]
    assert torch_options("https://torch.example/test/cu130") == ["--index", "https://torch.example/test/cu130"]
