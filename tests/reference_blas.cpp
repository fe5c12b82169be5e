// cblas_sgemm with the results of the reference BLAS, bit for bit, several times faster.
//
// As there, each element of C adds its products one after the other and rounds each, so passes of 1 row and of n rows agree.
// Vectors hold neighboring columns of C. Both the packed part of B and the sums of a few rows stay in the caches.

#include <algorithm>
#include <cstring>
#include <vector>

constexpr int W = 8, PANELS = 4, DEPTH = 256;  // columns of a vector, vectors next to each other, and rows of op(B) that are packed
typedef float Vector __attribute__((vector_size(4 * W)));

static Vector load(const float* from) {
    Vector value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// Transpose a square: pairs of rows within halves, then pairs of pairs, then the halves.
static void transpose(Vector (&rows)[W]) {
    Vector a[W], b[W];
    for (int i = 0; i < W; i += 2) {
        a[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        a[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < W; i += 4)
        for (int j = 0; j < 2; ++j) {
            b[i + 2 * j] = __builtin_shufflevector(a[i + j], a[i + 2 + j], 0, 1, 8, 9, 4, 5, 12, 13);
            b[i + 2 * j + 1] = __builtin_shufflevector(a[i + j], a[i + 2 + j], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < W / 2; ++i) {
        rows[i] = __builtin_shufflevector(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        rows[i + 4] = __builtin_shufflevector(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

// Copy up to W columns of op(B), padded with zeros, to every PANELS-th vector.
static void pack(const float* b, long ldb, bool transposed, int depth, int width, Vector* packed) {
    int done = 0;
    if (transposed && width == W)
        for (; done + W <= depth; done += W) {
            Vector square[W];
            for (int column = 0; column < W; ++column) square[column] = load(b + column * ldb + done);
            transpose(square);
            for (int row = 0; row < W; ++row) packed[(done + row) * PANELS] = square[row];
        }
    for (; done < depth; ++done) {
        Vector row{};
        if (!transposed && width == W)
            row = load(b + done * ldb);
        else
            for (int column = 0; column < width; ++column) row[column] = b[transposed ? column * ldb + done : done * ldb + column];
        packed[done * PANELS] = row;
    }
}

// Add products to the sums of ROWS rows and of COUNT vectors of columns.
template <int ROWS, int COUNT>
static void add(const float* a, long next_row, long next_column, float alpha, int depth, const Vector* packed, Vector* sums) {
    for (int panel = 0; panel < PANELS; panel += COUNT) {
        Vector held[ROWS][COUNT];
        for (int row = 0; row < ROWS; ++row)
            for (int i = 0; i < COUNT; ++i) held[row][i] = sums[row * PANELS + panel + i];
        for (int k = 0; k < depth; ++k)
            for (int row = 0; row < ROWS; ++row) {
                float factor = alpha * a[row * next_row + k * next_column];
                for (int i = 0; i < COUNT; ++i) held[row][i] += factor * packed[k * PANELS + panel + i];
            }
        for (int row = 0; row < ROWS; ++row)
            for (int i = 0; i < COUNT; ++i) sums[row * PANELS + panel + i] = held[row][i];
    }
}

extern "C" void cblas_sgemm(
    int, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb,
    float beta, float* c, int ldc) {
    constexpr int TRANSPOSED = 112;  // CblasTrans. MLX's order is always row by row
    bool turned_a = transpose_a == TRANSPOSED, turned_b = transpose_b == TRANSPOSED;
    long next_row = turned_a ? 1 : lda, next_column = turned_a ? lda : 1;
    float scale = turned_b ? 1 : alpha;  // where op(B) is a transpose, the reference scales the sum, otherwise each element of A
    thread_local std::vector<Vector> packed(DEPTH * PANELS), sums;
    sums.resize(std::max<size_t>(sums.size(), (size_t)m * PANELS));
    for (int column = 0; column < n; column += PANELS * W) {
        int width = std::min(n - column, PANELS * W);
        std::memset(sums.data(), 0, sizeof(Vector) * m * PANELS);
        if (!turned_b && beta != 0)
            for (int row = 0; row < m; ++row)
                for (int i = 0; i < width; ++i) ((float*)&sums[row * PANELS])[i] = beta * c[(long)row * ldc + column + i];
        for (int first = 0; first < k; first += DEPTH) {
            int depth = std::min(k - first, DEPTH), row = 0;
            for (int panel = 0; panel < PANELS; ++panel) {
                int at = column + panel * W;
                const float* from = b + (turned_b ? (long)at * ldb + first : (long)first * ldb + at);
                pack(from, ldb, turned_b, depth, std::clamp(n - at, 0, W), &packed[panel]);
            }
            auto next = [&](int rows, auto add) {
                for (; row + rows <= m; row += rows) {
                    const float* from = a + row * next_row + first * next_column;
                    add(from, next_row, next_column, scale, depth, packed.data(), &sums[row * PANELS]);
                }
            };
            next(8, add<8, 1>);
            next(2, add<2, 4>);
            next(1, add<1, 4>);
        }
        for (int row = 0; row < m; ++row) {
            float *out = c + (long)row * ldc + column, *sum = (float*)&sums[row * PANELS];
            if (turned_b)
                for (int i = 0; i < width; ++i) sum[i] = beta == 0 ? alpha * sum[i] : alpha * sum[i] + beta * out[i];
            std::memcpy(out, sum, 4 * width);
        }
    }
}
