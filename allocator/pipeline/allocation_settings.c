#include "allocator/pipeline/allocation_settings.h"

static const mz_setting rows[] = {
    MZ_SETTING(mz_allocation_settings, strategy, "allocate.strategy", MZ_TEXT, MZ_OPERATIONAL, 0, 0, "greedy", "",
               "who proposes plans; --allocate is short for it"),
    MZ_SETTING(
        mz_allocation_settings, objective, "allocate.objective", MZ_ENUM, MZ_OPERATIONAL, 0, 0, "time", "",
        "what a unit of work shall take the least of: seconds, or their price by prices.*; goodput: as time, and loop_count "
        "moves to where fresh moves and updates teach the most for their cost",
        .choices = "time|cost|goodput"),
    MZ_SETTING(mz_allocation_settings, high, "allocate.high", MZ_FLOAT, MZ_OPERATIONAL, 0, 1, "0.8", "share of capacity",
               "demand: forecast use above it adds capacity"),
    MZ_SETTING(mz_allocation_settings, low, "allocate.low", MZ_FLOAT, MZ_OPERATIONAL, 0, 1, "0.2", "share of capacity",
               "demand: forecast use below it gives capacity back; below allocate.high"),
    MZ_SETTING(mz_allocation_settings, gain_min, "allocate.gain_min", MZ_FLOAT, MZ_OPERATIONAL, 0, 1, "0.03", "share of the time",
               "a change that promises a smaller gain, or less than twice the noise of windows, is not tried"),
    MZ_SETTING(mz_allocation_settings, window, "allocate.window", MZ_INT, MZ_OPERATIONAL, 0, 1e6, "0", "rounds",
               "rounds after which the allocator decides, in a trial at least 4; 0: 8 or more, of 0.1 s and, while nothing "
               "changes, up to 5 s"),
    MZ_SETTING(mz_allocation_settings, windows, "allocate.windows", MZ_INT, MZ_OPERATIONAL, 1, 64, "3", "windows",
               "windows that a new plan is on trial for, at least, in turns with as many under the old one; one that is plainly "
               "slower goes after one"),
    MZ_SETTING(mz_allocation_settings, start, "allocate.start", MZ_ENUM, MZ_OPERATIONAL, 0, 0, "auto", "",
               "the first plan: auto, made for the machine, or plain, every knob at its least", .choices = "auto|plain"),
    MZ_SETTING(mz_allocation_settings, share, "allocate.share", MZ_BOOL, MZ_OPERATIONAL, 0, 0, "on", "",
               "runs of one user to which the same cores are granted divide them"),
    MZ_SETTING(mz_allocation_settings, numeric, "allocate.numeric", MZ_BOOL, MZ_OPERATIONAL, 0, 0, "off", "",
               "stages may move between CPUs and GPUs, and between models of GPUs: the same mathematics, other rounding; off: "
               "results do not depend on what is decided"),
    MZ_SETTING(mz_allocation_settings, predictor, "allocate.predictor", MZ_TEXT, MZ_OPERATIONAL, 0, 0, "auto", "",
               "adaptive: what predicts a plan's time; auto: whichever does best on plans that it was not told of"),
    MZ_SETTING(
        mz_allocation_settings, pretrained, "allocate.pretrained", MZ_TEXT, MZ_OPERATIONAL, 0, 0, "", "",
        "adaptive: file of `muzero pretrain` with the networks of mlp, graph and graph_residual; empty: the program's own"),
    MZ_SETTING(
        mz_allocation_settings, policy, "allocate.policy", MZ_TEXT, MZ_OPERATIONAL, 0, 0, "", "",
        "a run of allocation:course=FILE, fitted to runs like this one: its agent proposes a plan for each stage; it drives "
        "with allocate.strategy=staged, and is only recorded with another one; empty: none"),
    MZ_SETTING(
        mz_allocation_settings, shadow, "allocate.shadow", MZ_TEXT, MZ_OPERATIONAL, 0, 0, "", "",
        "staged: one run or several (RUN:RUN) that recorded the agent of allocate.policy while another strategy drove; the agent "
        "drives only where its regret, summed over them, is no worse than that of the best fixed plan"),
    MZ_SETTING(mz_allocation_settings, search, "allocate.search", MZ_ENUM, MZ_OPERATIONAL, 0, 0, "anneal", "",
               "adaptive: how plans are searched", .choices = "anneal|random"),
    MZ_SETTING(mz_allocation_settings, balance, "allocate.balance", MZ_BOOL, MZ_OPERATIONAL, 0, 0, "off", "",
               "adaptive: plans give up what they are not predicted to use; where none is better, the balance factor takes back "
               "what is not "
               "used and adds what is short"),
    MZ_SETTING(mz_allocation_settings, verify, "allocate.verify", MZ_BOOL, MZ_OPERATIONAL, 0, 0, "on", "",
               "a new plan is tried in turns with the old one; off: it holds at once, whatever it does"),
    MZ_SETTING(mz_allocation_settings, monitor_hz, "monitor.rate", MZ_FLOAT, MZ_OPERATIONAL, 0, 5, "4", "Hz",
               "how often the system's sensors are read; 0: only at the end of a window"),

    MZ_SETTING(mz_allocation_settings, cpu_min, "limits.cpu_min", MZ_FLOAT, MZ_OPERATIONAL, 0, 1e6, "0", "cores",
               "cores that a plan uses at the least"),
    MZ_SETTING(mz_allocation_settings, cpu_max, "limits.cpu_max", MZ_FLOAT, MZ_OPERATIONAL, 0, 1e6, "0", "cores",
               "cores that a plan may use; 0: what the machine grants, more threads than cores included"),
    MZ_SETTING(mz_allocation_settings, gpu_min, "limits.gpu_min", MZ_INT, MZ_OPERATIONAL, 0, 1024, "0", "GPUs",
               "GPUs that a plan uses at the least"),
    MZ_SETTING(mz_allocation_settings, gpu_max, "limits.gpu_max", MZ_INT, MZ_OPERATIONAL, 0, 1024, "0", "GPUs",
               "GPUs that a plan may use; 0: what the machine grants"),
    MZ_SETTING(mz_allocation_settings, memory_min, "limits.memory_min", MZ_SIZE, MZ_OPERATIONAL, 0, 1e15, "0", "bytes",
               "memory that the run reserves, and pays for, at the least, whatever its plan needs"),
    MZ_SETTING(mz_allocation_settings, memory_max, "limits.memory_max", MZ_SIZE, MZ_OPERATIONAL, 0, 1e15, "0", "bytes",
               "memory that a plan may need; 0: what the machine grants, at most 85 % of what is free"),
    MZ_SETTING(mz_allocation_settings, gpu_memory, "limits.gpu_memory", MZ_SIZE, MZ_OPERATIONAL, 0, 1e15, "0", "bytes",
               "memory of each GPU that a plan may need; 0: 85 % of what is free on it when the run begins"),
    MZ_SETTING(mz_allocation_settings, deadline, "limits.deadline", MZ_TIME, MZ_OPERATIONAL, 0, 1e10, "0", "seconds",
               "the whole run shall end within it; 0: none"),
    MZ_SETTING(mz_allocation_settings, budget, "limits.budget", MZ_FLOAT, MZ_OPERATIONAL, 0, 1e12, "0", "currency of prices.*",
               "the whole run shall cost no more; 0: none"),
    MZ_SETTING(mz_allocation_settings, score, "limits.score", MZ_FLOAT, MZ_OPERATIONAL, -1e9, 1e9, "1e9", "",
               "score that the run shall reach; 1e9: none"),

    MZ_SETTING(mz_allocation_settings, core_hour, "prices.core_hour", MZ_FLOAT, MZ_OPERATIONAL, 0, 1e9, "1", "per hour",
               "price of a reserved core"),
    MZ_SETTING(mz_allocation_settings, gpu_hour, "prices.gpu_hour", MZ_FLOAT, MZ_OPERATIONAL, 0, 1e9, "20", "per hour",
               "price of a reserved GPU"),
    MZ_SETTING(mz_allocation_settings, gib_hour, "prices.gib_hour", MZ_FLOAT, MZ_OPERATIONAL, 0, 1e9, "0.1", "per hour",
               "price of a reserved GiB of memory"),

    MZ_SETTING(mz_allocation_settings, cpu, "devices.cpu", MZ_TEXT, MZ_EXACT, 0, 0, "auto", "",
               "sets of cores, each a device: 0-3,4-7; auto: one per NUMA node"),
};

const mz_settings_table mz_allocation_table = {.rows = rows, .count = sizeof rows / sizeof rows[0]};
