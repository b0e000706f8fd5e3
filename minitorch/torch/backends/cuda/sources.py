"""The code of kernels in CUDA C++: arrays side by side, cross entropy, embeddings, windows of images, attention, recurrent steps.

Types: E as it lies in memory, read by READ and written by WRITE; T to compute in; EXP as exact as E needs. `of_block` joins a
number of every thread of a block. All of it is plain C++ besides, so that it is compared with the formulas without a GPU.
"""

RAW = """
template <int bytes> struct Raw;  // what is read at once
template <> struct Raw<1> { typedef unsigned char type; };
template <> struct Raw<2> { typedef unsigned short type; };
template <> struct Raw<4> { typedef unsigned type; };
template <> struct Raw<8> { typedef uint2 type; };
template <> struct Raw<16> { typedef uint4 type; };
template <> struct Raw<32> { struct type { uint4 low, high; }; };
"""
JOINS = """
struct Plus { __device__ T operator()(T a, T b) { return a + b; } };
struct Smaller { __device__ T operator()(T a, T b) { return a < b || a != a ? a : b; } };
struct Larger { __device__ T operator()(T a, T b) { return a > b || a != a ? a : b; } };  // NaN, if one is
"""
OF_BLOCK = """
template <typename Join> __device__ T of_block(T own, T none, Join join) {
  // one number of every thread joined, and known to all of them
  __shared__ T parts[32];
  for (int d = 16; d; d /= 2) own = join(own, __shfl_xor_sync(0xffffffff, own, d));
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = own;
  __syncthreads();
  T all = none;
  for (int w = 0; w < blockDim.x / 32; ++w) all = join(all, parts[w]);
  return all;
}
"""

JOIN = """
struct Parts { long long from[16], ends[16]; };  // addresses, and where in a row of the result each array's part ends
extern "C" __global__ void join(Parts parts, E* out, long long row, long long size) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  long long r = i / row, at = i % row, first = 0;
  int p = 0;
  for (; at >= parts.ends[p]; ++p) first = parts.ends[p];
  out[i] = ((const E*)parts.from[p])[r * (parts.ends[p] - first) + at - first];
}
"""

PUT = """
struct Bytes { long long of[480]; };
extern "C" __global__ void put(Bytes bytes, char* out, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = bytes.of[i / 8] >> i % 8 * 8;
}
"""

CROSS_ENTROPY = """
extern "C" __global__ void cross_entropy(
    const E* x, const long long* targets, const E* weight, E* losses, E* sums, T* shares, long long* wrong,
    long long n, long long ignored, T smoothing) {
  // a block for each row of n scores; sums are its largest score and the log of the sum of exp(x - largest)
  x += blockIdx.x * n;
  T top = -INFINITY, sum = 0, all = 0, total = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) top = Larger()(top, READ(x[i]));
  top = of_block(top, T(-INFINITY), Larger());
  for (long long i = threadIdx.x; i < n; i += blockDim.x) {
    T w = weight ? READ(weight[i]) : T(1);
    sum += exp(READ(x[i]) - top); total += w; all += w * (READ(x[i]) - top);
  }
  sum = log(of_block(sum, T(0), Plus()));
  if (smoothing != T(0)) { total = of_block(total, T(0), Plus()); all = of_block(all, T(0), Plus()); }
  if (threadIdx.x) return;
  long long target = targets[blockIdx.x];
  bool counts = target != ignored;
  if (counts && (target < 0 || target >= n)) { wrong[0] = 1; wrong[1] = target; counts = false; }
  T share = counts ? (weight ? READ(weight[target]) : T(1)) : T(0), loss = 0;
  if (counts) {
    loss = share * (sum - (READ(x[target]) - top));
    if (smoothing != T(0)) loss = (T(1) - smoothing) * loss + smoothing * (total * sum - all) / n;
  }
  losses[blockIdx.x] = WRITE(loss); shares[blockIdx.x] = share;
  sums[2 * blockIdx.x] = WRITE(top); sums[2 * blockIdx.x + 1] = WRITE(sum);
}
extern "C" __global__ void reduced(const E* losses, const T* shares, E* out, T* count, long long rows, bool mean) {
  // one block: the sum of all losses, or their mean
  T sum = 0, n = 0;
  for (long long i = threadIdx.x; i < rows; i += blockDim.x) { sum += READ(losses[i]); n += shares[i]; }
  sum = of_block(sum, T(0), Plus());
  n = of_block(n, T(0), Plus());
  if (threadIdx.x == 0) { count[0] = mean ? n : T(1); out[0] = WRITE(mean ? sum / n : sum); }
}
extern "C" __global__ void cross_entropy_backward(
    const E* g, const E* x, const long long* targets, const E* weight, const E* sums, const T* count, E* by_x,
    long long n, long long ignored, T smoothing, bool one) {
  // g is one number, or one for each row
  x += blockIdx.x * n; by_x += blockIdx.x * n;
  long long target = targets[blockIdx.x];
  T total = 0, shift = READ(sums[2 * blockIdx.x]) + READ(sums[2 * blockIdx.x + 1]);
  if (weight) {
    for (long long i = threadIdx.x; i < n; i += blockDim.x) total += READ(weight[i]);
    total = of_block(total, T(0), Plus());
  } else total = n;
  bool counts = target != ignored && target >= 0 && target < n;
  T grad = counts ? READ(g[one ? 0 : blockIdx.x]) / count[0] : T(0);
  T at_target = grad * (T(1) - smoothing) * (weight && counts ? READ(weight[target]) : T(1));
  T everywhere = grad * smoothing / n;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) {
    T d = exp(READ(x[i]) - shift) * (at_target + everywhere * total);
    d -= everywhere * (weight ? READ(weight[i]) : T(1));
    by_x[i] = WRITE(i == target ? d - at_target : d);
  }
}
"""

EMBEDDING = """
extern "C" __global__ void embedding(
    const E* table, const long long* places, E* out, long long* wrong, long long rows, long long columns, long long size) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  long long row = places[i / columns];
  if (row < 0 || row >= rows) { wrong[0] = 1; wrong[1] = row; return; }
  out[i] = table[row * columns + i % columns];
}
extern "C" __global__ void embedding_backward(
    const E* g, const long long* places, T* out, long long padding, long long rows, long long columns, long long size) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  long long row = places[i / columns];
  if (row == padding || row < 0 || row >= rows) return;
  atomicAdd(out + row * columns + i % columns, READ(g[i]));
}
"""

WINDOWS = """
struct Geometry { int channels, sizes[3], outs[3], kernel[3], stride[3], padding[3], dilation[3]; };
__device__ int volume(const int* s) { return s[0] * s[1] * s[2]; }
__device__ void split(int i, const int* sizes, int* parts) {
  for (int d = 2; d >= 0; --d) { parts[d] = i % sizes[d]; i /= sizes[d]; }
}
__device__ int window_of(int far, int stride, int outs) {
  // which window's tap is so far from the first window's first place; -1: none's
  if (far < 0 || (stride > 1 && far % stride)) return -1;
  int out = stride > 1 ? far / stride : far;
  return out < outs ? out : -1;
}
__device__ int place(const int* out, const int* tap, const Geometry& g) {
  // where in the input a window's tap is; -1 outside
  int at = 0;
  for (int d = 0; d < 3; ++d) {
    int x = out[d] * g.stride[d] - g.padding[d] + tap[d] * g.dilation[d];
    if (x < 0 || x >= g.sizes[d]) return -1;
    at = at * g.sizes[d] + x;
  }
  return at;
}
extern "C" __global__ void unroll(const E* x, E* columns, Geometry g, long long size) {
  // columns (samples, channels, taps, windows) of x (samples, channels, places): a thread for each window of a plane
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, windows = volume(g.outs), plane = i / windows;
  if (i >= size) return;
  int out[3], first[3];
  split(i % windows, g.outs, out);
  for (int d = 0; d < 3; ++d) first[d] = out[d] * g.stride[d] - g.padding[d];
  x += (long long)plane * volume(g.sizes);
  columns += (long long)plane * volume(g.kernel) * windows + i % windows;
  for (int a = 0, u = first[0]; a < g.kernel[0]; ++a, u += g.dilation[0])
    for (int b = 0, v = first[1]; b < g.kernel[1]; ++b, v += g.dilation[1]) {
      bool inside = u >= 0 && u < g.sizes[0] && v >= 0 && v < g.sizes[1];
      const E* row = x + (u * g.sizes[1] + v) * g.sizes[2];
      for (int c = 0, w = first[2]; c < g.kernel[2]; ++c, w += g.dilation[2], columns += windows)
        *columns = inside && w >= 0 && w < g.sizes[2] ? row[w] : WRITE(T(0));
    }
}
extern "C" __global__ void roll(const E* columns, const E* bias, E* x, Geometry g, long long size) {
  // what all windows give to each place, added up
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, places = volume(g.sizes), plane = i / places;
  if (i >= size) return;
  int windows = volume(g.outs), here[3];
  split(i % places, g.sizes, here);
  columns += (long long)plane * volume(g.kernel) * windows;
  T sum = bias ? READ(bias[plane % g.channels]) : T(0);
  for (int a = 0; a < g.kernel[0]; ++a) {
    int u = window_of(here[0] + g.padding[0] - a * g.dilation[0], g.stride[0], g.outs[0]);
    for (int b = 0; b < g.kernel[1]; ++b) {
      int v = window_of(here[1] + g.padding[1] - b * g.dilation[1], g.stride[1], g.outs[1]);
      const E* row = columns + (u * g.outs[1] + v) * g.outs[2];
      for (int c = 0; c < g.kernel[2]; ++c, row += windows, columns += windows) {
        int w = window_of(here[2] + g.padding[2] - c * g.dilation[2], g.stride[2], g.outs[2]);
        if (u >= 0 && v >= 0 && w >= 0) sum += READ(row[w]);
      }
    }
  }
  x[i] = WRITE(sum);
}
extern "C" __global__ void add_bias(E* out, const E* bias, long long channels, long long places, long long size) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) out[i] = WRITE(READ(out[i]) + READ(bias[i / places % channels]));
}
extern "C" __global__ void max_pool(const E* x, E* out, long long* places, Geometry g, long long size) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  int windows = volume(g.outs), taps = volume(g.kernel), window[3], tap[3], best = -1;
  const E* plane = x + i / windows * volume(g.sizes);
  split((int)(i % windows), g.outs, window);
  T top = -INFINITY;
  for (int k = 0; k < taps; ++k) {
    split(k, g.kernel, tap);
    int at = place(window, tap, g);
    if (at < 0) continue;
    T value = READ(plane[at]);
    if (best < 0 || value > top || value != value) { best = at; top = value; }  // the first, or the last NaN
  }
  out[i] = WRITE(top); places[i] = best;
}
extern "C" __global__ void max_pool_backward(
    const T* g, const long long* places, T* by_x, long long windows, long long sizes, long long size) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) atomicAdd(by_x + i / windows * sizes + places[i], g[i]);
}
extern "C" __global__ void mean_pool(const E* x, E* out, long long sizes) {
  // the mean of each plane, a block for each
  x += blockIdx.x * sizes;
  T sum = 0;
  for (long long i = threadIdx.x; i < sizes; i += blockDim.x) sum += READ(x[i]);
  sum = of_block(sum, T(0), Plus());
  if (threadIdx.x == 0) out[blockIdx.x] = WRITE(sum / sizes);
}
extern "C" __global__ void mean_pool_backward(const E* g, E* by_x, long long sizes, long long size) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) by_x[i] = WRITE(READ(g[i / sizes]) / sizes);
}
"""

ATTENTION = """
struct Places { long long batch, head, row; };  // how far the next of each is, in elements
#define OWN(array, places, r) (array + batch * places.batch + head * places.head + (r) * places.row)
__device__ T of_warp(T x) { for (int d = LANES / 2; d; d /= 2) x += __shfl_xor_sync(0xffffffff, x, d); return x; }
__device__ T dot(const T* a, const E* b, int width, int lane) {
  T sum = 0;
  for (int e = lane, k = 0; e < width; e += LANES, ++k) sum += a[k] * READ(b[e]);
  return of_warp(sum);
}
__device__ void load(T* own, const E* row, int width, int lane) {
  for (int e = lane, k = 0; e < width; e += LANES, ++k) own[k] = READ(row[e]);
}
__device__ T share_of(T score, const T* sums, int i) { return exp(score - sums[2 * i]) / sums[2 * i + 1]; }
extern "C" __global__ void attention(
    const E* query, const E* key, const E* value, E* out, T* sums, Places q, Places k, Places v, Places o,
    int heads, int queries, int keys, int width, int wide, T scale, bool causal, int count) {
  // a warp for each query; it goes through the keys once, and weighs anew what it has when a larger score comes
  int i = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
  if (i >= count) return;
  int row = i % queries, head = i / queries % heads, batch = i / queries / heads;
  T own[EACH], mixed[EACH], top = -INFINITY, sum = 0;
  load(own, OWN(query, q, row), width, lane);
  for (int e = 0; e < EACH; ++e) mixed[e] = 0;
  int last = causal && row + 1 < keys ? row + 1 : keys;
  for (int j = 0; j < last; ++j) {
    T score = scale * dot(own, OWN(key, k, j), width, lane);
    T higher = score > top || score != score ? score : top, old = exp(top - higher), share = exp(score - higher);
    sum = sum * old + share; top = higher;
    const E* row = OWN(value, v, j);
    for (int e = lane, n = 0; e < wide; e += LANES, ++n) mixed[n] = mixed[n] * old + share * READ(row[e]);
  }
  E* to = OWN(out, o, row);
  for (int e = lane, n = 0; e < wide; e += LANES, ++n) to[e] = WRITE(mixed[n] / sum);
  if (lane == 0) { sums[2 * i] = top; sums[2 * i + 1] = sum; }
}
extern "C" __global__ void attention_by_query(
    const E* grad, const E* query, const E* key, const E* value, const T* sums, E* by_query, T* dots,
    Places g, Places q, Places k, Places v, Places o,
    int heads, int queries, int keys, int width, int wide, T scale, bool causal, int count) {
  // with shares p and their gradients d: sum of p (d - sum of p d) key
  int i = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
  if (i >= count) return;
  int row = i % queries, head = i / queries % heads, batch = i / queries / heads;
  T own[EACH], grads[EACH], mixed[EACH], both = 0;
  load(own, OWN(query, q, row), width, lane);
  load(grads, OWN(grad, g, row), wide, lane);
  for (int e = 0; e < EACH; ++e) mixed[e] = 0;
  int last = causal && row + 1 < keys ? row + 1 : keys;
  for (int j = 0; j < last; ++j)
    both += share_of(scale * dot(own, OWN(key, k, j), width, lane), sums, i) * dot(grads, OWN(value, v, j), wide, lane);
  for (int j = 0; j < last; ++j) {
    const E* other = OWN(key, k, j);
    T share = share_of(scale * dot(own, other, width, lane), sums, i);
    T d = share * (dot(grads, OWN(value, v, j), wide, lane) - both);
    for (int e = lane, n = 0; e < width; e += LANES, ++n) mixed[n] += d * READ(other[e]);
  }
  E* to = OWN(by_query, o, row);
  for (int e = lane, n = 0; e < width; e += LANES, ++n) to[e] = WRITE(scale * mixed[n]);
  if (lane == 0) dots[i] = both;
}
extern "C" __global__ void attention_by_key(
    const E* grad, const E* query, const E* key, const E* value, const T* sums, const T* dots, E* by_key, E* by_value,
    Places g, Places q, Places k, Places v, Places ok, Places ov,
    int heads, int queries, int keys, int width, int wide, T scale, bool causal, int count) {
  // a warp for each key; it goes through the queries that see it
  int i = blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
  if (i >= count) return;
  int j = i % keys, head = i / keys % heads, batch = i / keys / heads;
  T own[EACH], values[EACH], to_key[EACH], to_value[EACH];
  load(own, OWN(key, k, j), width, lane);
  load(values, OWN(value, v, j), wide, lane);
  for (int e = 0; e < EACH; ++e) to_key[e] = to_value[e] = 0;
  for (int row = causal ? j : 0; row < queries; ++row) {
    int at = (batch * heads + head) * queries + row;
    const E* from = OWN(query, q, row), *slope = OWN(grad, g, row);
    T share = share_of(scale * dot(own, from, width, lane), sums, at);
    T d = share * (dot(values, slope, wide, lane) - dots[at]);
    for (int e = lane, n = 0; e < wide; e += LANES, ++n) to_value[n] += share * READ(slope[e]);
    for (int e = lane, n = 0; e < width; e += LANES, ++n) to_key[n] += d * READ(from[e]);
  }
  E *key_row = OWN(by_key, ok, j), *value_row = OWN(by_value, ov, j);
  for (int e = lane, n = 0; e < width; e += LANES, ++n) key_row[e] = WRITE(scale * to_key[n]);
  for (int e = lane, n = 0; e < wide; e += LANES, ++n) value_row[e] = WRITE(to_value[n]);
}
"""

SHARES = """
#define LAST (causal && row + 1 < seen ? row + 1 : seen)
extern "C" __global__ void shares_of(
    const T* scores, E* shares, T* sums, T scale, bool causal, int first, int queries, int count, int seen) {
  // a block for each query: its scores (seen), the shares that the keys have, its largest score and the sum of exp(score - largest)
  int row = first + blockIdx.x % count, last = LAST;
  scores += (long long)blockIdx.x * seen; shares += (long long)blockIdx.x * seen;
  sums += 2 * ((long long)blockIdx.x / count * queries + row);
  T top = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < last; i += blockDim.x) top = Larger()(top, scores[i] * scale);
  top = of_block(top, T(-INFINITY), Larger());
  for (int i = threadIdx.x; i < last; i += blockDim.x) sum += exp(scores[i] * scale - top);
  sum = of_block(sum, T(0), Plus());
  T part = T(1) / sum;
  for (int i = threadIdx.x; i < seen; i += blockDim.x) shares[i] = WRITE(i < last ? exp(scores[i] * scale - top) * part : T(0));
  if (threadIdx.x == 0) { sums[0] = top; sums[1] = sum; }
}
extern "C" __global__ void slopes_of(
    const T* scores, const T* by_shares, E* shares, E* slopes, const T* sums, T scale, bool causal,
    int first, int queries, int count, int seen) {
  // with shares p and their gradients d: the gradients of products, scale p (d - sum of p d)
  int row = first + blockIdx.x % count, last = LAST;
  long long start = (long long)blockIdx.x * seen;
  scores += start; by_shares += start; shares += start; slopes += start;
  sums += 2 * ((long long)blockIdx.x / count * queries + row);
  T top = sums[0], part = T(1) / sums[1], both = 0;
  for (int i = threadIdx.x; i < last; i += blockDim.x) both += exp(scores[i] * scale - top) * part * by_shares[i];
  both = of_block(both, T(0), Plus());
  for (int i = threadIdx.x; i < seen; i += blockDim.x) {
    T share = i < last ? exp(scores[i] * scale - top) * part : T(0);
    shares[i] = WRITE(share); slopes[i] = WRITE(share == T(0) ? share : scale * share * (by_shares[i] - both));
  }
}
"""

RECURRENT = """
__device__ T sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }
extern "C" __global__ void lstm_step(
    T* gates, const T* product, const T* bias, T* h, T* c, T* before, T* cells, T* tanhs, T* out, int hidden, int count) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  int j = k % hidden, at = k / hidden * 4 * hidden + j;
  T i = sigmoid(gates[at] + product[at] + bias[j]);
  T f = sigmoid(gates[at + hidden] + product[at + hidden] + bias[j + hidden]);
  T g = tanh(gates[at + 2 * hidden] + product[at + 2 * hidden] + bias[j + 2 * hidden]);
  T o = sigmoid(gates[at + 3 * hidden] + product[at + 3 * hidden] + bias[j + 3 * hidden]);
  gates[at] = i; gates[at + hidden] = f; gates[at + 2 * hidden] = g; gates[at + 3 * hidden] = o;
  before[k] = h[k];
  cells[k] = c[k];
  c[k] = f * c[k] + i * g;
  tanhs[k] = tanh(c[k]);
  out[k] = h[k] = o * tanhs[k];
}
extern "C" __global__ void lstm_step_backward(
    const T* gates, const T* cells, const T* tanhs, const T* gy, const T* dh, T* dc, T* slopes, int hidden, int count) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  int at = k / hidden * 4 * hidden + k % hidden;
  T i = gates[at], f = gates[at + hidden], g = gates[at + 2 * hidden], o = gates[at + 3 * hidden], d = dh[k] + gy[k];
  T s = dc[k] + d * o * (T(1) - tanhs[k] * tanhs[k]);
  slopes[at] = s * g * i * (T(1) - i);
  slopes[at + hidden] = s * cells[k] * f * (T(1) - f);
  slopes[at + 2 * hidden] = s * i * (T(1) - g * g);
  slopes[at + 3 * hidden] = d * tanhs[k] * o * (T(1) - o);
  dc[k] = s * f;
}
#define WIDEST 256
#define EACH_OF(i, n) for (int i = threadIdx.x; i < n; i += blockDim.x)
extern "C" __global__ void lstm_layer(
    T* gates, const T* weight, const T* bias, T* h, T* c, T* before, T* cells, T* tanhs, T* out,
    const long long* steps, int count, int hidden) {
  // all steps of one sequence, which are rows below the numbers that steps begin with; the weight is (hidden, units)
  __shared__ T state[WIDEST], open[4 * WIDEST];
  int row = blockIdx.x, units = 4 * hidden;
  h += row * hidden; c += row * hidden;
  EACH_OF(j, hidden) state[j] = h[j];
  __syncthreads();
  for (int s = 0; s < count; ++s) {
    long long at = steps[2 * s] + row;
    if (row >= steps[2 * s + 1]) continue;
    EACH_OF(u, units) {
      T sum = gates[at * units + u] + bias[u];
#pragma unroll 8
      for (int k = 0; k < hidden; ++k) sum += weight[k * units + u] * state[k];
      gates[at * units + u] = open[u] = u / hidden == 2 ? tanh(sum) : sigmoid(sum);
    }
    __syncthreads();
    EACH_OF(j, hidden) {
      long long k = at * hidden + j;
      before[k] = state[j]; cells[k] = c[j];
      c[j] = open[hidden + j] * c[j] + open[j] * open[2 * hidden + j];
      tanhs[k] = tanh(c[j]);
      out[k] = state[j] = open[3 * hidden + j] * tanhs[k];
    }
    __syncthreads();
  }
  EACH_OF(j, hidden) h[j] = state[j];
}
extern "C" __global__ void lstm_layer_backward(
    const T* gates, const T* weight, const T* cells, const T* tanhs, const T* gy, T* dh, T* dc, T* slopes,
    const long long* steps, int count, int hidden) {
  // the same in the other order; the weight is (units, hidden)
  __shared__ T state[WIDEST], slope[4 * WIDEST], parts[4 * WIDEST];
  int row = blockIdx.x, units = 4 * hidden;
  dh += row * hidden; dc += row * hidden;
  EACH_OF(j, hidden) state[j] = dh[j];
  __syncthreads();
  for (int s = 0; s < count; ++s) {
    long long at = steps[2 * s] + row;
    if (row >= steps[2 * s + 1]) continue;
    EACH_OF(j, hidden) {
      const T* own = gates + at * units + j;
      long long k = at * hidden + j;
      T i = own[0], f = own[hidden], g = own[2 * hidden], o = own[3 * hidden], d = state[j] + gy[k];
      T cell = dc[j] + d * o * (T(1) - tanhs[k] * tanhs[k]);
      slope[j] = cell * g * i * (T(1) - i);
      slope[hidden + j] = cell * cells[k] * f * (T(1) - f);
      slope[2 * hidden + j] = cell * i * (T(1) - g * g);
      slope[3 * hidden + j] = d * tanhs[k] * o * (T(1) - o);
      dc[j] = cell * f;
    }
    __syncthreads();
    EACH_OF(u, units) {  // a thread adds up what one gate gives to one number of the state
      int first = u / hidden * hidden;
      const T* column = weight + first * hidden + u % hidden;
      T sum = 0;
#pragma unroll 8
      for (int k = 0; k < hidden; ++k) sum += slope[first + k] * column[k * hidden];
      parts[u] = sum; slopes[at * units + u] = slope[u];
    }
    __syncthreads();
    EACH_OF(j, hidden) state[j] = parts[j] + parts[hidden + j] + parts[2 * hidden + j] + parts[3 * hidden + j];
    __syncthreads();
  }
  EACH_OF(j, hidden) dh[j] = state[j];
}
extern "C" __global__ void gru_step(
    T* gates, const T* product, const T* bias, T* h, T* before, T* inner, T* out, int hidden, int count) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  int j = k % hidden, at = k / hidden * 3 * hidden + j;
  T r = sigmoid(gates[at] + product[at] + bias[j]);
  T z = sigmoid(gates[at + hidden] + product[at + hidden] + bias[j + hidden]);
  inner[k] = product[at + 2 * hidden] + bias[j + 2 * hidden];
  T n = tanh(gates[at + 2 * hidden] + r * inner[k]);
  gates[at] = r; gates[at + hidden] = z; gates[at + 2 * hidden] = n;
  before[k] = h[k];
  out[k] = h[k] = (h[k] - n) * z + n;
}
extern "C" __global__ void gru_step_backward(
    const T* gates, const T* before, const T* inner, const T* gy, T* dh, T* by_input, T* by_state, int hidden, int count) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  int at = k / hidden * 3 * hidden + k % hidden;
  T r = gates[at], z = gates[at + hidden], n = gates[at + 2 * hidden], d = dh[k] + gy[k];
  T dn = d * (T(1) - z) * (T(1) - n * n), dr = dn * inner[k] * r * (T(1) - r), dz = d * (before[k] - n) * z * (T(1) - z);
  by_input[at] = by_state[at] = dr;
  by_input[at + hidden] = by_state[at + hidden] = dz;
  by_input[at + 2 * hidden] = dn; by_state[at + 2 * hidden] = dn * r;
  dh[k] = d * z;
}
"""
