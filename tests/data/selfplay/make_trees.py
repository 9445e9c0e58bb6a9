#!/usr/bin/env python3
"""Writes the search trees (*_tree.json), halving.json and completed_q.json beside this script, with the published mctx package.

    pip install jax mctx && python make_trees.py

The trees are searches of a made-up model: an embedding is a 32-bit hash, from which logits, value and reward are drawn, so any
(node, action) has one answer. Format: that of mctx's own tree_test data, written compactly, with 9 significant digits, and with the keys
num_simulations, root_invalid_actions, selected_action and action_weights. Trees with edge discounts (their edges have the key
discount) are of games in which who moves next does not follow from who has moved: γ where the same player does, −γ where the other
one does, 0 where the game ends. halving.json lists visit counts considered by sequential halving,
completed_q.json transformed Q of single nodes.
"""
import functools
import json
import pathlib
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from mctx._src import qtransforms, seq_halving

HERE = pathlib.Path(__file__).parent
MIX = "qtransform_completed_by_mix_value"
SIBLINGS = "qtransform_by_parent_and_siblings"
MIN_MAX = "qtransform_by_min_max"


def mix(x):
    """A 32-bit hash (the finalizer of MurmurHash3)."""
    x = x ^ (x >> 16)
    x = x * jnp.uint32(0x85EBCA6B)
    x = x ^ (x >> 13)
    x = x * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)


def unit(key, i):
    """A number in [-1, 1) from a hash and a counter."""
    bits = mix(key + jnp.uint32(0x9E3779B9) * jnp.uint32(i + 1)) >> 8
    return bits.astype(jnp.float32) * jnp.float32(2.0**-23) - 1.0


def outputs(key, case):
    logits = jnp.stack([case["logit_scale"] * unit(key, 10 + a) for a in range(case["actions"])], axis=-1)
    reward = case["reward_scale"] * unit(key, 1)
    return logits, case["value_scale"] * unit(key, 0), reward


def edge_sign(key):
    """1 for half of the keys, -1 for most others, and sometimes 0."""
    drawn = unit(key, 2)
    return jnp.where(drawn > 0.0, 1.0, jnp.where(drawn > -0.875, -1.0, 0.0))


def recurrent(case, params, rng, action, key):
    del params, rng
    key = mix(key ^ mix(action.astype(jnp.uint32) + jnp.uint32(77)))
    logits, value, reward = outputs(key, case)
    discount = jnp.full_like(value, case["discount"])
    if case["edge_discounts"]:
        discount = discount * edge_sign(key)
    return mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=value), key


def short(x):
    return float(f"{float(x):.9g}")


def tree_json(tree, edge_discounts):
    """Nested dicts of the first tree of a batch."""
    get = lambda name: np.asarray(getattr(tree, name))[0]
    child, rewards, discounts = get("children_index"), get("children_rewards"), get("children_discounts")
    visits, values, raw = get("node_visits"), get("node_values"), get("raw_values")
    prior = np.asarray(jax.nn.softmax(tree.children_prior_logits, axis=-1))[0]

    def node(index):
        edges = []
        for a in range(child.shape[1]):
            edge = {"action": a, "prior": short(prior[index, a])}
            below = int(child[index, a])
            if below >= 0:
                edge["reward"] = short(rewards[index, a])
                if edge_discounts:
                    edge["discount"] = short(discounts[index, a])
                edge.update(node(below))
            else:
                edge["child_stats"] = []
            edges.append(edge)
        return {
            "evaluation_index": index,
            "visit": int(visits[index]),
            "value_view": short(values[index]),
            "raw_value_view": short(raw[index]),
            "child_stats": edges,
        }

    return {"prior": 1.0, **node(0)}


def make_tree(name, algorithm, actions, simulations, discount=0.99, reward_scale=1.0, value_scale=1.0, logit_scale=2.0, invalid=(),
              max_depth=None, transform=None, transform_args=None, edge_discounts=False, seed=0, **config):
    case = dict(actions=actions, discount=discount, edge_discounts=edge_discounts, reward_scale=reward_scale, value_scale=value_scale,
                logit_scale=logit_scale)
    gumbel = algorithm == "gumbel_muzero"
    transform = transform or (MIX if gumbel else SIBLINGS)
    config = {**({"gumbel_scale": 0.0} if gumbel else {"dirichlet_fraction": 0.0}), **config}
    key = mix(jnp.array([1000 + seed], jnp.uint32))
    logits, value, _ = outputs(key, case)
    mask = np.zeros([1, actions])
    mask[0, list(invalid)] = 1
    policy = mctx.gumbel_muzero_policy if gumbel else mctx.muzero_policy
    output = policy(
        params=(),
        rng_key=jax.random.PRNGKey(seed),
        root=mctx.RootFnOutput(prior_logits=logits, value=value, embedding=key),
        recurrent_fn=functools.partial(recurrent, case),
        num_simulations=simulations,
        max_depth=max_depth,
        invalid_actions=jnp.asarray(mask) if invalid else None,
        qtransform=functools.partial(getattr(mctx, transform), **(transform_args or {})),
        **config,
    )
    visits = np.asarray(output.search_tree.summary().visit_counts)[0]
    record = {
        "algorithm": algorithm,
        "algorithm_config": {**config, "qtransform": transform, "qtransform_kwargs": transform_args or {}},
        "env_config": {"discount": discount, "zero_reward": reward_scale == 0},
        "num_simulations": simulations,
        # puct: the most visited; mctx itself would draw from the visit shares
        "selected_action": int(output.action[0]) if gumbel else int(np.argmax(visits)),
        "action_weights": [short(w) for w in np.asarray(output.action_weights)[0]],
    }
    if max_depth is not None:
        record["algorithm_config"]["max_depth"] = max_depth
    if invalid:
        record["root_invalid_actions"] = list(invalid)
    record["tree"] = tree_json(output.search_tree, edge_discounts)
    (HERE / f"{name}_tree.json").write_text(json.dumps(record, separators=(",", ":")) + "\n")


def make_trees():
    # Seeds for which the visits spread over the legal actions.
    puct, gumbel = "muzero", "gumbel_muzero"
    make_tree("puct_2_actions", puct, 2, 40, logit_scale=1.0, seed=2)
    make_tree("puct_3_actions_board", puct, 3, 30, discount=-1.0, reward_scale=0.0, logit_scale=1.0, seed=6)
    make_tree("puct_masked", puct, 6, 40, invalid=(0, 2, 5), logit_scale=1.0, seed=8)
    make_tree("puct_masked_board", puct, 5, 32, discount=-1.0, invalid=(1, 4), logit_scale=1.0, seed=3)
    make_tree("puct_one_legal", puct, 4, 12, invalid=(0, 1, 3), seed=5)
    make_tree("puct_min_max", puct, 4, 32, discount=-1.0, reward_scale=0.0, transform=MIN_MAX,
              transform_args=dict(min_value=-1.0, max_value=1.0), seed=6)
    make_tree("puct_min_max_masked", puct, 5, 24, invalid=(0,), transform=MIN_MAX, transform_args=dict(min_value=-8.0, max_value=6.0),
              logit_scale=1.0, seed=1)
    make_tree("puct_depth", puct, 2, 40, max_depth=3, logit_scale=1.0, seed=2)
    make_tree("puct_depth_board", puct, 3, 30, discount=-1.0, max_depth=2, invalid=(1,), seed=9)
    # A base of 5 visits lets ln((N + c_base + 1)/c_base) count: its "+ 1" decides expansions.
    make_tree("puct_small_base", puct, 4, 40, pb_c_init=0.5, pb_c_base=5.0, seed=10)
    make_tree("puct_small_base_board", puct, 3, 40, discount=-1.0, pb_c_init=0.1, pb_c_base=1.0, seed=11)
    make_tree("puct_large_values", puct, 3, 30, value_scale=300.0, reward_scale=50.0, logit_scale=1.0, seed=7)

    make_tree("gumbel_2_actions", gumbel, 2, 40, seed=21)
    make_tree("gumbel_3_actions_board", gumbel, 3, 30, discount=-1.0, reward_scale=0.0, seed=22)
    make_tree("gumbel_no_rescale", gumbel, 4, 32, transform_args=dict(rescale_values=False), seed=23)
    make_tree("gumbel_no_rescale_board", gumbel, 3, 32, discount=-1.0, reward_scale=0.0,
              transform_args=dict(rescale_values=False, value_scale=1.0, maxvisit_init=50.0), seed=24)
    make_tree("gumbel_masked", gumbel, 6, 40, invalid=(0, 2), max_num_considered_actions=16, seed=25)
    make_tree("gumbel_masked_board", gumbel, 5, 24, discount=-1.0, invalid=(1, 4), transform_args=dict(value_scale=0.3, maxvisit_init=20.0), seed=26)
    make_tree("gumbel_masked_no_rescale", gumbel, 6, 33, invalid=(1,), max_num_considered_actions=4,
              transform_args=dict(rescale_values=False, value_scale=0.2), seed=27)
    make_tree("gumbel_one_legal", gumbel, 3, 12, invalid=(0, 2), seed=28)
    make_tree("gumbel_considered_2", gumbel, 6, 20, max_num_considered_actions=2, seed=29)
    make_tree("gumbel_considered_3", gumbel, 5, 25, max_num_considered_actions=3, seed=30)
    make_tree("gumbel_considered_1", gumbel, 4, 10, max_num_considered_actions=1, seed=31)
    make_tree("gumbel_depth", gumbel, 2, 40, max_depth=3, seed=32)
    make_tree("gumbel_depth_board", gumbel, 4, 30, discount=-1.0, max_depth=2, invalid=(3,), seed=33)
    make_tree("gumbel_large_values", gumbel, 3, 30, value_scale=300.0, reward_scale=50.0, transform_args=dict(rescale_values=False, value_scale=0.01), seed=34)
    make_tree("gumbel_few_simulations", gumbel, 6, 8, max_num_considered_actions=5, seed=35)


def make_trees_of_turns():
    puct, gumbel = "muzero", "gumbel_muzero"
    make_tree("puct_turns", puct, 2, 48, discount=0.97, edge_discounts=True, logit_scale=1.0, seed=41)
    make_tree("puct_turns_masked", puct, 5, 40, discount=1.0, edge_discounts=True, invalid=(1, 3), logit_scale=1.0, seed=42)
    make_tree("puct_turns_depth", puct, 3, 40, discount=0.9, edge_discounts=True, max_depth=3, logit_scale=1.0, seed=43)
    make_tree("puct_turns_min_max", puct, 3, 32, discount=1.0, edge_discounts=True, reward_scale=0.0, transform=MIN_MAX,
              transform_args=dict(min_value=-1.0, max_value=1.0), seed=44)
    make_tree("gumbel_turns", gumbel, 2, 48, discount=0.97, edge_discounts=True, seed=45)
    make_tree("gumbel_turns_masked", gumbel, 6, 40, discount=1.0, edge_discounts=True, invalid=(0, 4), max_num_considered_actions=4, seed=46)
    make_tree("gumbel_turns_depth", gumbel, 4, 32, discount=0.9, edge_discounts=True, max_depth=2, seed=47)
    make_tree("gumbel_turns_no_rescale", gumbel, 3, 40, discount=1.0, edge_discounts=True, reward_scale=0.0,
              transform_args=dict(rescale_values=False, value_scale=1.0, maxvisit_init=50.0), seed=48)


def make_halving():
    rows = []
    for considered in list(range(0, 17)) + [31, 32]:
        for simulations in (1, 2, 13, 16, 24, 47, 50):
            sequence = seq_halving.get_sequence_of_considered_visits(considered, simulations)
            rows.append({"considered": considered, "simulations": simulations, "visits": list(sequence)})
    (HERE / "halving.json").write_text(json.dumps(rows, separators=(",", ":")) + "\n")


def make_completed_q():
    rng = np.random.default_rng(5)
    rows = []
    for i in range(24):
        actions = int(rng.integers(2, 8))
        logits = rng.normal(0, 2, actions).astype(np.float32)
        visits = rng.integers(0, 5, actions) * (rng.random(actions) < 0.6)
        q = np.where(visits > 0, rng.normal(0, 3, actions), 0).astype(np.float32)
        raw = np.float32(rng.normal())
        args = dict(value_scale=float(rng.choice([0.1, 0.5])), maxvisit_init=float(rng.choice([20, 50])), rescale_values=bool(i % 2))
        node = SimpleNamespace(children_visits=jnp.asarray(visits)[None], raw_values=jnp.asarray([raw]),
                               children_prior_logits=jnp.asarray(logits)[None], qvalues=lambda index, q=q: jnp.asarray(q))
        mixed = qtransforms._compute_mixed_value(raw, jnp.asarray(q), jnp.asarray(visits), jax.nn.softmax(jnp.asarray(logits)))
        completed = qtransforms.qtransform_completed_by_mix_value(node, 0, **args)
        rows.append({"logits": [short(x) for x in logits], "visits": [int(x) for x in visits], "q": [short(x) for x in q], "raw_value": short(raw),
                     **args, "mixed_value": short(mixed), "completed_q": [short(x) for x in np.asarray(completed)],
                     "improved_policy": [short(x) for x in np.asarray(jax.nn.softmax(logits + completed))]})
    (HERE / "completed_q.json").write_text(json.dumps(rows, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    make_trees()
    make_trees_of_turns()
    make_halving()
    make_completed_q()
