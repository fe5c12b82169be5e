// Keyed noise: a Gumbel value that depends only on (seed, position, token id).
//
// Threefry-2x32 with 20 rounds (Salmon et al., SC 2011). The integers equal those of mlx_engine/decoding/noise.py.

// Returns the first output word for the counter (position, token) and the 64-bit seed (low, high).
inline uint keyed_bits(uint low, uint high, uint position, uint token) {
  const uint schedule[3] = {low, high, low ^ high ^ 0x1BD11BDAu};
  const uint rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  uint a = position + low, b = token + high;
  for (uint block = 0; block < 5; ++block) {
    for (uint i = 0; i < 4; ++i) {
      const uint rotation = rotations[(block & 1) * 4 + i];
      a += b;
      b = ((b << rotation) | (b >> (32 - rotation))) ^ a;
    }
    a += schedule[(block + 1) % 3];
    b += schedule[(block + 2) % 3] + block + 1;
  }
  return a;
}

// Returns -log(-log u) with u = (top 23 bits + 0.5) / 2^23, which is exact in float and never 0 or 1.
inline float keyed_gumbel(uint low, uint high, uint position, uint token) {
  const float uniform = (float(keyed_bits(low, high, position, token) >> 9) + 0.5f) * (1.0f / 8388608.0f);
  return -metal::precise::log(-metal::precise::log(uniform));
}
