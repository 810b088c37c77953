/* demo.c - koordctl demo: what koord is good for, in a minute. */
#include "ctl/demo.h"

#include <stdio.h>

#include "base/klog.h"

struct demo_options {
    int nodes, hours;
    int64_t seed;
};

#define O(member) .off = offsetof(struct demo_options, member)
static const struct flag demo_flags[] = {
    { "nodes", FLAG_INT, O(nodes), .def = "100", .min = 8, .max = 1000,
      .help = "number of hollow nodes" },
    { "hours", FLAG_INT, O(hours), .def = "24", .min = 1, .max = 168,
      .help = "length of the day that is played" },
    { "seed", FLAG_I64, O(seed), .def = "1",
      .help = "of everything random; the same seed gives the same text" },
};
#undef O

/* ---- the table --------------------------------------------------------------------------------- */

enum { BEFORE, AFTER, RUNS };

static double hours_of(int64_t core_ms)
{
    return (double)core_ms / 1000 / 3600;
}

static double utilisation(const struct demo_result *r)
{
    return r->use.capacity ? 100.0 * (double)r->use.used / (double)r->use.capacity : 0;
}

static const char *wait_text(nsec_t wait, char out[static 32])
{
    nsec_t s = wait / NSEC_PER_SEC;

    if (s >= 3600)
        (void)snprintf(out, 32, "%lldh %02lldm", (long long)(s / 3600), (long long)(s / 60 % 60));
    else if (s >= 60)
        (void)snprintf(out, 32, "%lldm %02llds", (long long)(s / 60), (long long)(s % 60));
    else
        (void)snprintf(out, 32, "%llds", (long long)s);
    return out;
}

static void add_row(struct strbuf *out, const char *what, const char *before, const char *after)
{
    strbuf_appendf(out, "%-28s %14s %14s\n", what, before, after);
}

static void add_numbers(struct strbuf *out, const char *what, double before, double after,
                        int digits, const char *unit)
{
    char a[32], b[32];

    (void)snprintf(a, sizeof a, "%.*f%s", digits, before, unit);
    (void)snprintf(b, sizeof b, "%.*f%s", digits, after, unit);
    add_row(out, what, a, b);
}

static void show(struct ctl *c, const struct demo_result r[static RUNS])
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const struct demo_result *a = &r[BEFORE], *b = &r[AFTER];
    char before[32], after[32];

    strbuf_append(&out, "\n");
    add_row(&out, "", "without koord", "with koord");
    add_numbers(&out, "CPU utilisation", utilisation(a), utilisation(b), 1, "%");
    add_numbers(&out, "batch CPU-hours done", hours_of(a->use.work_done),
                hours_of(b->use.work_done), 0, "");
    add_numbers(&out, "slow minutes of services", (double)a->use.slow_minutes,
                (double)b->use.slow_minutes, 0, "");
    add_numbers(&out, "pods evicted", (double)a->evicted, (double)b->evicted, 0, "");
    add_row(&out, "longest wait for a node", wait_text(a->longest_wait, before),
            wait_text(b->longest_wait, after));
    strbuf_append(&out,
                  "\nNodes are hollow and what pods get is a model (CPU shared by weight); API "
                  "server, scheduler,\nmanager and controllers are the real ones. A slow "
                  "minute is one in which a service pod\ngot less CPU than it wanted.\n");
    (void)ctl_print(c, &out);
}

/* ---- the command ------------------------------------------------------------------------------- */

static int run_demo(struct ctl *c, const void *options)
{
    const struct demo_options *o = options;
    const struct demo_plan plan = { (unsigned)o->nodes, (unsigned)o->hours, (uint64_t)o->seed };
    struct demo_result results[RUNS] = { 0 };

    if (flags_nargs(c->flags) > 0)
        return ctl_usage(c, "demo takes no arguments");
    if (!c->parts || !c->parts->up)
        return ctl_fail(c, CTL_NO_SYSTEM);
    klog_set_level(c->o.v - 1); /* what components tell at the start is no part of the story */
    for (int i = BEFORE; i < RUNS; i++) {
        int code = demo_run(c, &plan, i == AFTER, &results[i]);
        if (code != CTL_OK)
            return code;
    }
    show(c, results);
    return c->out_broken ? CTL_FAILED : CTL_OK;
}

const struct ctl_command ctl_command_demo = {
    .name = "demo",
    .help = "Play a day in a cluster twice, without koord and with it",
    .about =
        "Runs everything that koordctl up runs, on hollow nodes and a clock of its own: a day "
        "takes\n"
        "about a minute. Services follow the hours of the day, batch jobs want whatever is\n"
        "left, one node is hot, some neighbours are noisy. Nothing is kept and nothing outside of\n"
        "this process is touched.\n",
    .flags = demo_flags,
    .nflags = ARRAY_LEN(demo_flags),
    .options_size = sizeof(struct demo_options),
    .run = run_demo,
};
