#include "muzero/steering/history_key.h"
#include "base/machine/machine.h"
#include "base/maths/digest.h"
#include "envs/own/shared_object.h"
#include "networks/isa.h"
#include <string.h>

static const char *name_of(int32_t precision) { return precision == MZ_PRECISION_BF16 ? "bf16" : "f32"; }

/* The text of an mlp is that of earlier versions, whose rows stay valid; they called a conv model an mlp, too, and such rows match
 * no more. */
static int name_network(char *out, size_t size, const mz_network_settings *settings, const mz_model *model) {
  const long long parameters = (long long)model->params.size;
  if (model->kind != MZ_MODEL_CONV)
    return snprintf(out, size, "mlp width %d depth %d latent %d, %lld parameters", model->width, model->depth, model->latent,
                    parameters);
  return snprintf(out, size, "conv channels %d blocks %d+%d pooled %d heads %d, %lld parameters, inference %s, training %s",
                  model->channels, (int)settings->blocks, (int)settings->prediction_blocks, (int)settings->pooled_blocks,
                  model->head_channels, parameters, name_of(settings->inference), name_of(settings->training));
}

/* " of NVIDIA H100 80GB HBM3"; where GPUs are of several models, of the first and a hash of all. */
static int name_models(char *out, size_t size, const mz_devices *devices) {
  const char *first = NULL;
  uint64_t hash = 0;
  bool several = false;
  for (int i = 0; i < devices->count; i++) {
    const char *model = devices->items[i].device.model;
    if (devices->items[i].device.kind == MZ_DEVICE_CPU) continue;
    if (first == NULL) first = model;
    several = several || strcmp(model, first) != 0;
    hash = mz_hash_combine(hash, mz_hash(model, strlen(model), 0));
  }
  if (first == NULL || first[0] == '\0') return 0; /* simulated ones have none */
  return several ? snprintf(out, size, " of %s and others, %08x", first, (unsigned)hash) : snprintf(out, size, " of %s", first);
}

/* A plan names its devices by number: ", devices 4+4 cores", " + cuda:0". One set of cores is what earlier versions had. */
static void name_devices(char *out, size_t size, const mz_devices *devices) {
  size_t used = 0;
  out[0] = '\0';
  for (int i = 0; i < devices->count && devices->count > 1; i++) {
    const mz_device *device = &devices->items[i].device;
    const char *before = i == 0 ? ", devices " : "+";
    used += (size_t)(device->kind == MZ_DEVICE_CPU ? snprintf(out + used, size - used, "%s%d", before, device->cores)
                                                   : snprintf(out + used, size - used, "%s%s", before, device->name));
    MZ_ASSERT(used < size);
  }
  used += (size_t)name_models(out + used, size - used, devices);
  MZ_ASSERT(used < size);
}

/* Two files of one name are two environments. */
static void name_env(char *out, size_t size, const mz_env *env) {
  const mz_env_file *file = mz_env_file_of(env);
  if (!file) {
    snprintf(out, size, "%s", env->name);
    return;
  }
  char name[64];
  mz_env_short_name(env, name, sizeof name);
  snprintf(out, size, "%s.so %016llx", name, (unsigned long long)file->hash);
}

void mz_history_key_of(mz_history_key *key, const mz_env *env, const mz_settings *settings, const mz_model *model, double cores,
                       const mz_devices *devices) {
  char machine[80], named[400];
  mz_machine_model(machine, sizeof machine);
  name_devices(named, sizeof named, devices);
  snprintf(key->machine, sizeof key->machine, "%s, %g cores, %s%s", machine, cores, mz_isa_name(mz_isa_level()), named);
  name_env(key->env, sizeof key->env, env);
  const int length = name_network(key->network, sizeof key->network, &settings->network, model);
  MZ_ASSERT(length > 0 && (size_t)length < sizeof key->network); /* cut texts of two networks might be the same */
  snprintf(key->work, sizeof key->work, "%016llx", (unsigned long long)mz_settings_work_hash(settings));
}
