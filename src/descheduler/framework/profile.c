/* profile.c - instances of plugins, made, updated and run. */
#include "descheduler/framework/profile.h"

#include "api/selector/selector.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "controllers/caches.h"
#include "descheduler/framework/evictor.h"

struct kd_profile {
    const struct kd_shared *shared;
    const struct kd_profile_config *config;
    struct kd_env env;
    struct kd_evictor evictor;
    struct instance *instances; /* each plugin once, wherever it is enabled */
    uint32_t n;
    struct instance **points[KD_POINTS];
    bool started;
};

/* ---- instances -------------------------------------------------------------------------------- */

static const void *args_of(const struct kd_profile_config *c, const struct kd_plugin *p)
{
    for (uint32_t i = 0; i < c->nargs; i++)
        if (c->args[i].plugin == p)
            return c->args[i].args;
    return NULL;
}

static bool is_listed(const struct kind *const *l, const struct kind *k)
{
    for (; l && *l; l++)
        if (*l == k)
            return true;
    return false;
}

/* The kinds that it reads are watched from now on. */
static int instance_create(struct instance *in, const struct kd_env *env,
                           const struct kd_profile_config *c, struct kerr *err)
{
    const struct kd_plugin *p = in->plugin;

    for (const struct kind *const *k = p->kinds; env->caches && k && *k; k++)
        (void)caches_get(env->caches, *k);
    if (p->create && p->create(env, args_of(c, p), &in->self, err) < 0)
        return kerr_wrap(err, "plugin %s", p->name);
    return 0;
}

static void instance_destroy(struct instance *in, bool started)
{
    if (started && in->plugin->stop)
        in->plugin->stop(in->self);
    if (in->plugin->destroy)
        in->plugin->destroy(in->self);
}

static struct instance *find(struct instance *all, uint32_t n, const struct kd_plugin *p)
{
    for (uint32_t i = 0; i < n; i++)
        if (all[i].plugin == p)
            return &all[i];
    return NULL;
}

/* Every plugin of the configuration once, in the order in which they are mentioned. */
static struct instance *list_plugins(const struct kd_profile_config *c, uint32_t *ret_n)
{
    uint32_t cap = 1, n = 0;

    for (int i = 0; i < KD_POINTS; i++)
        cap += c->points[i].n;
    struct instance *all = xnewn0(cap, struct instance);
    for (int i = 0; i < KD_POINTS; i++)
        for (uint32_t j = 0; j < c->points[i].n; j++)
            if (!find(all, n, c->points[i].items[j]))
                all[n++].plugin = c->points[i].items[j];
    *ret_n = n;
    return all;
}

static void link_points(struct kd_profile *p)
{
    const struct kd_profile_config *c = p->config;

    for (int i = 0; i < KD_POINTS; i++) {
        uint32_t n = c->points[i].n;
        free(p->points[i]);
        p->points[i] = xnewn0(n ? n : 1, struct instance *);
        for (uint32_t j = 0; j < n; j++)
            p->points[i][j] = find(p->instances, p->n, c->points[i].items[j]);
    }
    p->evictor.profile = c->name;
    p->evictor.filters = p->points[KD_FILTER];
    p->evictor.nfilters = c->points[KD_FILTER].n;
    p->evictor.evict = c->points[KD_EVICT].n ? p->points[KD_EVICT][0] : NULL;
}

static bool goes_on(const struct kd_profile *p, const struct kd_plugin *plugin)
{
    return plugin->update && find(p->instances, p->n, plugin);
}

static int create_new(const struct kd_profile *p, const struct kd_profile_config *c,
                      struct instance *all, uint32_t n, struct kerr *err)
{
    for (uint32_t i = 0; i < n; i++) {
        if (goes_on(p, all[i].plugin) || instance_create(&all[i], &p->env, c, err) == 0)
            continue;
        for (uint32_t j = 0; j < i; j++)
            if (!goes_on(p, all[j].plugin))
                instance_destroy(&all[j], false);
        return err->code;
    }
    return 0;
}

static void replace_all(struct kd_profile *p, const struct kd_profile_config *c,
                        struct instance *all, uint32_t n)
{
    for (uint32_t i = 0; i < p->n; i++) {
        struct instance *next = find(all, n, p->instances[i].plugin);
        if (!next || !next->plugin->update) {
            instance_destroy(&p->instances[i], p->started);
            continue;
        }
        next->self = p->instances[i].self;
        next->plugin->update(next->self, args_of(c, next->plugin));
    }
    for (uint32_t i = 0; i < n && p->started; i++)
        if (!goes_on(p, all[i].plugin) && all[i].plugin->start)
            all[i].plugin->start(all[i].self);
    free(p->instances);
    p->instances = all;
    p->n = n;
}

int kd_profile_update(struct kd_profile *p, const struct kd_profile_config *c, unsigned index,
                      struct kerr *err)
{
    uint32_t n;
    struct instance *all = list_plugins(c, &n);

    p->env.profile = c->name;
    p->env.profile_index = index;
    if (create_new(p, c, all, n, err) < 0) {
        free(all);
        return kerr_wrap(err, "profile %s", c->name);
    }
    replace_all(p, c, all, n);
    p->config = c;
    link_points(p);
    return 0;
}

struct kd_profile *kd_profile_new(const struct kd_shared *s, const struct kd_profile_config *c,
                                  unsigned index, struct kerr *err)
{
    CLEANUP(kd_profile_free) struct kd_profile *p = xnew0(struct kd_profile);

    p->shared = s;
    p->env = s->env;
    p->env.evictor = &p->evictor;
    p->evictor.shared = s;
    return kd_profile_update(p, c, index, err) < 0 ? NULL : take(p);
}

struct kd_profile *kd_profile_free(struct kd_profile *p)
{
    if (!p)
        return NULL;
    for (uint32_t i = p->n; i-- > 0;)
        instance_destroy(&p->instances[i], p->started);
    for (int i = 0; i < KD_POINTS; i++)
        free(p->points[i]);
    free(p->instances);
    free(p);
    return NULL;
}

const char *kd_profile_name(const struct kd_profile *p)
{
    return p->config->name;
}

void kd_profile_start(struct kd_profile *p)
{
    for (uint32_t i = 0; i < p->n && !p->started; i++)
        if (p->instances[i].plugin->start)
            p->instances[i].plugin->start(p->instances[i].self);
    p->started = true;
}

bool kd_profile_synced(const struct kd_profile *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const struct kd_plugin *plugin = p->instances[i].plugin;
        for (const struct kind *const *k = plugin->kinds; k && *k; k++) {
            const struct informer *inf = caches_get(p->env.caches, *k);
            if (!informer_synced(inf) &&
                !(is_listed(plugin->optional, *k) && informer_refused(inf)))
                return false;
        }
        if (plugin->ready && !plugin->ready(p->instances[i].self))
            return false;
    }
    return true;
}

/* ---- a round ---------------------------------------------------------------------------------- */

struct kd_profile_run {
    struct kd_profile *p;
    enum kd_point point;
    uint32_t at;     /* the plugin whose turn it is */
    uint32_t *nodes; /* of the profile */
    struct kd_round round;
    struct strbuf errors;
};

static void select_nodes(struct kd_profile_run *r, const struct kd_view *v)
{
    const struct labelsel *sel = r->p->config->nodes;
    uint32_t n = kd_view_count(v);

    r->nodes = xnewn0(n ? n : 1, uint32_t);
    for (uint32_t i = 0; i < n; i++)
        if (!sel || labelsel_matches(sel, &kd_view_node(v, i)->node->obj.meta.labels))
            r->nodes[r->round.nnodes++] = i;
    r->round.nodes = r->nodes;
}

struct kd_profile_run *kd_profile_run_new(struct kd_profile *p, enum kd_point point,
                                          const struct kd_view *v)
{
    struct kd_profile_run *r = xnew0(struct kd_profile_run);

    r->p = p;
    r->point = point;
    r->round = (struct kd_round){ .view = v,
                                  .now = kd_view_time(v),
                                  .arena = arena_new(),
                                  .dry_run = p->shared->dry_run,
                                  .at_once = p->shared->at_once,
                                  .evictor = &p->evictor };
    select_nodes(r, v);
    return r;
}

struct kd_profile_run *kd_profile_run_free(struct kd_profile_run *r)
{
    if (!r)
        return NULL;
    arena_free(r->round.arena);
    strbuf_fini(&r->errors);
    free(r->nodes);
    free(r);
    return NULL;
}

static void collect_error(struct kd_profile_run *r, const char *plugin, const struct kerr *err)
{
    strbuf_appendf(&r->errors, "%splugin %s: %s", r->errors.len ? "; " : "", plugin, err->text);
}

static int call(struct kd_profile_run *r, struct instance *in, struct kerr *err)
{
    struct kd_evictor *ev = &r->p->evictor;

    ev->running = in->plugin->name;
    ev->moving = r->point == KD_BALANCE;
    int more = r->point == KD_BALANCE ? in->plugin->balance(in->self, &r->round, err)
                                      : in->plugin->deschedule(in->self, &r->round, err);
    ev->running = NULL;
    ev->moving = false;
    return more;
}

int kd_profile_run_turn(struct kd_profile_run *r, struct kerr *err)
{
    const struct kd_enabled *all = &r->p->config->points[r->point];
    struct kerr own = { 0 };

    if (r->at < all->n) {
        struct instance *in = r->p->points[r->point][r->at];
        int more = call(r, in, &own);
        if (more < 0)
            collect_error(r, in->plugin->name, &own);
        if (more > 0)
            return 1;
        r->round.state = NULL;
        arena_reset(r->round.arena);
        r->at++;
    }
    if (r->at < all->n)
        return 1;
    if (r->errors.len)
        return kerr_set(err, -EIO, "profile %s: %s: %s", r->p->config->name,
                        kd_point_names[r->point], strbuf_str(&r->errors));
    return 0;
}

bool kd_profile_may_go(struct kd_profile *p, const struct kd_view *v, const struct pod *pod,
                       struct kd_why *why)
{
    p->evictor.moving = true;
    bool may =
        evictor_filter(&p->evictor, v, pod, why) && evictor_pre_filter(&p->evictor, v, pod, why);
    p->evictor.moving = false;
    return may;
}
