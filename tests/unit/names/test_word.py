import json
from collections.abc import Callable

import pytest
from pydantic import TypeAdapter, ValidationError

from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    PythonVersion,
    TorchVersion,
    Word,
)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        *(
            (CudaVersion.parse, text)
            for text in ("", "cu", "12", "cu12", "13.0.2.1", "13.0rc1", "\uff11\uff13\uff10", "1!13.0")
        ),
        *((TorchVersion.parse, text) for text in ("", "2", "2.11+cpu", "2.11a1", "2.11.0.0", "1!2.11")),
        *((TorchVersion.parse, text) for text in ("2.16rc", "2.16.1rc1", "2.16rc\u0661")),
        *((PythonVersion.parse, text) for text in ("", "3", "t", "3.13tt", "3.13T", "pp310", "1!3.13")),
        *(
            (Architecture.parse, text)
            for text in ("", "9", "90", "sm_90", "9.0b", "9.0af", "9.0+ptx", "9.0.1", "1!9.0")
        ),
        *(
            (Platform.parse, text)
            for text in ("", "any", "linux", "linux_", "win32", "_x86_64", "manylinux_2_28_x86_64")
        ),
        *((Architecture.of_code, text) for text in ("", "sm_", "sm_5", "90", "sm_9x", "sm_90af")),
    ],
)
def test_other_text_is_refused_with_an_example(parse: Callable[[str], Word], text: str) -> None:
    with pytest.raises(ValueError, match="expected a"):
        parse(text)


@pytest.mark.parametrize("text", ["3", "x", "2,7"])
def test_what_was_written_stands_in_the_refusal(text: str) -> None:
    with pytest.raises(ValueError, match=rf", not '{text}'$"):
        PythonVersion.parse(text)


def test_versions_are_ordered_by_number() -> None:
    assert CudaVersion(9, 2) < CudaVersion(12, 8) < CudaVersion(13, 0)
    assert TorchVersion(2, 9) < TorchVersion(2, 11)


@pytest.mark.parametrize(
    "word",
    [
        CudaVersion(13, 0),
        TorchVersion(2, 11),
        TorchVersion(2, 16, 1),
        PythonVersion(3, 13, free_threaded=True),
        Architecture(9, 0, "a"),
        Platform("linux", "x86_64"),
    ],
)
def test_records_hold_words_as_text(word: Word) -> None:
    adapter = TypeAdapter(type(word))
    assert json.loads(adapter.dump_json(word)) == str(word)
    assert adapter.validate_json(json.dumps(str(word))) == word
    assert adapter.validate_python(word) is word


@pytest.mark.parametrize("value", [2.1, 2, None, ["2.10"]])
def test_a_number_is_no_word(value: object) -> None:
    with pytest.raises(ValidationError, match="expected text in quotes"):
        TypeAdapter(TorchVersion).validate_python(value)
