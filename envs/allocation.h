/* The courses behind variants of the environment `allocation`: for whoever lets an agent of it decide about a real run. */
#pragma once
#include "base/course/course.h"
#include "envs/env.h"

/* Returns the course of a variant of `allocation`; NULL: it is another environment. */
const mz_course *mz_allocation_course(const mz_env *env);
/* Returns the path of the file that the course of such a variant was read from; "": it is the built-in one. */
const char *mz_allocation_path(const mz_env *env);
/* Makes the state of such a variant from that of a run; `state` has env->state_size bytes. */
void mz_allocation_state(const mz_env *env, const mz_course_state *run, void *state);
