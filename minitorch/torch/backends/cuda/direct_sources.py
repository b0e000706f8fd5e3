"""The code of a kernel in CUDA C++: a convolution, or its gradient by the input, without columns of windows.

A thread computes one place of CHANNELS channels; the weights of these, DEPTH for each, lie in shared memory. The
structure `Geometry` and the functions on it, and types, are those of `sources.py`.
"""

DIRECT = """
extern "C" __global__ void direct(
    const E* x, const E* weight, const E* bias, E* out, Geometry g, int from, int to, bool back, long long size) {
  // x (samples, from, places) to out (samples, to, places); the weight is (to, from, taps), or backward (from, to, taps)
  __align__(16) __shared__ T weights[DEPTH * CHANNELS];
  int taps = volume(g.kernel), first = blockIdx.y * CHANNELS;
  for (int i = threadIdx.x; i < DEPTH * CHANNELS; i += blockDim.x) {
    int j = i % CHANNELS, tap = i / CHANNELS / from, k = i / CHANNELS % from;  // (taps, from, CHANNELS)
    int at = back ? (k * to + first + j) * taps + tap : ((first + j) * from + k) * taps + tap;
    weights[i] = first + j < to ? READ(weight[at]) : T(0);
  }
  __syncthreads();
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const int* own = back ? g.sizes : g.outs;
  unsigned places = volume(own), others = volume(back ? g.outs : g.sizes), sample = i / places;
  int here[3], tap[3];
  split(i % places, own, here);
  x += (long long)sample * from * others;
  T sums[CHANNELS];
#pragma unroll
  for (int j = 0; j < CHANNELS; ++j) sums[j] = bias && first + j < to ? READ(bias[first + j]) : T(0);
  for (int t = 0; t < taps; ++t) {
    split(t, g.kernel, tap);
    int at = 0;
    if (back) for (int d = 0; d < 3 && at >= 0; ++d) {
      int w = window_of(here[d] + g.padding[d] - tap[d] * g.dilation[d], g.stride[d], g.outs[d]);
      at = w < 0 ? -1 : at * g.outs[d] + w;
    } else at = place(here, tap, g);
    if (at < 0) continue;
    const T* w = weights + t * from * CHANNELS;
#pragma unroll 4
    for (int k = 0; k < from; ++k) {
      T value = READ(x[k * others + at]);
#pragma unroll
      for (int j = 0; j < CHANNELS; ++j) sums[j] += value * w[k * CHANNELS + j];
    }
  }
  out += ((long long)sample * to + first) * places + i % places;
#pragma unroll
  for (int j = 0; j < CHANNELS; ++j) if (first + j < to) out[(long long)j * places] = WRITE(sums[j]);
}
"""
