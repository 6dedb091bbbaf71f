"""What a setup.py declares is read from its text."""

import pytest

from tests.refusals import coded
from wheelmill.config.survey.scripts import SetupScript
from wheelmill.errors import UsageError


def script(text: str) -> SetupScript:
    return SetupScript(text.encode(), "setup.py")


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        ('CUDAExtension("demo._C", ["a.cu"])', "demo._C"),
        ('CUDAExtension(name="demo._C", sources=["a.cu"])', "demo._C"),
        ('NAME = "demo"\ncpp.CUDAExtension(NAME + "._C", sources=["a.cu"])', "demo._C"),
        ('NAME = "demo"\nCUDAExtension(f"{NAME}._C", ["a.cu"])', "demo._C"),
        ('CUDAExtension("{}._C".format("demo"), ["a.cu"])', "demo._C"),
        ('extension = CppExtension\nif x:\n    extension = CUDAExtension\nextension("demo._C", ["a.cu"])', "demo._C"),
        (
            'def make(name, sources):\n    return CUDAExtension(name=name, sources=sources)\nmake("demo._C", ["a.cu"])',
            "demo._C",
        ),
    ],
)
def test_an_extension_is_found_with_its_name_and_sources(declared: str, name: str) -> None:
    (found,) = script(declared).extensions
    assert "CUDAExtension" in found.kinds
    assert (found.modules, found.sources) == ((name,), ("a.cu",))


@pytest.mark.parametrize("name", ['"%s.%s" % (module, name)', 'f"{module}.{name}"', '"{}.{}".format(module, name)'])
def test_a_function_that_declares_extensions_is_read_once_for_each_call(name: str) -> None:
    function = f"def make(name, module, sources=()):\n    return CUDAExtension(name={name}, sources=sources)\n"
    calls = 'x = [make("a", "demo.x", ["a.cu"]), make(name="b", module="demo.y", sources=["b.cu"])]\n'
    (extension,) = script(function + calls).extensions
    assert extension.modules == ("demo.x.a", "demo.y.b")
    assert extension.sources == ("a.cu", "b.cu")


def test_a_text_that_is_partly_computed_is_none() -> None:
    (extension,) = script('setup(version="0.6.0+%s" % commit())\nCUDAExtension("_%d" % 3, [])').extensions
    assert extension.modules == ()
    assert script('setup(version="0.6.0+%s" % commit())').argument("version") == ()


def test_extensions_are_in_the_package_that_setup_names() -> None:
    (found,) = script('setup(ext_package="demo", ext_modules=[CUDAExtension("_C", ["a.cu"])])').extensions
    assert found.modules == ("demo._C",)


def test_a_name_that_is_computed_is_none() -> None:
    (found,) = script('CUDAExtension(f"demo._cuda_{variant()}", ["a.cu"])').extensions
    assert found.modules == ()


def test_sources_are_put_together_from_all_that_a_name_is_given() -> None:
    text = """
here = os.path.dirname(os.path.abspath(__file__))
csrc = os.path.join(here, "csrc")
sources = [os.path.join(csrc, "a.cpp")] + glob.glob(os.path.join(csrc, "*.cc"))
sources += ["csrc/b.cu"]
sources.append("c.cu")
sources = [str(source) for source in sources]
CUDAExtension("demo._C", sources)
"""
    (found,) = script(text).extensions
    assert set(found.sources) == {"csrc/a.cpp", "csrc/*.cc", "csrc/b.cu", "c.cu"}


def test_a_name_means_what_its_own_function_assigns() -> None:
    text = 'def other():\n    name = "wrong"\ndef mine():\n    name = "right"\n    return Extension(name, [])\n'
    assert script(text).extensions[0].modules == ("right",)


def test_the_command_that_builds_extensions_is_none() -> None:
    assert script('setup(cmdclass={"build_ext": BuildExtension()})').extensions == ()


@pytest.mark.parametrize(
    ("read", "switch"),
    [
        ('os.getenv("FORCE_CUDA", "0") == "1"', "1"),
        ('os.environ.get("FORCE_CUDA", "FALSE") == "TRUE"', "TRUE"),
        ('os.environ.get("FORCE_CUDA") != "yes"', "yes"),
        ('os.environ["FORCE_CUDA"]', "1"),
        ('os.getenv("FORCE_CUDA", "").lower() == "on"', "on"),
        ('bool(int(os.getenv("FORCE_CUDA", "0")))', "1"),
        ('os.getenv("FORCE_CUDA", "FALSE")', "TRUE"),
        ('"FORCE_CUDA" in os.environ', "1"),
        ('WANTED = os.getenv("FORCE_CUDA")\nif WANTED.lower() == "yes": pass', "yes"),
        ('WANTED = os.getenv("FORCE_CUDA")\nif WANTED == "0": pass', "1"),
        ('def is_on(name):\n    return os.getenv(name, "")\nis_on("FORCE_CUDA")', "1"),
    ],
)
def test_an_environment_variable_is_found_with_what_switches_it_on(read: str, switch: str) -> None:
    (found,) = script(f"import os\n{read}").variables
    assert (found.name, found.switch) == ("FORCE_CUDA", switch)


def test_imports_of_others_are_found_and_those_that_are_optional_are_not() -> None:
    text = "import os, ninja\ntry:\n    import torch\n    import psutil\nexcept OSError:\n    pass\nfrom .own import x"
    assert script(text).imports == {"ninja": 1, "torch": 3}


def test_a_text_that_nothing_is_done_with_is_a_comment() -> None:
    found = script('"""Without -gencode flags."""\nflags = ["-gencode=arch=compute_80,code=sm_80"]\n').texts_with(
        "-gencode"
    )
    assert [line for _, line in found] == [2]


def test_the_first_text_is_that_of_the_first_line() -> None:
    found = script('if x:\n    if y:\n        flags = ["-std=c++14"]\nother = "-std=c++17"\n').texts_with("-std=")
    assert [line for _, line in found] == [3, 4]


@pytest.mark.parametrize(
    "text",
    ["def (", "(" * 100_000, "-" * 200_000 + "1", "x = '\0'", "a = " + "+".join("1" * 100_000)],
    ids=["a syntax error", "brackets", "signs", "a NUL", "a long sum"],
)
def test_what_is_no_python_is_refused_in_words(text: str) -> None:
    with pytest.raises(UsageError, check=coded("setup-script-invalid", "setup.py")):
        script(text)


@pytest.mark.parametrize(
    "text",
    [
        "x = x + x\nCUDAExtension(x, x)",
        "x = y\ny = x\nCUDAExtension(x, y)",
        "\n".join(f"x{n} = [x{n + 1}] * 2 + x{n + 1} + x{n + 1}" for n in range(200)) + "\nCUDAExtension(x0, x0)",
        "x = [" + '"a", ' * 20_000 + "]\nCUDAExtension(x, x)",
        "\n".join(f"x{n} = x{n + 1} + x{n + 1} + x{n + 1}" for n in range(200)) + "\nCUDAExtension(x0, x0)",
        "def f(a):\n    return f(a + a)\nCUDAExtension(f('a'), f('b'))",
        "".join(f"def f{n}(a):\n    f{n}(a)\n" for n in range(2_000)) + "CUDAExtension(f1, f2)",
    ],
    ids=["itself", "in a circle", "doubling", "a long list", "doubling sums", "recursion", "many functions"],
)
def test_names_that_lead_nowhere_end(text: str) -> None:
    assert len(script(text).extensions) == 1
