"""Symbols that wheels leave open, as compilers write them for torch 2.11 and 2.14."""

import pytest

from wheelmill.names import TorchVersion
from wheelmill.wheel.torch_links import ShimsUsed, beyond_stable_abi, shims_in
from wheelmill.wheel.torch_symbols import describe_symbol

OF_WHEELS = (
    *("aoti_torch_get_device_type", "torch_call_dispatcher", "cudaLaunchKernel", "PyModule_Create2", "nvrtcVersion"),
    *(
        "_ZSt21ios_base_library_initv",
        "_ZSt28__throw_bad_array_new_lengthv",
        "_ZTVSt13runtime_error",
        "_Znwm",
        "_ZdlPv",
    ),
    *("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE10_M_disposeEv", "_ZNSo3putEc", "_ZNKSs4sizeEv"),
    *("_ZNKRSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE3strEv", "_ZTVN10__cxxabiv120__si_class_type_infoE"),
    *(
        "_ZGVNSt10moneypunctIcLb0EE2idE",
        "_ZN9__gnu_cxx18stdio_filebufIcSt11char_traitsIcEEC1Ev",
        "_ZnwmSt11align_val_t",
    ),
)
"""Those of torchao, torchcodec and xformers, and of the runtimes of C++, CUDA and Python."""


def test_what_wheels_for_many_torches_leave_open_is_no_fault() -> None:
    assert beyond_stable_abi(OF_WHEELS) == ()


@pytest.mark.parametrize(
    ("symbol", "readable"),
    [
        ("_ZN2at4_ops19empty_memory_format4callEN3c108ArrayRefINS2_6SymIntEEE", "at::_ops::empty_memory_format::call"),
        ("_ZNK2at10TensorBase8data_ptrEv", "at::TensorBase::data_ptr"),
        ("_ZNKR5torch8autograd4Node4nameEv", "torch::autograd::Node::name"),
        ("_ZTVN3c1010TensorImplE", "c10::TensorImpl"),
        ("_ZTIN3c105ErrorE", "c10::Error"),
        ("_ZTSN5torch3jit6ModuleE", "torch::jit::Module"),
        ("_ZGVZN3c1010Dispatcher9singletonEvE1d", "c10::Dispatcher::singleton"),
        ("_ZThn16_N3c1010TensorImplD0Ev", "_ZThn16_N3c1010TensorImplD0Ev"),
        ("_Z16THPVariable_WrapN2at10TensorBaseE", "_Z16THPVariable_WrapN2at10TensorBaseE"),
        ("_ZN6caffe28TypeMeta4nameEv", "caffe2::TypeMeta::name"),
        ("_ZNSt6vectorIN2at6TensorESaIS1_EE9push_backERKS1_", "_ZNSt6vectorIN2at6TensorESaIS1_EE9push_backERKS1_"),
        ("_ZNSt10shared_ptrIKN3c104TypeEEaSERKS3_", "_ZNSt10shared_ptrIKN3c104TypeEEaSERKS3_"),
        ("_ZN6google8protobuf7MessageD2Ev", "google::protobuf::Message"),  # which torch has inside
        ("_ZN99shortE", "shortE"),
        ("_Z", "_Z"),
    ],
)
def test_what_only_the_cxx_of_torch_can_define_is_named(symbol: str, readable: str) -> None:
    assert beyond_stable_abi([*OF_WHEELS, symbol]) == (readable,)


def test_a_long_name_is_not_shown_whole() -> None:
    (name,) = beyond_stable_abi(["_ZN" + "1a" * 1_000_000])
    assert len(name) < 500


@pytest.mark.parametrize(
    ("symbols", "used"),
    [
        ((), ShimsUsed(oldest=None, newest_ones=(), unknown=())),
        (["cudaLaunchKernel"], ShimsUsed(oldest=None, newest_ones=(), unknown=())),
        (["aoti_torch_get_device_type"], ShimsUsed(oldest=TorchVersion(2, 9), newest_ones=(), unknown=())),
        (
            ["aoti_torch_get_device_type", "torch_call_dispatcher"],
            ShimsUsed(oldest=TorchVersion(2, 10), newest_ones=("torch_call_dispatcher",), unknown=()),
        ),
        (
            ["torch_of_tomorrow", "aoti_torch_get_device_type"],
            ShimsUsed(oldest=TorchVersion(2, 9), newest_ones=(), unknown=("torch_of_tomorrow",)),
        ),
    ],
)
def test_the_functions_that_are_called_say_which_torch_has_them(symbols: list[str], used: ShimsUsed) -> None:
    assert shims_in(symbols) == used


@pytest.mark.parametrize(
    ("symbol", "described"),
    [
        ("_ZN3c104goneEv", "c10::gone (_ZN3c104goneEv)"),
        ("_ZNK3c106SymInt6sym_neERKS0_", "c10::SymInt::sym_ne (_ZNK3c106SymInt6sym_neERKS0_)"),
        *((name, name) for name in ("forward", "_Z", "_ZNotMangled")),
    ],
)
def test_a_symbol_is_described_by_its_name_and_itself(symbol: str, described: str) -> None:
    assert describe_symbol(symbol) == described


@pytest.mark.parametrize("symbol", ["_ZN2at4\x1b[2JEv", "\x1b]0;", "_ZN2at3\ud8001a"])
def test_a_symbol_moves_no_cursor(symbol: str) -> None:
    assert describe_symbol(symbol).isprintable()


def test_a_long_symbol_is_not_shown_whole() -> None:
    assert len(describe_symbol("_ZN" + "1a" * 1_000_000)) < 600
