/* demo_tell.c - the story of koordctl demo, as it goes. */
#include <stdio.h>

#include "ctl/demo.h"
#include "loop/loop.h"

void demo_say(struct demo *d, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    va_list ap;

    strbuf_appendf(&text, "%02u:%02u  ", d->minute / 60 % 24, d->minute % 60);
    va_start(ap, fmt);
    strbuf_vappendf(&text, fmt, ap);
    va_end(ap);
    strbuf_append(&text, "\n");
    (void)ctl_print(d->c, &text);
}

void demo_tell_begin(struct demo *d)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (d->koord)
        strbuf_append(
            &text, "\nWith koord: the same day. koord-manager offers what services do not use as "
                   "batch resources,\nprofiles make the same jobs best-effort pods, "
                   "koord-scheduler looks at load, and nodes hold\nbest effort back.\n\n");
    else
        strbuf_appendf(&text,
                       "Without koord: %u nodes of 16 cores, kube-scheduler's plugins, jobs are "
                       "ordinary pods.\n\n",
                       d->plan.nodes);
    (void)ctl_print(d->c, &text);
}

/* ---- how things are ---------------------------------------------------------------------------- */

struct moment {
    int64_t mcpu, used;
    unsigned short_services, short_nodes;
    struct up_node hottest;
};

static struct moment look(struct demo *d)
{
    struct moment m = { 0 };
    struct up_node n;

    for (size_t i = 0; d->system->node(d->self, i, &n); i++) {
        m.mcpu += n.mcpu;
        m.used += n.used_mcpu;
        m.short_services += n.services_short;
        m.short_nodes += n.services_short > 0;
        if (!m.hottest.mcpu || n.used_mcpu * m.hottest.mcpu > m.hottest.used_mcpu * n.mcpu)
            m.hottest = n;
    }
    return m;
}

static int percent(int64_t part, int64_t of)
{
    return of > 0 ? (int)((part * 200 + of) / (2 * of)) : 0;
}

static const char *shortage(const struct moment *m, char out[static 96])
{
    if (m->short_services == 0)
        return "every service gets the CPU it wants";
    (void)snprintf(out, 96, "%u service pod%s on %u node%s get%s less CPU than wanted",
                   m->short_services, m->short_services == 1 ? "" : "s", m->short_nodes,
                   m->short_nodes == 1 ? "" : "s", m->short_services == 1 ? "s" : "");
    return out;
}

static void tell_all(struct demo *d)
{
    struct moment m = look(d);
    struct up_stats s = d->system->stats(d->self);
    char text[96];

    demo_say(d,
             "%d%% of the CPU is in use, %zu pods wait for a node, batch has done %lld CPU-hours; "
             "%s.",
             percent(m.used, m.mcpu), s.pending, (long long)(s.use.work_done / 3600 / 1000),
             shortage(&m, text));
}

static void tell_node(struct demo *d, const char *name, const char *what)
{
    struct up_node n;

    for (size_t i = 0; d->system->node(d->self, i, &n); i++) {
        if (!streq(n.name, name))
            continue;
        demo_say(d, "%s: %d%% of its CPU is in use, %u of its service pods get%s less than wanted.",
                 what, percent(n.used_mcpu, n.mcpu), n.services_short,
                 n.services_short == 1 ? "s" : "");
    }
}

void demo_tell_minute(struct demo *d)
{
    unsigned every = MAX(d->plan.hours * 60 / 8, 1u);
    struct moment m;

    if (d->minute == demo_at(d, 10) + 20) {
        m = look(d);
        tell_node(d, m.hottest.name, "The noisiest neighbourhood");
    }
    if (d->minute == demo_at(d, 14))
        tell_node(d, DEMO_HOT_NODE, "The hot node " DEMO_HOT_NODE " at the peak of the day");
    if (d->minute == demo_at(d, 20) + 3) {
        struct up_stats s = d->system->stats(d->self);
        demo_say(d, "Three minutes into the sale %llu pods have been evicted so far.",
                 (unsigned long long)s.evicted);
    }
    if ((d->minute + 1) % every == 0)
        tell_all(d);
}
