/* The choice that --device makes: which GPUs plans may use, and where stages begin that nobody places. */
#pragma once
#include "base/spec.h"
#include "muzero/settings.h"
#include "muzero/steering/device_records.h"
#include "muzero/training/gpus.h"

/* Multiply-adds of a simulation (dynamics and prediction of one position) from which on `auto` has a network on a GPU. A smaller one is
 * done before a GPU's calls are made. Networks of kind mlp stay on CPUs, whatever their size. */
#define MZ_GPU_MULTIPLY_ADDS 2e6

typedef struct mz_device_choice {
  mz_gpus gpus;                 /* none: everything is on CPUs */
  int first;                    /* number of the GPU on which stages begin; −1: they begin on CPUs */
  bool asked;                   /* for a GPU: it counts more than where a resumed run was */
  bool holds;                   /* one was named: the stages stay there */
  char why[240];                /* the choice, as a reason, for people; "": there was nothing to choose */
  char missing[MZ_MESSAGE_MAX]; /* where there are no GPUs to use: why */
} mz_device_choice;

/* device: "auto" (or NULL), "cpu", "cuda", "cuda:N". before: where a resumed run was, NULL: it is none. The CUDA module, which takes time
 * and memory of GPUs, is opened only where a stage may come to be on one. MZ_E_USAGE: another text, naming the nearest; MZ_E_DEVICE: a GPU
 * that cannot be had, with the module's reason or the nearest there is. spec: of the environment. */
mz_status mz_device_choose(mz_device_choice *out, const char *device, const mz_settings *settings, const mz_spec *spec,
                           const mz_device_records *before);
/* Checks the text alone. MZ_E_USAGE. */
mz_status mz_device_check(const char *device);
/* Finds where a trained agent computes (eval): as a stage that nobody places. */
mz_status mz_device_lane(const char *device, const mz_settings *settings, const mz_spec *spec, mz_lane *out);
