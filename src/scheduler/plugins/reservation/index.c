/* index.c - the reservations that a pod may own are found by what its owners must have: a label, a
 * name, a controller. Pods that have nothing of it pay a few lookups.
 */
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/reservation/match.h"

struct owner_bucket {
    uint64_t key;
    struct vec_of(struct resv *) items;
};

enum { BY_LABEL = 1, BY_NAME, BY_UID, BY_CONTROLLER, BY_CONTROLLER_NAME };

static uint64_t key_of(unsigned kind, const char *a, const char *b)
{
    uint64_t h = hash_bytes(a, strlen(a)) * 31 + kind;
    return b ? h ^ (hash_bytes(b, strlen(b)) << 1) : h;
}

static uint64_t key_of_uid(unsigned kind, struct kuid uid)
{
    return kuid_hash(uid) * 31 + kind;
}

/* ---- putting in, taking out ------------------------------------------------------------------ */

static void put(struct reservations *c, struct resv *r, uint64_t key)
{
    struct owner_bucket *b = map_get(&c->buckets, (const char *)&key, sizeof key);

    if (!b) {
        b = xnew0(struct owner_bucket);
        b->key = key;
        map_put(&c->buckets, (const char *)&b->key, sizeof b->key, b);
    }
    if (b->items.n && vec_last(&b->items) == r)
        return;
    vec_push(&b->items, r);
    vec_push(&r->buckets, b);
}

static bool put_labels(struct reservations *c, struct resv *r, const struct label_selector *s)
{
    if (!s)
        return false;
    if (s->match_labels.n) {
        put(c, r, key_of(BY_LABEL, s->match_labels.items[0].key, s->match_labels.items[0].value));
        return true;
    }
    for (uint32_t i = 0; i < s->match_expressions.n; i++) {
        const struct selreq *e = &s->match_expressions.items[i];
        if (e->op != SELOP_IN)
            continue;
        for (uint32_t k = 0; k < e->values.n; k++)
            put(c, r, key_of(BY_LABEL, e->key, e->values.items[k]));
        return true;
    }
    return false;
}

static bool put_object(struct reservations *c, struct resv *r, const struct object_ref *o)
{
    if (!o || (str_empty(o->name) && kuid_is_empty(o->uid)))
        return false;
    put(c, r, str_empty(o->name) ? key_of_uid(BY_UID, o->uid) : key_of(BY_NAME, o->name, NULL));
    return true;
}

static bool put_controller(struct reservations *c, struct resv *r,
                           const struct reservation_controller *o)
{
    if (!o || (str_empty(o->name) && kuid_is_empty(o->uid)))
        return false;
    put(c, r,
        kuid_is_empty(o->uid) ? key_of(BY_CONTROLLER_NAME, o->name, NULL)
                              : key_of_uid(BY_CONTROLLER, o->uid));
    return true;
}

void resv_index(struct reservations *c, struct resv *r)
{
    bool everybody = false;

    for (uint32_t i = 0; i < r->nmatchers; i++) {
        const struct owner_matcher *m = &r->matchers[i];
        if (!put_object(c, r, m->object) && !put_controller(c, r, m->controller) &&
            !put_labels(c, r, m->selector))
            everybody = true;
    }
    if (everybody)
        vec_push(&c->everybody, r);
    vec_push(&c->matchable, r);
}

static void take_out(struct resv **items, size_t *n, const struct resv *r)
{
    for (size_t i = 0; i < *n; i++)
        if (items[i] == r) {
            items[i] = items[--*n];
            return;
        }
}

void resv_unindex(struct reservations *c, struct resv *r)
{
    vec_foreach(&r->buckets, i) {
        struct owner_bucket *b = r->buckets.items[i];
        take_out(b->items.items, &b->items.n, r);
        if (b->items.n)
            continue;
        map_remove(&c->buckets, (const char *)&b->key, sizeof b->key);
        vec_fini(&b->items);
        free(b);
    }
    vec_clear(&r->buckets);
    take_out(c->everybody.items, &c->everybody.n, r);
    take_out(c->matchable.items, &c->matchable.n, r);
}

void reservations_free_index(struct reservations *c)
{
    map_fini(&c->buckets); /* they went with their reservations */
    vec_fini(&c->everybody);
    vec_fini(&c->matchable);
}

/* ---- finding --------------------------------------------------------------------------------- */

struct found {
    struct reservations *c;
    struct arena *a;
    struct resv **items;
    uint32_t n, cap;
};

static void find(struct found *f, struct resv *const *items, size_t n)
{
    if (f->n + n > f->cap) {
        uint32_t cap = 2 * (f->n + (uint32_t)n);
        struct resv **more = arena_newn0(f->a, cap, struct resv *);
        if (f->n)
            memcpy(more, f->items, f->n * sizeof *more);
        f->items = more;
        f->cap = cap;
    }
    for (size_t i = 0; i < n; i++) {
        if (items[i]->seen == f->c->search)
            continue;
        items[i]->seen = f->c->search;
        f->items[f->n++] = items[i];
    }
}

static void find_key(struct found *f, uint64_t key)
{
    const struct owner_bucket *b = map_get(&f->c->buckets, (const char *)&key, sizeof key);

    if (b)
        find(f, b->items.items, b->items.n);
}

struct resv **match_candidates(struct reservations *c, const struct pod *p, struct arena *a,
                               uint32_t *ret_n)
{
    struct found f = { .c = c, .a = a };
    const struct objmeta *m = &p->obj.meta;

    *ret_n = 0;
    if (c->matchable.n == 0)
        return NULL;
    c->search++;
    if (reservation_is_ignored(&m->labels)) {
        find(&f, c->matchable.items, c->matchable.n);
        *ret_n = f.n;
        return f.items;
    }
    if (c->buckets.n) {
        for (uint32_t i = 0; i < m->labels.n; i++)
            find_key(&f, key_of(BY_LABEL, m->labels.items[i].key, m->labels.items[i].value));
        find_key(&f, key_of(BY_NAME, m->name, NULL));
        find_key(&f, key_of_uid(BY_UID, m->uid));
        for (uint32_t i = 0; i < m->owners.n; i++) {
            find_key(&f, key_of_uid(BY_CONTROLLER, m->owners.items[i].uid));
            find_key(&f, key_of(BY_CONTROLLER_NAME, m->owners.items[i].name, NULL));
        }
    }
    find(&f, c->everybody.items, c->everybody.n);
    *ret_n = f.n;
    return f.items;
}
