/* hints.c - which plugins want to hear of an event, and whether it may help a pod they rejected. */
#include "scheduler/framework/profile.h"
#include "scheduler/framework/stopwatch.h"

static bool matches(const struct ks_hint *h, const struct ks_event *e)
{
    bool resource = (h->resource == e->resource && h->kind == e->kind) ||
                    (h->resource == KS_RES_POD && (e->resource == KS_RES_ASSIGNED_POD ||
                                                   e->resource == KS_RES_UNSCHEDULABLE_POD));
    /* The comparison by size is upstream's: "any update" does not wake who waits for one kind. */
    return resource && (h->actions & e->action) && e->action <= h->actions;
}

/* Who waits for new nodes also waits for taints to go: a node may have been added while another
 * plugin would have rejected it before the hint was asked. */
static bool matches_taint_instead(const struct ks_hint *h, const struct ks_event *e)
{
    return h->resource == KS_RES_NODE && e->resource == KS_RES_NODE &&
           (e->action & KS_NODE_TAINT) && (h->actions & KS_ADD) && !(h->actions & KS_NODE_TAINT);
}

static bool hears_all(const struct ks_plugin *pl)
{
    return pl->nhints == 0 && !pl->waits_for &&
           (pl->pre_enqueue || pl->filter || pl->pre_filter || pl->reserve || pl->permit);
}

uint64_t profile_listeners(const struct profile *p, const struct ks_event *e)
{
    uint64_t slots = UINT64_C(1) << PROFILE_EXTENDER;

    for (uint32_t i = 0; i < p->n; i++) {
        const struct ks_plugin *pl = p->slots[i].plugin;
        bool hears = hears_all(pl);
        for (uint32_t k = 0; k < pl->nhints && !hears; k++)
            hears = matches(&pl->hints[k], e) || matches_taint_instead(&pl->hints[k], e);
        slots |= (uint64_t)hears << i;
    }
    return slots;
}

static bool hint_worth(const struct profile *p, uint32_t slot, const struct ks_hint *h,
                       const struct ks_event *e, const struct pod *pod, struct hint_stopwatch *w)
{
    if (!h->worth)
        return true;
    if (w)
        w->began(w);
    bool worth = h->worth(p->slots[slot].self, e, pod);
    if (w)
        w->ended(w, p, slot, e, worth);
    return worth;
}

static bool plugin_worth(const struct profile *p, uint32_t slot, const struct ks_event *e,
                         const struct pod *pod, struct hint_stopwatch *w)
{
    const struct profile_slot *s = &p->slots[slot];

    if (hears_all(s->plugin))
        return true;
    for (uint32_t k = 0; k < s->plugin->nhints; k++) {
        const struct ks_hint *h = &s->plugin->hints[k];
        if (matches(h, e) && hint_worth(p, slot, h, e, pod, w))
            return true;
        if (matches_taint_instead(h, e))
            return true;
    }
    return false;
}

bool profile_worth_timed(const struct profile *p, uint64_t rejectors, const struct ks_event *e,
                         const struct pod *pod, struct hint_stopwatch *w)
{
    if (rejectors >> PROFILE_EXTENDER & 1)
        return true;
    for (uint32_t i = 0; i < p->n; i++)
        if ((rejectors >> i & 1) && plugin_worth(p, i, e, pod, w))
            return true;
    return false;
}

bool profile_worth(const struct profile *p, uint64_t rejectors, const struct ks_event *e,
                   const struct pod *pod)
{
    return profile_worth_timed(p, rejectors, e, pod, NULL);
}
