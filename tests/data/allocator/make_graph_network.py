"""Writes graph_network.json: both networks over graphs (allocator/graph/graph_network.h) computed by PyTorch, for tests/allocator/graph_network.c.

    pip install torch;  python make_graph_network.py

Parameters and features are numbers that both sides compute from the same hash, so that the file holds only graphs, outputs, the loss, and of
every gradient its norm and its product with another such vector. Float64 throughout.
"""
import json
import os
import random

import torch
from torch.nn.functional import gelu, layer_norm, relu

KINDS, EDGE_KINDS, FEATURES, EDGE_FEATURES = 6, 14, 48, 16
WIDTH, LAYERS, HEADS, FLAT = 16, 2, 4, 64
TARGET_MEAN, TARGET_SCALE = 0.5, 2.0
torch.set_default_dtype(torch.float64)


def hashed(stream, index):
    """A number in [-1, 1), which a float32 holds exactly."""
    x = (stream * 0x9E3779B1 + index * 0x85EBCA6B + 0x27D4EB2F) & 0xFFFFFFFF
    x ^= x >> 15
    x = x * 0x2C1B3C6D & 0xFFFFFFFF
    x ^= x >> 12
    x = x * 0x297A2D39 & 0xFFFFFFFF
    x ^= x >> 15
    return (x >> 9) / (1 << 22) - 1


def shapes(form):
    """Names, rows and columns of the parameters, in their order."""
    out = []

    def add(name, types, inputs, outputs):
        out.append((f"{name}.weight", types * inputs, outputs))
        out.append((f"{name}.bias", types, outputs))

    if form == "flat":
        add("first", 1, KINDS * FEATURES, FLAT)
        add("second", 1, FLAT, FLAT)
        add("head", 1, FLAT, 1)
        return out
    add("nodes", KINDS, FEATURES, WIDTH)
    add("edges", EDGE_KINDS, EDGE_FEATURES, WIDTH)
    for l in range(LAYERS):
        for part in ("query", "key", "value"):
            add(f"layer{l}.{part}", KINDS, WIDTH, WIDTH)
        add(f"layer{l}.on_edges", EDGE_KINDS, WIDTH, WIDTH)
        add(f"layer{l}.out", KINDS, WIDTH, WIDTH)
        add(f"layer{l}.widen", 1, WIDTH, 2 * WIDTH)
        add(f"layer{l}.narrow", 1, 2 * WIDTH, WIDTH)
        add(f"layer{l}.update", 1, 3 * WIDTH, WIDTH)
        for norm in ("norm", "edge_norm"):
            out.append((f"layer{l}.{norm}.gamma", 1, WIDTH))
            out.append((f"layer{l}.{norm}.beta", 1, WIDTH))
    add("head", 1, 4 * WIDTH, 1)
    return out


def parameters(form):
    made = {}
    for number, (name, rows, columns) in enumerate(shapes(form)):
        scale = 0.5 * (3 / max(rows, 1)) ** 0.5 if name.endswith("weight") else 0.25
        offset = 1.0 if name.endswith("gamma") else 0.0
        values = [offset + torch.tensor(scale, dtype=torch.float32).item() * hashed(number, i) for i in range(rows * columns)]
        made[name] = torch.tensor(values).float().double().reshape(rows, columns).requires_grad_()
    return made


def typed(p, name, x, kinds, types):
    w = p[f"{name}.weight"].reshape(types, -1, p[f"{name}.weight"].shape[1])
    return torch.einsum("pi,pio->po", x, w[kinds]) + p[f"{name}.bias"][kinds]


def plain(p, name, x):
    return x @ p[f"{name}.weight"] + p[f"{name}.bias"]


def norm(p, name, x):
    return layer_norm(x, (WIDTH,), p[f"{name}.gamma"][0], p[f"{name}.beta"][0], 1e-5)


def attend(q, k, v, to, nodes):
    d, out = WIDTH // HEADS, torch.zeros(nodes, WIDTH)
    for i in range(nodes):
        into = [e for e in range(len(to)) if to[e] == i]
        if not into:
            continue
        for m in range(HEADS):
            part = slice(m * d, (m + 1) * d)
            a = torch.softmax(k[into, part] @ q[i, part] / d**0.5, 0)
            out[i, part] = a @ v[into, part]
    return out


def attention(p, x, f, kinds, edge_kinds, frm, to):
    h = gelu(typed(p, "nodes", x, kinds, KINDS), approximate="tanh")
    e = gelu(typed(p, "edges", f, edge_kinds, EDGE_KINDS), approximate="tanh")
    for l in range(LAYERS):
        on_edges = typed(p, f"layer{l}.on_edges", e, edge_kinds, EDGE_KINDS)
        q = typed(p, f"layer{l}.query", h, kinds, KINDS)
        k = typed(p, f"layer{l}.key", h, kinds, KINDS)[frm] + on_edges
        v = typed(p, f"layer{l}.value", h, kinds, KINDS)[frm] + on_edges
        z = attend(q, k, v, to, len(kinds))
        feed = plain(p, f"layer{l}.narrow", gelu(plain(p, f"layer{l}.widen", h), approximate="tanh"))
        h = norm(p, f"layer{l}.norm", h + typed(p, f"layer{l}.out", z, kinds, KINDS) + feed)
        e = norm(p, f"layer{l}.edge_norm", e + plain(p, f"layer{l}.update", torch.cat([h[to], h[frm], e], 1)))
    return plain(p, "head", torch.cat([h.mean(0), h.max(0).values, e.mean(0), e.max(0).values]))[0, 0]


def flat(p, x, kinds):
    means = [x[[i for i in range(len(kinds)) if kinds[i] == k]].mean(0) if k in kinds else torch.zeros(FEATURES) for k in range(KINDS)]
    return plain(p, "head", relu(plain(p, "second", relu(plain(p, "first", torch.cat(means))))))[0, 0]


def main():
    random.seed(4)
    graphs, result = [], {}
    for g, nodes in enumerate((3, 7, 5, 9)):
        edges = [[random.randrange(EDGE_KINDS), random.randrange(nodes), random.randrange(nodes)] for _ in range(2 * nodes + g)]
        graphs.append({"nodes": [random.randrange(KINDS) for _ in range(nodes)], "edges": edges, "target": round(random.uniform(-2, 2), 3)})
    for form in ("flat", "attention"):
        p, outputs, loss = parameters(form), [], 0
        for g, graph in enumerate(graphs):
            x = torch.tensor([[hashed(1000 + g, i * FEATURES + k) for k in range(FEATURES)] for i in range(len(graph["nodes"]))])
            f = torch.tensor([[hashed(2000 + g, i * EDGE_FEATURES + k) for k in range(EDGE_FEATURES)] for i in range(len(graph["edges"]))])
            kinds, frm, to = graph["nodes"], [e[1] for e in graph["edges"]], [e[2] for e in graph["edges"]]
            y = attention(p, x, f, kinds, [e[0] for e in graph["edges"]], frm, to) if form == "attention" else flat(p, x, kinds)
            loss = loss + (y - (graph["target"] - TARGET_MEAN) * TARGET_SCALE) ** 2 / len(graphs)
            outputs.append(y.item() / TARGET_SCALE + TARGET_MEAN)
        loss.backward()
        gradients = {}
        for number, (name, value) in enumerate(p.items()):
            gradient = value.grad.flatten()
            against = torch.tensor([hashed(3000 + number, i) for i in range(len(gradient))])
            gradients[name] = [float(f"{gradient.norm():.12g}"), float(f"{gradient @ against:.12g}")]
        result[form] = {"outputs": [float(f"{y:.12g}") for y in outputs], "loss": float(f"{loss.item():.12g}"), "gradients": gradients}
    result["graphs"] = graphs
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "graph_network.json"), "w") as out:
        json.dump(result, out, separators=(",", ":"))
        out.write("\n")


main()
