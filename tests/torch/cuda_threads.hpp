// A block of CUDA's threads on the CPU, so that kernels can be run without a GPU.
//
// Each thread is a fiber with a stack of its own. One runs until it waits for its block (__syncthreads) or for its warp (a shuffle, a
// product); when all that are left wait in the same way, they go on. `run_block` runs one block; blocks come one after another.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
using std::isnan; using std::isinf; using std::isfinite; using std::signbit;
#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __align__(n) alignas(n)
#define __launch_bounds__(...)
struct Place { unsigned x, y, z; };
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
static Place blockIdx, threadIdx, blockDim, gridDim;

namespace threads {
enum State { RUNS, FOR_WARP, FOR_BLOCK, ENDED };
struct Fiber { ucontext_t context; void* stack; Place index; State state; };
const size_t MOST = 1024, STACK = 1 << 16;
static Fiber fibers[MOST];
static ucontext_t scheduler;
static size_t current;
static void* kernel;
template <typename F> static void enter() { (*(F*)kernel)(); fibers[current].state = ENDED; swapcontext(&fibers[current].context, &scheduler); }
static void wait(State state) { fibers[current].state = state; swapcontext(&fibers[current].context, &scheduler); threadIdx = fibers[current].index; }
static void release(State state, size_t first, size_t end) {
  // those who wait go on if all others do too, or have ended
  for (size_t i = first; i < end; ++i) if (fibers[i].state != state && fibers[i].state != ENDED) return;
  for (size_t i = first; i < end; ++i) if (fibers[i].state == state) fibers[i].state = RUNS;
}
template <typename F> static void run_block(F call) {
  size_t n = blockDim.x * blockDim.y * blockDim.z;
  kernel = &call;
  for (size_t i = 0; i < n; ++i) {
    Fiber& f = fibers[i];
    f.index = {unsigned(i % blockDim.x), unsigned(i / blockDim.x % blockDim.y), unsigned(i / blockDim.x / blockDim.y)};
    if (!f.stack) f.stack = malloc(STACK);
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack; f.context.uc_stack.ss_size = STACK; f.context.uc_link = &scheduler;
    makecontext(&f.context, enter<F>, 0);
    f.state = RUNS;
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (current = 0; current < n; ++current) {
      if (fibers[current].state != RUNS) continue;
      moved = true;
      threadIdx = fibers[current].index;
      swapcontext(&scheduler, &fibers[current].context);
    }
    for (size_t w = 0; w < n; w += 32) release(FOR_WARP, w, w + 32 < n ? w + 32 : n);
    release(FOR_BLOCK, 0, n);
    for (size_t i = 0; i < n; ++i) moved = moved || fibers[i].state == RUNS;
  }
  for (size_t i = 0; i < n; ++i) if (fibers[i].state != ENDED) { fprintf(stderr, "threads wait for each other forever\n"); abort(); }
}
// What each lane of a warp says, known to all of them.
template <typename X> static const X* said(const X& own) {
  static X all[MOST];
  all[current] = own;
  wait(FOR_WARP);
  return all + current / 32 * 32;
}
}  // namespace threads

static void __syncthreads() { threads::wait(threads::FOR_BLOCK); }
static void __syncwarp() { threads::wait(threads::FOR_WARP); }
template <typename X> static X __shfl_xor_sync(unsigned, X x, int d) {
  X found = threads::said(x)[(threads::current % 32) ^ d];
  __syncwarp();
  return found;
}
template <typename X> static void atomicAdd(X* to, X x) { *to += x; }
template <typename W> static W atomicCAS(W* at, W seen, W made) { W old = *at; if (old == seen) *at = made; return old; }

// --- Numbers of two bytes (bfloat16), and tensor cores

static float __uint_as_float(unsigned bits) { float f; memcpy(&f, &bits, 4); return f; }
static unsigned __float_as_uint(float f) { unsigned bits; memcpy(&bits, &f, 4); return bits; }
static float from_bfloat16(uint16_t h) { return __uint_as_float((unsigned)h << 16); }
static uint16_t to_bfloat16(float f) { unsigned b = __float_as_uint(f); return f != f ? 0x7fc0 : (b + 0x7fff + (b >> 16 & 1)) >> 16; }
static unsigned packed(float low, float high) { return to_bfloat16(low) | (unsigned)to_bfloat16(high) << 16; }
static float power_of_two(float x) { return exp2f(x); }
template <typename E> static void copy_later(E* to, const E* from, bool there) { if (there) memcpy(to, from, 16); else memset(to, 0, 16); }
static void wait_for_copies() {}
struct Row { const uint16_t* numbers; };
static void load_any(unsigned* to, const uint16_t* row, bool transposed) {
  // four matrices of 8 by 8; lane 8 m + r says where row r of matrix m is
  const Row* rows = threads::said(Row{row});
  int lane = threads::current % 32, i = lane / 4, j = lane % 4 * 2;
  for (int m = 0; m < 4; ++m) {
    uint16_t one = transposed ? rows[8 * m + j].numbers[i] : rows[8 * m + i].numbers[j];
    uint16_t two = transposed ? rows[8 * m + j + 1].numbers[i] : rows[8 * m + i].numbers[j + 1];
    to[m] = one | (unsigned)two << 16;
  }
  __syncwarp();
}
static void load_matrices(unsigned* to, const uint16_t* row) { load_any(to, row, false); }
static void load_transposed(unsigned* to, const uint16_t* row) { load_any(to, row, true); }
struct Factors { unsigned a[4], b[2]; };
static float number(unsigned pair, int which) { return from_bfloat16(which ? pair >> 16 : pair & 0xffff); }
static void multiply_add(float* c, const unsigned* a, unsigned b0, unsigned b1) {
  const Factors* all = threads::said(Factors{{a[0], a[1], a[2], a[3]}, {b0, b1}});
  int lane = threads::current % 32;
  for (int e = 0; e < 4; ++e) {
    int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
    float sum = 0;
    for (int k = 0; k < 16; ++k) {
      const Factors& left = all[row % 8 * 4 + k % 8 / 2];
      const Factors& right = all[column * 4 + k % 8 / 2];
      sum += number(left.a[row / 8 + k / 8 * 2], k % 2) * number(right.b[k / 8], k % 2);
    }
    c[e] += sum;
  }
  __syncwarp();
}
#define MOST_THREADS(blocks)
#define SHARED_MEMORY alignas(128) static E memory[1 << 17];
