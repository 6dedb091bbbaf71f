"""What is written of a TOML file says what the document says."""

from pathlib import Path

from wheelmill.client.project.toml_tables import TomlTables


def test_a_file_with_nan_can_be_changed(tmp_path: Path) -> None:
    """NaN equals nothing, so it is no sign that tomlkit wrote something else than the document."""
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.other]\nlimits = [nan, -nan, inf]\nsince = 2026-05-01\n")
    document = TomlTables.read(path)
    document.make_table("tool", "wheelmill")["packages"] = ["demo"]
    assert document.text == path.read_text() + '\n[tool.wheelmill]\npackages = ["demo"]\n'
