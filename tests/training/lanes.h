// Runs CUDA kernels on the processor: warp after warp, the 32 lanes of a warp as fibers that meet where lanes exchange
// numbers. For tests only: nothing is parallel, and lanes run as far as they can before the next one does.
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))

using std::max;
using std::min;

struct float4 {
    float x, y, z, w;
};
struct Place {
    unsigned x;
};
static Place threadIdx, blockIdx, blockDim, gridDim;

static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline float4 __ldcg(const float4* from) { return *from; }
#define __expf expf
static inline int __popc(unsigned x) { return __builtin_popcount(x); }

template <class T>
static T atomicAdd(T* to, T what) {
    T old = *to;
    *to += what;
    return old;
}
static inline unsigned atomicExch(unsigned* to, unsigned what) { return std::exchange(*to, what); }

// ---------------------------------------------------------------------------------------------------------------- lanes

struct Lane {
    alignas(16) char stack[1 << 17];
    jmp_buf at;
    bool begun, done;
    unsigned long long value;
    unsigned met[2];  // how often it came to a meeting of some lanes, and of all
};
static Lane lanes[32];
static jmp_buf warp;
static std::function<void()> body;

static int here() { return threadIdx.x % 32; }

static void let_others_run(Lane& mine) {
    if (!_setjmp(mine.at)) _longjmp(warp, 1);
}

static void meet(unsigned members) {
    Lane& mine = lanes[here()];
    int all = members == 0xffffffffu;
    unsigned time = ++mine.met[all];
    for (int other = 0; other < 32; other++)
        while ((members >> other & 1) && lanes[other].met[all] < time) let_others_run(mine);
}

template <class T>
static T exchanged(unsigned members, T x, int from) {
    T found;
    lanes[here()].value = 0;
    memcpy(&lanes[here()].value, &x, sizeof x);
    meet(members);
    memcpy(&found, &lanes[from].value, sizeof x);
    meet(members);
    return found;
}

template <class T>
static T __shfl_xor_sync(unsigned members, T x, int step) {
    return exchanged(members, x, here() ^ step);
}
template <class T>
static T __shfl_sync(unsigned members, T x, int from, int width = 32) {
    return exchanged(members, x, here() / width * width + from % width);
}
static inline unsigned __ballot_sync(unsigned members, bool yes) {
    unsigned all = 0;
    lanes[here()].value = yes;
    meet(members);
    for (int i = 0; i < 32; i++) all |= (unsigned)lanes[i].value << i;
    meet(members);
    return all;
}
static inline void __syncwarp() { meet(0xffffffffu); }

static void lane() {
    body();
    lanes[here()].done = true;
    _longjmp(warp, 1);
}

static void run(Lane& one) {
    if (_setjmp(warp)) return;
    if (one.begun) _longjmp(one.at, 1);
    one.begun = true;
    ucontext_t start;
    getcontext(&start);
    start.uc_stack.ss_sp = one.stack;
    start.uc_stack.ss_size = sizeof one.stack;
    makecontext(&start, lane, 0);
    setcontext(&start);
}

static void run_warp(unsigned first) {
    for (Lane& one : lanes) one.begun = one.done = one.met[0] = one.met[1] = 0;
    for (bool busy = true; busy;) {
        busy = false;
        for (int i = 0; i < 32; i++) {
            if (lanes[i].done) continue;
            threadIdx.x = first + i;
            run(lanes[i]);
            busy = true;
        }
    }
}

template <class... A, size_t... I>
static void launch(void (*kernel)(A...), unsigned grid, unsigned block, void** arguments, std::index_sequence<I...>) {
    gridDim.x = grid;
    blockDim.x = block;
    body = [=] { kernel(*(A*)arguments[I]...); };
    for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++)
        for (unsigned first = 0; first < block; first += 32) run_warp(first);
}
template <class... A>
static void launch(void (*kernel)(A...), unsigned grid, unsigned block, void** arguments) {
    launch(kernel, grid, block, arguments, std::index_sequence_for<A...>{});
}
#define LAUNCHED(kernel) \
    extern "C" void launch_##kernel(unsigned grid, unsigned block, void** arguments) { launch(kernel, grid, block, arguments); }
