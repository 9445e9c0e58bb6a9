"""Writes torch_optimizer.safetensors: 20 steps of torch.optim.AdamW and torch.optim.SGD, for tests/networks/optimizer.c.

    pip install torch safetensors numpy;  python make_torch_optimizer.py

A weight [5, 7] that decays and a bias [1, 7] that does not. Start and gradients are float32; the trajectories are float64.
PyTorch's SGD couples weight decay to the gradient, ours does not: there the decay is written out before the step.
"""
import os

import torch
from safetensors.torch import save_file

STEPS, SHAPES = 20, {"weight": (5, 7), "bias": (1, 7)}
DECAY = {"weight": 0.05, "bias": 0.0}
MOMENTUM, BETAS, EPSILON = 0.9, (0.9, 0.99), 1e-3

generator = torch.Generator().manual_seed(11)


def learning_rate(step):
    return 0.05 / (1 + step)


def adamw(p):
    groups = [{"params": [value], "weight_decay": DECAY[name]} for name, value in p.items()]
    return torch.optim.AdamW(groups, lr=1.0, betas=BETAS, eps=EPSILON)


class DecoupledSGD(torch.optim.SGD):
    def step(self):
        with torch.no_grad():
            for group in self.param_groups:
                for value in group["params"]:
                    value.mul_(1 - group["lr"] * group["decay"])
        super().step()


def sgd(p):
    return DecoupledSGD([{"params": [value], "decay": DECAY[name]} for name, value in p.items()], lr=1.0, momentum=MOMENTUM)


def main():
    start = {name: torch.randn(shape, generator=generator) for name, shape in SHAPES.items()}
    gradients = {name: torch.randn((STEPS, *shape), generator=generator) for name, shape in SHAPES.items()}
    for gradient in gradients.values():
        gradient[:, 0, 0] *= 1e-3  # one element near epsilon,
        gradient[:, 0, 1] = 0.0    # and one that is never moved but by decay
    out = {"learning_rate": torch.tensor([learning_rate(step) for step in range(STEPS)], dtype=torch.float64)}
    out |= {f"start.{name}": value for name, value in start.items()}
    out |= {f"gradient.{name}": value for name, value in gradients.items()}
    for kind, make in {"adam": adamw, "sgd": sgd}.items():
        p = {name: value.double().requires_grad_() for name, value in start.items()}
        optimizer = make(p)
        trajectory = {name: [] for name in p}
        for step in range(STEPS):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step)
            for name, value in p.items():
                value.grad = gradients[name][step].double()
            optimizer.step()
            for name, value in p.items():
                trajectory[name].append(value.detach().clone())
        out |= {f"{kind}.{name}": torch.stack(values) for name, values in trajectory.items()}
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_optimizer.safetensors")
    save_file(out, path, metadata={"torch": torch.__version__})
    print(f"{path}: {os.path.getsize(path)} bytes")


main()
