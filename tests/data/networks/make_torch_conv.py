"""Writes torch_conv_3x3.safetensors and torch_conv_6x7.safetensors: updates of a convolutional MuZero model computed by PyTorch,
for tests/networks/torch_conv.c.

    pip install torch safetensors numpy;  python make_torch_conv.py

The model of networks/model.h (kind conv), its K-step unrolled loss, every gradient of the first update, what batch norm saw in
it, and several updates: losses, norms of gradients, and the small parameters in the end. The weights to begin with are made up by
a formula that the test has too. Weights and batch are float32; everything computed from them is float64. Of the smaller board
also the loss and the gradients where the factors of every convolution's products are rounded to bfloat16.
"""
import itertools
import os

import numpy
import torch
from safetensors.torch import save_file
from torch.nn.functional import batch_norm, conv2d, log_softmax, relu

CHANNELS, HEAD_CHANNELS, PLANES, VALUE_BINS, REWARD_BINS = 16, 16, 3, 5, 3
BATCH, UNROLL, NORM_ROWS, NORM_SHARE, UPDATES = 8, 3, 2, 0.1, 4
LOSS_WEIGHT = {"policy": 1.0, "value": 0.25, "reward": 1.0}
OPTIMIZER = {"learning_rate": 1e-2, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-3, "weight_decay": 0.1, "gradient_clip": 0.5}
PADDED_PLANES = 16
MARGIN = 1e-5  # closer to a bend of ReLU or to a second maximum, float32 may end up on the other side


def min_max(x):
    low, high = x.amin(dim=(1, 2, 3), keepdim=True), x.amax(dim=(1, 2, 3), keepdim=True)
    return (x - low) / (high - low + 1e-5)


def rms(x):
    return x / (x.square().mean(dim=(1, 2, 3), keepdim=True) + 1e-5).sqrt()


# In one an action is a cell, in the other a column; one has a tower before its heads, the other blocks that pool.
BOARDS = {
    "3x3": {"height": 3, "width": 3, "actions": 9, "prediction_blocks": 1, "pooled": False, "scaling": min_max},
    "6x7": {"height": 6, "width": 7, "actions": 7, "prediction_blocks": 0, "pooled": True, "scaling": rms},
}


def made_up(index, count):
    """Numbers in [-1, 1), the same as in torch_conv.c (the hash is Wellons' lowbias32)."""
    x = numpy.arange(count, dtype=numpy.uint32) + numpy.uint32(index << 20)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = (x ^ (x >> numpy.uint32(shift))) * numpy.uint32(factor)
    x ^= x >> numpy.uint32(16)
    return (x >> numpy.uint32(8)).astype(numpy.float32) / numpy.float32(2**23) - numpy.float32(1)


def shapes(board):
    """Names and shapes of the parameters, in the model's order."""
    positions, out = board["height"] * board["width"], {}
    towers = [("representation", PADDED_PLANES, 1), ("dynamics", CHANNELS, 1), ("prediction", 0, board["prediction_blocks"])]
    for part, stem, blocks in towers:
        if stem:
            out[f"{part}.stem.weight"] = (9 * stem, CHANNELS)
            out[f"{part}.stem.bias"] = (1, CHANNELS)
        for block in range(blocks):
            if board["pooled"]:
                out[f"{part}.{block}.pooled.weight"] = (2 * CHANNELS, CHANNELS)
            for i in range(2):
                out[f"{part}.{block}.norm{i}.scale"] = (1, CHANNELS)
                out[f"{part}.{block}.norm{i}.shift"] = (1, CHANNELS)
                out[f"{part}.{block}.conv{i}.weight"] = (9 * CHANNELS, CHANNELS)
        if part == "dynamics":
            out["dynamics.action"] = (9, CHANNELS)
    for head, outputs in (("reward", REWARD_BINS), ("policy", board["actions"]), ("value", VALUE_BINS)):
        out[f"{head}.conv.weight"] = (CHANNELS, HEAD_CHANNELS)
        out[f"{head}.norm.scale"] = (1, HEAD_CHANNELS)
        out[f"{head}.norm.shift"] = (1, HEAD_CHANNELS)
        out[f"{head}.weight"] = (positions * HEAD_CHANNELS, outputs)
        out[f"{head}.bias"] = (1, outputs)
    norms = [name.removesuffix(".scale") for name in out if name.endswith(".scale")]
    for norm in norms:
        apart = norm.startswith(("prediction", "policy", "value"))
        for origin in ("", ".root") if apart else ("",):
            out[f"{norm}{origin}.mean"] = (1, CHANNELS)
            out[f"{norm}{origin}.variance"] = (1, CHANNELS)
    return out


def is_statistic(name):
    return name.endswith((".mean", ".variance"))


def make_parameters(board):
    parameters = {}
    for index, (name, (rows, columns)) in enumerate(shapes(board).items()):
        middle = 1 if name.endswith((".scale", ".variance")) else 0
        values = numpy.float32(middle) + made_up(index, rows * columns) * numpy.float32(0.25)
        parameters[name] = torch.from_numpy(values.reshape(rows, columns))
    return parameters


def make_batch(board, generator):
    """Targets are distributions without structure; about a quarter of the row weights are 0 (masked)."""
    def uniform(*shape, low=-1.0, high=1.0):
        return torch.rand(*shape, generator=generator, dtype=torch.float32) * (high - low) + low

    def weights():
        return uniform(BATCH, 1, low=0.0, high=2.0 / BATCH) * (torch.rand(BATCH, 1, generator=generator) > 0.25)

    batch = {"observation": uniform(BATCH, board["height"] * board["width"] * PLANES)}
    for k in range(UNROLL + 1):
        batch[f"policy_target.{k}"] = torch.softmax(2 * uniform(BATCH, board["actions"]), dim=1)
        batch[f"policy_weight.{k}"] = weights()
        batch[f"value_target.{k}"] = torch.softmax(4 * uniform(BATCH, VALUE_BINS), dim=1)
        batch[f"value_weight.{k}"] = weights()
        if k > 0:
            batch[f"action.{k}"] = torch.randint(board["actions"], (BATCH,), generator=generator, dtype=torch.int32)
            batch[f"reward_target.{k}"] = torch.softmax(4 * uniform(BATCH, REWARD_BINS), dim=1)
            batch[f"reward_weight.{k}"] = weights()
    return batch


def rounded(x):
    return x.float().bfloat16().double()


class HalfConvolution(torch.autograd.Function):
    """What is multiplied, forward and backward, is bfloat16; sums are not rounded."""

    @staticmethod
    def forward(ctx, x, weight):
        x, weight = rounded(x), rounded(weight)
        ctx.save_for_backward(x, weight)
        return conv2d(x, weight, padding=1)

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        dy = rounded(dy)
        dx = torch.nn.grad.conv2d_input(x.shape, weight, dy, padding=1)
        return dx, torch.nn.grad.conv2d_weight(x, weight.shape, dy, padding=1)


def convolve(x, weight, half=False):
    """Stored HWIO."""
    weight = weight.reshape(3, 3, x.shape[1], -1).permute(3, 2, 0, 1)
    return HalfConvolution.apply(x, weight) if half else conv2d(x, weight, padding=1)


class Model:
    """Boards are NCHW here. `seen` gathers the mean and the variance of every group at every use of a norm; what follows the
    root keeps its own (`origin`) where a norm also follows the dynamics."""

    def __init__(self, board, parameters, half=False):
        self.board, self.p, self.half, self.seen, self.margin = board, parameters, half, {}, float("inf")

    def relu(self, x):
        self.margin = min(self.margin, x.detach().abs().min().item())
        return relu(x)

    def maxima(self, x):
        first, second = x.detach().flatten(2).topk(2, dim=2).values.unbind(dim=2)
        self.margin = min(self.margin, (first - second)[first > 0].min().item())
        return x.amax(dim=(2, 3))

    def norm(self, name, x, origin=""):
        groups = []
        for group in x.split(NORM_ROWS):
            self.seen.setdefault(f"{name}{origin}.mean", []).append(group.detach().mean(dim=(0, 2, 3)))
            self.seen.setdefault(f"{name}{origin}.variance", []).append(group.detach().var(dim=(0, 2, 3), unbiased=False))
            scale, shift = self.p[f"{name}.scale"][0], self.p[f"{name}.shift"][0]
            groups.append(batch_norm(group, None, None, scale, shift, training=True, eps=1e-5))
        return torch.cat(groups)

    def statistics(self):
        return {name: torch.stack(seen).mean(dim=0).reshape(1, -1) for name, seen in self.seen.items()}

    def blocks(self, part, x, count, origin=""):
        for block in range(count):
            y = x
            for i in range(2):
                y = self.relu(self.norm(f"{part}.{block}.norm{i}", y, origin))
                pools = i == 0 and self.board["pooled"]
                pool = torch.cat([y.mean(dim=(2, 3)), self.maxima(y)], dim=1) if pools else None
                y = convolve(y, self.p[f"{part}.{block}.conv{i}.weight"], self.half)
                if pools:
                    y = y + (pool @ self.p[f"{part}.{block}.pooled.weight"])[:, :, None, None]
            x = x + y
        return x

    def stem(self, part, x):
        return convolve(x, self.p[f"{part}.stem.weight"], self.half) + self.p[f"{part}.stem.bias"].reshape(1, -1, 1, 1)

    def representation(self, observation):
        planes = observation.reshape(BATCH, self.board["height"], self.board["width"], PLANES).permute(0, 3, 1, 2)
        padding = planes.new_zeros(BATCH, PADDED_PLANES - PLANES, self.board["height"], self.board["width"])
        return self.board["scaling"](self.blocks("representation", self.stem("representation", torch.cat([planes, padding], dim=1)), 1))

    def dynamics(self, latent, action):
        """The action enters as a plane of its own: 1 at its cell, or all over its column."""
        plane = latent.new_zeros(BATCH, 1, self.board["height"], self.board["width"])
        for row, a in enumerate(action.tolist()):
            if self.board["actions"] == self.board["width"]:
                plane[row, 0, :, a] = 1
            else:
                plane[row, 0, a // self.board["width"], a % self.board["width"]] = 1
        x = self.stem("dynamics", latent) + convolve(plane, self.p["dynamics.action"])
        latent = self.board["scaling"](self.blocks("dynamics", x, 1))
        return latent, self.head("reward", latent)

    def prediction(self, latent, origin):
        x = self.blocks("prediction", latent, self.board["prediction_blocks"], origin)
        return self.head("policy", x, origin), self.head("value", x, origin)

    def head(self, name, x, origin=""):
        x = (x.permute(0, 2, 3, 1) @ self.p[f"{name}.conv.weight"]).permute(0, 3, 1, 2)
        x = self.relu(self.norm(f"{name}.norm", x, origin)).permute(0, 2, 3, 1)
        return x.reshape(BATCH, -1) @ self.p[f"{name}.weight"] + self.p[f"{name}.bias"]


def cross_entropy(batch, head, k, logits):
    rows = -(batch[f"{head}_target.{k}"] * log_softmax(logits, dim=1)).sum(dim=1, keepdim=True)
    scale = 1.0 if k == 0 else 1.0 / UNROLL
    return LOSS_WEIGHT[head] * scale * (batch[f"{head}_weight.{k}"] * rows).sum()


def unrolled_loss(model, batch):
    latent = model.representation(batch["observation"])
    loss = 0.0
    for k in range(UNROLL + 1):
        if k > 0:
            latent, reward = model.dynamics(0.5 * latent + 0.5 * latent.detach(), batch[f"action.{k}"])
            loss = loss + cross_entropy(batch, "reward", k, reward)
        policy, value = model.prediction(latent, ".root" if k == 0 else "")
        loss = loss + cross_entropy(batch, "policy", k, policy) + cross_entropy(batch, "value", k, value)
    return loss


def compute(name, board, seed):
    """None: an update comes too close to where it has no derivative."""
    parameters, batch = make_parameters(board), make_batch(board, torch.Generator().manual_seed(seed))
    p = {name: value.double().requires_grad_(not is_statistic(name)) for name, value in parameters.items()}
    doubles = {name: value.double() if value.is_floating_point() else value for name, value in batch.items()}
    trained = {name: value for name, value in p.items() if not is_statistic(name)}
    decayed = [value for name, value in trained.items() if name.endswith(("weight", "action"))]
    others = [value for name, value in trained.items() if not name.endswith(("weight", "action"))]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": OPTIMIZER["weight_decay"]}, {"params": others, "weight_decay": 0.0}],
        lr=OPTIMIZER["learning_rate"], betas=(OPTIMIZER["beta1"], OPTIMIZER["beta2"]), eps=OPTIMIZER["epsilon"])

    out = {f"batch.{name}": value for name, value in batch.items()}
    if name == "3x3":
        model = Model(board, p, half=True)
        loss = unrolled_loss(model, doubles)
        loss.backward()
        out["half_loss"] = loss.detach()
        out |= {f"half_gradients.{name}": value.grad.float() for name, value in trained.items()}
        out |= {f"half_gradients.{name}": value.float() for name, value in model.statistics().items()}
    losses, norms = [], []
    for update in range(UPDATES):
        model = Model(board, p)
        loss = unrolled_loss(model, doubles)
        if model.margin < MARGIN:
            return None
        optimizer.zero_grad()
        loss.backward()
        statistics = model.statistics()
        if update == 0:
            out |= {f"gradients.{name}": value.grad.float() for name, value in trained.items()}
            out |= {f"gradients.{name}": value.float() for name, value in statistics.items()}
        losses.append(loss.item())
        norms.append(torch.nn.utils.clip_grad_norm_(trained.values(), OPTIMIZER["gradient_clip"]).item())
        optimizer.step()
        for statistic, value in statistics.items():
            p[statistic] += NORM_SHARE * (value - p[statistic])
    out["losses"], out["gradient_norms"] = torch.tensor(losses).double(), torch.tensor(norms).double()
    out |= {f"updated.{name}": value.detach().float() for name, value in p.items() if value.shape[0] == 1}
    out |= {f"loss_weight.{name}": torch.tensor(value, dtype=torch.float64) for name, value in LOSS_WEIGHT.items()}
    out |= {f"optimizer.{name}": torch.tensor(value, dtype=torch.float64) for name, value in OPTIMIZER.items()}

    print(f"{name}: seed {seed}, losses {losses}, gradient norms {norms}")
    return out


def write(name, board):
    out = next(found for found in (compute(name, board, seed) for seed in itertools.count(20240608)) if found)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"torch_conv_{name}.safetensors")
    save_file({name: value.contiguous() for name, value in out.items()}, path, metadata={"torch": torch.__version__})
    print(f"{path}: {os.path.getsize(path)} bytes")


def main():
    torch.set_default_dtype(torch.float64)
    for name, board in BOARDS.items():
        write(name, board)


main()
