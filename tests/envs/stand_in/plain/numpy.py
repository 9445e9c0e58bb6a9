"""A stand-in for NumPy: lists, for games that fill in their observations one number at a time."""

float32 = "float32"


def zeros(count, dtype):
    return [0.0] * count
