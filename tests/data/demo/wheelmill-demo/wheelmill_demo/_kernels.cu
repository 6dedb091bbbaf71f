// Python functions over a CUDA kernel.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <vector>

namespace {

__global__ void add_squares(const double *values, int count, double *total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(total, values[i] * values[i]);
}

struct DeviceMemory {
  void *pointer = nullptr;
  cudaError_t allocate(size_t bytes) { return cudaMalloc(&pointer, bytes ? bytes : 1); }
  ~DeviceMemory() { cudaFree(pointer); }
};

cudaError_t total_of_squares(const std::vector<double> &values, double *result) {
  const int count = static_cast<int>(values.size());
  DeviceMemory input, output;
  cudaError_t status = input.allocate(count * sizeof(double));
  if (status == cudaSuccess) status = output.allocate(sizeof(double));
  if (status == cudaSuccess) status = cudaMemset(output.pointer, 0, sizeof(double));
  if (status == cudaSuccess)
    status = cudaMemcpy(input.pointer, values.data(), count * sizeof(double), cudaMemcpyHostToDevice);
  if (status != cudaSuccess) return status;
  auto *in = static_cast<double *>(input.pointer);
  auto *out = static_cast<double *>(output.pointer);
  add_squares<<<(count + 255) / 256, 256>>>(in, count, out);
  status = cudaGetLastError();
  if (status == cudaSuccess) status = cudaMemcpy(result, out, sizeof(double), cudaMemcpyDeviceToHost);
  return status;
}

PyObject *device_count(PyObject *, PyObject *) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  return PyLong_FromLong(count);
}

PyObject *total(PyObject *, PyObject *argument) {
  PyObject *sequence = PySequence_Fast(argument, "expected a sequence of numbers");
  if (!sequence) return nullptr;
  std::vector<double> values(PySequence_Fast_GET_SIZE(sequence));
  for (size_t i = 0; i < values.size(); ++i) values[i] = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(sequence, i));
  Py_DECREF(sequence);
  if (PyErr_Occurred()) return nullptr;
  double result = 0;
  if (values.empty()) return PyFloat_FromDouble(0);
  const cudaError_t status = total_of_squares(values, &result);
  if (status != cudaSuccess) return PyErr_Format(PyExc_RuntimeError, "CUDA: %s", cudaGetErrorString(status));
  return PyFloat_FromDouble(result);
}

PyMethodDef methods[] = {
    {"device_count", device_count, METH_NOARGS, "The number of GPUs; 0 without a driver."},
    {"total", total, METH_O, "The sum of the squares of a sequence of numbers, computed on the GPU."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kernels", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__kernels() { return PyModule_Create(&module); }
