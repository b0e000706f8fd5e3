"""The kernels of average pooling; `WINDOWS` of sources.py comes before them."""

MEANS = """
__device__ T divisor_of(const int* window, const Geometry& g, int divisor, bool padded) {
  // what a window's sum is divided by: a given number, or its places, with those of the padding or without
  T count = 1;
  for (int d = 0; d < 3; ++d) {
    int first = window[d] * g.stride[d] - g.padding[d], end = g.sizes[d] + (padded ? g.padding[d] : 0);
    if (first + g.kernel[d] < end) end = first + g.kernel[d];
    count *= end - (padded || first > 0 ? first : 0);
  }
  return divisor ? T(divisor) : count;
}
extern "C" __global__ void avg_pool(const E* x, E* out, Geometry g, int divisor, bool padded, long long size) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  int windows = volume(g.outs), taps = volume(g.kernel), window[3], tap[3];
  const E* plane = x + i / windows * volume(g.sizes);
  split((int)(i % windows), g.outs, window);
  T sum = 0;
  for (int k = 0; k < taps; ++k) {
    split(k, g.kernel, tap);
    int at = place(window, tap, g);
    if (at >= 0) sum += READ(plane[at]);
  }
  out[i] = WRITE(sum / divisor_of(window, g, divisor, padded));
}
extern "C" __global__ void avg_pool_backward(const E* by_out, E* by_x, Geometry g, int divisor, bool padded, long long size) {
  // what all windows give to each place, added up
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  int places = volume(g.sizes), taps = volume(g.kernel), here[3], tap[3], window[3];
  by_out += i / places * volume(g.outs);
  split((int)(i % places), g.sizes, here);
  T sum = 0;
  for (int k = 0; k < taps; ++k) {
    split(k, g.kernel, tap);
    bool inside = true;
    for (int d = 0; d < 3; ++d) {
      window[d] = window_of(here[d] + g.padding[d] - tap[d], g.stride[d], g.outs[d]);
      inside = inside && window[d] >= 0;
    }
    int at = (window[0] * g.outs[1] + window[1]) * g.outs[2] + window[2];
    if (inside) sum += READ(by_out[at]) / divisor_of(window, g, divisor, padded);
  }
  by_x[i] = WRITE(sum);
}
"""
