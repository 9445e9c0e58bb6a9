/* The devices that the stages of a run compute on, as checkpoints (section 'session') and env.json record them: with whatever their
 * rounding depends on. */
#pragma once
#include "base/json/json.h"
#include "muzero/settings.h"
#include "allocator/pipeline/devices.h"
#include "muzero/training/gpus.h"

typedef struct mz_device_record {
  char device[MZ_NAME_MAX], kind[8]; /* "cuda:0", "cuda"; "cpu:0", "cpu"; "": not recorded */
  char gpu[MZ_DEVICE_MODEL_MAX];     /* these are empty on CPUs */
  char driver[MZ_VERSION_TEXT], cuda[MZ_VERSION_TEXT], cublas[MZ_VERSION_TEXT], cudnn[MZ_VERSION_TEXT];
} mz_device_record;

enum { MZ_PLACED_SELFPLAY, MZ_PLACED_REANALYZE, MZ_PLACED_LEARNING, MZ_PLACED_STAGES };
typedef struct mz_device_records { /* zeroed: not recorded, as by programs that ran on CPUs only */
  mz_device_record stages[MZ_PLACED_STAGES];
} mz_device_records;

/* gpus: those that the devices name. */
void mz_device_records_of(mz_device_records *out, const mz_knobs *knobs, const mz_devices *devices, const mz_gpus *gpus);
/* {"selfplay": {"device": "cuda:0", "kind": "cuda", "gpu": "NVIDIA H100 80GB HBM3", "driver": "13.0", …}, …}. Reading: what is missing
 * stays empty. */
cJSON *mz_device_records_to_json(const mz_device_records *devices);
void mz_device_records_from_json(mz_device_records *out, const cJSON *json);
/* Writes what makes `now` round otherwise than `before` did: "learning ran on cuda (Fake GPU) and would run on cpu"; false, and "", where
 * nothing does. Devices of one model and one set of versions are alike; what is not recorded was a CPU. */
bool mz_device_records_differ(const mz_device_records *before, const mz_device_records *now, char *out, size_t size);
/* "self-play, reanalysis and learning on cuda:0 (Fake GPU)"; "self-play on cuda:0 (Fake GPU), learning on CPUs …". */
void mz_device_records_text(const mz_device_records *devices, char *out, size_t size);
bool mz_device_records_use_gpu(const mz_device_records *devices);
