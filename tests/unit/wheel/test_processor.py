"""Functions that only some processors can run are named, unless the processor is asked first."""

import platform
import sys
from pathlib import Path

import pytest

from tests.shared_objects import compiled
from wheelmill.wheel.processor import ProcessorUse
from wheelmill.wheel.shared_objects import CodeBudget, SharedObject

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="no Linux with such a processor")

AVX = '__attribute__((target("avx2,fma"))) float scale(float x, float y) { return __builtin_fmaf(x, y, 1) * x; }\n'
ASM = '__asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));'
CLONES = (
    '__attribute__((target_clones("avx2", "default"))) void twice(float *x) { for (int i = 0; i < 99; ++i) x[i] *= 2; }'
)


def read(folder: Path, code: str, *flags: str, budget: int = 1 << 20) -> SharedObject:
    path = compiled(folder / "_C.so", code, *flags)
    return SharedObject.read(path, name="demo/_C.so", budget=CodeBudget(code=budget))


def test_functions_with_later_instructions_are_named_with_their_features(tmp_path: Path) -> None:
    found = read(tmp_path, f"{AVX} float plain(float x) {{ return x * 2; }}", "-O2").processor.later
    assert found == ("scale (AVX, FMA)",)


@pytest.mark.parametrize("flag", ["-march=x86-64", "-march=x86-64-v2", "-msse4.2", "-mbmi", "-mlzcnt"])
def test_what_every_processor_runs_is_not_named(flag: str, tmp_path: Path) -> None:
    code = "int low(unsigned x) { return __builtin_ctz(x); } float twice(float x) { return x * 2; }"
    assert read(tmp_path, code, "-O2", flag).processor == ProcessorUse()


@pytest.mark.parametrize(
    "asks",
    [
        f"int ask(void) {{ unsigned a, b, c, d; {ASM} return b; }}",
        'int ask(void) { return __builtin_cpu_supports("avx2"); }',
        "unsigned long getauxval(unsigned long); unsigned long ask(void) { return getauxval(16); }",
        CLONES,
    ],
)
def test_an_object_that_asks_the_processor_may_have_variants(asks: str, tmp_path: Path) -> None:
    assert read(tmp_path, AVX + asks, "-O3").processor == ProcessorUse(asks=True)


def test_functions_that_are_stripped_of_their_names_are_one(tmp_path: Path) -> None:
    code = AVX + '__attribute__((visibility("default"))) int plain(void) { return 0; }'
    found = read(tmp_path, code, "-O2", "-Wl,-s", "-fvisibility=hidden").processor.later
    assert found == ("functions without a name (AVX, FMA)",)


def test_code_beyond_the_budget_is_not_read(tmp_path: Path) -> None:
    assert read(tmp_path, AVX, "-O2", budget=10).processor == ProcessorUse()


def test_without_its_decoder_it_is_not_the_object_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "iced_x86", None)
    with pytest.raises(ModuleNotFoundError, match="iced_x86"):
        read(tmp_path, "int plain(void) { return 0; }")
