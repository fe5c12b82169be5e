// The product of a matrix and a transposed matrix, as MLX computes a linear layer: bit for bit what the reference BLAS computes, several
// times faster. Each result is the same sum in the same order. The reference waits for each addition; here 8 sums take turns.

using Sgemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112, SUMS = 8 };

static Sgemm* reference;

extern "C" void use_reference(Sgemm* function) { reference = function; }

static inline void store(float* to, float sum, float alpha, float beta) {
  *to = beta == 0 ? alpha * sum : alpha * sum + beta * *to;
}

extern "C" void cblas_sgemm(int order, int of_a, int of_b, int rows, int columns, int inner, float alpha, const float* a, int lda,
                            const float* b, int ldb, float beta, float* c, int ldc) {
  if (order != ROW_MAJOR || of_a != NO_TRANSPOSE || of_b != TRANSPOSE || alpha == 0 || inner <= 0) {
    return reference(order, of_a, of_b, rows, columns, inner, alpha, a, lda, b, ldb, beta, c, ldc);
  }
  for (long row = 0; row < rows; row++) {
    const float* x = a + row * lda;
    float* out = c + row * ldc;
    long column = 0;
    for (; column + SUMS <= columns; column += SUMS) {
      const float* w = b + column * ldb;
      float sums[SUMS] = {};
      for (long k = 0; k < inner; k++) {
        for (long n = 0; n < SUMS; n++) sums[n] += w[n * ldb + k] * x[k];
      }
      for (long n = 0; n < SUMS; n++) store(out + column + n, sums[n], alpha, beta);
    }
    for (; column < columns; column++) {
      float sum = 0;
      for (long k = 0; k < inner; k++) sum += b[column * ldb + k] * x[k];
      store(out + column, sum, alpha, beta);
    }
  }
}
