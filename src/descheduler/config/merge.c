/* merge.c - which plugins take part where: the defaults, and what the file says about them. */
#include "descheduler/config/config_int.h"

/* "MigrationController" evicts and filters; nothing else runs unless the file says so. */
static const char *const defaults[KD_POINTS] = {
    [KD_EVICT] = "MigrationController",
    [KD_FILTER] = "MigrationController",
};
static const char *const kinds[KD_POINTS] = {
    [KD_DESCHEDULE] = "DeschedulePlugin",
    [KD_BALANCE] = "BalancePlugin",
    [KD_EVICT] = "EvictPlugin",
    [KD_FILTER] = "FilterPlugin",
};

static bool has_name(const desched_plugin_names *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].name, name))
            return true;
    return false;
}

/* One default at most: a default that is enabled again keeps its place, which is the first. */
static void merge_set(struct desched_plugin_set *s, const char *standard, struct arena *a)
{
    desched_plugin_names out = { arena_newn0(a, s->enabled.n + 1, struct desched_plugin_name), 0 };
    bool keep = standard && !has_name(&s->disabled, "*") && !has_name(&s->disabled, standard);

    if (keep)
        out.items[out.n++].name = standard;
    for (uint32_t i = 0; i < s->enabled.n; i++)
        if (!keep || !streq(s->enabled.items[i].name, standard))
            out.items[out.n++] = s->enabled.items[i];
    s->enabled = out;
}

static bool extends(const struct kd_plugin *p, enum kd_point point)
{
    switch (point) {
    case KD_DESCHEDULE: return p->deschedule;
    case KD_BALANCE: return p->balance;
    case KD_EVICT: return p->evict;
    case KD_FILTER: return p->filter || p->pre_eviction_filter;
    case KD_POINTS: break;
    }
    return false;
}

static int check_plugin(const desched_plugin_names *l, uint32_t i, enum kd_point point,
                        struct kerr *err)
{
    const char *name = l->items[i].name;
    const struct kd_plugin *p = registry_find(name);

    if (!p)
        return kerr_api(err, -ENOENT, KR_INVALID, "%s \"%.64s\" does not exist", kinds[point],
                        name);
    if (!extends(p, point))
        return kerr_api(err, -EINVAL, KR_INVALID, "plugin \"%.64s\" does not extend %s plugin",
                        name, kinds[point]);
    return 0;
}

static int check_repeated(const desched_plugin_names *l, enum kd_point point, struct kerr *err)
{
    for (uint32_t i = 0; i < l->n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (streq(l->items[i].name, l->items[j].name))
                return kerr_api(err, -EINVAL, KR_INVALID,
                                "plugin \"%.64s\" already registered as \"%s\"", l->items[i].name,
                                kinds[point]);
    return 0;
}

static int merge_point(struct desched_plugin_set *s, enum kd_point point, struct kd_enabled *ret,
                       struct arena *a, struct kerr *err)
{
    int r = config_at_most(s->enabled.n, CONFIG_ITEMS_MAX, "enabled", err);

    if (r == 0)
        r = check_repeated(&s->enabled, point, err);
    if (r < 0)
        return r;
    merge_set(s, defaults[point], a);
    const struct kd_plugin **items = arena_newn0(a, s->enabled.n, const struct kd_plugin *);
    for (uint32_t i = 0; i < s->enabled.n; i++) {
        if (check_plugin(&s->enabled, i, point, err) < 0)
            return err->code;
        items[i] = registry_find(s->enabled.items[i].name);
    }
    *ret = (struct kd_enabled){ items, s->enabled.n };
    return 0;
}

int merge_plugins(struct desched_profile *p, struct kd_profile_config *made, struct arena *a,
                  struct kerr *err)
{
    for (int i = 0; i < KD_POINTS; i++)
        if (merge_point(&p->plugins.points[i], (enum kd_point)i, &made->points[i], a, err) < 0)
            return kerr_wrap(err, "plugins.%s", kd_point_names[i]);
    if (made->points[KD_EVICT].n == 0)
        return kerr_api(err, -EINVAL, KR_INVALID, "plugins.evict: no evict plugin is enabled");
    if (made->points[KD_EVICT].n > 1)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "plugins.evict: only one evict plugin can be enabled");
    return 0;
}
