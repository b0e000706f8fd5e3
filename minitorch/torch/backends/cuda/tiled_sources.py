"""The code of kernels in CUDA C++: attention of short sequences, a block of threads for TILE queries, or keys, of a head.

Rows of up to WIDTH numbers lie in shared memory, and so do the scores of TILE queries and TILE keys. Types, and the structure
`Places`, are those of `sources.py`.
"""

TILED = """
#define TILE 32
#define EVERY(i, n) for (int i = threadIdx.x; i < (n); i += blockDim.x)
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
typedef T Rows[TILE][WIDTH + 1];
typedef T Scores[TILE][TILE + 1];
__device__ void fetch(Rows& to, const E* from, long long step, int count, int width) {
  // rows of a tile, with zeros beyond them
  EVERY(i, TILE * WIDTH) {
    int r = i / WIDTH, e = i % WIDTH;
    to[r][e] = r < count && e < width ? READ(from[r * step + e]) : T(0);
  }
}
__device__ void dots_of(Scores& to, Rows& a, Rows& b) {
  EVERY(i, TILE * 8) {
    int r = i / 8, c = i % 8;
    T sums[4] = {0, 0, 0, 0};
#pragma unroll
    for (int e = 0; e < WIDTH; ++e) for (int j = 0; j < 4; ++j) sums[j] += a[r][e] * b[c + 8 * j][e];
    for (int j = 0; j < 4; ++j) to[r][c + 8 * j] = sums[j];
  }
}
__device__ void mix(Rows& to, Scores& shares, Rows& rows, const T* factors) {
  // to[r] = factors[r] to[r] + sum of shares[r][c] rows[c]
  EVERY(i, TILE * 8) {
    int r = i / 8, first = i % 8;
    T sums[WIDTH / 8], factor = factors ? factors[r] : T(1);
    for (int j = 0; j < WIDTH / 8; ++j) sums[j] = factor * to[r][first + 8 * j];
#pragma unroll 4
    for (int c = 0; c < TILE; ++c) for (int j = 0; j < WIDTH / 8; ++j) sums[j] += shares[r][c] * rows[c][first + 8 * j];
    for (int j = 0; j < WIDTH / 8; ++j) to[r][first + 8 * j] = sums[j];
  }
}
#define BLOCK_OF int head = blockIdx.y % heads, batch = blockIdx.y / heads, first = blockIdx.x * TILE;
#define CLEAR(rows) EVERY(i, TILE * WIDTH) rows[i / WIDTH][i % WIDTH] = 0;
#define FETCH(to, array, places, from, all, n) fetch(to, OWN(array, places, from), places.row, LEAST(TILE, (all) - (from)), n)
extern "C" __global__ void tiled_attention(
    const E* query, const E* key, const E* value, E* out, T* sums, Places q, Places k, Places v, Places o,
    int heads, int queries, int keys, int width, int wide, T scale, bool causal) {
  __shared__ Rows own, other, mixed;
  __shared__ Scores scores;
  __shared__ T tops[TILE], totals[TILE], factors[TILE];
  BLOCK_OF
  FETCH(own, query, q, first, queries, width);
  CLEAR(mixed)
  EVERY(r, TILE) { tops[r] = -INFINITY; totals[r] = 0; }
  int last = causal ? LEAST(keys, first + TILE) : keys;
  for (int start = 0; start < last; start += TILE) {
    __syncthreads();
    FETCH(other, key, k, start, keys, width);
    __syncthreads();
    dots_of(scores, own, other);
    __syncthreads();
    FETCH(other, value, v, start, keys, wide);
    EVERY(r, TILE) {
      int end = LEAST(TILE, keys - start);
      if (causal) end = LEAST(end, first + r - start + 1);
      T top = tops[r], sum = 0;
      for (int c = 0; c < end; ++c) { T s = scale * scores[r][c]; top = s > top || s != s ? s : top; }
      for (int c = 0; c < TILE; ++c) sum += scores[r][c] = c < end ? exp(scale * scores[r][c] - top) : T(0);
      factors[r] = end > 0 ? exp(tops[r] - top) : T(1);
      totals[r] = totals[r] * factors[r] + sum; tops[r] = top;
    }
    __syncthreads();
    mix(mixed, scores, other, factors);
  }
  __syncthreads();
  EVERY(i, TILE * WIDTH) {
    int r = i / WIDTH, e = i % WIDTH;
    if (first + r < queries && e < wide) OWN(out, o, first + r)[e] = WRITE(mixed[r][e] / totals[r]);
  }
  sums += 2 * ((long long)blockIdx.y * queries + first);
  EVERY(r, TILE) if (first + r < queries) { sums[2 * r] = tops[r]; sums[2 * r + 1] = totals[r]; }
}
extern "C" __global__ void tiled_attention_by_query(
    const E* grad, const E* query, const E* key, const E* value, const T* sums, E* by_query, T* dots,
    Places g, Places q, Places k, Places v, Places o,
    int heads, int queries, int keys, int width, int wide, T scale, bool causal) {
  // with shares p and their gradients d: sum of p (d - sum of p d) key; the inner sum comes first
  __shared__ Rows own, slope, other, mixed;
  __shared__ Scores scores, slopes;
  __shared__ T both[TILE];
  BLOCK_OF
  long long at = (long long)blockIdx.y * queries + first;
  FETCH(own, query, q, first, queries, width);
  FETCH(slope, grad, g, first, queries, wide);
  CLEAR(mixed)
  EVERY(r, TILE) both[r] = 0;
  int last = causal ? LEAST(keys, first + TILE) : keys;
  for (int turn = 0; turn < 2; ++turn) for (int start = 0; start < last; start += TILE) {
    __syncthreads();
    FETCH(other, value, v, start, keys, wide);
    __syncthreads();
    dots_of(slopes, slope, other);
    __syncthreads();
    FETCH(other, key, k, start, keys, width);
    __syncthreads();
    dots_of(scores, own, other);
    __syncthreads();
    EVERY(i, TILE * TILE) {
      int r = i / TILE, c = i % TILE;
      bool seen = first + r < queries && start + c < keys && (!causal || start + c <= first + r);
      T share = seen ? exp(scale * scores[r][c] - sums[2 * (at + r)]) / sums[2 * (at + r) + 1] : T(0);
      scores[r][c] = turn ? share * (slopes[r][c] - both[r]) : share * slopes[r][c];
    }
    __syncthreads();
    if (turn) mix(mixed, scores, other, 0);
    else EVERY(r, TILE) for (int c = 0; c < TILE; ++c) both[r] += scores[r][c];
  }
  __syncthreads();
  EVERY(i, TILE * WIDTH) {
    int r = i / WIDTH, e = i % WIDTH;
    if (first + r < queries && e < width) OWN(by_query, o, first + r)[e] = WRITE(scale * mixed[r][e]);
  }
  EVERY(r, TILE) if (first + r < queries) dots[at + r] = both[r];
}
extern "C" __global__ void tiled_attention_by_key(
    const E* grad, const E* query, const E* key, const E* value, const T* sums, const T* dots, E* by_key, E* by_value,
    Places g, Places q, Places k, Places v, Places ok, Places ov,
    int heads, int queries, int keys, int width, int wide, T scale, bool causal) {
  // blocks with blockIdx.z = 0: the gradient of keys, sum of p (d - dots) query; others: that of values, sum of p grad
  __shared__ Rows own, values, other, made;
  __shared__ Scores scores, slopes;
  BLOCK_OF
  bool of_keys = blockIdx.z == 0;
  long long at = (long long)blockIdx.y * queries;
  FETCH(own, key, k, first, keys, width);
  if (of_keys) FETCH(values, value, v, first, keys, wide);
  CLEAR(made)
  for (int start = causal ? first : 0; start < queries; start += TILE) {
    if (of_keys) {
      __syncthreads();
      FETCH(other, grad, g, start, queries, wide);
      __syncthreads();
      dots_of(slopes, values, other);
    }
    __syncthreads();
    FETCH(other, query, q, start, queries, width);
    __syncthreads();
    dots_of(scores, own, other);
    __syncthreads();
    EVERY(i, TILE * TILE) {
      int r = i / TILE, c = i % TILE;
      bool seen = first + r < keys && start + c < queries && (!causal || first + r <= start + c);
      T share = seen ? exp(scale * scores[r][c] - sums[2 * (at + start + c)]) / sums[2 * (at + start + c) + 1] : T(0);
      scores[r][c] = !seen ? T(0) : of_keys ? scale * share * (slopes[r][c] - dots[at + start + c]) : share;
    }
    if (!of_keys) { __syncthreads(); FETCH(other, grad, g, start, queries, wide); }
    __syncthreads();
    mix(made, scores, other, 0);
  }
  __syncthreads();
  EVERY(i, TILE * WIDTH) {
    int r = i / WIDTH, e = i % WIDTH;
    if (first + r >= keys || e >= (of_keys ? width : wide)) continue;
    if (of_keys) OWN(by_key, ok, first + r)[e] = WRITE(made[r][e]);
    else OWN(by_value, ov, first + r)[e] = WRITE(made[r][e]);
  }
}
"""
