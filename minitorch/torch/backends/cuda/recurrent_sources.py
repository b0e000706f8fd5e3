"""The code of kernels in CUDA C++: all steps of an LSTM layer whose weights threads hold in registers. Behind `RECURRENT` of `sources.py`."""

HELD = """
struct __align__(16) Four { T v[4]; };
__device__ T dot_of_held(const T* own, const T* state) {
  T sums[4] = {0, 0, 0, 0};
#pragma unroll
  for (int k = 0; k < HIDDEN; k += 4) {
    Four s = *(const Four*)(state + k);
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[j] += own[k + j] * s.v[j];
  }
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}
#define UNITS (4 * HIDDEN)
#define IS_STEP(s) ((s) < count && row < steps[2 * (s) + 1])
extern "C" __global__ void held_lstm_layer(
    T* gates, const T* weight, const T* bias, T* h, T* c, T* before, T* cells, T* tanhs, T* out,
    const long long* steps, int count, int hidden) {
  // a thread for each unit, which holds its weights in registers, and reads its gate a step ahead
  __align__(16) __shared__ T state[HIDDEN], open[UNITS];
  int row = blockIdx.x, u = threadIdx.x;
  T own[HIDDEN], shift = bias[u], cell = 0, ahead = 0;
  for (int k = 0; k < HIDDEN; ++k) own[k] = weight[k * UNITS + u];
  if (u < HIDDEN) { state[u] = h[row * HIDDEN + u]; cell = c[row * HIDDEN + u]; }
  if (IS_STEP(0)) ahead = gates[(steps[0] + row) * UNITS + u];
  __syncthreads();
  for (int s = 0; s < count; ++s) {
    T sum = ahead + shift;
    if (IS_STEP(s + 1)) ahead = gates[(steps[2 * s + 2] + row) * UNITS + u];
    if (!IS_STEP(s)) continue;
    long long at = steps[2 * s] + row;
    sum += dot_of_held(own, state);
    gates[at * UNITS + u] = open[u] = u / HIDDEN == 2 ? tanh(sum) : sigmoid(sum);
    __syncthreads();
    if (u < HIDDEN) {
      long long k = at * HIDDEN + u;
      before[k] = state[u]; cells[k] = cell;
      cell = open[HIDDEN + u] * cell + open[u] * open[2 * HIDDEN + u];
      T bent = tanh(cell);
      tanhs[k] = bent;
      out[k] = state[u] = open[3 * HIDDEN + u] * bent;
    }
    __syncthreads();
  }
  if (u < HIDDEN) { h[row * HIDDEN + u] = state[u]; c[row * HIDDEN + u] = cell; }
}
struct Ahead { T i, f, g, o, cell, bent, y; };
extern "C" __global__ void held_lstm_layer_backward(
    const T* gates, const T* weight, const T* cells, const T* tanhs, const T* gy, T* dh, T* dc, T* slopes,
    const long long* steps, int count, int hidden) {
  __align__(16) __shared__ T slope[UNITS], parts[UNITS];
  int row = blockIdx.x, u = threadIdx.x, j = u % HIDDEN, first = u - j;
  T own[HIDDEN], state = 0, cell = 0;
  Ahead next = {0, 0, 0, 0, 0, 0, 0};
  for (int k = 0; k < HIDDEN; ++k) own[k] = weight[(first + k) * HIDDEN + j];
  if (u < HIDDEN) { state = dh[row * HIDDEN + u]; cell = dc[row * HIDDEN + u]; }
#define READ_AHEAD(s) if (u < HIDDEN && IS_STEP(s)) { \\
    long long at = steps[2 * (s)] + row, k = at * HIDDEN + u; \\
    const T* open = gates + at * UNITS + u; \\
    next = {open[0], open[HIDDEN], open[2 * HIDDEN], open[3 * HIDDEN], cells[k], tanhs[k], gy[k]}; }
  READ_AHEAD(0)
  for (int s = 0; s < count; ++s) {
    Ahead now = next;
    READ_AHEAD(s + 1)
    if (!IS_STEP(s)) continue;
    if (u < HIDDEN) {
      T d = state + now.y, inner = cell + d * now.o * (T(1) - now.bent * now.bent);
      slope[u] = inner * now.g * now.i * (T(1) - now.i);
      slope[HIDDEN + u] = inner * now.cell * now.f * (T(1) - now.f);
      slope[2 * HIDDEN + u] = inner * now.i * (T(1) - now.g * now.g);
      slope[3 * HIDDEN + u] = d * now.bent * now.o * (T(1) - now.o);
      cell = inner * now.f;
    }
    __syncthreads();
    parts[u] = dot_of_held(own, slope + first);
    slopes[(steps[2 * s] + row) * UNITS + u] = slope[u];
    __syncthreads();
    if (u < HIDDEN) state = parts[u] + parts[HIDDEN + u] + parts[2 * HIDDEN + u] + parts[3 * HIDDEN + u];
  }
  if (u < HIDDEN) { dh[row * HIDDEN + u] = state; dc[row * HIDDEN + u] = cell; }
}
"""
"""All steps of an LSTM layer whose state has HIDDEN numbers, a multiple of four."""
