from hypothesis import given
from hypothesis import strategies as st

from wheelmill.names import CudaVersion, TorchVersion, project_version
from wheelmill.wheel.label import BuiltFor, Label

numbers = st.integers(0, 999)
labels = st.builds(
    Label,
    cuda=st.builds(CudaVersion, st.integers(10, 99), st.integers(0, 9)),
    torch=st.none() | st.builds(TorchVersion, numbers, numbers, st.none() | numbers),
)
local_versions = st.from_regex(r"[a-z0-9]+([.][a-z0-9]+)*", fullmatch=True) | labels.map(str)
near_labels = st.from_regex(r"([a-z0-9]+\.)?(cu[0-9.]{0,5})?(torch[0-9.]{0,5})?[a-z0-9.]{0,3}", fullmatch=True)


@given(labels)
def test_a_label_is_read_from_its_own_text(label: Label) -> None:
    assert Label.parse(str(label)) == label


@given(labels, st.sampled_from(["1.0", "2.8.3.post1", "1!0.1rc2.dev3"]))
def test_a_labelled_version_names_its_label(label: Label, upstream: str) -> None:
    version = label.on(project_version(upstream))

    assert (version.public, Label.parse(version.local or "")) == (upstream, label)


@given(labels, local_versions)
def test_the_label_is_found_behind_a_local_version_of_upstream(label: Label, local: str) -> None:
    version = label.on(project_version(f"1.0+{local}"))

    assert version.local is not None
    assert version.local.endswith(f".{label}")
    assert Label.parse(version.local) == label


commits = st.from_regex(r"((git|g|d)?[0-9a-f]{6,12})?", fullmatch=True)


@given(labels, commits, commits)
def test_whoever_reads_any_label_reads_ours_beside_dates_and_commits(label: Label, before: str, behind: str) -> None:
    local = ".".join(filter(None, (before, str(label), behind)))

    assert BuiltFor.parse(local).label == label


@given(st.text() | near_labels)
def test_any_text_can_be_read(text: str) -> None:
    built_for = BuiltFor.of_installed(f"1.0+{text}")

    assert built_for.cuda is None or built_for.cuda.major == built_for.cuda_major
    assert built_for.cuda_major is None or built_for.other_accelerator is None
    assert not text.isascii() or BuiltFor.of_installed(f"1.0+{text.upper()}") == built_for


@given(st.text() | near_labels)
def test_any_text_is_a_label_in_its_one_spelling_or_none(text: str) -> None:
    label = Label.parse(text)

    assert label is None or text == str(label) or text.endswith(f".{label}")
