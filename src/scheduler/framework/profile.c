/* profile.c - a set of plugins for one scheduler name. */
#include "scheduler/framework/profile.h"

#include "base/arena.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/stopwatch.h"
#include "scheduler/model/nodekinds.h"
#include "scheduler/model/objects.h"

const char *const ks_point_names[KS_POINTS] = {
    "queueSort", "preEnqueue", "preFilter", "filter",  "postFilter", "preScore",
    "score",     "reserve",    "permit",    "preBind", "bind",       "postBind",
};

bool ks_implements(const struct ks_plugin *pl, enum ks_point point)
{
    switch (point) {
    case KS_POINT_QUEUE_SORT: return pl->before;
    case KS_POINT_PRE_ENQUEUE: return pl->pre_enqueue;
    case KS_POINT_PRE_FILTER: return pl->pre_filter;
    case KS_POINT_FILTER: return pl->filter;
    case KS_POINT_POST_FILTER: return pl->post_filter;
    case KS_POINT_PRE_SCORE: return pl->pre_score;
    case KS_POINT_SCORE: return pl->score;
    case KS_POINT_RESERVE: return pl->reserve;
    case KS_POINT_PERMIT: return pl->permit;
    case KS_POINT_PRE_BIND: return pl->pre_bind;
    case KS_POINT_BIND: return pl->bind;
    case KS_POINT_POST_BIND: return pl->post_bind;
    case KS_POINTS: break;
    }
    return false;
}

bool ks_extends(const struct ks_plugin *pl, enum ks_point point)
{
    return pl->points ? pl->points >> point & 1 : ks_implements(pl, point);
}

static const struct ks_registered *table_find(const struct ks_registered *t, const char *plugin)
{
    for (; t->plugin; t++)
        if (!t->plugin->planned && streq(t->plugin->name, plugin))
            return t;
    return NULL;
}

const struct ks_registered *ks_registered_find(const char *plugin)
{
    return table_find(ks_registry, plugin);
}

struct profile_config profile_config_default(const struct ks_registered *table,
                                             const char *scheduler_name, struct arena *a)
{
    struct profile_config c = { .scheduler_name = scheduler_name };
    uint32_t n = 0;

    while (table[n].plugin)
        n++;
    for (int p = 0; p < KS_POINTS; p++) {
        struct profile_entry *items = arena_newn0(a, n, struct profile_entry);
        c.points[p].items = items;
        for (uint32_t i = 0; i < n; i++)
            if (table[i].by_default && ks_implements(table[i].plugin, (enum ks_point)p))
                items[c.points[p].n++] =
                    (struct profile_entry){ table[i].plugin->name, table[i].weight };
    }
    return c;
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool reads(const struct ks_plugin *pl, const struct kind *k)
{
    for (const struct kind *const *at = pl->kinds; at && *at; at++)
        if (*at == k)
            return true;
    return false;
}

static int check_hints(const struct ks_plugin *pl, struct kerr *err)
{
    for (uint32_t i = 0; i < pl->nhints; i++) {
        const struct ks_hint *h = &pl->hints[i];
        if ((h->resource == KS_RES_OTHER) != (h->kind != NULL))
            return kerr_set(err, -EINVAL, "plugin %s has a hint without its kind", pl->name);
        if (h->kind && !reads(pl, h->kind))
            return kerr_set(err, -EINVAL, "plugin %s has a hint for %s and does not read them",
                            pl->name, h->kind->plural);
    }
    return 0;
}

static int check_services(const struct ks_plugin *pl, struct kerr *err)
{
    for (const struct ks_service *const *s = pl->services; s && *s; s++) {
        const struct ks_placeholder *p = (*s)->placeholder;
        if (p && !reads(pl, p->kind))
            return kerr_set(err, -EINVAL, "plugin %s places %s and does not read them", pl->name,
                            p->kind->plural);
    }
    return 0;
}

static int check_row(const struct ks_plugin *pl, struct kerr *err)
{
    const struct ks_row_data *d = pl->row;

    if (!d->fill || d->columns > KS_ROW_COLUMNS)
        return kerr_set(err, -EINVAL, "plugin %s: row data needs fill(), and at most %d columns",
                        pl->name, KS_ROW_COLUMNS);
    if (!d->add_pod != !d->remove_pod || (d->add_pod && !d->pods))
        return kerr_set(err, -EINVAL, "plugin %s: row data cannot undo what it counts", pl->name);
    if (d->on_demand && (!pl->pre_filter || pl->reuse != KS_REUSE_GLOBAL))
        return kerr_set(err, -EINVAL, "plugin %s: nobody asks for its row data each time",
                        pl->name);
    return 0;
}

static int check_plugin(const struct ks_plugin *pl, struct kerr *err)
{
    if (pl->abi != KS_PLUGIN_ABI || pl->size != sizeof *pl)
        return kerr_set(err, -EINVAL, "plugin %s is built for another interface", pl->name);
    if (pl->filter && !pl->reasons)
        return kerr_set(err, -EINVAL, "plugin %s filters without reasons", pl->name);
    if (pl->reuse == KS_REUSE_DOMAIN && !pl->refresh)
        return kerr_set(err, -EINVAL, "plugin %s cannot refresh its state", pl->name);
    if (!pl->add_pod != !pl->remove_pod)
        return kerr_set(err, -EINVAL, "plugin %s cannot undo what it counts", pl->name);
    if (pl->row && check_row(pl, err) < 0)
        return err->code;
    if (check_services(pl, err) < 0)
        return err->code;
    return check_hints(pl, err);
}

/* A copy of the plugin's args that lives as long as the profile; *ret stays NULL when it has none.
 */
static int args_of(struct profile *p, const struct profile_config *c, const struct ks_plugin *pl,
                   void **ret, struct kerr *err)
{
    const struct ks_args_context nothing = { 0 };

    for (uint32_t i = 0; pl->args && i < c->nargs; i++)
        if (streq(c->args[i].plugin, pl->name)) {
            *ret = args_copy(pl->args, c->args[i].args, p->arena);
            return 0;
        }
    return pl->args ? args_decode(pl->args, NULL, &nothing, p->arena, ret, err) : 0;
}

static int add_services(struct profile *p, const struct ks_plugin *pl, const void *args,
                        const struct ks_env *env, struct kerr *err)
{
    for (const struct ks_service *const *k = pl->services; k && *k; k++) {
        int r = service_set_add(&p->services, env->service_table, *k, pl, args, env, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The plugin's slot, which it gets at its first mention, with the services that it provides. */
static int slot_get(struct profile *p, const struct profile_config *c,
                    const struct ks_registered *table, const struct ks_env *env, const char *name,
                    struct kerr *err)
{
    int known = profile_slot(p, name);
    const struct ks_registered *r = table_find(table, name);

    if (known >= 0)
        return known;
    if (!r)
        return kerr_set(err, -ENOENT, "plugin \"%s\" does not exist", name);
    if (p->n == PROFILE_PLUGINS_MAX)
        return kerr_set(err, -E2BIG, "more than %d plugins", PROFILE_PLUGINS_MAX);
    struct profile_slot *s = &p->slots[p->n];
    int code = check_plugin(r->plugin, err);
    if (code < 0)
        return code;
    code = args_of(p, c, r->plugin, &s->args, err);
    if (code == 0)
        code = add_services(p, r->plugin, s->args, env, err);
    if (code < 0)
        return kerr_wrap(err, "plugin %s", name);
    s->plugin = r->plugin;
    p->keyed |= (uint64_t)(r->plugin->waits_for != NULL) << p->n;
    p->hooked |= (uint64_t)(r->plugin->reservations != NULL) << p->n;
    if (r->plugin->nominate && p->nominates < 0)
        p->nominates = (int)p->n;
    return (int)p->n++;
}

/* When all services are there. */
static int create_plugins(struct profile *p, struct ks_env env, struct kerr *err)
{
    env.services = &p->services;
    for (; p->ncreated < p->n; p->ncreated++) {
        struct profile_slot *s = &p->slots[p->ncreated];
        if (s->plugin->create && s->plugin->create(&env, s->args, &s->self, err) < 0)
            return kerr_wrap(err, "plugin %s", s->plugin->name);
        if (s->plugin->row && env.nodes)
            s->rows = rowset_new(env.nodes, s->plugin->row, s->self, s->plugin->kinds,
                                 s->plugin->statuses);
        if (s->rows && !s->plugin->row->on_demand)
            p->with_rows |= UINT64_C(1) << p->ncreated;
    }
    return 0;
}

static int add_point(struct profile *p, const struct profile_config *c, enum ks_point point,
                     const struct ks_registered *table, const struct ks_env *env, struct kerr *err)
{
    struct profile_point *at = &p->points[point];

    for (uint32_t i = 0; i < c->points[point].n; i++) {
        const struct profile_entry *e = &c->points[point].items[i];
        int slot = slot_get(p, c, table, env, e->plugin, err);
        if (slot < 0)
            return slot;
        if (!ks_implements(p->slots[slot].plugin, point))
            return kerr_set(err, -EINVAL, "plugin \"%s\" does not extend %s plugin", e->plugin,
                            ks_point_names[point]);
        if (at->set >> slot & 1)
            return kerr_set(err, -EINVAL, "plugin \"%s\" already registered as \"%s\"", e->plugin,
                            ks_point_names[point]);
        at->slots[at->n++] = (uint8_t)slot;
        at->set |= UINT64_C(1) << slot;
        if (point == KS_POINT_SCORE)
            p->slots[slot].weight = e->weight ? e->weight : 1;
    }
    return 0;
}

static int check_whole(const struct profile *p, struct kerr *err)
{
    int64_t sum = 0;

    if (p->points[KS_POINT_QUEUE_SORT].n != 1)
        return kerr_set(err, -EINVAL,
                        "only one queue sort plugin required for profile with scheduler name "
                        "\"%s\", but got %u",
                        p->scheduler_name, p->points[KS_POINT_QUEUE_SORT].n);
    if (p->points[KS_POINT_BIND].n == 0)
        return kerr_set(err, -EINVAL, "at least one bind plugin is needed for profile \"%s\"",
                        p->scheduler_name);
    for (uint32_t i = 0; i < p->n; i++) {
        int64_t most;
        if (__builtin_mul_overflow(p->slots[i].weight, (int64_t)KS_SCORE_MAX, &most) ||
            __builtin_add_overflow(sum, most, &sum) || p->slots[i].weight < 0)
            return kerr_set(err, -ERANGE, "total score of Score plugins could overflow");
    }
    return 0;
}

static bool lists(const struct kind *const *kinds, const struct kind *k)
{
    for (; kinds && *kinds; kinds++)
        if (*kinds == k)
            return true;
    return false;
}

static void note_kind(struct profile *p, const struct kind *k, bool status)
{
    uint32_t i = 0;

    while (i < p->nreused && p->reused[i].kind != k)
        i++;
    assert(i < PROFILE_KINDS_MAX);
    p->reused[i].kind = k;
    p->reused[i].status |= status;
    p->nreused = MAX(p->nreused, i + 1);
}

static void note_keys(struct profile_keys *all, const char *const *keys)
{
    for (; keys && *keys; keys++) {
        size_t i = 0;
        while (i < all->n && !streq(all->items[i], *keys))
            i++;
        if (i == all->n)
            vec_push(all, *keys);
    }
}

/* What the plugins read of the cluster. */
static void note_reads(struct profile *p, const struct ks_env *env)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const struct ks_plugin *pl = p->slots[i].plugin;
        for (const struct kind *const *k = pl->kinds; pl->reuse != KS_REUSE_GLOBAL && k && *k; k++)
            if (!nodekinds_has(*k))
                note_kind(p, *k, lists(pl->statuses, *k));
        note_keys(&p->pod_annotations, pl->pod_annotations);
        note_keys(&p->pod_labels, pl->pod_labels);
        if (env->nodes)
            ks_read_annotations(env->nodes, pl->node_annotations);
    }
}

static bool has_extra(const struct ks_plugin *pl, enum profile_extra extra)
{
    switch (extra) {
    case PROFILE_TRANSFORM: return pl->transform;
    case PROFILE_AFTER_PRE_FILTER: return pl->after_pre_filter;
    case PROFILE_FIND_ONE: return pl->find_one;
    case PROFILE_PREFER: return pl->prefer;
    case PROFILE_EXTRAS: break;
    }
    return false;
}

static void note_extras(struct profile *p)
{
    const struct profile_point *from = &p->points[KS_POINT_PRE_FILTER];

    for (int extra = 0; extra < PROFILE_EXTRAS; extra++) {
        struct profile_point *to = &p->extras[extra];
        for (uint32_t i = 0; i < from->n; i++) {
            uint8_t slot = from->slots[i];
            if (!has_extra(p->slots[slot].plugin, (enum profile_extra)extra))
                continue;
            to->slots[to->n++] = slot;
            to->set |= UINT64_C(1) << slot;
        }
    }
}

struct profile *profile_new(const struct profile_config *c, const struct ks_registered *table,
                            const struct ks_env *env, struct kerr *err)
{
    CLEANUP(profile_free) struct profile *p = xnew0(struct profile);
    struct ks_env own = *env;

    p->scheduler_name = xstrdup(c->scheduler_name);
    p->nominates = -1;
    p->arena = arena_new();
    if (!own.service_table)
        own.service_table = p->own_services = service_table_new();
    if (add_point(p, c, KS_POINT_FILTER, table, &own, err) < 0)
        return NULL;
    for (int point = 0; point < KS_POINTS; point++)
        if (point != KS_POINT_FILTER && add_point(p, c, (enum ks_point)point, table, &own, err) < 0)
            return NULL;
    if (check_whole(p, err) < 0 || create_plugins(p, own, err) < 0)
        return NULL;
    note_reads(p, env);
    note_extras(p);
    return take(p);
}

struct profile *profile_free(struct profile *p)
{
    if (!p)
        return NULL;
    for (uint32_t i = p->ncreated; i-- > 0;) {
        rowset_free(p->slots[i].rows);
        if (p->slots[i].plugin->destroy)
            p->slots[i].plugin->destroy(p->slots[i].self);
    }
    arena_free(p->arena);
    service_set_fini(&p->services);
    service_table_free(p->own_services);
    vec_fini(&p->pod_annotations);
    vec_fini(&p->pod_labels);
    free(p->scheduler_name);
    free(p);
    return NULL;
}

int profile_slot(const struct profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (streq(p->slots[i].plugin->name, name))
            return (int)i;
    return -1;
}

/* ---- runs ------------------------------------------------------------------------------------ */

uint64_t profile_objects_generation(const struct profile *p, const struct objects *w)
{
    uint64_t latest = 0; /* generations of kinds are numbers of one row */

    for (uint32_t i = 0; i < p->nreused; i++)
        latest =
            MAX(latest, p->reused[i].status ? objects_generation_of(w, p->reused[i].kind)
                                            : objects_spec_generation_of(w, p->reused[i].kind));
    for (uint32_t i = 0; i < p->n; i++)
        if (p->slots[i].plugin->version)
            latest += p->slots[i].plugin->version(p->slots[i].self);
    return latest;
}

int profile_pre_enqueue(const struct profile *p, const struct pod *pod, struct ks_texts *why)
{
    return profile_pre_enqueue_timed(p, pod, why, NULL);
}

int profile_pre_enqueue_timed(const struct profile *p, const struct pod *pod, struct ks_texts *why,
                              struct stopwatch *w)
{
    const struct profile_point *point = &p->points[KS_POINT_PRE_ENQUEUE];
    enum ks_code code = KS_SUCCESS;
    int held_by = -1;

    for (uint32_t i = 0; i < point->n && held_by < 0; i++) {
        const struct profile_slot *s = &p->slots[point->slots[i]];
        code = s->plugin->pre_enqueue(s->self, pod, why);
        stopwatch_plugin(w, LAP_PRE_ENQUEUE, point->slots[i], code);
        if (code != KS_SUCCESS)
            held_by = point->slots[i];
    }
    stopwatch_point(w, LAP_PRE_ENQUEUE, code);
    return held_by;
}

bool profile_others_let_in(const struct profile *p, const struct pod *pod, const char *plugin)
{
    const struct profile_point *point = &p->points[KS_POINT_PRE_ENQUEUE];
    CLEANUP(arena_free) struct arena *a = arena_new_sized(256);
    struct ks_texts unread = { .arena = a };

    for (uint32_t i = 0; i < point->n; i++) {
        const struct profile_slot *s = &p->slots[point->slots[i]];
        if (!streq(s->plugin->name, plugin) &&
            s->plugin->pre_enqueue(s->self, pod, &unread) != KS_SUCCESS)
            return false;
    }
    return true;
}

bool profile_before(const struct profile *p, const struct pod *a, nsec_t a_since,
                    const struct pod *b, nsec_t b_since)
{
    return profile_at(p, KS_POINT_QUEUE_SORT, 0)->plugin->before(a, a_since, b, b_since);
}

void profile_unreserve(const struct profile *p, const struct pod *pod, const char *node,
                       struct stopwatch *w)
{
    const struct profile_point *point = &p->points[KS_POINT_RESERVE];

    for (uint32_t i = point->n; i-- > 0;) {
        const struct profile_slot *s = &p->slots[point->slots[i]];
        if (!s->plugin->unreserve)
            continue;
        s->plugin->unreserve(s->self, pod, node);
        stopwatch_plugin(w, LAP_UNRESERVE, point->slots[i], KS_SUCCESS);
    }
    stopwatch_point(w, LAP_UNRESERVE, KS_SUCCESS);
}
