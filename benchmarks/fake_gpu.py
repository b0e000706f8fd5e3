"""A GPU that computes nothing, for CuPy as it is installed: what is left of a step is the time of the CPU that starts kernels.

Libraries of our own stand in the place of the driver, of NVRTC and of cuBLAS, and the CUDA runtime inside CuPy is led to them, too. Memory is
the machine's, copies are made, launches and products are counted, and kernels are neither compiled nor run, so numbers mean nothing.
It needs CuPy (`pip install --no-deps cupy-cuda12x fastrlock cuda-pathfinder`), a C++ compiler and `nm`, on Linux and x86-64.
"""

from __future__ import annotations

import ctypes
import importlib.util
import mmap
import os
import re
import struct
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

CUDA = r"""
#include <stdlib.h>
#include <string.h>
typedef size_t S; typedef void* P;
extern "C" {
long launches = 0, copies = 0;
int fake_nothing() { return 0; }
int fake_cudaGetDeviceCount(int* n) { *n = 1; return 0; }
int fake_cudaGetDevice(int* n) { *n = 0; return 0; }
int fake_cudaMalloc(P* p, S n) { *p = aligned_alloc(512, (n + 511) / 512 * 512); memset(*p, 0, n); return 0; }
int fake_cudaFree(P p) { free(p); return 0; }
int fake_cudaHostAlloc(P* p, S n, unsigned) { return fake_cudaMalloc(p, n); }
int fake_cudaFreeHost(P p) { free(p); return 0; }
int fake_cudaMemcpy(P to, P from, S n, int) { ++copies; memcpy(to, from, n); return 0; }
int fake_cudaMemcpyAsync(P to, P from, S n, int, P) { ++copies; memcpy(to, from, n); return 0; }
int fake_cudaMemsetAsync(P p, int v, S n, P) { ++launches; memset(p, v, n); return 0; }
int fake_cudaDriverGetVersion(int* v) { *v = 12090; return 0; }
int fake_cudaRuntimeGetVersion(int* v) { *v = 12090; return 0; }
int fake_cudaDeviceGetAttribute(int* v, int what, int) { *v = what == 75 ? 9 : what == 76 ? 0 : 1024; return 0; }
int fake_cudaGetDeviceProperties_v2(char* p, int) { memset(p, 0, 1032); strcpy(p, "no GPU"); return 0; }
int fake_cudaMemGetInfo(S* a, S* b) { *a = *b = 1ull << 37; return 0; }
int fake_cudaStreamIsCapturing(P, int* s) { *s = 0; return 0; }
int fake_cudaEventCreateWithFlags(P* e, unsigned) { *e = (P)1; return 0; }
int fake_cudaPointerGetAttributes(char* p, P) { memset(p, 0, 32); *(int*)p = 2; return 0; }
int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* v) { *v = 12090; return 0; }
int cuCtxGetCurrent(P* p) { *p = (P)1; return 0; }
int cuModuleLoadData(P* p, P) { *p = malloc(16); return 0; }
int cuModuleUnload(P) { return 0; }
int cuModuleGetFunction(P* f, P, P) { *f = malloc(16); return 0; }
int cuFuncSetAttribute(P, int, int) { return 0; }
int cuLaunchKernel() { ++launches; return 0; }
int cuGetErrorName(int, const char** s) { *s = "none"; return 0; }
int cuGetErrorString(int, const char** s) { *s = "none"; return 0; }
}
"""
NVRTC = r"""
#include <stdlib.h>
#include <string.h>
typedef size_t S; typedef void* P;
extern "C" {
int nvrtcVersion(int* a, int* b) { *a = 12; *b = 9; return 0; }
int nvrtcGetNumSupportedArchs(int* n) { *n = 1; return 0; }
int nvrtcGetSupportedArchs(int* n) { *n = 90; return 0; }
const char* nvrtcGetErrorString(int) { return "none"; }
int nvrtcCreateProgram(P* p, P, P, int, P, P) { *p = malloc(8); return 0; }
int nvrtcDestroyProgram(P*) { return 0; }
int nvrtcCompileProgram(P, int, P) { return 0; }
int nvrtcGetPTXSize(P, S* n) { *n = 8; return 0; }
int nvrtcGetPTX(P, char* s) { memset(s, 0, 8); return 0; }
int nvrtcGetCUBINSize(P, S* n) { *n = 8; return 0; }
int nvrtcGetCUBIN(P, char* s) { memset(s, 97, 8); return 0; }
int nvrtcGetProgramLogSize(P, S* n) { *n = 1; return 0; }
int nvrtcGetProgramLog(P, char* s) { *s = 0; return 0; }
int nvrtcAddNameExpression(P, P) { return 0; }
}
"""
BLAS = r"""
#include <stdlib.h>
typedef void* P;
extern "C" {
long products = 0;
int cublasCreate_v2(P* p) { *p = (P)8; return 0; }
int cublasGemmEx() { ++products; return 0; }
int cublasGemmStridedBatchedEx() { ++products; return 0; }
"""
LT = r"""
#include <stdlib.h>
typedef void* P;
extern "C" {
long fused = 0;
int made(P* p) { *p = malloc(8); return 0; }
int cublasLtCreate(P* p) { return made(p); }
int cublasLtMatmulDescCreate(P* p) { return made(p); }
int cublasLtMatrixLayoutCreate(P* p) { return made(p); }
int cublasLtMatmulPreferenceCreate(P* p) { return made(p); }
int cublasLtMatmulDescSetAttribute() { return 0; }
int cublasLtMatmulPreferenceSetAttribute() { return 0; }
int cublasLtMatmulPreferenceDestroy() { return 0; }
int cublasLtMatmulAlgoGetHeuristic(P, P, P, P, P, P, P, int, P, int* found) { *found = 1; return 0; }
int cublasLtMatmul() { ++fused; return 0; }
}
"""


def _library(folder: Path, name: str, code: str, versioned: bool = False) -> ctypes.CDLL:
    """A library of this name, made of C++ code and loaded, so that whoever looks for the name finds it."""
    (folder / "code.cpp").write_text(code)
    (folder / "versions").write_text(f"{name} {{ global: *; }};")
    options = [f"-Wl,--version-script={folder / 'versions'}"] * versioned
    command = ["c++", "-O2", "-w", "-shared", "-fPIC", f"-Wl,-soname,{name}", *options]
    subprocess.run([*command, "-o", folder / name, folder / "code.cpp"], check=True)
    return ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)


def _symbols(library: Path, *options: str) -> list[str]:
    return subprocess.run(["nm", *options, library], capture_output=True, text=True, check=True).stdout.splitlines()  # fmt: skip


def _lead(runtime: Path, target: ctypes.CDLL) -> None:
    """Let the CUDA runtime that is part of a library of CuPy's jump to functions of ours."""
    places = {}
    for line in _symbols(runtime):
        place, kind, name = (
            line.split() if line.count(" ") == 2 and line[0] != " " else ("", "", "")
        )
        if kind in ("t", "T"):
            places[name] = int(place, 16)
    init = ctypes.CDLL(str(runtime)).PyInit_runtime
    base = ctypes.cast(init, ctypes.c_void_p).value or 0
    change, page = ctypes.CDLL(None).mprotect, mmap.PAGESIZE
    for name, place in places.items():
        if re.match("cuda[A-Z]", name):
            function = getattr(target, f"fake_{name}", target.fake_nothing)
            at = base - places["PyInit_runtime"] + place
            assert not change(ctypes.c_void_p(at // page * page), ctypes.c_size_t(2 * page), 7)
            to = ctypes.cast(function, ctypes.c_void_p).value
            ctypes.memmove(
                at, b"\xff\x25" + struct.pack("<iQ", 0, to), 14
            )  # jump to the address that follows


@cache
def install() -> Any:
    """Let CuPy find such a GPU; returns a function that counts launches, copies and products so far."""
    folder = Path(tempfile.mkdtemp())
    os.environ["CUPY_CACHE_DIR"] = str(folder)
    found = importlib.util.find_spec("cupy_backends")
    if found is None or found.origin is None:
        raise RuntimeError("CuPy is not installed")
    backends = Path(found.origin).parent / "cuda"
    (blas,), (runtime,) = backends.glob("libs/cublas.*"), backends.glob("api/runtime.*.so")
    names = _symbols(blas, "-D")
    version = re.search(r"libcublas\.so\.(\d+)", "\n".join(names))
    number = version[1] if version else "12"
    rest = {re.sub("@.*", "", n.split()[-1]) for n in names if " U cublas" in n}
    rest.add("cublasSetWorkspace_v2")
    rest -= set(re.findall(r"int (\w+)\(", BLAS))
    gets = "".join(f"int {n}() {{ return 0; }}\n" for n in sorted(rest))
    cuda = _library(folder, "libcuda.so.1", CUDA)
    _library(folder, f"libnvrtc.so.{number}", NVRTC)
    lt = _library(folder, f"libcublasLt.so.{number}", LT)
    plain = _library(folder, f"libcublas.so.{number}", BLAS + gets + "}", versioned=True)
    _lead(runtime, cuda)
    counters = [(cuda, "launches"), (cuda, "copies"), (plain, "products"), (lt, "fused")]
    return lambda: [ctypes.c_long.in_dll(*where).value for where in counters]
