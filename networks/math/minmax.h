/* Latents are scaled to [0, 1] per row: y = (x − min) / (max − min + ε) (MuZero appendix G). */
#pragma once

static inline float mz_minmax_inverse_inline(float min, float max) { return 1.0f / (max - min + 1e-5f); }
