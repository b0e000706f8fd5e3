"""The code of kernels in CUDA C++: attention of numbers of two bytes by tensor cores, which keeps scores in registers only.

A warp has 16 or 32 rows (GROUPS of 16) of a block's 128 and goes through the other side (keys, or in the gradient of keys queries) a tile of TILE rows after
another; while it computes with one tile, the next is copied into shared memory. Scores are base-2 logarithms, since that is what exp2 takes.

A warp multiplies matrices of 16 by 16 and 16 by 8 numbers. Its lanes hold the first in registers a[4] of two numbers each (rows lane / 4
and 8 below, columns 2 (lane % 4) and 8 on), the second in b0 and b1, and sums c[4] in the places of a[0] and a[1]: so the sums of one product,
rounded, are the first matrix of the next.
"""

PRIMITIVES = """
__device__ unsigned in_shared(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void load_matrices(unsigned* to, const E* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(in_shared(row)));
}
__device__ __forceinline__ void load_transposed(unsigned* to, const E* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(in_shared(row)));
}
__device__ __forceinline__ void multiply_add(float* c, const unsigned* a, unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32." PAIRS "." PAIRS ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ unsigned packed(float low, float high) {
  unsigned pair;
  asm("cvt.rn." PAIRS "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ float power_of_two(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__device__ __forceinline__ void copy_later(E* to, const E* from, bool there) {
  // 16 bytes, or zeros
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(in_shared(to)), "l"(from), "r"(there ? 16 : 0));
}
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory"); }
#define MOST_THREADS(blocks) __launch_bounds__(32 * WARPS, blocks)
#define SHARED_MEMORY extern __shared__ __align__(128) E memory[];
"""
"""What tensor cores and copies are called; PAIRS names the type of two bytes."""

FLASH = """
#define WARPS (8 / GROUPS)
#define ROWS 128
#define TILE 64
#define STEP 64
#define FEW 32
#define CHUNKS (WIDTH / 8)
#define AT_ONCE (32 * WARPS / CHUNKS)
#define UNROLLED(i, count) _Pragma("unroll") for (int i = 0; i < count; ++i)
#define EACH_SUM(columns) UNROLLED(m, GROUPS) UNROLLED(n, columns / 8) UNROLLED(e, 4)
#define LOG2E 1.4426950408889634f
struct Places { long long batch, head, row; };  // how far the next of each is, in elements
struct Sizes { int heads, queries, keys, width, wide; };
#define OWN(array, places) (array + batch * places.batch + head * places.head)

// --- Tiles: rows of WIDTH numbers in shared memory, chunks of 8 in an order in which 8 rows lie in different banks

__device__ __forceinline__ int at(int row, int chunk) {
  return row * WIDTH + (chunk ^ (CHUNKS >= 8 ? row & 7 : row >> 1 & 3)) * 8;
}
__device__ __forceinline__ void copy_tile(E* tile, int rows, const E* from, long long step, int first, int count, int width) {
  // a thread copies the same chunk of every AT_ONCE-th row, which has the same order: addresses only move on
  int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
  const E* own = from + (first + row) * step + chunk * 8;
  E* to = tile + at(row, chunk);
  int left = chunk * 8 < width ? count - first - row : 0;
#pragma unroll
  for (int i = 0; i < rows; i += AT_ONCE, own += AT_ONCE * step) copy_later(to + i * WIDTH, i < left ? own : from, i < left);
}
__device__ __forceinline__ void copy_facts(float* to, const float* from) {
  if (threadIdx.x < TILE / 2) copy_later((E*)(to + 4 * threadIdx.x), (const E*)(from + 4 * threadIdx.x), true);
}
typedef float Sums[4];
template <int columns> __device__ __forceinline__ void clear(Sums (*c)[columns / 8]) {
  UNROLLED(m, GROUPS) UNROLLED(n, columns / 8) c[m][n][0] = c[m][n][1] = c[m][n][2] = c[m][n][3] = 0;
}
template <int columns> __device__ __forceinline__ void by_rows(Sums (*c)[columns / 8], const E* a, int row, const E* b) {
  // c (16 GROUPS, columns) = rows of a times the rows of b
  int lane = threadIdx.x % 32;
  clear<columns>(c);
  UNROLLED(k, WIDTH / 16) {
    unsigned own[GROUPS][4], pairs[columns / 16][4];
    UNROLLED(m, GROUPS) load_matrices(own[m], a + at(row + 16 * m + lane % 16, 2 * k + lane / 16));
    UNROLLED(n, columns / 16)
      load_matrices(pairs[n], b + at(16 * n + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
    UNROLLED(n, columns / 16) UNROLLED(m, GROUPS) {
      multiply_add(c[m][2 * n], own[m], pairs[n][0], pairs[n][1]);
      multiply_add(c[m][2 * n + 1], own[m], pairs[n][2], pairs[n][3]);
    }
  }
}
template <int rows> __device__ __forceinline__ void add_mixed(Sums (*c)[WIDTH / 8], Sums (*a)[rows / 8], const E* b) {
  // c (16 GROUPS, WIDTH) += a (16 GROUPS, rows), rounded, times b
  int lane = threadIdx.x % 32;
  UNROLLED(k, rows / 16) {
    unsigned own[GROUPS][4], pairs[WIDTH / 16][4];
    UNROLLED(n, WIDTH / 16) load_transposed(pairs[n], b + at(16 * k + lane % 16, 2 * n + lane / 16));
    UNROLLED(m, GROUPS) UNROLLED(e, 4) own[m][e] = packed(a[m][2 * k + e / 2][e % 2 * 2], a[m][2 * k + e / 2][e % 2 * 2 + 1]);
    UNROLLED(n, WIDTH / 16) UNROLLED(m, GROUPS) {
      multiply_add(c[m][2 * n], own[m], pairs[n][0], pairs[n][1]);
      multiply_add(c[m][2 * n + 1], own[m], pairs[n][2], pairs[n][3]);
    }
  }
}
__device__ __forceinline__ void give(E* to, long long step, int row, int count, int width, Sums* c, float above, float below) {
  // a group's sums, scaled, into rows of memory
  int lane = threadIdx.x % 32, upper = row + lane / 4, lower = upper + 8;
  UNROLLED(n, WIDTH / 8) {
    int column = 8 * n + lane % 4 * 2;
    if (column >= width) continue;
    if (upper < count) *(unsigned*)(to + upper * step + column) = packed(c[n][0] * above, c[n][1] * above);
    if (lower < count) *(unsigned*)(to + lower * step + column) = packed(c[n][2] * below, c[n][3] * below);
  }
}
__device__ __forceinline__ float of_four(float x) { x += __shfl_xor_sync(0xffffffff, x, 1); return x + __shfl_xor_sync(0xffffffff, x, 2); }
__device__ __forceinline__ float top_of_four(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1)); return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}

// --- Kernels

// Blocks start in the order of x, then y. Where queries see only keys before them, the longest ones of all heads come first; else one head after another.
__device__ __forceinline__ int own_rows(bool causal) { return causal ? blockIdx.y : (blockIdx.y * gridDim.x + blockIdx.x) % gridDim.y; }
__device__ __forceinline__ int own_group(bool causal) { return causal ? blockIdx.x : (blockIdx.y * gridDim.x + blockIdx.x) / gridDim.y; }

extern "C" __global__ void MOST_THREADS(BLOCKS) flash(
    const E* query, const E* key, const E* value, E* out, float* sums, Places q, Places k, Places v, Places o, Sizes size,
    float scale, bool causal) {
  // a row of `sums` has the largest score, the sum of exp(score - largest), and a copy of the row of `out`
  SHARED_MEMORY
  E *queries = memory, *keys = queries + ROWS * WIDTH, *values = keys + 2 * TILE * WIDTH;
  int first = (gridDim.y - 1 - own_rows(causal)) * ROWS, group = own_group(causal), head = group % size.heads, batch = group / size.heads;
  int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 * GROUPS, mine = first + row + lane / 4;  // its rows: mine + 16 m, and 8 below
  int seen = causal && first + ROWS < size.keys ? first + ROWS : size.keys, tiles = (seen + TILE - 1) / TILE;
  query = OWN(query, q); key = OWN(key, k); value = OWN(value, v);
  copy_tile(queries, ROWS, query, q.row, first, size.queries, size.width);
  copy_tile(keys, TILE, key, k.row, 0, size.keys, size.width);
  copy_tile(values, TILE, value, v.row, 0, size.keys, size.wide);
  Sums mixed[GROUPS][WIDTH / 8];
  float top[GROUPS][2], sum[GROUPS][2], factor = scale * LOG2E;
  UNROLLED(m, GROUPS) { top[m][0] = top[m][1] = -INFINITY; sum[m][0] = sum[m][1] = 0; }
  clear<WIDTH>(mixed);
  for (int t = 0; t < tiles; ++t) {
    wait_for_copies();
    __syncthreads();
    int now = t % 2 * TILE * WIDTH, next = TILE * WIDTH - now;
    if (t + 1 < tiles) {
      copy_tile(keys + next, TILE, key, k.row, (t + 1) * TILE, size.keys, size.width);
      copy_tile(values + next, TILE, value, v.row, (t + 1) * TILE, size.keys, size.wide);
    }
#pragma unroll
    for (int part = 0; part < TILE; part += STEP) {
      Sums scores[GROUPS][STEP / 8];
      by_rows<STEP>(scores, queries, row, keys + now + part * WIDTH);
      if ((t + 1) * TILE > size.keys || (causal && (t + 1) * TILE > first + row + 1)) EACH_SUM(STEP) {
        int j = t * TILE + part + lane % 4 * 2 + 8 * n + e % 2;
        if (j >= size.keys || (causal && j > mine + 16 * m + e / 2 * 8)) scores[m][n][e] = -INFINITY;
      }
      UNROLLED(m, GROUPS) UNROLLED(half, 2) {
        float higher = top[m][half];
        UNROLLED(n, STEP / 8) higher = fmaxf(higher, fmaxf(scores[m][n][2 * half], scores[m][n][2 * half + 1]));
        higher = top_of_four(higher);
        float base = higher == -INFINITY ? 0.0f : higher * factor, old = power_of_two(top[m][half] * factor - base), all = 0;
        top[m][half] = higher;
        UNROLLED(n, STEP / 8)
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) all += scores[m][n][e] = power_of_two(scores[m][n][e] * factor - base);
        sum[m][half] = sum[m][half] * old + all;
        UNROLLED(n, WIDTH / 8) { mixed[m][n][2 * half] *= old; mixed[m][n][2 * half + 1] *= old; }
      }
      add_mixed<STEP>(mixed, scores, values + now + part * WIDTH);
    }
  }
  int columns = 2 + size.wide / 2;
  sums += (long long)group * size.queries * columns;
  UNROLLED(m, GROUPS) {
    float part[2];
    UNROLLED(half, 2) {
      float all = of_four(sum[m][half]);
      int own = mine + 16 * m + 8 * half;
      part[half] = 1.0f / all;
      if (lane % 4 == 0 && own < size.queries) { sums[(long long)own * columns] = top[m][half] * scale; sums[(long long)own * columns + 1] = all; }
    }
    give(OWN(out, o), o.row, first + row + 16 * m, size.queries, size.wide, mixed[m], part[0], part[1]);
    give((E*)(sums + 2), 2 * columns, first + row + 16 * m, size.queries, size.wide, mixed[m], part[0], part[1]);
  }
}
#define PADDED (TILE * ((size.queries + TILE - 1) / TILE))
extern "C" __global__ void flash_facts(const E* grad, const float* sums, float* facts, Places g, Sizes size, int count) {
  // facts (heads, PADDED, 2) of each query: the base-2 logarithm of the sum of exp(score), and the product of its output and its gradient
  int i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (i >= count) return;
  int row = i % size.queries, head = i / size.queries % size.heads, batch = i / size.queries / size.heads;
  sums += (long long)i * (2 + size.wide / 2);
  const E *out = (const E*)(sums + 2), *slope = OWN(grad, g) + row * g.row;
  float dot = 0;
  for (int e = lane; e < size.wide; e += 32) dot += READ(out[e]) * READ(slope[e]);
  for (int d = 16; d; d /= 2) dot += __shfl_xor_sync(0xffffffff, dot, d);
  facts += 2 * ((long long)i / size.queries * PADDED + row);
  if (lane == 0) { facts[0] = (sums[0] + log(sums[1])) * LOG2E; facts[1] = dot; }
}
extern "C" __global__ void MOST_THREADS(BLOCKS) flash_by_query(
    const E* grad, const E* query, const E* key, const E* value, const float* facts, E* by_query,
    Places g, Places q, Places k, Places v, Places o, Sizes size, float scale, bool causal) {
  // with shares p and their gradients d: the sum of p (d - sum of p d) key
  SHARED_MEMORY
  E *queries = memory, *grads = queries + ROWS * WIDTH, *keys = grads + ROWS * WIDTH, *values = keys + 2 * TILE * WIDTH;
  int first = (gridDim.y - 1 - own_rows(causal)) * ROWS, group = own_group(causal), head = group % size.heads, batch = group / size.heads;
  int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 * GROUPS, mine = first + row + lane / 4;  // its rows: mine + 16 m, and 8 below
  int seen = causal && first + ROWS < size.keys ? first + ROWS : size.keys, tiles = (seen + TILE - 1) / TILE;
  query = OWN(query, q); key = OWN(key, k); value = OWN(value, v);
  copy_tile(queries, ROWS, query, q.row, first, size.queries, size.width);
  copy_tile(grads, ROWS, OWN(grad, g), g.row, first, size.queries, size.wide);
  copy_tile(keys, TILE, key, k.row, 0, size.keys, size.width);
  copy_tile(values, TILE, value, v.row, 0, size.keys, size.wide);
  Sums mixed[GROUPS][WIDTH / 8];
  float logs[GROUPS][2], dots[GROUPS][2];
  UNROLLED(m, GROUPS) UNROLLED(half, 2) {
    int i = mine + 16 * m + 8 * half;
    const float* own = facts + 2 * ((long long)group * PADDED + i);
    logs[m][half] = i < size.queries ? own[0] : 0.0f; dots[m][half] = i < size.queries ? own[1] : 0.0f;
  }
  clear<WIDTH>(mixed);
  for (int t = 0; t < tiles; ++t) {
    wait_for_copies();
    __syncthreads();
    int now = t % 2 * TILE * WIDTH, next = TILE * WIDTH - now;
    if (t + 1 < tiles) {
      copy_tile(keys + next, TILE, key, k.row, (t + 1) * TILE, size.keys, size.width);
      copy_tile(values + next, TILE, value, v.row, (t + 1) * TILE, size.keys, size.wide);
    }
    bool partly = (t + 1) * TILE > size.keys || (causal && (t + 1) * TILE > first + row + 1);
#pragma unroll
    for (int part = 0; part < TILE; part += FEW) {
      Sums scores[GROUPS][FEW / 8], slopes[GROUPS][FEW / 8];
      by_rows<FEW>(scores, queries, row, keys + now + part * WIDTH);
      by_rows<FEW>(slopes, grads, row, values + now + part * WIDTH);
      EACH_SUM(FEW) {
        float share = power_of_two(scores[m][n][e] * (scale * LOG2E) - logs[m][e / 2]);
        scores[m][n][e] = share * (slopes[m][n][e] - dots[m][e / 2]);
      }
      if (partly) EACH_SUM(FEW) {
        int j = t * TILE + part + lane % 4 * 2 + 8 * n + e % 2;
        if (j >= size.keys || (causal && j > mine + 16 * m + e / 2 * 8)) scores[m][n][e] = 0;
      }
      add_mixed<FEW>(mixed, scores, keys + now + part * WIDTH);
    }
  }
  UNROLLED(m, GROUPS)
    give(OWN(by_query, o), o.row, first + row + 16 * m, size.queries, size.width, mixed[m], scale, scale);
}
__device__ __forceinline__ void only_seen(Sums (*shares)[FEW / 8], int query, int mine, int queries, bool causal) {
  // zeros where a query does not see a key, or is none
  EACH_SUM(FEW) {
    int i = query + 8 * n + e % 2;
    if (i >= queries || (causal && i < mine + 16 * m + e / 2 * 8)) shares[m][n][e] = 0;
  }
}
extern "C" __global__ void MOST_THREADS(BLOCKS) flash_by_key(
    const E* grad, const E* query, const E* key, const E* value, const float* facts, E* by_key, E* by_value,
    Places g, Places q, Places k, Places v, Places ok, Places ov, Sizes size, float scale, bool causal) {
  // a block has 128 keys and goes through the queries that see them: its scores are (keys, queries)
  SHARED_MEMORY
  E *keys = memory, *values = keys + ROWS * WIDTH, *queries = values + ROWS * WIDTH, *grads = queries + 2 * TILE * WIDTH;
  float* known = (float*)(grads + 2 * TILE * WIDTH);
  int first = own_rows(causal) * ROWS, group = own_group(causal), head = group % size.heads, batch = group / size.heads;
  int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 * GROUPS, mine = first + row + lane / 4;  // its rows: mine + 16 m, and 8 below
  int begin = causal ? first / TILE : 0, tiles = (size.queries + TILE - 1) / TILE;
  query = OWN(query, q); grad = OWN(grad, g);
  facts += (long long)group * PADDED * 2;
  copy_tile(keys, ROWS, OWN(key, k), k.row, first, size.keys, size.width);
  copy_tile(values, ROWS, OWN(value, v), v.row, first, size.keys, size.wide);
  if (begin < tiles) {
    copy_tile(queries, TILE, query, q.row, begin * TILE, size.queries, size.width);
    copy_tile(grads, TILE, grad, g.row, begin * TILE, size.queries, size.wide);
    copy_facts(known, facts + 2 * begin * TILE);
  }
  Sums to_key[GROUPS][WIDTH / 8], to_value[GROUPS][WIDTH / 8];
  clear<WIDTH>(to_key); clear<WIDTH>(to_value);
  for (int t = begin; t < tiles; ++t) {
    wait_for_copies();
    __syncthreads();
    int now = (t - begin) % 2 * TILE * WIDTH, next = TILE * WIDTH - now, of_tile = (t - begin) % 2 * 2 * TILE;
    if (t + 1 < tiles) {
      copy_tile(queries + next, TILE, query, q.row, (t + 1) * TILE, size.queries, size.width);
      copy_tile(grads + next, TILE, grad, g.row, (t + 1) * TILE, size.queries, size.wide);
      copy_facts(known + (2 * TILE - of_tile), facts + 2 * (t + 1) * TILE);
    }
    bool partly = (t + 1) * TILE > size.queries || (causal && t * TILE < first + row + 16 * GROUPS);
#pragma unroll
    for (int part = 0; part < TILE; part += FEW) {
      Sums shares[GROUPS][FEW / 8], slopes[GROUPS][FEW / 8];
      const float* own = known + of_tile + 2 * (part + lane % 4 * 2);
      int query_at = t * TILE + part + lane % 4 * 2;
      by_rows<FEW>(shares, keys, row, queries + now + part * WIDTH);
      EACH_SUM(FEW) shares[m][n][e] = power_of_two(shares[m][n][e] * (scale * LOG2E) - own[2 * (8 * n + e % 2)]);
      if (partly) only_seen(shares, query_at, mine, size.queries, causal);
      add_mixed<FEW>(to_value, shares, grads + now + part * WIDTH);
      by_rows<FEW>(slopes, values, row, grads + now + part * WIDTH);
      EACH_SUM(FEW) shares[m][n][e] *= slopes[m][n][e] - own[2 * (8 * n + e % 2) + 1];
      if (partly) only_seen(shares, query_at, mine, size.queries, causal);
      add_mixed<FEW>(to_key, shares, queries + now + part * WIDTH);
    }
  }
  UNROLLED(m, GROUPS) {
    give(OWN(by_key, ok), ok.row, first + row + 16 * m, size.keys, size.width, to_key[m], scale, scale);
    give(OWN(by_value, ov), ov.row, first + row + 16 * m, size.keys, size.wide, to_value[m], 1.0f, 1.0f);
  }
}
"""
