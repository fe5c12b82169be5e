// cblas_sgemm with the results of the reference BLAS, bit for bit, several times faster.
//
// As there, each element of C adds its products one after the other and rounds each, so passes of 1 row and of n rows agree.
// Vectors hold neighboring columns of C.

#include <cstdlib>
#include <cstring>

constexpr int W = 16;
typedef float Vector __attribute__((vector_size(4 * W)));

static Vector load(const float* from) {
    Vector value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// Interleave the first half of the rows with the second, which transposes a square after log2(W) times.
static void transpose(Vector (&rows)[W]) {
    for (int step = 1; step < W; step *= 2) {
        Vector next[W];
        for (int i = 0; i < W / 2; ++i) {
            Vector one = rows[i], other = rows[i + W / 2];
            next[2 * i] = __builtin_shufflevector(one, other, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            next[2 * i + 1] = __builtin_shufflevector(one, other, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
        std::memcpy(rows, next, sizeof next);
    }
}

// Copy `width` columns of op(B) next to each other, padded to W.
static void pack(const float* b, int ldb, bool transposed, int depth, int width, Vector* packed) {
    int done = 0;
    if (transposed && width == W)
        for (; done + W <= depth; done += W) {
            Vector square[W];
            for (int column = 0; column < W; ++column) square[column] = load(b + (long)column * ldb + done);
            transpose(square);
            std::memcpy(packed + done, square, sizeof square);
        }
    for (; done < depth; ++done) {
        Vector row{};
        if (!transposed && width == W)
            row = load(b + (long)done * ldb);
        else
            for (int column = 0; column < width; ++column)
                row[column] = transposed ? b[(long)column * ldb + done] : b[(long)done * ldb + column];
        packed[done] = row;
    }
}

struct Product {
    const float* a;
    long next_row, next_column;  // strides of op(A)
    float* c;
    long ldc;
    int depth, width;
    float alpha, beta;
    bool transposed;  // op(B) is a transpose, where the reference scales the sum; otherwise it scales each element of A

    template <int ROWS>
    void rows(int first, const Vector* packed) const {
        Vector sums[ROWS], before[ROWS];
        for (int row = 0; row < ROWS; ++row) {
            before[row] = Vector{};
            if (beta != 0) std::memcpy(&before[row], c + (first + row) * ldc, 4 * width);
            sums[row] = transposed ? Vector{} : beta * before[row];
        }
        const float* at = a + first * next_row;
        for (int k = 0; k < depth; ++k)
            for (int row = 0; row < ROWS; ++row) {
                float factor = at[row * next_row + k * next_column];
                sums[row] += (transposed ? factor : alpha * factor) * packed[k];
            }
        for (int row = 0; row < ROWS; ++row) {
            if (transposed) sums[row] = beta == 0 ? alpha * sums[row] : alpha * sums[row] + beta * before[row];
            std::memcpy(c + (first + row) * ldc, &sums[row], 4 * width);
        }
    }
};

extern "C" void cblas_sgemm(
    int, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb,
    float beta, float* c, int ldc) {
    constexpr int TRANSPOSED = 112;  // CblasTrans. MLX's order is always row by row
    bool turned_a = transpose_a == TRANSPOSED, turned_b = transpose_b == TRANSPOSED;
    thread_local Vector* packed = nullptr;
    thread_local int room = 0;
    if (room < k) {
        std::free(packed);
        packed = static_cast<Vector*>(std::aligned_alloc(sizeof(Vector), sizeof(Vector) * (room = k)));
    }
    for (int column = 0; column < n; column += W) {
        int width = n - column < W ? n - column : W;
        pack(b + (turned_b ? (long)column * ldb : column), ldb, turned_b, k, width, packed);
        Product product{a, turned_a ? 1 : lda, turned_a ? lda : 1, c + column, ldc, k, width, alpha, beta, turned_b};
        int row = 0;
        for (; row + 8 <= m; row += 8) product.rows<8>(row, packed);
        for (; row + 2 <= m; row += 2) product.rows<2>(row, packed);
        for (; row < m; ++row) product.rows<1>(row, packed);
    }
}
