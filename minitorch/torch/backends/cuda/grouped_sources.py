"""The code of kernels in CUDA C++: convolutions of many groups, such as depthwise ones, of which each has few channels.

A group makes `made` channels of `given` ones. The structure `Geometry` and the functions on it, and types, are those of `sources.py`.
"""

GROUPED = """
extern "C" __global__ void grouped(
    const E* x, const E* weight, const E* bias, E* out, Geometry g, int outputs, int given, int made, long long size) {
  // out (samples, outputs, windows), a thread for each number, of x (samples, channels, places)
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  int windows = volume(g.outs), places = volume(g.sizes), taps = volume(g.kernel), window[3], tap[3];
  int o = i / windows % outputs;
  split((int)(i % windows), g.outs, window);
  x += (i / windows / outputs * g.channels + o / made * given) * places;
  weight += (long long)o * given * taps;
  T sum = bias ? READ(bias[o]) : T(0);
  for (int t = 0; t < taps; ++t) {
    split(t, g.kernel, tap);
    int at = place(window, tap, g);
    if (at >= 0) for (int c = 0; c < given; ++c) sum += READ(x[(long long)c * places + at]) * READ(weight[c * taps + t]);
  }
  out[i] = WRITE(sum);
}
extern "C" __global__ void grouped_by_input(
    const E* grad, const E* weight, const E* bias, E* by_x, Geometry g, int outputs, int given, int made, long long size) {
  // by_x (samples, channels, places), a thread for each number, of grad (samples, outputs, windows)
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  int windows = volume(g.outs), places = volume(g.sizes), taps = volume(g.kernel), here[3], tap[3];
  int channel = i / places % g.channels, first = channel / given * made;
  split((int)(i % places), g.sizes, here);
  grad += (i / places / g.channels * outputs + first) * windows;
  weight += ((long long)first * given + channel % given) * taps;
  T sum = bias ? READ(bias[channel]) : T(0);
  for (int t = 0; t < taps; ++t) {
    split(t, g.kernel, tap);
    int at = 0;
    for (int d = 0; d < 3 && at >= 0; ++d) {
      int w = window_of(here[d] + g.padding[d] - tap[d] * g.dilation[d], g.stride[d], g.outs[d]);
      at = w < 0 ? -1 : at * g.outs[d] + w;
    }
    if (at >= 0) for (int o = 0; o < made; ++o) sum += READ(grad[(long long)o * windows + at]) * READ(weight[(long long)o * given * taps + t]);
  }
  by_x[i] = WRITE(sum);
}
extern "C" __global__ void grouped_by_weight(
    const E* grad, const E* x, E* by_weight, Geometry g, int outputs, int given, int made, long long samples) {
  // by_weight (outputs, given, taps), a block for each number
  int windows = volume(g.outs), places = volume(g.sizes), taps = volume(g.kernel), window[3], tap[3];
  int o = blockIdx.x / taps / given, channel = o / made * given + blockIdx.x / taps % given;
  split((int)(blockIdx.x % taps), g.kernel, tap);
  T sum = 0;
  for (long long i = threadIdx.x; i < samples * windows; i += blockDim.x) {
    split((int)(i % windows), g.outs, window);
    int at = place(window, tap, g);
    if (at >= 0) sum += READ(grad[(i / windows * outputs + o) * windows + i % windows]) * READ(x[(i / windows * g.channels + channel) * places + at]);
  }
  sum = of_block(sum, T(0), Plus());
  if (threadIdx.x == 0) by_weight[blockIdx.x] = WRITE(sum);
}
"""
