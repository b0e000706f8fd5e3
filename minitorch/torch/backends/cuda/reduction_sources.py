"""The code of kernels in CUDA C++: sums and extremes of rows and of columns, and rows repeated. Types are those of `sources.py`."""

SUMS_OF_ROWS = """
extern "C" __global__ void spread(const E* row, E* out, long long columns, long long size) {
  // out[r, c] = row[c]
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) out[i] = row[i % columns];
}
__device__ T of_column(T own) {
  // what the threads of a column of a block have, added up
  __shared__ T parts[1024];
  int at = threadIdx.y * blockDim.x + threadIdx.x;
  __syncthreads();
  parts[at] = own;
  for (int half = blockDim.y / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) parts[at] += parts[at + half * blockDim.x];
  }
  return parts[at];
}
extern "C" __global__ void sum_of_rows(const E* x, E* out, long long rows, long long columns) {
  // a block for some columns; the threads of a column take turns at its rows
  long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  T sum = 0;
  if (c < columns)
#pragma unroll 4
    for (long long r = threadIdx.y; r < rows; r += blockDim.y) sum += READ(x[r * columns + c]);
  sum = of_column(sum);
  if (threadIdx.y == 0 && c < columns) out[c] = WRITE(sum);
}
extern "C" __global__ void layer_norm_sums(
    const E* g, const E* x, const T* means, const T* scales, T* by_weight, T* by_bias, long long rows, long long columns, long long each) {
  // a block for some columns of a part of the rows; the threads of a column take turns
  long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * each, last = first + each < rows ? first + each : rows;
  T sum = 0, along = 0;
  if (c < columns) for (long long r = first + threadIdx.y; r < last; r += blockDim.y) {
    T d = READ(g[r * columns + c]);
    sum += d; along += d * (READ(x[r * columns + c]) - means[r]) * scales[r];
  }
  sum = of_column(sum); along = of_column(along);
  if (threadIdx.y == 0 && c < columns) { by_weight[blockIdx.y * columns + c] = along; by_bias[blockIdx.y * columns + c] = sum; }
}
"""

REDUCE = """
// x (outer, n, inner) in parts of `each` along n to out (outer, parts, inner); NONE joined with a number is that number
template <typename E, int count> union Some { E v[count]; typename Raw<sizeof(E) * count>::type all; };
__device__ __forceinline__ void join_pack(T* own, const E* x) {
  Some<E, PACK> pack;
  pack.all = *(const typename Raw<sizeof(E) * PACK>::type*)x;
#pragma unroll
  for (int e = 0; e < PACK; ++e) own[e] = HOW()(own[e], READ(pack.v[e]));
}
extern "C" __global__ void reduce_columns(
    const E* x, O* out, long long outer, long long n, long long inner, long long each, T divisor) {
  // the threads of a column take turns at its rows
  __shared__ T parts[256][PACK];
  long long blocks = (inner + blockDim.x * PACK - 1) / (blockDim.x * PACK), o = blockIdx.x / blocks;
  long long c = (blockIdx.x % blocks * blockDim.x + threadIdx.x) * PACK, first = blockIdx.y * each;
  long long last = first + each < n ? first + each : n;
  T own[PACK];
#pragma unroll
  for (int e = 0; e < PACK; ++e) own[e] = NONE;
  if (c < inner) {
    x += o * n * inner + c;
#pragma unroll 4
    for (long long r = first + threadIdx.y; r < last; r += blockDim.y) join_pack(own, x + r * inner);
  }
  T* mine = parts[threadIdx.y * blockDim.x + threadIdx.x];
#pragma unroll
  for (int e = 0; e < PACK; ++e) mine[e] = own[e];
  for (int half = blockDim.y / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half)
      for (int e = 0; e < PACK; ++e) mine[e] = HOW()(mine[e], mine[half * blockDim.x * PACK + e]);
  }
  if (threadIdx.y || c >= inner) return;
  out += (o * gridDim.y + blockIdx.y) * inner + c;
  for (int e = 0; e < PACK; ++e) out[e] = PUT(mine[e] / divisor);
}
extern "C" __global__ void reduce_rows(
    const E* x, O* out, long long outer, long long n, long long inner, long long each, T divisor) {
  // a row of threads, a warp or the whole block, for each row of x
  long long o = (long long)blockIdx.x * blockDim.y + threadIdx.y, first = blockIdx.y * each;
  long long last = first + each < n ? first + each : n;
  T own[PACK];
#pragma unroll
  for (int e = 0; e < PACK; ++e) own[e] = NONE;
  if (o < outer) {
#pragma unroll 4
    for (long long i = first + threadIdx.x * PACK; i < last; i += blockDim.x * PACK) join_pack(own, x + o * n + i);
  }
#pragma unroll
  for (int e = 1; e < PACK; ++e) own[0] = HOW()(own[0], own[e]);
  T all = own[0];
  if (blockDim.y == 1) all = of_block(all, NONE, HOW());
  else for (int d = 16; d; d /= 2) all = HOW()(all, __shfl_xor_sync(0xffffffff, all, d));
  if (threadIdx.x == 0 && o < outer) out[o * gridDim.y + blockIdx.y] = PUT(all / divisor);
}
"""
