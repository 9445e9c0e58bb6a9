/* Graphs on the reference backend, one row at a time: MZ_OP_GATHER, MZ_OP_CONCAT, MZ_OP_EDGE_ATTENTION, MZ_OP_MASKED_POOL. */
#pragma once
#include "networks/tape/tape.h"

void mz_ref_gather(mz_tape *tape, const mz_node *node, int r);
void mz_ref_gather_backward(mz_tape *tape, const mz_node *node, int r);

void mz_ref_concat(mz_tape *tape, const mz_node *node, int r);
void mz_ref_concat_backward(mz_tape *tape, const mz_node *node, int r);

void mz_ref_edge_attention(mz_tape *tape, const mz_node *node, int r);
void mz_ref_edge_attention_backward(mz_tape *tape, const mz_node *node, int r);

void mz_ref_masked_pool(mz_tape *tape, const mz_node *node, int r);
void mz_ref_masked_pool_backward(mz_tape *tape, const mz_node *node, int r);
