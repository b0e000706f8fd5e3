"""The code of kernels in CUDA C++: products of small matrices, for which cuBLAS takes many times as long as one launch.

Types are those of `sources.py`. A block of TILE x TILE threads computes as many numbers.
"""

PRODUCT = """
#define TILE 16
#define DEPTH 64
#define LOADS (DEPTH / TILE)
struct Matrix { const E* first; int row, column; long long next; };  // how far apart rows, columns and matrices are
extern "C" __global__ void small_product(
    Matrix a, Matrix b, const E* bias, E* out, int m, int k, int n, int row, long long next, bool add) {
  // out[r, c] = sum of a[r, i] b[i, c], plus bias[c], plus what is there
  __shared__ T left[TILE][DEPTH + 1], right[DEPTH][TILE + 1], parts[4][TILE * TILE];
  int top = blockIdx.y * TILE, side = blockIdx.x * TILE;
  const E *x = a.first + blockIdx.z * a.next, *y = b.first + blockIdx.z * b.next;
  // of four numbers, next to each other, a quarter of the sums
  int at = threadIdx.x, r = at % 64 / 8 * 2, c = at % 8 * 2, quarter = at / 64 * (DEPTH / 4);
  T sums[4] = {0, 0, 0, 0};
  T ahead[LOADS], beyond[LOADS];  // what the next tiles have of a and b
#define LOAD(start) for (int l = 0; l < LOADS; ++l) { \\
    int i = l * blockDim.x + threadIdx.x, r = a_rows ? i / DEPTH : i % TILE, d = a_rows ? i % DEPTH : i / TILE; \\
    ahead[l] = top + r < m && start + d < k ? READ(x[(top + r) * a.row + (start + d) * a.column]) : T(0); \\
    r = b_rows ? i % TILE : i / DEPTH; d = b_rows ? i / TILE : i % DEPTH; \\
    beyond[l] = side + r < n && start + d < k ? READ(y[(start + d) * b.row + (side + r) * b.column]) : T(0); }
  bool a_rows = a.column == 1, b_rows = b.column == 1;  // neighbouring threads read neighbours in memory
  LOAD(0)
  for (int start = 0; start < k; start += DEPTH) {
    for (int l = 0; l < LOADS; ++l) {
      int i = l * blockDim.x + threadIdx.x;
      left[a_rows ? i / DEPTH : i % TILE][a_rows ? i % DEPTH : i / TILE] = ahead[l];
      right[b_rows ? i / TILE : i % DEPTH][b_rows ? i % TILE : i / DEPTH] = beyond[l];
    }
    if (start + DEPTH < k) LOAD(start + DEPTH)
    __syncthreads();
#pragma unroll
    for (int d = quarter; d < quarter + DEPTH / 4; ++d) {
      T one = left[r][d], other = left[r + 1][d], by = right[d][c], beside = right[d][c + 1];
      sums[0] += one * by; sums[1] += one * beside; sums[2] += other * by; sums[3] += other * beside;
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j) parts[at / 64][(r + j / 2) * TILE + c + j % 2] = sums[j];
  __syncthreads();
  r = top + at / TILE; c = side + at % TILE;
  if (r >= m || c >= n) return;
  E* to = out + blockIdx.z * next + (long long)r * row + c;
  T sum = parts[0][at] + parts[1][at] + parts[2][at] + parts[3][at];
  if (bias) sum += READ(bias[c]);
  if (add) sum += READ(*to);
  *to = WRITE(sum);
}
"""
