/* service_table.c - the services that exist, and what they are told of pods. */
#include "scheduler/framework/service_table.h"

#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/framework/args.h"

struct service_table {
    struct service_instance *first;
    void (*on_end)(void *arg, struct service_instance *s);
    void *arg;
};

struct service_table *service_table_new(void)
{
    return xnew0(struct service_table);
}

struct service_table *service_table_free(struct service_table *t)
{
    assert(!t || !t->first);
    free(t);
    return NULL;
}

void service_table_on_end(struct service_table *t,
                          void (*fn)(void *arg, struct service_instance *s), void *arg)
{
    t->on_end = fn;
    t->arg = arg;
}

struct service_instance *service_table_first(const struct service_table *t)
{
    return t->first;
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool does_for(const struct service_instance *s, const void *args)
{
    return !s->key->per_args || !args || kj_struct_equal(s->plugin->args->schema, s->args, args);
}

static struct service_instance *table_find(const struct service_table *t,
                                           const struct ks_service *key, const void *args)
{
    for (struct service_instance *s = t->first; s; s = s->next)
        if (s->key == key && does_for(s, args))
            return s;
    return NULL;
}

static struct service_instance *service_free(struct service_instance *s)
{
    if (s)
        arena_free(s->arena);
    free(s);
    return NULL;
}
DEFINE_CLEANUP(service_free, struct service_instance *)

static int service_new(struct service_table *t, const struct ks_service *key,
                       const struct ks_plugin *plugin, const void *args, struct ks_env env,
                       struct service_instance **ret, struct kerr *err)
{
    CLEANUP(service_free) struct service_instance *s = xnew0(struct service_instance);
    struct service_instance **last = &t->first;

    *s = (struct service_instance){
        .key = key, .plugin = plugin, .arena = arena_new_sized(256), .of = t
    };
    s->args = args ? args_copy(plugin->args, args, s->arena) : NULL;
    env.services = NULL;
    int r = key->create ? key->create(&env, s->args, &s->self, err) : 0;
    if (r < 0)
        return r;
    while (*last)
        last = &(*last)->next;
    *ret = *last = take(s);
    return 0;
}

static void service_unref(struct service_instance *s)
{
    struct service_instance **at = &s->of->first;

    if (--s->refs > 0)
        return;
    if (s->of->on_end)
        s->of->on_end(s->of->arg, s);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    if (s->key->destroy)
        s->key->destroy(s->self);
    service_free(s);
}

int service_set_add(struct service_set *set, struct service_table *t, const struct ks_service *key,
                    const struct ks_plugin *plugin, const void *args, const struct ks_env *env,
                    struct kerr *err)
{
    struct service_instance *s = table_find(t, key, args);

    assert(set->n < SERVICES_MAX);
    if (!s) {
        int r = service_new(t, key, plugin, args, *env, &s, err);
        if (r < 0)
            return r;
    }
    s->refs++;
    set->items[set->n++] = s;
    return 0;
}

void service_set_fini(struct service_set *set)
{
    while (set->n)
        service_unref(set->items[--set->n]);
}

void *ks_service_find(const struct ks_env *env, const struct ks_service *key)
{
    const struct service_set *set = env->services;

    for (uint32_t i = 0; set && i < set->n; i++)
        if (set->items[i]->key == key)
            return set->items[i]->self;
    return NULL;
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* This one, or the next that hears of pods: for (s = hearing(t->first); s; s = hearing(s->next)) */
static const struct service_instance *hearing(const struct service_instance *s)
{
    while (s && !(s->key->pods && s->hears))
        s = s->next;
    return s;
}

bool services_listen(const struct service_table *t)
{
    return hearing(t->first);
}

bool services_wait_for_pods(const struct service_table *t)
{
    for (const struct service_instance *s = t->first; s; s = s->next)
        if (s->key->pods && !s->hears)
            return true;
    return false;
}

static void tell_one(const struct service_instance *s, const struct pod *before,
                     const struct pod *now)
{
    const struct ks_pod_handler *h = s->key->pods;
    bool had = before && !str_empty(before->node_name), has = !str_empty(now->node_name);

    if (had && (!has || !streq(before->node_name, now->node_name))) { /* it should not happen */
        if (h->gone)
            h->gone(s->self, before);
        before = NULL;
        had = false;
    }
    void (*fn)(void *, const struct pod *, const struct pod *) = !has  ? h->pending
                                                                 : had ? h->changed
                                                                       : h->placed;
    if (fn)
        fn(s->self, before, now);
}

void services_tell(const struct service_table *t, const struct pod *before, const struct pod *now)
{
    if (before && pod_is_terminal(before))
        before = NULL;
    if (pod_is_terminal(now)) {
        if (before)
            services_tell_gone(t, before);
        return;
    }
    for (const struct service_instance *s = hearing(t->first); s; s = hearing(s->next))
        tell_one(s, before, now);
}

void services_tell_gone(const struct service_table *t, const struct pod *last)
{
    for (const struct service_instance *s = hearing(t->first); s; s = hearing(s->next))
        if (s->key->pods->gone)
            s->key->pods->gone(s->self, last);
}

void services_tell_assumed(const struct service_table *t, const struct pod *p, const char *node)
{
    for (const struct service_instance *s = hearing(t->first); s; s = hearing(s->next))
        if (s->key->pods->assumed)
            s->key->pods->assumed(s->self, p, node);
}

void services_tell_forgotten(const struct service_table *t, const struct pod *p, const char *node)
{
    for (const struct service_instance *s = hearing(t->first); s; s = hearing(s->next))
        if (s->key->pods->forgotten)
            s->key->pods->forgotten(s->self, p, node);
}

void services_tell_node(const struct service_table *t, const struct node *before,
                        const struct node *now)
{
    for (const struct service_instance *s = t->first; s; s = s->next)
        if (s->key->node)
            s->key->node(s->self, before, now);
}

/* By creation, then by namespace and name: the order is the same after a restart. */
static int by_age(const void *a, const void *b)
{
    const struct objmeta *x = &((const struct service_pod *)a)->pod->obj.meta;
    const struct objmeta *y = &((const struct service_pod *)b)->pod->obj.meta;

    if (x->created != y->created)
        return x->created < y->created ? -1 : 1;
    int r = strcmp(x->ns, y->ns);
    return r ? r : strcmp(x->name, y->name);
}

void services_tell_all(const struct service_table *t, struct service_pod *pods, size_t n)
{
    if (n)
        qsort(pods, n, sizeof *pods, by_age);
    for (struct service_instance *s = t->first; s; s = s->next) {
        if (!s->key->pods || s->hears)
            continue;
        s->hears = true;
        for (size_t i = 0; i < n; i++)
            tell_one(s, NULL, pods[i].pod);
        for (size_t i = 0; i < n; i++)
            if (pods[i].node && s->key->pods->assumed)
                s->key->pods->assumed(s->self, pods[i].pod, pods[i].node);
    }
}
