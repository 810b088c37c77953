/* caches.c - informers by what they hold. */
#include "controllers/caches.h"

#include <stdlib.h>

#include "api/pod.h"
#include "client/kube.h"

struct cache {
    struct informer *inf;
    const struct kind *kind;
    char *ns, *label_selector, *field_selector; /* NULL: all objects */
    struct kobj *(*reduce)(struct kobj *obj);
};
struct caches {
    struct kube *kube;
    struct vec_of(struct cache) all;
    bool started;
};

struct caches *caches_new(struct kube *k)
{
    struct caches *cs = xnew0(struct caches);
    cs->kube = k;
    return cs;
}

struct caches *caches_free(struct caches *cs)
{
    if (!cs)
        return NULL;
    vec_foreach(&cs->all, i) {
        struct cache *c = &cs->all.items[i];
        informer_free(c->inf);
        free(c->ns);
        free(c->label_selector);
        free(c->field_selector);
    }
    vec_fini(&cs->all);
    free(cs);
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return streq(str_or(a, ""), str_or(b, ""));
}

static bool is_same(const struct cache *c, const struct informer_opts *o)
{
    return c->kind == o->kind && c->reduce == o->reduce && same_text(c->ns, o->ns) &&
           same_text(c->label_selector, o->label_selector) &&
           same_text(c->field_selector, o->field_selector);
}

static char *dup(const char *s)
{
    return s ? xstrdup(s) : NULL;
}

struct informer *caches_get_some(struct caches *cs, const struct informer_opts *o)
{
    vec_foreach(&cs->all, i)
        if (is_same(&cs->all.items[i], o))
            return cs->all.items[i].inf;
    struct cache c = { .inf = informer_new(cs->kube, o),
                       .kind = o->kind,
                       .ns = dup(o->ns),
                       .label_selector = dup(o->label_selector),
                       .field_selector = dup(o->field_selector),
                       .reduce = o->reduce };
    vec_push(&cs->all, c);
    if (cs->started)
        informer_start(c.inf);
    return c.inf;
}

struct informer *caches_get(struct caches *cs, const struct kind *k)
{
    return caches_get_some(cs, &(struct informer_opts){ .kind = k });
}

struct informer *caches_find(const struct caches *cs, const char *group, const char *plural)
{
    vec_foreach(&cs->all, i) {
        const struct cache *c = &cs->all.items[i];
        bool all = str_empty(c->ns) && str_empty(c->label_selector) && str_empty(c->field_selector);
        if (all && streq(c->kind->group, group) && streq(c->kind->plural, plural))
            return c->inf;
    }
    return NULL;
}

void caches_start(struct caches *cs)
{
    cs->started = true;
    vec_foreach(&cs->all, i)
        informer_start(cs->all.items[i].inf);
}

bool caches_synced(const struct caches *cs)
{
    vec_foreach(&cs->all, i)
        if (!informer_synced(cs->all.items[i].inf))
            return false;
    return true;
}

/* ---- reading by an index --------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct kobj *x = *(struct kobj *const *)a, *y = *(struct kobj *const *)b;
    int r = strcmp(x->meta.ns, y->meta.ns);
    return r ? r : strcmp(x->meta.name, y->meta.name);
}

void objects_by(struct informer *inf, index_fn index, const char *value, kobjvec *out)
{
    size_t n, before = out->n;
    struct kobj *const *found = informer_by_index(inf, informer_add_index(inf, index), value, &n);

    for (size_t i = 0; i < n; i++)
        vec_push(out, found[i]);
    if (n > 1)
        qsort(out->items + before, n, sizeof *out->items, by_name);
}

void objects_by_owner(struct informer *inf, struct kuid owner, kobjvec *out)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(owner, uid, sizeof uid);
    objects_by(inf, index_owner, uid, out);
}

void index_owner(const struct kobj *o, index_emit_fn emit, void *to)
{
    for (uint32_t i = 0; i < o->meta.owners.n; i++) {
        char uid[KUID_TEXT_MAX];
        kuid_format(o->meta.owners.items[i].uid, uid, sizeof uid);
        emit(to, uid);
    }
}

void index_ns(const struct kobj *o, index_emit_fn emit, void *to)
{
    emit(to, o->meta.ns);
}

void index_orphan(const struct kobj *o, index_emit_fn emit, void *to)
{
    if (!kobj_controller(o))
        emit(to, o->meta.ns);
}

void index_pod_node(const struct kobj *o, index_emit_fn emit, void *to)
{
    const char *node = pod_of(o)->node_name;
    if (!str_empty(node))
        emit(to, node);
}
