#include "envs/own/isolated.h"
#include "base/json/json.h"
#include "base/log.h"

enum { NUMBERS = 13, FUNCTIONS = 8, FLOATS = 5, TEXTS = 3, SHOWN_BYTES = 64 };

/* The process that plays objects; compiled in (embed_process.cmake). */
extern const unsigned char mz_own_process[];
extern const size_t mz_own_process_size;

struct mz_own_isolated {
  mz_own_object object;
  mz_worker_program program;
  mz_env_workers *workers;
  muzero_env_abi abi;
  char *texts[TEXTS];
  mz_own_layout layout;
};

/* ---- beginning ---- */

static mz_status read_texts(mz_own_isolated *o, const cJSON *json) {
  static const char *const keys[TEXTS] = {"title", "rules", "observation"};
  const char **const members[TEXTS] = {&o->abi.title, &o->abi.rules, &o->abi.observation};
  for (int i = 0; i < TEXTS; i++) {
    if (!cJSON_HasObjectItem(json, keys[i])) continue;
    o->texts[i] = strdup(mz_json_text_or_empty(json, keys[i]));
    if (!o->texts[i]) return mz_fail(MZ_E_MEMORY, "%s: no memory for its texts", o->object.path);
    *members[i] = o->texts[i];
  }
  return MZ_OK;
}

static double item_of(const cJSON *list, int index) {
  const cJSON *item = cJSON_GetArrayItem(list, index);
  return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void read_numbers(muzero_env_abi *abi, const cJSON *json) {
  int32_t *const members[NUMBERS] = {&abi->observation_kind,
                                     &abi->observation_shape[0],
                                     &abi->observation_shape[1],
                                     &abi->observation_shape[2],
                                     &abi->actions,
                                     &abi->action_kind,
                                     &abi->players,
                                     &abi->alternating,
                                     &abi->max_moves,
                                     &abi->symmetries,
                                     &abi->draws,
                                     &abi->one_sided,
                                     &abi->frames};
  float *const floats[FLOATS] = {&abi->reward_min, &abi->reward_max, &abi->return_min, &abi->return_max, &abi->observation_scale};
  const cJSON *numbers = cJSON_GetObjectItemCaseSensitive(json, "numbers");
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "floats");
  const double state_size = mz_json_number_or_nan(json, "state_size");
  abi->state_size = state_size >= 0 && state_size < 1e15 ? (size_t)state_size : 0;
  for (int i = 0; i < NUMBERS; i++) *members[i] = (int32_t)item_of(numbers, i);
  for (int i = 0; i < FLOATS; i++) {
    const cJSON *item = cJSON_GetArrayItem(list, i);
    *floats[i] = cJSON_IsString(item) ? strtof(item->valuestring, NULL) : 0;
  }
}

static const char *no_reset(void *state, const muzero_env_random *random) { return (void)state, (void)random, NULL; }
static const char *no_step(void *states, size_t n, const int32_t *actions, const muzero_env_random *random,
                           muzero_env_step *results) {
  return (void)states, (void)n, (void)actions, (void)random, (void)results, NULL;
}
static const char *no_observe(const void *states, size_t n, void *out) { return (void)states, (void)n, (void)out, NULL; }
static const char *no_legal(const void *state, uint8_t *mask) { return (void)state, (void)mask, NULL; }
static int32_t no_player(const void *state) { return (void)state, 0; }
static int no_text(const void *state, char *out, size_t size) { return (void)state, (void)out, (void)size, 0; }
static int no_action_text(int32_t action, char *out, size_t size) { return (void)action, (void)out, (void)size, 0; }
static int no_valid(const void *state) { return (void)state, 0; }

static void read_functions(muzero_env_abi *abi, const cJSON *json) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "functions");
  bool is[FUNCTIONS];
  for (int i = 0; i < FUNCTIONS; i++) is[i] = item_of(list, i) != 0;
  abi->reset = is[0] ? no_reset : NULL;
  abi->step = is[1] ? no_step : NULL;
  abi->observe = is[2] ? no_observe : NULL;
  abi->legal = is[3] ? no_legal : NULL;
  abi->to_play = is[4] ? no_player : NULL;
  abi->text = is[5] ? no_text : NULL;
  abi->action_text = is[6] ? no_action_text : NULL;
  abi->valid = is[7] ? no_valid : NULL;
}

static mz_status read_description(mz_own_isolated *o, const char *description) {
  cJSON *json;
  MZ_TRY(mz_json_parse(description, strlen(description), o->object.path, false, MZ_E_CONFIG, &json));
  const double version = mz_json_number_or_nan(json, "abi_version"), size = mz_json_number_or_nan(json, "abi_size");
  o->abi.version = version >= 0 && version <= UINT32_MAX ? (uint32_t)version : 0;
  o->abi.size = size >= 0 && size <= UINT32_MAX ? (uint32_t)size : 0;
  read_numbers(&o->abi, json);
  read_functions(&o->abi, json);
  const mz_status status = read_texts(o, json);
  cJSON_Delete(json);
  return status;
}

mz_status mz_own_isolated_create(mz_own_isolated **out, const mz_own_object *object, const mz_own_isolation *isolation,
                                 const muzero_env_abi **abi) {
  mz_own_isolated *o;
  const char *description;
  MZ_TRY(mz_alloc(&o, 1, sizeof *o));
  o->object = *object;
  o->program = (mz_worker_program){.bytes = mz_own_process,
                                   .size = mz_own_process_size,
                                   .is_native = true,
                                   .object = object->bytes,
                                   .object_size = object->size};
  const mz_env_workers_setup setup = {.name = object->path,
                                      .program = &o->program,
                                      .kind = "own",
                                      .id = object->path,
                                      .count = isolation->workers,
                                      .timeout_s = isolation->timeout_s};
  mz_status status = mz_env_workers_create(&o->workers, &setup, &description);
  if (status == MZ_OK) status = read_description(o, description);
  if (status != MZ_OK) {
    mz_own_isolated_free(o);
    return status;
  }
  *abi = &o->abi;
  *out = o;
  return MZ_OK;
}

mz_status mz_own_isolated_begin(mz_own_isolated *o) {
  o->layout = mz_own_layout_of(&o->abi);
  const mz_mailbox_layout layout = {.obs_bytes = o->layout.observation_bytes,
                                    .text_at = o->layout.text_at,
                                    .text_bytes = MZ_OWN_ROW_TEXT_BYTES,
                                    .row_bytes = o->layout.row_bytes};
  return mz_env_workers_share(o->workers, &layout);
}

void mz_own_isolated_free(mz_own_isolated *o) {
  if (!o) return;
  mz_env_workers_free(o->workers);
  for (int i = 0; i < TEXTS; i++) free(o->texts[i]);
  free(o);
}

const mz_own_layout *mz_own_isolated_layout(const mz_own_isolated *o) { return &o->layout; }
mz_env_workers *mz_own_isolated_workers(const mz_own_isolated *o) { return o->workers; }

/* ---- asking ---- */

typedef struct call {
  const mz_own_isolated *isolated;
  uint8_t *states;                /* NULL: none */
  const int32_t *actions;         /* [n] */
  const mz_generator *generators; /* NULL: no chance */
  muzero_env_step *results;       /* NULL: none */
  mz_own_complaint *complaint;
  char *text;      /* of the one row; NULL: states are taken over */
  int32_t text_of; /* the action that MZ_WORKER_ACTION_TEXT asks for */
  bool refused;
  bool answered[MZ_WORKERS_ROWS_MAX];
} call;

/* The state of a generator; NULL where it is of no kind that a row holds. */
static void *numbers_of(const mz_generator *generator, mz_own_draws *kind, size_t *size) {
  mz_rng *rng = mz_generator_rng(generator);
  *kind = rng ? MZ_OWN_DRAWS_PHILOX : MZ_OWN_DRAWS_NUMPY;
  *size = rng ? sizeof *rng : sizeof(mz_numpy_generator);
  return rng ? (void *)rng : mz_generator_numpy(generator);
}

static uint8_t *state_of(const call *c, int i) { return c->states + (size_t)i * c->isolated->layout.state_bytes; }

static bool ask(void *context, int i, mz_mailbox_row *row, uint32_t life) {
  (void)life;
  const call *c = context;
  if (c->answered[i]) return false;
  mz_own_draws kind = MZ_OWN_DRAWS_NONE;
  size_t size = 0;
  const void *numbers = c->generators ? numbers_of(&c->generators[i], &kind, &size) : NULL;
  *row = (mz_mailbox_row){.action = c->actions[i], .instance = c->text_of, .draws = kind};
  if (numbers) memcpy((uint8_t *)row + MZ_OWN_ROW_RNG_AT, numbers, size);
  if (c->states)
    memcpy((uint8_t *)row + MZ_OWN_ROW_STATE_AT, state_of(c, i), c->isolated->abi.state_size); /* the process finds the rest */
  return true;
}

static void take_complaint(const call *c, const mz_mailbox_row *row) {
  if (!row->complains || c->complaint->function) return;
  c->complaint->function = mz_worker_call_name(row->complains);
  memcpy(c->complaint->why, (const uint8_t *)row + c->isolated->layout.text_at, MZ_OWN_ROW_TEXT_BYTES);
  c->complaint->why[MZ_OWN_ROW_TEXT_BYTES - 1] = '\0';
}

static void take(void *context, int i, const mz_mailbox_row *row, uint32_t life) {
  (void)life;
  call *c = context;
  if (!row || c->answered[i]) return;
  c->answered[i] = true;
  c->refused = c->refused || row->refused;
  if (c->text) {
    memcpy(c->text, (const uint8_t *)row + c->isolated->layout.text_at, MZ_OWN_ROW_TEXT_BYTES);
    c->text[MZ_OWN_ROW_TEXT_BYTES - 1] = '\0';
    return;
  }
  if (row->refused) return;
  take_complaint(c, row);
  memcpy(state_of(c, i), (const uint8_t *)row + MZ_OWN_ROW_STATE_AT, c->isolated->layout.state_bytes);
  mz_own_draws kind;
  size_t size;
  void *numbers = c->generators ? numbers_of(&c->generators[i], &kind, &size) : NULL;
  if (numbers) memcpy(numbers, (const uint8_t *)row + MZ_OWN_ROW_RNG_AT, size);
  if (c->results)
    c->results[i] = (muzero_env_step){.reward = row->reward, .terminated = row->terminated, .truncated = row->truncated};
}

/* Tells the state and the action that were given up, for whoever repeats them. */
static void tell_row(const call *c, int i) {
  char hex[2 * SHOWN_BYTES + 1] = "";
  const size_t size = c->isolated->abi.state_size, shown = size < SHOWN_BYTES ? size : SHOWN_BYTES;
  if (!c->states) return;
  for (size_t k = 0; k < shown; k++) snprintf(hex + 2 * k, 3, "%02x", state_of(c, i)[k]);
  if (c->actions[i] >= 0)
    mz_log_write(MZ_LOG_WARNING, "%s: the action was %d, the state's bytes %s%s", c->isolated->object.path, (int)c->actions[i],
                 hex, shown < size ? " …" : "");
}

/* At most mz_env_workers_rows rows. */
static mz_status run(call *c, int n, const char *what) {
  const mz_own_isolated *o = c->isolated;
  int32_t workers[MZ_WORKERS_ROWS_MAX];
  mz_own_draws kind;
  size_t size;
  for (int i = 0; i < n; i++) {
    workers[i] = mz_env_workers_any(o->workers, i, n);
    if (c->generators && !numbers_of(&c->generators[i], &kind, &size))
      return mz_fail(MZ_E_CONFIG,
                     "%s: isolate=1 takes Philox's random numbers or NumPy's; name the file without isolate=1 for others",
                     o->object.path);
  }
  const mz_env_workers_batch batch = {c, ask, take};
  const mz_status status = mz_env_workers_run_all(o->workers, n, workers, c->answered, &batch, what);
  if (status == MZ_OK) return MZ_OK;
  char why[MZ_MESSAGE_MAX];
  int left = 0;
  while (left < n - 1 && c->answered[left]) left++;
  snprintf(why, sizeof why, "%s", mz_message());
  tell_row(c, left);
  return mz_fail(status, "%s; `muzero envs %s --check` looks for the mistake", why, o->object.path);
}

mz_status mz_own_isolated_reset(mz_own_isolated *o, void *state, const mz_generator *generator, mz_own_complaint *complaint) {
  const int32_t action = MZ_WORKER_RESET;
  call c = {.isolated = o, .states = state, .actions = &action, .generators = generator, .complaint = complaint};
  return run(&c, 1, "a reset");
}

mz_status mz_own_isolated_step(mz_own_isolated *o, void *states, int n, const int32_t *actions, const mz_generator *generators,
                               muzero_env_step *results, mz_own_complaint *complaint) {
  const int rows = mz_env_workers_rows(o->workers);
  for (int first = 0; first < n; first += rows) {
    call c = {.isolated = o,
              .states = (uint8_t *)states + (size_t)first * o->layout.state_bytes,
              .actions = actions + first,
              .generators = generators ? generators + first : NULL,
              .results = results + first,
              .complaint = complaint};
    MZ_TRY(run(&c, n - first < rows ? n - first : rows, "a step"));
  }
  return MZ_OK;
}

mz_status mz_own_isolated_complete(mz_own_isolated *o, void *state, bool *valid) {
  const int32_t action = MZ_WORKER_LOOK;
  mz_own_complaint complaint = {0};
  call c = {.isolated = o, .states = state, .actions = &action, .complaint = &complaint};
  const mz_status status = run(&c, 1, "a state's check");
  *valid = status == MZ_OK && !c.refused && !complaint.function;
  return status;
}

mz_status mz_own_isolated_valid(mz_own_isolated *o, const void *state, bool *valid) {
  uint8_t *copy;
  *valid = false;
  MZ_TRY(mz_alloc(&copy, 1, o->layout.state_bytes));
  memcpy(copy, state, o->layout.state_bytes);
  const mz_status status = mz_own_isolated_complete(o, copy, valid);
  *valid = *valid && memcmp(copy, state, o->layout.state_bytes) == 0;
  free(copy);
  return status;
}

mz_status mz_own_isolated_text(mz_own_isolated *o, const void *state, int action, char out[MZ_OWN_ROW_TEXT_BYTES]) {
  const int32_t asked = state ? MZ_WORKER_TEXT : MZ_WORKER_ACTION_TEXT;
  call c = {.isolated = o, .states = (uint8_t *)state, .actions = &asked, .text = out, .text_of = action};
  return run(&c, 1, "a text");
}
