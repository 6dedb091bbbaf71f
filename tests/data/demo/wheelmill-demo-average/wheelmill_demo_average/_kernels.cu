// One function over one kernel, with Python's stable ABI only (PEP 384).
#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace {

__global__ void multiply(double *value, double factor) { *value *= factor; }

PyObject *scaled(PyObject *, PyObject *arguments) {
  double value, factor, *on_gpu = nullptr;
  if (!PyArg_ParseTuple(arguments, "dd", &value, &factor)) return nullptr;
  cudaError_t status = cudaMalloc(&on_gpu, sizeof(double));
  if (status == cudaSuccess) status = cudaMemcpy(on_gpu, &value, sizeof(double), cudaMemcpyHostToDevice);
  if (status == cudaSuccess) multiply<<<1, 1>>>(on_gpu, factor);
  if (status == cudaSuccess) status = cudaMemcpy(&value, on_gpu, sizeof(double), cudaMemcpyDeviceToHost);
  cudaFree(on_gpu);
  if (status != cudaSuccess) return PyErr_Format(PyExc_RuntimeError, "CUDA: %s", cudaGetErrorString(status));
  return PyFloat_FromDouble(value);
}

PyMethodDef methods[] = {
    {"scaled", scaled, METH_VARARGS, "The product of two numbers, computed on the GPU."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kernels", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__kernels() { return PyModule_Create(&module); }
