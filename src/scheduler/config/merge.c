/* merge.c - a profile's plugin sets over the defaults, and the order at every extension point
 * (scheduler-core 4.2).
 */
#include "scheduler/config/config_int.h"

#include <ctype.h>
#include <stdio.h>

/* ---- lists ----------------------------------------------------------------------------------- */

static const struct sched_plugin *list_find(const sched_plugin_list *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].name, name))
            return &l->items[i];
    return NULL;
}

static bool is_disabled(const struct sched_plugin_set *s, const char *name)
{
    return list_find(&s->disabled, name) || list_find(&s->disabled, "*");
}

/* ---- names ----------------------------------------------------------------------------------- */

/* As upstream's messages call it: "FilterPlugin". point KS_POINTS: multiPoint. */
static const char *point_type(enum ks_point point, char *buf, size_t size)
{
    const char *name = point == KS_POINTS ? "multiPoint" : ks_point_names[point];
    (void)snprintf(buf, size, "%c%sPlugin", toupper((unsigned char)name[0]), name + 1);
    return buf;
}

static int unknown_plugin(const char *type, const char *name, struct kerr *err)
{
    const char *nearest = names_nearest(name);

    if (nearest)
        return kerr_api(err, -ENOENT, KR_INVALID,
                        "%s \"%.64s\" does not exist (did you mean \"%s\"?)", type, name, nearest);
    return kerr_api(err, -ENOENT, KR_INVALID, "%s \"%.64s\" does not exist", type, name);
}

static int check_enabled(const sched_plugin_list *l, uint32_t i, enum ks_point point,
                         struct kerr *err)
{
    const struct sched_plugin *p = &l->items[i];
    char type[32];

    point_type(point, type, sizeof type);
    if (names_is_removed(p->name))
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "Invalid value: \"%s\": was invalid in version \"v1\" "
                        "(KubeSchedulerConfiguration is version \"" CONFIG_API_VERSION "\")",
                        p->name);
    const struct ks_plugin *known = names_find(p->name);
    if (!known)
        return unknown_plugin(type, p->name, err);
    if (point != KS_POINTS && !ks_extends(known, point))
        return kerr_api(err, -EINVAL, KR_INVALID, "plugin \"%s\" does not extend %s plugin",
                        p->name, type);
    if (p->weight < 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "weight: Invalid value: %d: must be greater than or equal to 0",
                        (int)p->weight);
    for (uint32_t j = 0; j < i; j++)
        if (streq(l->items[j].name, p->name))
            return kerr_api(err, -EINVAL, KR_INVALID, "plugin \"%s\" already registered as \"%s\"",
                            p->name, type);
    return 0;
}

/* Names are known and each is there once, so a list that passes is short. */
static int check_set(const struct sched_plugin_set *s, enum ks_point point, struct kerr *err)
{
    const char *name = point == KS_POINTS ? "multiPoint" : ks_point_names[point];
    char path[64];

    (void)snprintf(path, sizeof path, "plugins.%s.disabled", name);
    int r = config_at_most(s->disabled.n, CONFIG_ITEMS_MAX, path, err);
    for (uint32_t i = 0; i < s->enabled.n && r == 0; i++) {
        r = check_enabled(&s->enabled, i, point, err);
        if (r < 0)
            kerr_wrap(err, "plugins.%s.enabled[%u]", name, i);
    }
    return r;
}

/* ---- over the defaults ----------------------------------------------------------------------- */

static void merge_multi_point(struct sched_plugin_set *s, struct arena *a)
{
    sched_plugin_list merged = { 0 };
    uint32_t ndefaults = 0;

    while (ks_registry[ndefaults].plugin)
        ndefaults++;
    merged.items = arena_newn0(a, ndefaults + s->enabled.n, struct sched_plugin);
    for (const struct ks_registered *r = ks_registry; r->plugin; r++) {
        const char *name = r->plugin->name;
        const struct sched_plugin *own = list_find(&s->enabled, name);
        if (r->by_default && !is_disabled(s, name))
            merged.items[merged.n++] =
                own ? *own : (struct sched_plugin){ name, (int32_t)r->weight };
    }
    for (uint32_t i = 0; i < s->enabled.n; i++)
        if (!list_find(&merged, s->enabled.items[i].name))
            merged.items[merged.n++] = s->enabled.items[i];
    s->enabled = merged;
}

static void add_default_pre_bind(struct sched_plugin_set *s, struct arena *a)
{
    sched_plugin_list longer = { .n = s->enabled.n };

    if (is_disabled(s, DEFAULT_PRE_BIND) || list_find(&s->enabled, DEFAULT_PRE_BIND))
        return;
    longer.items = arena_newn0(a, s->enabled.n + 1, struct sched_plugin);
    if (s->enabled.n)
        memcpy(longer.items, s->enabled.items, s->enabled.n * sizeof *longer.items);
    longer.items[longer.n++] = (struct sched_plugin){ DEFAULT_PRE_BIND, 0 };
    s->enabled = longer;
}

/* ---- order ----------------------------------------------------------------------------------- */

static void put(struct profile_entry *items, uint32_t *n, const struct sched_plugin *p)
{
    items[(*n)++] = (struct profile_entry){ p->name, p->weight ? p->weight : 1 };
}

static struct profile_set expand(const struct sched_plugins *p, enum ks_point point,
                                 struct arena *a)
{
    const struct sched_plugin_set *s = &p->points[point];
    const sched_plugin_list *own = &s->enabled, *multi = &p->multi_point.enabled;
    struct profile_entry *items = arena_newn0(a, own->n + multi->n, struct profile_entry);
    bool all_off = list_find(&s->disabled, "*");
    uint32_t n = 0;

    for (uint32_t i = 0; i < own->n; i++)
        if (all_off || list_find(multi, own->items[i].name))
            put(items, &n, &own->items[i]);
    if (all_off)
        return (struct profile_set){ items, n };
    for (uint32_t i = 0; i < multi->n; i++)
        if (ks_extends(names_find(multi->items[i].name), point) &&
            !list_find(own, multi->items[i].name) && !is_disabled(s, multi->items[i].name))
            put(items, &n, &multi->items[i]);
    for (uint32_t i = 0; i < own->n; i++)
        if (!list_find(multi, own->items[i].name))
            put(items, &n, &own->items[i]);
    return (struct profile_set){ items, n };
}

static int check_order(const struct sched_profile *p, struct kerr *err)
{
    if (p->order[KS_POINT_QUEUE_SORT].n != 1)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "plugins.queueSort: only one queue sort plugin required for profile with "
                        "scheduler name \"%.64s\", but got %u",
                        p->scheduler_name, p->order[KS_POINT_QUEUE_SORT].n);
    if (p->order[KS_POINT_BIND].n == 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "plugins.bind: at least one bind plugin is needed for profile with "
                        "scheduler name \"%.64s\"",
                        p->scheduler_name);
    return 0;
}

int merge_profile(struct sched_profile *p, struct arena *a, struct kerr *err)
{
    struct sched_plugins *s = &p->plugins;
    int r = check_set(&s->multi_point, KS_POINTS, err);

    for (int point = 0; point < KS_POINTS && r == 0; point++)
        r = check_set(&s->points[point], (enum ks_point)point, err);
    if (r < 0)
        return r;
    merge_multi_point(&s->multi_point, a);
    add_default_pre_bind(&s->points[KS_POINT_PRE_BIND], a);
    for (int point = 0; point < KS_POINTS; point++)
        p->order[point] = expand(s, (enum ks_point)point, a);
    return check_order(p, err);
}
