/* here.c - what of a profile can be made with the plugins that are here. */
#include "scheduler/config/config_int.h"

static bool set_has(const struct profile_set *s, const char *plugin)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (streq(s->items[i].plugin, plugin))
            return true;
    return false;
}

static struct profile_set here(const struct profile_set *order, enum ks_point point,
                               struct arena *a)
{
    /* Room for those that come along, and for one in place of all that are not here. */
    struct profile_entry *items =
        arena_newn0(a, order->n + PROFILE_PLUGINS_MAX + 1, struct profile_entry);
    uint32_t n = 0;

    for (uint32_t i = 0; i < order->n; i++) {
        const struct ks_registered *r = ks_registered_find(order->items[i].plugin);
        if (r && ks_implements(r->plugin, point))
            items[n++] = order->items[i];
    }
    return (struct profile_set){ items, n };
}

static void add(struct profile_set *s, const char *plugin)
{
    struct profile_entry *items = (struct profile_entry *)(uintptr_t)s->items;

    items[s->n++] = (struct profile_entry){ plugin, 1 };
}

/* Who takes part at a point needs what it does at the other: prepares before, or settles when the
 * pod is bound. Where upstream's plugin does without, and where the file turns it off, it comes
 * along nevertheless. */
static void bring(struct profile_config *made, enum ks_point point, enum ks_point other)
{
    struct profile_set *s = &made->points[other];

    for (uint32_t i = 0; i < made->points[point].n; i++) {
        const char *name = made->points[point].items[i].plugin;
        if (ks_implements(ks_registered_find(name)->plugin, other) && !set_has(s, name))
            add(s, name);
    }
}

/* A profile whose only binder is not here yet works with the default one. */
static void stand_in(struct profile_set *bind)
{
    for (const struct ks_registered *r = ks_registry; r->plugin && bind->n == 0; r++)
        if (r->by_default && ks_implements(r->plugin, KS_POINT_BIND))
            add(bind, r->plugin->name);
}

void here_make(const struct sched_profile *p, struct profile_config *made, struct arena *a)
{
    for (int point = 0; point < KS_POINTS; point++)
        made->points[point] = here(&p->order[point], (enum ks_point)point, a);
    bring(made, KS_POINT_FILTER, KS_POINT_PRE_FILTER);
    bring(made, KS_POINT_RESERVE, KS_POINT_PRE_FILTER);
    bring(made, KS_POINT_SCORE, KS_POINT_PRE_SCORE);
    bring(made, KS_POINT_RESERVE, KS_POINT_POST_BIND);
    stand_in(&made->points[KS_POINT_BIND]);
}

static bool is_used(const struct sched_config *c, const char *plugin)
{
    for (uint32_t i = 0; i < c->profiles.n; i++)
        for (int point = 0; point < KS_POINTS; point++)
            if (set_has(&c->profiles.items[i].order[point], plugin))
                return true;
    return false;
}

void here_not_yet(struct sched_config *c, struct arena *a)
{
    uint32_t n = 0;

    while (ks_registry[n].plugin)
        n++;
    const char **names = arena_newn0(a, n + 1, const char *);
    n = 0;
    for (const struct ks_registered *r = ks_registry; r->plugin; r++)
        if (r->plugin->planned && is_used(c, r->plugin->name))
            names[n++] = r->plugin->name;
    c->not_yet = names;
}
