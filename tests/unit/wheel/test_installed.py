"""Where installers put files."""

import pytest

from wheelmill.wheel.installed import installed_files


@pytest.mark.parametrize(
    ("member", "place", "path"),
    [
        ("demo/_C.so", "library", "demo/_C.so"),
        ("demo-1.0.data/purelib/demo/x.py", "library", "demo/x.py"),
        ("demo-1.0.data/platlib/demo/x.so", "library", "demo/x.so"),
        ("demo-1.0.data/scripts/demo", "programs", "demo"),
        ("demo-1.0.data/data/bin/demo", "programs", "demo"),
        ("demo-1.0.data/data/Scripts/demo.exe", "programs", "demo.exe"),
        ("demo-1.0.data/data/lib/python3.12/site-packages/x.pth", "library", "x.pth"),
        ("demo-1.0.data/data/lib/python3/dist-packages/pip/x.py", "library", "pip/x.py"),
        ("demo-1.0.data/data/share/demo.txt", "environment", "share/demo.txt"),
        ("demo-1.0.data/data/bin", "environment", "bin"),
        ("demo-1.0.data/headers/bin/demo.h", "elsewhere", "bin/demo.h"),
        ("demo-1.0.data/readme", "library", "demo-1.0.data/readme"),
        ("demo.data/x.py", "library", "demo.data/x.py"),
    ],
)
def test_a_member_has_a_place(member: str, place: str, path: str) -> None:
    (file,) = installed_files([member])
    assert (file.place, str(file.path)) == (place, path)


@pytest.mark.parametrize(("member", "top"), [("demo/_C.so", "demo"), ("demo.abi3.so", "demo"), ("x.pth", "x")])
def test_a_file_belongs_to_a_module_or_a_folder(member: str, top: str) -> None:
    (file,) = installed_files([member])
    assert file.top == top
