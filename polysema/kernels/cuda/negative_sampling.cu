// Multi-sense Word2DM, skip-gram and Word2DM on a GPU. The mathematics, the samples and the names are those
// of polysema/kernels/{sampling,rounds,ms_word2dm,word2dm}.py; updates are atomic additions, so that their order, and
// with it the last digits, differ from run to run.
//
// Constants set by the caller: N, the length of a row, a multiple of four, and DIM, how many of its numbers are not padding;
// M, senses; K, noise words; WINDOW; LONGEST, the bound of a row; COSINE; PAIRS and WORD2DM, what is learnt; ADAM; BLOCK, threads a block; and CAPACITY,
// how many targets a warp gathers at once. Sentences with more surviving words than that are cut.

typedef unsigned int u32;
typedef unsigned long long u64;

#define ALL 0xffffffffu
#define NONE 0xffffffffu
#define GOLDEN 0x9E3779B97F4A7C15ull
#define LANES 32
#define N4 (N / 4)
// lanes that share a target: as many as its row has quadruples of numbers, rounded up to a power of two
#define GROUP (N4 <= 4 ? 4 : N4 <= 8 ? 8 : N4 <= 16 ? 16 : 32)
#define PER_LANE ((N4 + GROUP - 1) / GROUP)

__device__ __forceinline__ u64 mixed(u64 z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

__device__ __forceinline__ u32 noise_word(u64 r, const u64* __restrict__ alias, u32 size) {
    u32 place = (u32)(((r >> 32) * size) >> 32);
    u64 cell = alias[place];
    return (u32)r <= (u32)(cell >> 32) ? place : (u32)cell;
}

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

__device__ __forceinline__ float surprise(float x) { return log1pf(__expf(-fabsf(x))) + fmaxf(-x, 0.0f); }

__device__ __forceinline__ float4 operator*(float a, float4 b) { return make_float4(a * b.x, a * b.y, a * b.z, a * b.w); }

__device__ __forceinline__ float4 operator+(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__device__ __forceinline__ float inner(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

__device__ __forceinline__ void atomic_add(float4* to, float4 what) {
#if __CUDA_ARCH__ >= 900
    atomicAdd(to, what);
#else
    float* numbers = (float*)to;
    atomicAdd(numbers, what.x);
    atomicAdd(numbers + 1, what.y);
    atomicAdd(numbers + 2, what.z);
    atomicAdd(numbers + 3, what.w);
#endif
}

// A row of N numbers, shared out over the lanes of a group.
struct Row {
    float4 part[PER_LANE];
};

__device__ __forceinline__ Row zeros() {
    Row row;
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) row.part[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    return row;
}

__device__ __forceinline__ Row load(const float* from, int lane) {
    Row row = zeros();
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        if (lane + i * GROUP < N4) row.part[i] = __ldcg((const float4*)from + lane + i * GROUP);
    return row;
}

__device__ __forceinline__ void accumulate(Row& to, float scale, const Row& what) {
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) to.part[i] = to.part[i] + scale * what.part[i];
}

__device__ __forceinline__ float total(float x, u32 members) {
#pragma unroll
    for (int step = GROUP / 2; step > 0; step /= 2) x += __shfl_xor_sync(members, x, step);
    return x;
}

__device__ __forceinline__ float dot(const Row& a, const Row& b, u32 members) {
    float x = 0.0f;
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) x += inner(a.part[i], b.part[i]);
    return total(x, members);
}

// What a warp has gathered: see polysema.kernels.sampling.gather.
struct Gathered {
    u64 hash[CAPACITY];
    u32 id[CAPACITY];
    unsigned short low[CAPACITY], high[CAPACITY];
};

// One side of the model. With Adam, ``moved`` are gradients, and a row that gets its first one is put on a list.
struct Side {
    float* values;
    float* moved;
    u32* marks;
    u32* touched;
    u32* count;
};

__device__ __forceinline__ void touch(const Side& side, u32 row) {
#if ADAM
    if (atomicExch(side.marks + row, 1u) == 0u) side.touched[atomicAdd(side.count, 1u)] = row;
#endif
}

__device__ __forceinline__ void add(const Side& side, u32 row, float scale, const Row& what, int lane) {
    float4* to = (float4*)(side.moved + (size_t)row * N);
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        if (lane + i * GROUP < N4) atomic_add(to + lane + i * GROUP, scale * what.part[i]);
    if (lane == 0) touch(side, row);
}

__device__ __forceinline__ Row load(const Side& side, u32 row, int lane) {
    return load(side.values + (size_t)row * N, lane);
}

struct Model {
    Side target;
    Side context;
    const u64* alias;
    u32 size;
    float rate;
    double* loss;
};

// The row of noise word k of the group's sample, found by the group's lanes together.
__device__ __forceinline__ u32 noise_row(u64 hash, int first, int k, int lane, u32 members, u32& mine, const Model& m) {
    if (k % GROUP == 0) mine = noise_word(mixed(hash + (u64)(first + k + lane + 1) * GOLDEN), m.alias, m.size);
    return __shfl_sync(members, mine, k % GROUP, GROUP);
}

#if !WORD2DM
// The sum of the rows of a window, but for the target's own place.
__device__ __forceinline__ Row window_sum(const Gathered& g, int t, int low, int high, const Side& side, int lane) {
    Row sum = zeros();
    for (int q = low; q < high; q++)
        if (q != t) accumulate(sum, 1.0f, load(side, g.id[q], lane));
    return sum;
}
#endif

#if !WORD2DM
// Learn from target t and the words in low … high but t, whose sum is the context. Returns the score.
__device__ __forceinline__ float learn(
    const Gathered& g, int t, int low, int high, const Row& context, int first, int lane, u32 members, const Model& m
) {
    u32 senses = g.id[t] * M;
    int chosen = 0;
    float best = -3.4e38f, score = 0.0f;
    Row b = zeros();
#pragma unroll
    for (int s = 0; s < M; s++) {
        Row sense = load(m.target, senses + s, lane);
        float product = dot(sense, context, members);
        float likeness = product;
        if (COSINE) likeness = product * fabsf(product) / (dot(sense, sense, members) + 1e-30f);
        if (likeness > best) {
            best = likeness;
            chosen = s;
            score = product;
            b = sense;
        }
    }
    float up = m.rate * (1.0f - sigmoid(score));
    Row move = zeros();
    accumulate(move, up, context);
    for (int q = low; q < high; q++)
        if (q != t) add(m.context, g.id[q], up, b, lane);
    u32 mine = 0;
    for (int k = 0; k < K; k++) {
        u32 row = noise_row(g.hash[t], first, k, lane, members, mine, m);
        Row noise = load(m.context, row, lane);
        float down = -m.rate * sigmoid(dot(b, noise, members));
        accumulate(move, down, noise);
        add(m.context, row, down, b, lane);
    }
    add(m.target, senses + chosen, 1.0f, move, lane);
    return score;
}
#endif

#if !WORD2DM
__device__ void train_gathered(const Gathered& g, int count, int lane_of_warp, const Model& m) {
    int group = lane_of_warp / GROUP, lane = lane_of_warp % GROUP;
    u32 members = GROUP == 32 ? ALL : ((1u << (GROUP % 32)) - 1u) << (group * GROUP);
    for (int t = group; t < count; t += LANES / GROUP) {
        int low = g.low[t], high = g.high[t];
        float score = 0.0f;
#if PAIRS
        int slot = 0;
        for (int q = low; q < high; q++) {
            if (q == t) continue;
            Row context = load(m.context, g.id[q], lane);
            score = learn(g, t, q, q + 1, context, slot * K, lane, members, m);
            slot++;
        }
#else
        score = learn(g, t, low, high, window_sum(g, t, low, high, m.context, lane), 0, lane, members, m);
#endif
        if ((g.hash[t] & 63) == 0 && lane == 0) {
            atomicAdd(m.loss, (double)surprise(score));
            atomicAdd(m.loss + 1, 1.0);
        }
    }
    __syncwarp();
}
#endif

#if WORD2DM
// One warp a target; lane j has column j of A_t and of the sum of g B_c B_c', so that DIM must not exceed 32.
__device__ void train_gathered(const Gathered& g, int count, int lane, const Model& m, float* factor) {
    bool inside = lane < DIM;
    for (int t = 0; t < count; t++) {
        size_t target = (size_t)g.id[t] * M * N;
        float a[DIM], pull[DIM], own[M];
#pragma unroll
        for (int i = 0; i < DIM; i++) a[i] = pull[i] = 0.0f;
        for (int s = lane; s < M * N4; s += LANES) ((float4*)factor)[s] = __ldcg((const float4*)(m.target.values + target) + s);
        __syncwarp();
#pragma unroll
        for (int s = 0; s < M; s++) {
            own[s] = inside ? factor[s * N + lane] : 0.0f;
#pragma unroll
            for (int i = 0; i < DIM; i++) a[i] += own[s] * factor[s * N + i];
        }
        __syncwarp();
        u64 hash = g.hash[t];
        int slot = 0;
        for (int q = g.low[t]; q < g.high[t]; q++) {
            if (q == t) continue;
            for (int k = -1; k < K; k++) {
                u32 row = g.id[q];
                if (k >= 0) row = noise_word(mixed(hash + (u64)(slot * K + k + 1) * GOLDEN), m.alias, m.size);
                size_t context = (size_t)row * M * N;
                for (int s = lane; s < M * N4; s += LANES) ((float4*)factor)[s] = __ldcg((const float4*)(m.context.values + context) + s);
                __syncwarp();
                float product[M];
                float score = 0.0f;
#pragma unroll
                for (int s = 0; s < M; s++) {
                    float p = 0.0f;
#pragma unroll
                    for (int i = 0; i < DIM; i++) p += factor[s * N + i] * a[i];
                    product[s] = p;
                    if (inside) score += p * factor[s * N + lane];
                }
#pragma unroll
                for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(ALL, score, step);
                float force = (k < 0 ? 1.0f : 0.0f) - sigmoid(score);
#pragma unroll
                for (int s = 0; s < M; s++) {
                    float b = inside ? force * factor[s * N + lane] : 0.0f;
#pragma unroll
                    for (int i = 0; i < DIM; i++) pull[i] += b * factor[s * N + i];
                }
                float step = 2.0f * m.rate * force;
                if (inside)
#pragma unroll
                    for (int s = 0; s < M; s++) atomicAdd(m.context.moved + context + s * N + lane, step * product[s]);
                if (lane == 0) touch(m.context, row);
                if (k < 0 && (hash & 63) == 0 && lane == 0) {
                    atomicAdd(m.loss, (double)surprise(score));
                    atomicAdd(m.loss + 1, 1.0);
                }
                __syncwarp();
            }
            slot++;
        }
        // B_t' gains rate * 2 * B_t' G, G symmetric: lane j sums over i of own row s times G[i][j]
        for (int s = 0; s < M; s++)
            if (inside) factor[s * N + lane] = own[s];
        __syncwarp();
#pragma unroll
        for (int s = 0; s < M; s++) {
            float move = 0.0f;
#pragma unroll
            for (int i = 0; i < DIM; i++) move += factor[s * N + i] * pull[i];
            if (inside) atomicAdd(m.target.moved + target + s * N + lane, 2.0f * m.rate * move);
        }
        if (lane == 0) touch(m.target, g.id[t]);
        __syncwarp();
    }
}
#endif

// Turn corpus ids into rows of the model, in place; words that are left out become NONE.
extern "C" __global__ void to_rows(u32* tokens, u64 count, const u32* __restrict__ rows) {
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
        tokens[i] = rows[tokens[i]];
}

// Train on sentences first … last of a segment. Warps take runs of sentences as they get free.
extern "C" __global__ void __launch_bounds__(BLOCK) train(
    const u32* __restrict__ tokens,    // of the segment, as rows
    const long long* __restrict__ ends,  // sentence marks of the segment, from the start of the corpus
    u64 token_offset, u64 sentence_offset,  // where the segment starts in the corpus
    u32 first, u32 last, u32 run, u32* next, const u32* __restrict__ keep, const u64* __restrict__ alias, u32 size,
    u64 key, u64 held_out, float rate, double* loss, float* target, float* context, float* target_moved,
    float* context_moved, u32* target_marks, u32* context_marks, u32* target_touched, u32* context_touched, u32* counts
) {
    __shared__ Gathered gathered[BLOCK / LANES];
#if WORD2DM
    __shared__ __align__(16) float factors[BLOCK / LANES][M * N];
#endif
    int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    Gathered& g = gathered[warp];
    Model m = {
        {target, target_moved, target_marks, target_touched, counts},
        {context, context_moved, context_marks, context_touched, counts + 1},
        alias, size, rate, loss,
    };
#if WORD2DM
#define TRAIN(count) train_gathered(g, count, lane, m, factors[warp])
#else
#define TRAIN(count) train_gathered(g, count, lane, m)
#endif
    while (true) {
        u32 begin = 0;
        if (lane == 0) begin = atomicAdd(next, run);
        begin = first + __shfl_sync(ALL, begin, 0);
        if (begin >= last) break;
        u32 end = min(begin + run, last);
        int count = 0;
        for (u32 s = begin; s < end; s++) {
            if ((mixed((sentence_offset + s) * GOLDEN) >> 32) < held_out) continue;
            if (count > CAPACITY / 2) {
                TRAIN(count);
                count = 0;
            }
            int start = count;
            long long stop = ends[s + 1];
            for (long long from = ends[s]; from < stop; from += LANES) {
                if (count > CAPACITY - LANES) {  // a sentence of more words than there is room for is cut
                    for (int t = start + lane; t < count; t += LANES) {
                        int reach = 1 + (int)(((g.hash[t] & 0xffffffffull) * WINDOW) >> 32);
                        g.low[t] = max(start, t - reach);
                        g.high[t] = min(count, t + reach + 1);
                    }
                    __syncwarp();
                    TRAIN(count);
                    count = start = 0;
                }
                long long p = from + lane;
                u32 row = p < stop ? tokens[p - token_offset] : NONE;
                u64 h = mixed(key + p * GOLDEN);
                bool kept = row != NONE && (u32)(h >> 32) <= keep[row];
                u32 survivors = __ballot_sync(ALL, kept);
                if (kept) {
                    int place = count + __popc(survivors & ((1u << lane) - 1u));
                    g.id[place] = row;
                    g.hash[place] = h;
                }
                count += __popc(survivors);
                __syncwarp();
            }
            if (count < start + 2) {
                count = start;
                continue;
            }
            for (int t = start + lane; t < count; t += LANES) {
                int reach = 1 + (int)(((g.hash[t] & 0xffffffffull) * WINDOW) >> 32);
                g.low[t] = max(start, t - reach);
                g.high[t] = min(count, t + reach + 1);
            }
            __syncwarp();
        }
        if (count) TRAIN(count);
    }
}

#if !ADAM
// Shorten the rows of one side, WIDTH numbers each, that are longer than LONGEST. A warp takes a row at a time.
extern "C" __global__ void bound(float* values, u64 rows, int width) {
    u64 warps = (u64)gridDim.x * blockDim.x / LANES;
    int lane = threadIdx.x % LANES;
    for (u64 r = (blockIdx.x * (u64)blockDim.x + threadIdx.x) / LANES; r < rows; r += warps) {
        float* row = values + r * width;
        float square = 0.0f;
        for (int i = lane; i < width; i += LANES) square += row[i] * row[i];
        for (int step = 16; step > 0; step /= 2) square += __shfl_xor_sync(ALL, square, step);
        if (square > LONGEST * LONGEST)
            for (int i = lane; i < width; i += LANES) row[i] *= LONGEST / sqrtf(square);
    }
}
#endif

#if ADAM
// Move the touched rows of one side, WIDTH numbers each, by their gradients, and forget these.
extern "C" __global__ void adam(
    float* values, float* gradients, float* means, float* squares, u32* marks, const u32* __restrict__ touched,
    const u32* __restrict__ count, int width, float rate, float mean_scale, float square_scale
) {
    u64 numbers = (u64)*count * width;
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < numbers; i += (u64)gridDim.x * blockDim.x) {
        u32 row = touched[i / width];
        size_t place = (size_t)row * width + i % width;
        float g = gradients[place];
        float mean = 0.9f * means[place] + 0.1f * g;
        float square = 0.999f * squares[place] + 0.001f * g * g;
        gradients[place] = 0.0f;
        means[place] = mean;
        squares[place] = square;
        values[place] += rate * mean * mean_scale / (sqrtf(square * square_scale) + 1e-8f);
        if (i % width == 0) marks[row] = 0u;
    }
}
#endif
