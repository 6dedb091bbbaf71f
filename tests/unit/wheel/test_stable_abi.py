"""Torch's stable ABI: what is outside of it, and what stands for that inside."""

import pytest
from torch_abi_audit.torch_versions import stable_shim_versions

from wheelmill.names import TorchVersion
from wheelmill.wheel.stable_abi import (
    _COUNTERPARTS,
    _DISPATCHER,
    _WRAPPERS,
    Outside,
    ShimsUsed,
    _counterpart,
    beyond_stable_abi,
    compare_with_stable_abi,
    shims_in,
)
from wheelmill.wheel.torch_symbols import TorchSymbols, shipped_symbols

DEVICE = "aoti_torch_get_device_type"
OF_WHEELS = (
    *("aoti_torch_get_device_type", "torch_call_dispatcher", "cudaLaunchKernel", "PyModule_Create2", "nvrtcVersion"),
    *("_ZSt21ios_base_library_initv", "_ZSt28__throw_bad_array_new_lengthv", "_ZTVSt13runtime_error"),
    *("_Znwm", "_ZdlPv", "_ZnwmSt11align_val_t"),
    *("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE10_M_disposeEv", "_ZNSo3putEc", "_ZNKSs4sizeEv"),
    *("_ZNKRSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE3strEv", "_ZTVN10__cxxabiv120__si_class_type_infoE"),
    *("_ZGVNSt10moneypunctIcLb0EE2idE", "_ZN9__gnu_cxx18stdio_filebufIcSt11char_traitsIcEEC1Ev"),
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
    ("symbols", "oldest", "newest_ones", "unknown"),
    [
        ([], None, (), ()),
        (["cudaLaunchKernel"], None, (), ()),
        ([DEVICE], TorchVersion(2, 9), (), ()),
        ([DEVICE, _DISPATCHER], TorchVersion(2, 10), (_DISPATCHER,), ()),
        (["torch_of_tomorrow", DEVICE], TorchVersion(2, 9), (), ("torch_of_tomorrow",)),
    ],
)
def test_the_functions_that_are_called_say_which_torch_has_them(
    symbols: list[str], oldest: TorchVersion | None, newest_ones: tuple[str, ...], unknown: tuple[str, ...]
) -> None:
    assert shims_in(symbols) == ShimsUsed(oldest=oldest, newest_ones=newest_ones, unknown=unknown)


TABLED = sorted({shim for _, _, shims in _COUNTERPARTS for shim in shims.split()})


def table_of(*symbols: str) -> TorchSymbols:
    table = shipped_symbols(frozenset(symbols))
    assert table is not None
    return table


def test_every_function_of_the_table_is_promised_and_exported_by_the_newest_torch() -> None:
    table = table_of(*TABLED)
    newest = 1 << len(table.summary.builds) - 1
    assert [shim for shim in TABLED if not table.places.get(shim, (0, 0))[0] & newest] == []
    assert set(TABLED) <= stable_shim_versions().keys()


def test_the_torch_of_a_function_is_the_one_that_pytorch_s_own_list_has() -> None:
    promised = stable_shim_versions()
    table = table_of(*promised)
    ours = {shim: found.torch for shim in promised if (found := _counterpart("", (shim,), table))}
    assert len(ours) > 500
    assert ours == {shim: TorchVersion(*promised[shim][:2]) for shim in ours}


EMPTY = "_ZN2at4_ops19empty_memory_format4callEN3c108ArrayRefINS2_6SymIntEEESt8optionalINS2_10ScalarTypeEE"
ADD = "_ZN2at4_ops10add_Tensor4callERKNS_6TensorES4_RKN3c106ScalarE"
FILL = "_ZN2at4_ops12fill__Scalar4callERNS_6TensorERKN3c106ScalarE"
CAT = "_ZN2at4_ops3cat4callERKN3c108IListRefINS_6TensorEEEl"
ADD_IN_PLACE = "_ZN2at4_ops11add__Tensor4callERNS_6TensorERKS2_RKN3c106ScalarE"
MULTINOMIAL = "_ZN2at4_ops11multinomial4callERKNS_6TensorEN3c106SymIntEbSt8optionalINS_9GeneratorEE"
REDISPATCH = "_ZN2at4_ops3cat10redispatchEN3c1014DispatchKeySetERKNS2_8IListRefINS_6TensorEEEl"


@pytest.mark.parametrize(
    ("symbol", "instead", "torch"),
    [
        (EMPTY, "torch::stable::empty", TorchVersion(2, 10)),
        (FILL, "torch::stable::fill_", TorchVersion(2, 9)),
        (CAT, "torch_call_dispatcher", TorchVersion(2, 10)),
        (MULTINOMIAL, "torch_call_dispatcher, torch_new_generator_handle", TorchVersion(2, 13)),
        # The dispatcher takes no number of any type, so only the kernels of each device are left, or nothing.
        (ADD, "aoti_torch_cpu_add_Tensor, aoti_torch_cuda_add_Tensor", TorchVersion(2, 9)),
        (ADD_IN_PLACE, None, None),
        ("_ZN2at4_ops4item4callERKNS_6TensorE", "aoti_torch_item_DTYPE", TorchVersion(2, 9)),
        (REDISPATCH, None, None),
        ("_ZN2at4_ops10not_so_now4callEv", "torch_call_dispatcher", TorchVersion(2, 10)),  # as far as its name shows
        ("_ZN3c104cuda20getCurrentCUDAStreamEa", "aoti_torch_get_current_cuda_stream", TorchVersion(2, 9)),
        ("_ZN3c106detail14torchCheckFailEPKcS2_jS2_", "STD_TORCH_CHECK", None),
        ("_ZTIN3c105ErrorE", "STD_TORCH_CHECK", None),
        (
            "_ZN3c1021throwNullDataPtrErrorEv",
            "torch::stable::Tensor::mutable_data_ptr, const_data_ptr",
            TorchVersion(2, 10),
        ),
        ("_ZN5torch7LibraryD1Ev", "STABLE_TORCH_LIBRARY", TorchVersion(2, 10)),
        (
            "_ZN8pybind116detail11type_casterIN2at6TensorEvE4loadENS_6handleEb",
            "STABLE_TORCH_LIBRARY",
            TorchVersion(2, 10),
        ),
        ("THPVariableClass", "torch::stable::tensor_from_pyobject, tensor_to_pyobject", TorchVersion(2, 14)),
        ("_ZN5torch8autograd10deleteNodeEPNS0_4NodeE", None, None),
    ],
)
def test_a_symbol_has_its_counterpart(symbol: str, instead: str | None, torch: TorchVersion | None) -> None:
    report = compare_with_stable_abi({symbol, *OF_WHEELS})
    assert report is not None
    (group,) = report.outside
    assert (group.instead, group.torch, group.symbols) == (instead, torch, (symbol,))


def test_symbols_with_one_counterpart_stand_together_and_those_without_one_last() -> None:
    overload = "_ZN2at4_ops5clone4callERKNS_6TensorESt8optionalIN3c1012MemoryFormatEE"
    report = compare_with_stable_abi({CAT, overload, REDISPATCH, "_ZTIN3c105ErrorE", "torch_call_dispatcher", "memcpy"})
    assert report is not None
    assert report.outside == (
        Outside(instead="STD_TORCH_CHECK", symbols=("_ZTIN3c105ErrorE",)),
        Outside(instead="torch::stable::clone", shims=(_DISPATCHER,), torch=TorchVersion(2, 10), symbols=(overload,)),
        Outside(instead=_DISPATCHER, shims=(_DISPATCHER,), torch=TorchVersion(2, 10), symbols=(CAT,)),
        Outside(symbols=(REDISPATCH,)),
    )
    assert report.outside[-1].names == ("at::_ops::cat::redispatch",)
    assert str(report) == (
        "5 symbols of torch, 4 outside of its stable ABI: 3 with a counterpart, the newest from torch 2.10; 1 without"
    )


@pytest.mark.parametrize(
    ("symbols", "oldest", "unknown", "says"),
    [
        ((), None, (), "needs no symbol of torch"),
        (("_ZN6mylib2atEv", "_ZN2my5torchEv"), None, (), "needs no symbol of torch"),  # names of others with its words
        (("aoti_torch_get_dim",), (2, 9), (), "keeps to torch's stable ABI, from torch 2.9 on"),
        (OF_WHEELS, (2, 10), (), "keeps to torch's stable ABI, from torch 2.10 on"),
        (
            ("aoti_torch_get_dim", "torch_of_tomorrow"),
            (2, 9),
            ("torch_of_tomorrow",),
            "keeps to torch's stable ABI, from torch 2.9 on; torch-abi-audit knows no torch with torch_of_tomorrow",
        ),
    ],
)
def test_what_keeps_to_it_says_from_which_torch(
    symbols: tuple[str, ...], oldest: tuple[int, int] | None, unknown: tuple[str, ...], says: str
) -> None:
    report = compare_with_stable_abi(frozenset(symbols))
    assert report is not None
    assert report.outside == ()
    assert (report.oldest, report.unknown) == (oldest and TorchVersion(*oldest), unknown)
    assert str(report) == says


def test_a_torch_that_exports_no_more_than_a_part_of_it_is_none() -> None:
    table = table_of("aoti_torch_cuda_randn_like", "aoti_torch_cuda_zeros", _DISPATCHER)
    found = _counterpart("", ("aoti_torch_cuda_randn_like",), table)
    assert found is not None
    assert found.torch == TorchVersion(2, 12)  # 2.3 had it, and 2.4 to 2.11 had not
    assert _counterpart("", ("aoti_torch_cuda_zeros",), table) is None  # in torch 2.3 alone
    assert _counterpart("", (_DISPATCHER, "aoti_torch_cuda_zeros"), table) is None


def test_many_long_names_are_compared_in_time() -> None:
    symbols = {f"_ZN2at4_ops{len(name)}{name}4callE" + "x" * 2000 for name in (f"op{n}" for n in range(20_000))}
    report = compare_with_stable_abi(symbols)
    assert report is not None
    assert report.symbols == 20_000


def test_each_pattern_can_be_found_and_stands_for_something() -> None:
    assert all(instead or shims for _, instead, shims in _COUNTERPARTS)
    assert len({names for names, _, _ in _COUNTERPARTS}) == len(_COUNTERPARTS)
    assert len(_WRAPPERS) > 30
