"""Writes torch_update.safetensors: one MuZero update computed by PyTorch, for tests/networks/torch_update.c.

    pip install torch safetensors numpy;  python make_torch_update.py

The model of networks/model.h (kind mlp), its K-step unrolled loss, every gradient, and the weights after clipping by global
norm and one AdamW step. Weights and batch are float32; everything computed from them is float64.
"""
import os

import torch
from safetensors.torch import save_file
from torch.nn.functional import log_softmax, one_hot, relu

OBS, WIDTH, LATENT, ACTIONS, VALUE_BINS, REWARD_BINS = 4, 32, 32, 3, 21, 21
BATCH, UNROLL = 8, 5
LOSS_WEIGHT = {"policy": 1.0, "value": 0.25, "reward": 1.0}
# Epsilon is large and the clip below the norm, so that the step depends on the size of the gradient, not only on its sign.
OPTIMIZER = {"learning_rate": 3e-2, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-2, "weight_decay": 0.1, "gradient_clip": 0.2}

generator = torch.Generator().manual_seed(20240607)


def uniform(*shape, low=-1.0, high=1.0):
    return torch.rand(*shape, generator=generator, dtype=torch.float32) * (high - low) + low


def dense(parameters, name, inputs, outputs):
    parameters[f"{name}.weight"] = uniform(inputs, outputs) * (3.0 / inputs) ** 0.5
    parameters[f"{name}.bias"] = uniform(1, outputs) * 0.3


def make_parameters():
    parameters = {}
    dense(parameters, "representation.0", OBS, WIDTH)
    dense(parameters, "representation.1", WIDTH, LATENT)
    dense(parameters, "dynamics.0", LATENT, WIDTH)
    parameters["dynamics.0.action"] = uniform(ACTIONS, WIDTH)
    dense(parameters, "dynamics.1", WIDTH, LATENT)
    dense(parameters, "reward", LATENT, REWARD_BINS)
    dense(parameters, "prediction.0", LATENT, WIDTH)
    dense(parameters, "policy", WIDTH, ACTIONS)
    dense(parameters, "value", WIDTH, VALUE_BINS)
    return parameters


def make_batch():
    """Targets are distributions without structure; about a quarter of the row weights are 0 (masked)."""
    def weights():
        return uniform(BATCH, 1, low=0.0, high=2.0 / BATCH) * (torch.rand(BATCH, 1, generator=generator) > 0.25)

    batch = {"observation": uniform(BATCH, OBS)}
    for k in range(UNROLL + 1):
        batch[f"policy_target.{k}"] = torch.softmax(2 * uniform(BATCH, ACTIONS), dim=1)
        batch[f"policy_weight.{k}"] = weights()
        batch[f"value_target.{k}"] = torch.softmax(4 * uniform(BATCH, VALUE_BINS), dim=1)
        batch[f"value_weight.{k}"] = weights()
        if k > 0:
            batch[f"action.{k}"] = torch.randint(ACTIONS, (BATCH,), generator=generator, dtype=torch.int32)
            batch[f"reward_target.{k}"] = torch.softmax(4 * uniform(BATCH, REWARD_BINS), dim=1)
            batch[f"reward_weight.{k}"] = weights()
    return batch


def layer(p, name, x):
    return x @ p[f"{name}.weight"] + p[f"{name}.bias"]


def min_max(x):
    low, high = x.amin(dim=1, keepdim=True), x.amax(dim=1, keepdim=True)
    return (x - low) / (high - low + 1e-5)


def representation(p, observation):
    return min_max(layer(p, "representation.1", relu(layer(p, "representation.0", observation))))


def dynamics(p, latent, action):
    """The first layer reads the latent with the action's one-hot code behind it; its weight is stored in two parts."""
    weight = torch.cat([p["dynamics.0.weight"], p["dynamics.0.action"]])
    x = torch.cat([latent, one_hot(action.long(), ACTIONS).to(latent.dtype)], dim=1)
    latent = min_max(layer(p, "dynamics.1", relu(x @ weight + p["dynamics.0.bias"])))
    return latent, layer(p, "reward", latent)


def prediction(p, latent):
    hidden = relu(layer(p, "prediction.0", latent))
    return layer(p, "policy", hidden), layer(p, "value", hidden)


def cross_entropy(batch, head, k, logits):
    rows = -(batch[f"{head}_target.{k}"] * log_softmax(logits, dim=1)).sum(dim=1, keepdim=True)
    scale = 1.0 if k == 0 else 1.0 / UNROLL
    return LOSS_WEIGHT[head] * scale * (batch[f"{head}_weight.{k}"] * rows).sum()


def unrolled_loss(p, batch):
    latent = representation(p, batch["observation"])
    loss = 0.0
    for k in range(UNROLL + 1):
        if k > 0:
            halved = 0.5 * latent + 0.5 * latent.detach()
            latent, reward = dynamics(p, halved, batch[f"action.{k}"])
            loss = loss + cross_entropy(batch, "reward", k, reward)
        policy, value = prediction(p, latent)
        loss = loss + cross_entropy(batch, "policy", k, policy) + cross_entropy(batch, "value", k, value)
    return loss


def main():
    parameters, batch = make_parameters(), make_batch()
    p = {name: value.double().requires_grad_() for name, value in parameters.items()}
    doubles = {name: value.double() if value.is_floating_point() else value for name, value in batch.items()}
    loss = unrolled_loss(p, doubles)
    loss.backward()

    out = {f"weights.{name}": value for name, value in parameters.items()}
    out |= {f"batch.{name}": value for name, value in batch.items()}
    out |= {f"gradients.{name}": value.grad.clone() for name, value in p.items()}
    out["loss"] = loss.detach()
    out |= {f"loss_weight.{name}": torch.tensor(value, dtype=torch.float64) for name, value in LOSS_WEIGHT.items()}
    out |= {f"optimizer.{name}": torch.tensor(value, dtype=torch.float64) for name, value in OPTIMIZER.items()}

    norm = torch.nn.utils.clip_grad_norm_(p.values(), OPTIMIZER["gradient_clip"])
    out["gradient_norm"] = norm.detach()
    decayed = [value for name, value in p.items() if not name.endswith(".bias")]
    others = [value for name, value in p.items() if name.endswith(".bias")]
    torch.optim.AdamW(
        [{"params": decayed, "weight_decay": OPTIMIZER["weight_decay"]}, {"params": others, "weight_decay": 0.0}],
        lr=OPTIMIZER["learning_rate"], betas=(OPTIMIZER["beta1"], OPTIMIZER["beta2"]), eps=OPTIMIZER["epsilon"],
    ).step()
    out |= {f"updated.{name}": value.detach() for name, value in p.items()}

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_update.safetensors")
    save_file(out, path, metadata={"torch": torch.__version__})
    print(f"{path}: {os.path.getsize(path)} bytes, loss {loss.item():.6f}, gradient norm {norm.item():.6f}")


main()
