"""The code of kernels in CUDA C++: those that go over rows, a block of threads for each (softmax and layer norm), and writes to places.

HOLD reads a row, OF is one of its numbers, SET gives one to a row that MAKE made and GIVE writes; EACH goes over a thread's own. With
PACKS, they are registers, PACKS times PACK neighbours for each thread; without, every OF reads memory. KEEP notes what KEPT
needs again, if there are registers for it. Types are those of `sources.py`.
"""

ROWS = """
#if PACKS
union Pack { E v[PACK]; Raw<sizeof(E) * PACK>::type all; };
__device__ int place(int k) { return (k / PACK * (int)blockDim.x + (int)threadIdx.x) * PACK + k % PACK; }
__device__ __forceinline__ void hold(const E* x, T* own, long long n) {
#pragma unroll
  for (int p = 0; p < PACKS; ++p) if (place(p * PACK) < n) {
    Pack pack;
    pack.all = *(const Raw<sizeof(E) * PACK>::type*)(x + place(p * PACK));
#pragma unroll
    for (int e = 0; e < PACK; ++e) own[p * PACK + e] = READ(pack.v[e]);
  }
}
__device__ __forceinline__ void give(E* x, const T* own, long long n) {
#pragma unroll
  for (int p = 0; p < PACKS; ++p) if (place(p * PACK) < n) {
    Pack pack;
#pragma unroll
    for (int e = 0; e < PACK; ++e) pack.v[e] = WRITE(own[p * PACK + e]);
    *(Raw<sizeof(E) * PACK>::type*)(x + place(p * PACK)) = pack.all;
  }
}
#define MAKE(x) T x##_own[PACKS * PACK];
#define HOLD(x) MAKE(x) if (x) hold(x, x##_own, n);
#define OF(x) x##_own[k]
#define SET(x, value) x##_own[k] = value
#define KEEP(x, value) x##_own[k] = value
#define KEPT(x, value) x##_own[k]
#define GIVE(x) give(x, x##_own, n);
#define EACH _Pragma("unroll") for (int k = 0; k < PACKS * PACK; ++k) if (place(k) < n)
#else
#define MAKE(x)
#define HOLD(x)
#define OF(x) READ(x[i])
#define SET(x, value) x[i] = WRITE(value)
#define KEEP(x, value)
#define KEPT(x, value) (value)
#define GIVE(x)
#define EACH for (long long i = threadIdx.x; i < n; i += blockDim.x)
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
extern "C" __global__ void softmax(const E* x, E* out, long long n) {
  x += blockIdx.x * n; out += blockIdx.x * n;
  T top = -INFINITY, sum = 0;
  HOLD(x) MAKE(out)
  EACH top = Larger()(top, OF(x));
  top = of_block(top, T(-INFINITY), Larger());
  EACH { T share = exp(OF(x) - top); KEEP(out, share); sum += share; }
  T part = T(1) / of_block(sum, T(0), Plus());
  EACH SET(out, KEPT(out, exp(OF(x) - top)) * part);
  GIVE(out)
}
extern "C" __global__ void log_softmax(const E* x, E* out, long long n) {
  x += blockIdx.x * n; out += blockIdx.x * n;
  T top = -INFINITY, sum = 0;
  HOLD(x) MAKE(out)
  EACH top = Larger()(top, OF(x));
  top = of_block(top, T(-INFINITY), Larger());
  EACH sum += exp(OF(x) - top);
  sum = log(of_block(sum, T(0), Plus()));
  EACH SET(out, OF(x) - top - sum);
  GIVE(out)
}
extern "C" __global__ void softmax_backward(const E* g, const E* out, E* by_x, long long n) {
  g += blockIdx.x * n; out += blockIdx.x * n; by_x += blockIdx.x * n;
  T sum = 0;
  HOLD(g) HOLD(out) MAKE(by_x)
  EACH sum += OF(g) * OF(out);
  sum = of_block(sum, T(0), Plus());
  EACH SET(by_x, OF(out) * (OF(g) - sum));
  GIVE(by_x)
}
extern "C" __global__ void log_softmax_backward(const E* g, const E* out, E* by_x, long long n) {
  g += blockIdx.x * n; out += blockIdx.x * n; by_x += blockIdx.x * n;
  T sum = 0;
  HOLD(g) HOLD(out) MAKE(by_x)
  EACH sum += OF(g);
  sum = of_block(sum, T(0), Plus());
  EACH SET(by_x, OF(g) - exp(OF(out)) * sum);
  GIVE(by_x)
}
"""

LAYER_NORM = """
extern "C" __global__ void layer_norm(
    const E* x, const E* weight, const E* bias, E* out, T* means, T* scales, T eps, long long n) {
  x += blockIdx.x * n; out += blockIdx.x * n;
  T sum = 0, squares = 0;
  HOLD(x) HOLD(weight) HOLD(bias) MAKE(out)
  EACH sum += OF(x);
  T mean = of_block(sum, T(0), Plus()) / n;
  EACH { T d = OF(x) - mean; squares += d * d; }
  T scale = T(1) / sqrt(of_block(squares, T(0), Plus()) / n + eps);
  EACH {
    T y = (OF(x) - mean) * scale;
    if (weight) y *= OF(weight);
    if (bias) y += OF(bias);
    SET(out, y);
  }
  GIVE(out)
  if (threadIdx.x == 0) { means[blockIdx.x] = mean; scales[blockIdx.x] = scale; }
}
extern "C" __global__ void layer_norm_backward(
    const E* g, const E* x, const E* weight, const T* means, const T* scales, E* by_x, long long n) {
  g += blockIdx.x * n; x += blockIdx.x * n; by_x += blockIdx.x * n;
  T mean = means[blockIdx.x], scale = scales[blockIdx.x], sum = 0, along = 0;
  HOLD(g) HOLD(x) HOLD(weight) MAKE(by_x)
  EACH { T d = OF(g) * (weight ? OF(weight) : T(1)); sum += d; along += d * (OF(x) - mean) * scale; }
  sum = of_block(sum, T(0), Plus()) / n;
  along = of_block(along, T(0), Plus()) / n;
  EACH {
    T d = OF(g) * (weight ? OF(weight) : T(1));
    SET(by_x, scale * (d - sum - (OF(x) - mean) * scale * along));
  }
  GIVE(by_x)
}
"""
