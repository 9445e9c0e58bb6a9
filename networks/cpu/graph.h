/* MZ_OP_GATHER, MZ_OP_CONCAT, MZ_OP_EDGE_ATTENTION and MZ_OP_MASKED_POOL on the cpu, graph by graph. */
#pragma once
#include "networks/tape/backend.h"

void mz_gather_forward(mz_tape *tape, mz_node *node, int rows);
void mz_gather_backward(mz_tape *tape, mz_node *node, int rows);

void mz_concat_forward(mz_tape *tape, mz_node *node, int rows);
void mz_concat_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_edge_attention_prepare(mz_tape *tape, mz_node *node);
void mz_edge_attention_release(mz_node *node);
size_t mz_edge_attention_bytes(mz_tape *tape, const mz_node *node); /* that prepare takes; claims scratch, as prepare does */
void mz_edge_attention_forward(mz_tape *tape, mz_node *node, int rows);
void mz_edge_attention_backward(mz_tape *tape, mz_node *node, int rows);

void mz_masked_pool_forward(mz_tape *tape, mz_node *node, int rows);
void mz_masked_pool_backward(mz_tape *tape, mz_node *node, int rows);
