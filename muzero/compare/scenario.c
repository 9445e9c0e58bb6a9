#include "muzero/compare/scenario.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MAX = 1000000, NEIGHBOURS_MAX = MZ_SCENARIO_NEIGHBOURS_MAX };

/* `most` of cores and quota is the machine's. */
static const struct thing {
  const char *name;
  double least, most;
  bool whole;
  char unit; /* which follows the number; 0: none */
} things[MZ_SCENARIO_THINGS] = {
    [MZ_SCENARIO_CORES] = {"cores", 1, 0, true, 0},
    [MZ_SCENARIO_QUOTA] = {"quota", 0.1, 0, false, 0},
    [MZ_SCENARIO_NEIGHBOUR] = {"neighbour", 1, NEIGHBOURS_MAX, true, 0},
    [MZ_SCENARIO_STREAM] = {"stream", 1, NEIGHBOURS_MAX, true, 0},
    [MZ_SCENARIO_MEMORY] = {"memory", 1, 99, false, '%'},
};

const char *mz_scenario_thing_name(mz_scenario_thing thing) { return things[thing].name; }

typedef struct parser {
  const char *text, *at;
  int cores;
} parser;

static mz_status bad(const parser *p, const char *what) {
  return mz_fail(MZ_E_CONFIG, "--scenario '%s': at character %d: %s", p->text, (int)(p->at - p->text) + 1, what);
}

static mz_status parse_block(parser *p, long least, const char *name, int64_t *out) {
  char what[128];
  char *end = NULL;
  errno = 0;
  const long value = isdigit((unsigned char)*p->at) ? strtol(p->at, &end, 10) : -1;
  if (end && errno == 0 && value >= least && value <= BLOCK_MAX) {
    *out = value;
    p->at = end;
    return MZ_OK;
  }
  snprintf(what, sizeof what, "%s takes %ld … %d", name, least, BLOCK_MAX);
  return bad(p, what);
}

static mz_status parse_value(parser *p, mz_scenario_thing kind, double *out) {
  const struct thing *thing = &things[kind];
  const double most = thing->most > 0 ? thing->most : p->cores;
  char what[128], unit[2] = {thing->unit, '\0'};
  char *end = NULL;
  const double value = isdigit((unsigned char)*p->at) ? strtod(p->at, &end) : -1;
  if (end && value >= thing->least && value <= most && (!thing->whole || value == floor(value)) &&
      (!thing->unit || *end == thing->unit)) {
    *out = value;
    p->at = end + (thing->unit != 0);
    return MZ_OK;
  }
  snprintf(what, sizeof what, "%s takes %g%s … %g%s%s", thing->name, thing->least, unit, most, unit,
           thing->whole ? ", whole" : "");
  return bad(p, what);
}

static mz_status parse_thing(parser *p, mz_scenario_thing *out) {
  char what[160];
  size_t used = 0;
  for (int i = 0; i < MZ_SCENARIO_THINGS; i++) {
    const size_t length = strlen(things[i].name);
    if (strncmp(p->at, things[i].name, length) != 0 || p->at[length] != '=') continue;
    *out = (mz_scenario_thing)i;
    p->at += length + 1;
    return MZ_OK;
  }
  for (int i = 0; i < MZ_SCENARIO_THINGS; i++)
    used += (size_t)snprintf(what + used, sizeof what - used, "%s%s=N%s", i > 0 ? ", " : "takes THING@FIRST-LAST of ",
                             things[i].name, things[i].unit ? "%" : "");
  return bad(p, what);
}

static mz_status parse_clause(parser *p, struct mz_scenario_clause *out) {
  MZ_TRY(parse_thing(p, &out->thing));
  MZ_TRY(parse_value(p, out->thing, &out->value));
  if (*p->at != '@') return bad(p, "'@' and blocks are missing, as in @10-19");
  p->at++;
  MZ_TRY(parse_block(p, 1, "the first block", &out->first));
  out->last = out->first;
  if (*p->at != '-') return MZ_OK;
  p->at++;
  out->last = BLOCK_MAX;
  return isdigit((unsigned char)*p->at) ? parse_block(p, (long)out->first, "the last block", &out->last) : MZ_OK;
}

static bool overlaps(const mz_scenario *scenario, const struct mz_scenario_clause *next) {
  for (int i = 0; i < scenario->count; i++) {
    const struct mz_scenario_clause *c = &scenario->clauses[i];
    if (c->thing == next->thing && c->first <= next->last && next->first <= c->last) return true;
  }
  return false;
}

mz_status mz_scenario_parse(mz_scenario *out, const char *text, int cores) {
  parser p = {.text = text, .at = text, .cores = cores};
  *out = (mz_scenario){0};
  while (p.at && *p.at) {
    struct mz_scenario_clause next = {0};
    if (out->count == MZ_SCENARIO_CLAUSES_MAX) return bad(&p, "there are too many clauses; at most 16");
    const char *begin = p.at;
    MZ_TRY(parse_clause(&p, &next));
    if (*p.at != '\0' && *p.at != ';') return bad(&p, "';' or the end is missing");
    if (overlaps(out, &next)) {
      p.at = begin;
      return bad(&p, "speaks of blocks of which a clause before it says another number");
    }
    out->clauses[out->count++] = next;
    if (*p.at == ';') p.at++;
  }
  return MZ_OK;
}

double mz_scenario_at(const mz_scenario *scenario, mz_scenario_thing thing, int64_t block) {
  for (int i = 0; i < scenario->count; i++) {
    const struct mz_scenario_clause *c = &scenario->clauses[i];
    if (c->thing == thing && c->first <= block && block <= c->last) return c->value;
  }
  return 0;
}

bool mz_scenario_alike(const mz_scenario *scenario, int64_t a, int64_t b) {
  for (int thing = 0; thing < MZ_SCENARIO_THINGS; thing++)
    if (mz_scenario_at(scenario, thing, a) != mz_scenario_at(scenario, thing, b)) return false;
  return true;
}
