// In place of MLX's file of this name, which is written with Apple's compiler intrinsics: what it adds (bfloat16 in mathematics and
// simdgroup operations) maths.h and simdgroup.h have already.
#pragma once
