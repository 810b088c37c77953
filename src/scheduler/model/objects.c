/* objects.c - the objects beside pods and nodes that plugins read. */
#include "scheduler/model/objects.h"

#include <stdio.h>

#include "api/workload.h"
#include "base/map.h"

enum { KINDS_MAX = 32 };
struct shelf { /* all of one kind */
    const struct kind *kind;
    struct map objects; /* key -> struct item */
    uint64_t generation;
};
struct item {
    struct kobj *obj;
    char key[];
};
struct readers {
    struct objects_listener *listeners;
};
struct objects {
    struct shelf shelves[KINDS_MAX];
    uint32_t n;
    uint64_t generation;
    struct readers *readers; /* apart: who only reads the object cache may listen */
};

struct objects *objects_new(void)
{
    struct objects *w = xnew0(struct objects);
    w->readers = xnew0(struct readers);
    return w;
}

static void item_free(struct item *i)
{
    kobj_unref(i->obj);
    free(i);
}

struct objects *objects_free(struct objects *w)
{
    for (uint32_t i = 0; w && i < w->n; i++) {
        map_foreach(&w->shelves[i].objects, e)
            item_free(e->value);
        map_fini(&w->shelves[i].objects);
    }
    if (w) {
        free(w->readers);
    }
    free(w);
    return NULL;
}

static struct shelf *shelf_find(const struct objects *w, const struct kind *k)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->shelves[i].kind == k)
            return (struct shelf *)&w->shelves[i];
    return NULL;
}

/* Of workloads plugins read what users wrote, not how far it has come: a new status is no news. */
static bool no_news(const struct kobj *old, const struct kobj *o)
{
    bool workload = o->kind == &kind_replicaset || o->kind == &kind_statefulset ||
                    o->kind == &kind_replicationcontroller;
    return workload && o->meta.generation > 0 && old->meta.generation == o->meta.generation &&
           kuid_equal(old->meta.uid, o->meta.uid);
}

void objects_listen(const struct objects *w, struct objects_listener *l)
{
    l->next = w->readers->listeners;
    w->readers->listeners = l;
}

void objects_unlisten(const struct objects *w, struct objects_listener *l)
{
    struct objects_listener **at = &w->readers->listeners;

    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
}

static void tell(const struct objects *w, struct kobj *before, struct kobj *now)
{
    const struct kind *k = now ? now->kind : before->kind;

    for (const struct objects_listener *l = w->readers->listeners; l; l = l->next)
        if (l->kind == k)
            l->fn(l->arg, before, now);
}

void objects_put(struct objects *w, struct kobj *o)
{
    struct shelf *s = shelf_find(w, o->kind);
    char key[KOBJ_KEY_MAX];
    size_t len = kobj_key(o, key, sizeof key);

    if (!s) {
        assert(w->n < KINDS_MAX);
        s = &w->shelves[w->n++];
        s->kind = o->kind;
    }
    const struct item *has = map_get(&s->objects, key, len);
    if (has && no_news(has->obj, o))
        return;
    struct item *i = xmalloc(sizeof *i + len + 1);
    i->obj = kobj_ref(o);
    memcpy(i->key, key, len + 1);
    struct item *old = map_put(&s->objects, i->key, len, i);
    s->generation = ++w->generation;
    tell(w, old ? old->obj : NULL, o);
    if (old)
        item_free(old);
}

bool objects_remove(struct objects *w, const struct kobj *o)
{
    struct shelf *s = shelf_find(w, o->kind);
    char key[KOBJ_KEY_MAX];
    size_t len = kobj_key(o, key, sizeof key);
    struct item *i = s ? map_remove(&s->objects, key, len) : NULL;

    if (!i)
        return false;
    s->generation = ++w->generation;
    tell(w, i->obj, NULL);
    item_free(i);
    return true;
}

uint64_t objects_generation(const struct objects *w)
{
    return w->generation;
}

uint64_t objects_generation_of(const struct objects *w, const struct kind *k)
{
    const struct shelf *s = shelf_find(w, k);
    return s ? s->generation : 0;
}

struct kobj *objects_get(const struct objects *w, const struct kind *k, const char *ns,
                         const char *name)
{
    const struct shelf *s = shelf_find(w, k);
    char key[KOBJ_KEY_MAX];

    if (!s)
        return NULL;
    int n =
        ns ? snprintf(key, sizeof key, "%s/%s", ns, name) : snprintf(key, sizeof key, "%s", name);
    if (n < 0 || (size_t)n >= sizeof key)
        return NULL;
    const struct item *i = map_get(&s->objects, key, (size_t)n);
    return i ? i->obj : NULL;
}

struct kobj *objects_next(const struct objects *w, const struct kind *k, size_t *it)
{
    const struct shelf *s = shelf_find(w, k);
    const struct map_entry *e = s ? map_next(&s->objects, it) : NULL;
    const struct item *i = e ? e->value : NULL;
    return i ? i->obj : NULL;
}

size_t objects_count(const struct objects *w, const struct kind *k)
{
    const struct shelf *s = shelf_find(w, k);
    return s ? s->objects.n : 0;
}
