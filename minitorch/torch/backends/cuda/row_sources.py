"""The code of kernels in CUDA C++: those that go over rows, a block of threads for each (softmax and layer norm), and writes to places.

A block is (threads of a row, rows). HOLD reads a row, OF is one of its numbers, SET gives one to a row that MAKE made and GIVE writes; EACH goes
over a thread's own. With PACKS, they are registers, PACKS times PACK neighbours for each thread; without, every OF reads memory. KEEP notes
what KEPT needs again, if it can be kept in registers and EXACT. A row that is not there has no numbers. Types are those of `sources.py`.
"""

ROWS = """
template <typename Join> __device__ T of_row(T own, T none, Join join) {
  // one number of each thread of a row joined, and known to all of them
  if (blockDim.x > 32) return of_block(own, none, join);
  for (int d = blockDim.x / 2; d; d /= 2) own = join(own, __shfl_xor_sync(0xffffffff, own, d));
  return own;
}
#define ROW(row) long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y; if (row >= rows) row = n = 0;
#if PACKS
union Pack { E v[PACK]; Raw<sizeof(E) * PACK>::type all; };
__device__ int place(int p) { return (p * (int)blockDim.x + (int)threadIdx.x) * PACK; }  // of a pack; rows consist of whole ones
__device__ __forceinline__ void hold(const E* x, Pack* own, long long n) {
#pragma unroll
  for (int p = 0; p < PACKS; ++p) if (place(p) < n) own[p].all = *(const Raw<sizeof(E) * PACK>::type*)(x + place(p));
}
__device__ __forceinline__ void give(E* x, const Pack* own, long long n) {
#pragma unroll
  for (int p = 0; p < PACKS; ++p) if (place(p) < n) *(Raw<sizeof(E) * PACK>::type*)(x + place(p)) = own[p].all;
}
#define MAKE(x) Pack x##_own[PACKS];
#define HOLD(x) MAKE(x) if (x) hold(x, x##_own, n);
#define OF(x) READ(x##_own[p].v[e])
#define SET(x, value) x##_own[p].v[e] = WRITE(value)
#define GIVE(x) give(x, x##_own, n);
#define EACH _Pragma("unroll") for (int p = 0; p < PACKS; ++p) if (place(p) < n) _Pragma("unroll") for (int e = 0; e < PACK; ++e)
#else
#define MAKE(x)
#define HOLD(x)
#define OF(x) READ(x[i])
#define SET(x, value) x[i] = WRITE(value)
#define GIVE(x)
#define EACH for (long long i = threadIdx.x; i < n; i += blockDim.x)
#endif
#if PACKS && EXACT
#define KEEP(x, value) x##_own[p].v[e] = value
#define KEPT(x, value) x##_own[p].v[e]
#else
#define KEEP(x, value)
#define KEPT(x, value) (value)
#endif
"""

COMBINE = """
template <int bytes> struct Word;  // what is compared and swapped at once
template <> struct Word<2> { typedef unsigned short type; };
template <> struct Word<4> { typedef unsigned type; };
template <> struct Word<8> { typedef unsigned long long type; };
union Bits { E number; Word<sizeof(E)>::type word; };
__device__ T combined(T a, T b, int how) {
  return how == 0 ? a + b : how == 1 ? a * b : how == 2 ? Larger()(a, b) : -Larger()(-a, -b);
}
extern "C" __global__ void combine(E* target, const long long* places, const E* values, int how, long long size) {
  // each value is added to, multiplied with, or compared with what is at its place
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  Bits seen, made, old;
  E* to = target + places[i];
  old.number = *to;
  do {
    seen = old;
    made.number = WRITE(combined(READ(seen.number), READ(values[i]), how));
    old.word = atomicCAS((Word<sizeof(E)>::type*)to, seen.word, made.word);
  } while (old.word != seen.word);
}
"""

SOFTMAX = """
extern "C" __global__ void softmax(const E* x, E* out, long long n, long long rows) {
  long long size = n;
  ROW(row)
  x += row * size; out += row * size;
  T top = -INFINITY, sum = 0;
  HOLD(x) MAKE(out)
  EACH top = Larger()(top, OF(x));
  top = of_row(top, T(-INFINITY), Larger());
  EACH { T share = EXP(OF(x) - top); KEEP(out, share); sum += share; }
  T part = T(1) / of_row(sum, T(0), Plus());
  EACH SET(out, KEPT(out, EXP(OF(x) - top)) * part);
  GIVE(out)
}
extern "C" __global__ void log_softmax(const E* x, E* out, long long n, long long rows) {
  long long size = n;
  ROW(row)
  x += row * size; out += row * size;
  T top = -INFINITY, sum = 0;
  HOLD(x) MAKE(out)
  EACH top = Larger()(top, OF(x));
  top = of_row(top, T(-INFINITY), Larger());
  EACH sum += EXP(OF(x) - top);
  sum = log(of_row(sum, T(0), Plus()));
  EACH SET(out, OF(x) - top - sum);
  GIVE(out)
}
extern "C" __global__ void softmax_backward(const E* g, const E* out, E* by_x, long long n, long long rows) {
  long long size = n;
  ROW(row)
  g += row * size; out += row * size; by_x += row * size;
  T sum = 0;
  HOLD(g) HOLD(out) MAKE(by_x)
  EACH sum += OF(g) * OF(out);
  sum = of_row(sum, T(0), Plus());
  EACH SET(by_x, OF(out) * (OF(g) - sum));
  GIVE(by_x)
}
extern "C" __global__ void log_softmax_backward(const E* g, const E* out, E* by_x, long long n, long long rows) {
  long long size = n;
  ROW(row)
  g += row * size; out += row * size; by_x += row * size;
  T sum = 0;
  HOLD(g) HOLD(out) MAKE(by_x)
  EACH sum += OF(g);
  sum = of_row(sum, T(0), Plus());
  EACH SET(by_x, OF(g) - EXP(OF(out)) * sum);
  GIVE(by_x)
}
"""

LAYER_NORM = """
extern "C" __global__ void layer_norm(
    const E* x, const E* weight, const E* bias, E* out, T* means, T* scales, T eps, long long n, long long rows) {
  long long size = n;
  ROW(row)
  x += row * size; out += row * size;
  T sum = 0, squares = 0;
  HOLD(x) MAKE(out)
  EACH sum += OF(x);
  T mean = of_row(sum, T(0), Plus()) / n;
  EACH { T d = OF(x) - mean; squares += d * d; }
  T scale = T(1) / sqrt(of_row(squares, T(0), Plus()) / n + eps);
  HOLD(weight) HOLD(bias)
  EACH {
    T y = (OF(x) - mean) * scale;
    if (weight) y *= OF(weight);
    if (bias) y += OF(bias);
    SET(out, y);
  }
  GIVE(out)
  if (threadIdx.x == 0 && n) { means[row] = mean; scales[row] = scale; }
}
extern "C" __global__ void layer_norm_backward(
    const E* g, const E* x, const E* weight, const T* means, const T* scales, E* by_x, long long n, long long rows) {
  long long size = n;
  ROW(row)
  g += row * size; x += row * size; by_x += row * size;
  T mean = means[row], scale = scales[row], sum = 0, along = 0;
  HOLD(g) HOLD(x) HOLD(weight) MAKE(by_x)
  EACH { T d = OF(g) * (weight ? OF(weight) : T(1)); sum += d; along += d * (OF(x) - mean) * scale; }
  sum = of_row(sum, T(0), Plus()) / n;
  along = of_row(along, T(0), Plus()) / n;
  EACH {
    T d = OF(g) * (weight ? OF(weight) : T(1));
    SET(by_x, scale * (d - sum - (OF(x) - mean) * scale * along));
  }
  GIVE(by_x)
}
"""
