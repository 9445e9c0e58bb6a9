/* The file of pretrained ensembles: safetensors with the metadata "format", "features" and "about". Of each kind KIND it has the scaling
 * (KIND.node_mean, …, F32) and the parameters of every member (KIND.0.NAME, BF16). Shared by pretrained*.c. */
#pragma once
#include "allocator/predictors/pretrained.h"

/* ensembles: mz_ensembles_init. */
mz_status mz_pretrained_read(const uint8_t *bytes, size_t size, const char *name, mz_ensembles *ensembles);

/* Bytes of the file that is part of the program (embed.cmake). */
extern const unsigned char mz_pretrained_embedded[];
extern const size_t mz_pretrained_embedded_size;
