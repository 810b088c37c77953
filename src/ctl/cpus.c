/* cpus.c - koordctl cpus NODE | --fits N: reads the cluster, and asks the scheduler's own state. */
#include "ctl/cpus.h"

#include "base/arena.h"
#include "ctl/ctl.h"
#include "ctl/explain.h"
#include "json/schema.h"

struct cpus_options {
    const char *config, *bind;
    int fits;
    bool single_numa;
};

static int answer(struct ctl *c, void *self, const char *node, const struct cpus_want *want)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct kerr err = { 0 };

    if (c->parts->cpus(self, node, node ? NULL : want, &json, &err) < 0)
        return ctl_fail(c, "%s", err.text);
    return explain_show(c, &json, node ? cpus_node_text : cpus_fits_text);
}

static int check_usage(struct ctl *c, const struct cpus_options *o, const char *node)
{
    if (flags_nargs(c->flags) > 1 || !node == !o->fits)
        return ctl_usage(c, "cpus takes the name of a node, or --fits and a number of CPUs");
    if (node && (*o->bind || o->single_numa))
        return ctl_usage(c, "--bind and --single-numa say how the CPUs of --fits must lie");
    if (streq(c->o.output, "wide") || streq(c->o.output, "name"))
        return ctl_usage(c, "cpus knows -o table, json and yaml");
    return CTL_OK;
}

static int cpus_run(struct ctl *c, const void *options)
{
    const struct cpus_options *o = options;
    const char *node = flags_arg(c->flags, 0);
    const struct cpus_want want = { (unsigned)o->fits, o->bind, o->single_numa };
    int code = check_usage(c, o, node);

    if (code != CTL_OK)
        return code;
    if (!c->parts || !c->parts->explain || !c->parts->cpus)
        return ctl_fail(c, "this program has no scheduler to ask");
    code = ctl_connect(c);
    if (code != CTL_OK)
        return code;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct explain_cluster x = {
        .c = c, .arena = a, .scheduler = c->parts->explain, .scratch = kj_scratch_new(c->strings)
    };
    code = explain_read_cluster(&x, "koord-scheduler", o->config);
    if (code == CTL_OK)
        code = answer(c, x.self, node, &want);
    x.scheduler->close(x.self);
    kj_scratch_free(x.scratch);
    return code;
}

static const char *const binds[] = { "FullPCPUs", "SpreadByPCPUs", NULL };
#define O(member) .off = offsetof(struct cpus_options, member)
static const struct flag cpus_flags[] = {
    { "fits", FLAG_INT, O(fits), .min = 0, .max = 1024,
      .help = "how many pods with so many `CPUs` of their own nodes can still take" },
    { "bind", FLAG_STR, O(bind), .choices = binds,
      .help = "`policy` that these pods require: FullPCPUs or SpreadByPCPUs" },
    { "single-numa", FLAG_BOOL, O(single_numa), .help = "each of them on one NUMA node" },
    { "config", FLAG_STR, O(config),
      .help = "KubeSchedulerConfiguration `file` with the profile of koord-scheduler" },
};
#undef O

const struct ctl_command ctl_command_cpus = {
    .name = "cpus",
    .args = "NODE | --fits CPUS",
    .help = "Draw who has which CPUs of a node; tell how many more pods with CPUs of their own fit",
    .about = "For a node: its sockets, NUMA nodes and cores, and for each CPU the pod, the "
             "reservation, the\nkubelet or the system that has it.\n\n"
             "With --fits: how many such pods CPUs and NUMA nodes of each node have room for, and "
             "the largest\npod that fits. Taints, affinities, memory and quotas are not looked "
             "at: koordctl explain does.\n",
    .flags = cpus_flags,
    .nflags = ARRAY_LEN(cpus_flags),
    .options_size = sizeof(struct cpus_options),
    .run = cpus_run,
};
