# ---- pictures ----


class Pictures:
    """Observations of bytes, height × width × channels, made grey, smaller, and stacked with those before, the newest last.

    Sums are whole numbers that floats hold exactly, so that they do not depend on the order of adding.
    """

    OPTIONS = ("grey", "size", "frames")
    FRAMES_MAX = 16

    def __init__(self, space, given):
        self.numpy = import_package("numpy", "numpy")
        shape = tuple(int(n) for n in getattr(space, "shape", None) or ())
        if str(getattr(space, "dtype", "")) != "uint8" or len(shape) not in (2, 3):
            key = next(iter(given))
            raise Refused(f"{key}={given[key]}: observations {space} are no pictures; takes Box of uint8, height × width (× channels)")
        height, width, channels = shape + (1,) * (3 - len(shape))
        self.grey = given.get("grey", False)
        if self.grey not in (0, 1):
            raise Refused(f"grey={given['grey']}: takes 1 or 0")
        if self.grey and channels not in (1, 3):
            raise Refused(f"grey={given['grey']}: pictures of {channels} channels; takes 1 or 3")
        self.frames = self.whole(given, "frames", 1, self.FRAMES_MAX)
        self.down = self.across = None
        if "size" in given:
            size = self.whole(given, "size", 1, min(height, width))
            self.area = height * width
            kind = "f4" if 255 * self.area < 2**24 else "f8"
            self.down, self.across = self.shares(height, size).astype(kind), self.shares(width, size).T.astype(kind)
            height = width = size
        self.shape = [height, width, (1 if self.grey else channels) * self.frames]
        self.luma = self.numpy.array([299, 587, 114], "f4")
        self.stacks = {}

    def whole(self, given, key, low, high):
        value = given.get(key, low)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            nearest = min(max(int(value), low), high) if isinstance(value, (int, float)) else high
            raise Refused(f"{key}={value}: takes whole numbers of {low} … {high}; nearest valid value: {nearest}")
        return value

    def text(self):
        parts = ["grey"] * int(self.grey) + [f"{self.shape[0]} × {self.shape[1]}"] + [f"the last {self.frames}"] * (self.frames > 1)
        return "; " + ", ".join(parts)

    def shares(self, length, size):
        """[size][length]: how much of each pixel lies in each larger one, in parts of which a pixel has `size`, a larger one `length`."""
        numpy = self.numpy
        low, at = numpy.arange(size)[:, None] * length, numpy.arange(length)[None, :] * size
        return numpy.maximum(numpy.minimum(low + length, at + size) - numpy.maximum(low, at), 0)

    def frame(self, x):
        numpy = self.numpy
        x = numpy.asarray(x).reshape(x.shape[0], x.shape[1], -1)
        if self.grey and x.shape[2] == 3:  # luma of ITU-R BT.601, rounded
            x = numpy.floor((x.reshape(-1, 3).astype("f4") @ self.luma + 500) / 1000).reshape(*x.shape[:2], 1)
        if self.down is not None:
            rows = self.down @ x.reshape(x.shape[0], -1).astype(self.down.dtype)
            sums = rows.reshape(len(rows), -1, x.shape[2]).transpose(2, 0, 1) @ self.across
            x = ((sums.astype("i4" if sums.dtype == "f4" else "i8") + self.area // 2) // self.area).transpose(1, 2, 0)
        return x.astype("u1")  # a copy: an environment may draw the next one into the same memory

    def observe(self, instance, x, first):
        """The bytes of an observation; the first of an episode has no others before it, and stands for them."""
        frame = self.frame(x)
        stack = [frame] * self.frames if first else self.stacks[instance][1:] + [frame]
        self.stacks[instance] = stack
        return self.numpy.concatenate(stack, axis=2).tobytes()
