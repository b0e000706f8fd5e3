"""The code of kernels in CUDA C++: batch norm, by one block of threads for each channel or by several, and running statistics.

Types are those of `sources.py`.
"""

SOURCE = """
#define EACH(i) for (long long k = threadIdx.x, i; k < n && (i = (k / rest * channels + blockIdx.x) * rest + k % rest, true); k += blockDim.x)
extern "C" __global__ void batch_norm(
    const E* x, const E* weight, const E* bias, E* out, T* means, T* scales, T* variances,
    long long channels, long long rest, long long n, T eps) {
  T sum = 0, squares = 0;
  EACH(i) sum += READ(x[i]);
  T mean = of_block(sum, T(0), Plus()) / n;
  EACH(i) { T d = READ(x[i]) - mean; squares += d * d; }
  T variance = of_block(squares, T(0), Plus()) / n, scale = T(1) / sqrt(variance + eps);
  T factor = weight ? scale * READ(weight[blockIdx.x]) : scale, shift = bias ? READ(bias[blockIdx.x]) : T(0);
  EACH(i) out[i] = WRITE((READ(x[i]) - mean) * factor + shift);
  if (threadIdx.x == 0) { means[blockIdx.x] = mean; scales[blockIdx.x] = scale; variances[blockIdx.x] = variance; }
}
extern "C" __global__ void batch_norm_backward(
    const E* g, const E* x, const E* weight, const T* means, const T* scales, E* by_x, T* by_weight, T* by_bias,
    long long channels, long long rest, long long n) {
  T mean = means[blockIdx.x], scale = scales[blockIdx.x], sum = 0, along = 0;
  EACH(i) { T d = READ(g[i]); sum += d; along += d * (READ(x[i]) - mean) * scale; }
  sum = of_block(sum, T(0), Plus());
  along = of_block(along, T(0), Plus());
  T factor = weight ? scale * READ(weight[blockIdx.x]) : scale;
  EACH(i) by_x[i] = WRITE(factor * (READ(g[i]) - sum / n - (READ(x[i]) - mean) * scale * along / n));
  if (threadIdx.x == 0) { by_weight[blockIdx.x] = along; by_bias[blockIdx.x] = sum; }
}
"""
PARTS = """
#define AT(k) (((k) / rest * channels + blockIdx.y) * rest + (k) % rest)
#define EACH(i) for (unsigned k = first + threadIdx.x, i; k < last && (i = AT(k), true); k += blockDim.x)
#define PART(p, i) parts[((long long)blockIdx.y * gridDim.x + (p)) * 2 + i]
#define BEGIN unsigned first = blockIdx.x * each, last = first + each < n ? first + each : n;
extern "C" __global__ void batch_norm_parts(
    const E* x, T* parts, unsigned channels, unsigned rest, unsigned n, unsigned each) {
  // of `each` numbers of a channel, their mean and the sum of their squared distances from it
  BEGIN
  T sum = 0, squares = 0;
  EACH(i) sum += READ(x[i]);
  T mean = of_block(sum, T(0), Plus()) / (last - first);
  EACH(i) { T d = READ(x[i]) - mean; squares += d * d; }
  squares = of_block(squares, T(0), Plus());
  if (threadIdx.x == 0) { PART(blockIdx.x, 0) = mean; PART(blockIdx.x, 1) = squares; }
}
extern "C" __global__ void batch_norm_of_parts(
    const E* x, const T* parts, const E* weight, const E* bias, E* out, T* means, T* scales, T* variances,
    unsigned channels, unsigned rest, unsigned n, unsigned each, T eps) {
  BEGIN
  T sum = 0, squares = 0;
  for (unsigned p = threadIdx.x; p < gridDim.x; p += blockDim.x) sum += PART(p, 0) * (p + 1 < gridDim.x ? each : n - p * each);
  T mean = of_block(sum, T(0), Plus()) / n;
  for (unsigned p = threadIdx.x; p < gridDim.x; p += blockDim.x) {
    T d = PART(p, 0) - mean;
    squares += PART(p, 1) + d * d * (p + 1 < gridDim.x ? each : n - p * each);
  }
  T variance = of_block(squares, T(0), Plus()) / n, scale = T(1) / sqrt(variance + eps);
  T factor = weight ? scale * READ(weight[blockIdx.y]) : scale, shift = bias ? READ(bias[blockIdx.y]) : T(0);
  EACH(i) out[i] = WRITE((READ(x[i]) - mean) * factor + shift);
  if (threadIdx.x || blockIdx.x) return;
  means[blockIdx.y] = mean; scales[blockIdx.y] = scale; variances[blockIdx.y] = variance;
}
extern "C" __global__ void batch_norm_backward_parts(
    const E* g, const E* x, const T* means, const T* scales, T* parts,
    unsigned channels, unsigned rest, unsigned n, unsigned each) {
  BEGIN
  T mean = means[blockIdx.y], scale = scales[blockIdx.y], sum = 0, along = 0;
  EACH(i) { T d = READ(g[i]); sum += d; along += d * (READ(x[i]) - mean) * scale; }
  sum = of_block(sum, T(0), Plus());
  along = of_block(along, T(0), Plus());
  if (threadIdx.x == 0) { PART(blockIdx.x, 0) = sum; PART(blockIdx.x, 1) = along; }
}
extern "C" __global__ void batch_norm_backward_of_parts(
    const E* g, const E* x, const E* weight, const T* means, const T* scales, const T* parts, E* by_x, T* by_weight, T* by_bias,
    unsigned channels, unsigned rest, unsigned n, unsigned each) {
  BEGIN
  T mean = means[blockIdx.y], scale = scales[blockIdx.y], sum = 0, along = 0;
  for (unsigned p = threadIdx.x; p < gridDim.x; p += blockDim.x) { sum += PART(p, 0); along += PART(p, 1); }
  sum = of_block(sum, T(0), Plus());
  along = of_block(along, T(0), Plus());
  T factor = weight ? scale * READ(weight[blockIdx.y]) : scale;
  EACH(i) by_x[i] = WRITE(factor * (READ(g[i]) - sum / n - (READ(x[i]) - mean) * scale * along / n));
  if (threadIdx.x == 0 && blockIdx.x == 0) { by_weight[blockIdx.y] = along; by_bias[blockIdx.y] = sum; }
}
"""
"""The same with several blocks for a channel (blockIdx.y), each for a part of its numbers: parts are (channels, parts, 2)."""

RUNNING = """
extern "C" __global__ void move_running(
    T* means, T* variances, const T* mean, const T* variance, T unbiased, T momentum, int channels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= channels) return;
  means[i] = momentum * mean[i] + (T(1) - momentum) * means[i];
  variances[i] = momentum * unbiased * variance[i] + (T(1) - momentum) * variances[i];
}
"""
