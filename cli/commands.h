/* The commands, one file each. */
#pragma once
#include "cli/command.h"

extern const mz_command mz_command_train, mz_command_resume, mz_command_runs, mz_command_eval, mz_command_play, mz_command_watch,
    mz_command_gtp, mz_command_inspect, mz_command_envs, mz_command_compare, mz_command_report, mz_command_profile,
    mz_command_plan, mz_command_pretrain, mz_command_why, mz_command_what_if, mz_command_bench, mz_command_doctor;
