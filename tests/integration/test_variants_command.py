"""``wheelmill explain --variants``, as people and programs use it."""

import json
from pathlib import Path

import pytest

from tests.commands import Done
from tests.integration.conftest import Command
from tests.page_server import PageServer
from tests.variant_index import SEVEN, serve_variants

TARGET = ("--python", "3.12", "--platform", "linux_x86_64", "--torch", "2.11", "--cuda", "13.0")
H100 = ("--driver", "580.65.06", "--gpu", "h100")


@pytest.fixture
def explain(wheelmill: Command, server: PageServer, tmp_path: Path) -> Command:
    """Run a command that finds wheels, with the seven variants as its only source."""
    serve_variants(server, tmp_path / "wheels", SEVEN)

    def run(*arguments: str | Path, exit_code: int = 0, **variables: str | Path) -> Done:
        named = ("--source", f"simple:{server.url}/simple/")
        return wheelmill(*arguments, *TARGET, *named, exit_code=exit_code, **variables)

    return run


def test_text_says_what_this_machine_gets_and_why_not_the_others(explain: Command, server: PageServer) -> None:
    text = explain("explain", "--variants", "demo", *H100).stdout
    assert "  nvidia: the driver knows CUDA 13.0 (driver 580.65.06), and the GPU is sm_90\n" in text
    assert "- demo-1.0-py3-none-any-cu130_sm120.whl" in text
    assert "    variant: asks for nvidia :: sm_arch :: 120_real; the driver knows CUDA 13.0" in text
    assert "\n8 wheels, 7 of them variants: " in text
    assert "\nthis machine gets demo-1.0-py3-none-any-cu130.whl\n" in text
    assert "uv takes" not in text
    install = f"uv pip install --preview-features wheel-variants --index {server.url}/simple/ demo==1.0\n"
    assert text.endswith(f"\nto install it: {install}")


def test_json_has_every_wheel(explain: Command) -> None:
    content = json.loads(explain("explain", "--variants", "demo", *H100, "--json").stdout)
    assert content["schema"] == "wheelmill.explain-variants/1"
    assert content["gets"] == content["uv_takes"] == "demo-1.0-py3-none-any-cu130.whl"
    assert len(content["wheels"]) == 8
    (sm120,) = (each for each in content["wheels"] if each["variant"] == "cu130_sm120")
    assert sm120["properties"] == SEVEN["cu130_sm120"]
    assert (sm120["fits"], sm120["refusals"][0]["stage"]) == (False, "variant")


def test_fitting_and_all_are_those_of_explain(explain: Command) -> None:
    fitting = explain("explain", "--variants", "demo", *H100, "--fitting").stdout
    assert "\n- " not in fitting
    assert "\n+ demo-1.0-py3-none-any.whl" in fitting


def test_others_say_what_they_passed_over_and_choose_the_plain_wheel(explain: Command) -> None:
    done = explain("resolve", "demo", "--no-look", "--json")
    content = json.loads(done.stdout)
    assert content["resolved"]["demo"]["filename"] == "demo-1.0-py3-none-any.whl"
    assert ["7 variant wheels" in each for each in content["warnings"]] == [True]
    assert "7 variant wheels" in explain("explain", "demo").stderr
    assert "7 variant wheels" in explain("available", "demo").stderr


def test_a_package_of_variants_alone_has_wheels(explain: Command, server: PageServer, tmp_path: Path) -> None:
    serve_variants(server, tmp_path / "alone", SEVEN, project="alone", plain=False)
    for command in ("resolve", "available"):
        refused = explain(command, "alone", exit_code=8)
        refused.check_refused("no-wheel", "7 variant wheels", "'wheelmill explain --variants alone'")


def test_a_variable_that_is_no_cuda_is_refused(explain: Command) -> None:
    forced = {"NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION": "newest"}
    done = explain("explain", "--variants", "demo", exit_code=2, **forced)
    done.check_refused("version-invalid", "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION", "12.8")


def test_what_a_wheel_says_moves_nothing_on_a_terminal(wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    serve_variants(server, tmp_path, {"null": {}}, requires="Requires-Dist: \x1b[2J::error::x\n")
    for words in (("--variants",), ()):
        done = wheelmill("explain", *words, "demo", *TARGET, "--source", f"simple:{server.url}/simple/")
        assert "\x1b" not in done.stdout
        assert "\\x1b[2J::error" in done.stdout
