// Replaces MLX's header, which uses intrinsics of Apple's compiler. math_functions.h and simdgroup.h already support bfloat16.
#pragma once
