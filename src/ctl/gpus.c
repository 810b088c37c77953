/* gpus.c - koordctl gpus [NODE]: reads the cluster, and asks the scheduler's own state. */
#include "ctl/gpus.h"

#include "base/arena.h"
#include "ctl/ctl.h"
#include "ctl/explain.h"
#include "json/schema.h"

struct gpus_options {
    const char *config;
};

static int answer(struct ctl *c, void *self, const char *node)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct kerr err = { 0 };

    if (c->parts->gpus(self, node, &json, &err) < 0)
        return ctl_fail(c, "%s", err.text);
    return explain_show(c, &json, gpus_text);
}

static int gpus_run(struct ctl *c, const void *options)
{
    const struct gpus_options *o = options;

    if (flags_nargs(c->flags) > 1)
        return ctl_usage(c, "gpus takes the name of one node, or none");
    if (streq(c->o.output, "wide") || streq(c->o.output, "name"))
        return ctl_usage(c, "gpus knows -o table, json and yaml");
    if (!c->parts || !c->parts->explain || !c->parts->gpus)
        return ctl_fail(c, "this program has no scheduler to ask");
    int code = ctl_connect(c);
    if (code != CTL_OK)
        return code;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct explain_cluster x = {
        .c = c, .arena = a, .scheduler = c->parts->explain, .scratch = kj_scratch_new(c->strings)
    };
    code = explain_read_cluster(&x, "koord-scheduler", o->config);
    if (code == CTL_OK)
        code = answer(c, x.self, flags_arg(c->flags, 0));
    x.scheduler->close(x.self);
    kj_scratch_free(x.scratch);
    return code;
}

static const struct flag gpus_flags[] = {
    { "config", FLAG_STR, .off = offsetof(struct gpus_options, config),
      .help = "KubeSchedulerConfiguration `file` with the profile of koord-scheduler" },
};

const struct ctl_command ctl_command_gpus = {
    .name = "gpus",
    .args = "[NODE]",
    .help = "Draw the GPUs of nodes and who has them; tell how much of what is free is fragmented",
    .about = "Each card is a bar of its compute, with its holders, its health and its place. Then, "
             "for common\nrequests, how many such pods would still fit, and how much of the free "
             "compute is too\nfragmented for them. Taints, affinities, CPU and memory of nodes are "
             "not looked at: koordctl\nexplain does.\n",
    .flags = gpus_flags,
    .nflags = ARRAY_LEN(gpus_flags),
    .options_size = sizeof(struct gpus_options),
    .run = gpus_run,
};
