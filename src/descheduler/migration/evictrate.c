/* evictrate.c - token buckets for evictions. */
#include "descheduler/migration/evictrate.h"

#include "api/pod.h"
#include "base/map.h"
#include "base/num.h"
#include "descheduler/migration/args.h"
#include "descheduler/migration/workloads.h"

struct tokens {
    double rate, burst, left;
    nsec_t at;
};
struct object_bucket {
    struct tokens tokens;
    nsec_t forget_at;
    char key[];
};
struct evictrate {
    struct workloads *workloads;
    struct tokens all; /* rate 0: not used yet */
    struct map buckets;
};

/* ---- tokens ---------------------------------------------------------------------------------- */

static void tokens_fill(struct tokens *t, nsec_t now)
{
    if (now > t->at) {
        t->left += (double)(now - t->at) / (double)NSEC_PER_SEC * t->rate;
        t->left = t->left > t->burst ? t->burst : t->left;
        t->at = now;
    }
}

/* Another rate by a new configuration counts from now on. left: in the beginning. */
static void tokens_set(struct tokens *t, double rate, double burst, double left, nsec_t now)
{
    if (t->rate > 0)
        tokens_fill(t, now);
    else
        *t = (struct tokens){ .left = left, .at = now };
    t->rate = rate;
    t->burst = burst;
}

/* Time is counted in nanoseconds, and a token that is due must not be missed for a rounding. */
#define ALMOST (1.0 - 1e-12)

static nsec_t tokens_wait(struct tokens *t, nsec_t now)
{
    tokens_fill(t, now);
    if (t->left >= ALMOST)
        return 0;
    return i64_add_sat(i64_from_f64((1.0 - t->left) / t->rate * (double)NSEC_PER_SEC), 1);
}

static void tokens_take(struct tokens *t, nsec_t now)
{
    tokens_fill(t, now);
    if (t->left >= ALMOST)
        t->left = t->left > 1 ? t->left - 1 : 0;
}

/* One that was taken before our time, and is missing whether there was one or not: when that was is
 * known to the second only. */
static void tokens_recall(struct tokens *t, nsec_t when)
{
    tokens_fill(t, when);
    t->left = t->left > 0 ? t->left - 1 : -1;
}

/* ---- buckets of objects ---------------------------------------------------------------------- */

/* "workload/UID" or "namespace/NAME"; false: the pod has none, or there is no limit. n: how many
 * evictions in the limiter's duration; a workload whose size is not known yet counts as one of a
 * single pod. */
struct object {
    const struct object_limiter *limiter;
    char key[KOBJ_KEY_MAX];
    int64_t n;
};

static void set_key(struct object *o, const char *prefix, const char *name)
{
    size_t n = strlen(prefix), m = MIN(strlen(name), sizeof o->key - n - 1);

    memcpy(o->key, prefix, n);
    memcpy(o->key + n, name, m);
    o->key[n + m] = '\0';
}

static bool find_workload(struct evictrate *l, const struct migration_args *a, const char *ns,
                          const struct owner_ref *owner, struct object *o)
{
    char uid[KUID_TEXT_MAX];

    o->limiter = args_limiter(a, "workload");
    if (!o->limiter || !owner)
        return false;
    const struct int_or_str *max =
        o->limiter->max_migrating ? o->limiter->max_migrating : a->max_migrating_per_workload;
    kuid_format(owner->uid, uid, sizeof uid);
    set_key(o, "workload/", uid);
    const struct workload_state *w = workloads_find(l->workloads, ns, owner);
    bool known = w->known == WORKLOAD_FOUND || w->known == WORKLOAD_NONE;
    o->n = known ? max_of(w->replicas, max) : 1;
    return true;
}

static bool find_namespace(const struct migration_args *a, const char *ns, struct object *o)
{
    o->limiter = args_limiter(a, "namespace");
    if (!o->limiter || !o->limiter->max_migrating)
        return false;
    set_key(o, "namespace/", ns);
    o->n = o->limiter->max_migrating->s ? 0 : o->limiter->max_migrating->i; /* a share is off */
    return true;
}

static void set_rate(const struct object *o, struct tokens *t, nsec_t now)
{
    double burst = o->limiter->burst > 0 ? o->limiter->burst : 1;

    tokens_set(t, (double)o->n / ((double)o->limiter->duration / (double)NSEC_PER_SEC), burst,
               burst, now);
}

static nsec_t object_wait(struct evictrate *l, const struct object *o, nsec_t now)
{
    struct object_bucket *b = map_getz(&l->buckets, o->key);

    if (b && b->forget_at <= now) {
        map_removez(&l->buckets, o->key);
        free(b);
        return 0;
    }
    if (b && o->n > 0)
        set_rate(o, &b->tokens, now);
    return b ? tokens_wait(&b->tokens, now) : 0;
}

static struct object_bucket *object_bucket(struct evictrate *l, const struct object *o, nsec_t now)
{
    struct object_bucket *b = map_getz(&l->buckets, o->key);
    size_t n = strlen(o->key);

    if (!b) {
        b = xcalloc(1, sizeof *b + n + 1);
        memcpy(b->key, o->key, n + 1);
        map_put(&l->buckets, b->key, n, b);
    }
    set_rate(o, &b->tokens, now);
    b->forget_at = i64_add_sat(now, i64_add_sat(o->limiter->duration, o->limiter->duration / 2));
    return b;
}

static void object_take(struct evictrate *l, const struct object *o, nsec_t now)
{
    if (o->n > 0)
        tokens_take(&object_bucket(l, o, now)->tokens, now);
}

/* ---- all ------------------------------------------------------------------------------------- */

struct evictrate *evictrate_new(struct workloads *w)
{
    struct evictrate *l = xnew0(struct evictrate);

    l->workloads = w;
    return l;
}

struct evictrate *evictrate_free(struct evictrate *l)
{
    if (!l)
        return NULL;
    map_foreach(&l->buckets, e)
        free(e->value);
    map_fini(&l->buckets);
    free(l);
    return NULL;
}

/* A leader that begins does not know what the last one evicted a moment ago: it has to earn its
 * first eviction. */
static void all_set(struct evictrate *l, const struct migration_args *a, nsec_t now)
{
    tokens_set(&l->all, a->evict_qps, a->evict_burst, 0, now);
}

nsec_t evictrate_wait(struct evictrate *l, const struct migration_args *a, const struct pod *p,
                      bool objects_only, nsec_t now, const char **ret_what)
{
    const char *what = NULL, *ns = p->obj.meta.ns;
    struct object o;
    nsec_t wait = 0, w;

    if (find_workload(l, a, ns, kobj_controller(&p->obj), &o) &&
        (w = object_wait(l, &o, now)) > wait) {
        wait = w;
        what = "workload";
    }
    if (find_namespace(a, ns, &o) && (w = object_wait(l, &o, now)) > wait) {
        wait = w;
        what = "namespace";
    }
    all_set(l, a, now);
    if (!objects_only && (w = tokens_wait(&l->all, now)) > wait) {
        wait = w;
        what = "evictQPS";
    }
    if (ret_what && what)
        *ret_what = what;
    return wait;
}

/* Idle ones go when there are many: who is evicted once may never come back. */
enum { BUCKETS_SWEPT = 1024 };

static void sweep(struct evictrate *l, nsec_t now)
{
    struct map left = { 0 };

    if (l->buckets.n < BUCKETS_SWEPT)
        return;
    map_foreach(&l->buckets, e) {
        struct object_bucket *b = e->value;
        if (b->forget_at <= now)
            free(b);
        else
            map_putz(&left, b->key, b);
    }
    map_fini(&l->buckets);
    l->buckets = left;
}

void evictrate_take_objects(struct evictrate *l, const struct migration_args *a,
                            const struct pod *p, nsec_t now)
{
    const char *ns = p->obj.meta.ns;
    struct object o;

    sweep(l, now);
    if (find_workload(l, a, ns, kobj_controller(&p->obj), &o))
        object_take(l, &o, now);
    if (find_namespace(a, ns, &o))
        object_take(l, &o, now);
}

nsec_t evictrate_memory(const struct migration_args *a)
{
    const struct object_limiter *w = args_limiter(a, "workload"), *n = args_limiter(a, "namespace");

    return MAX(w ? w->duration : 0, n ? n->duration : 0);
}

void evictrate_take_rate(struct evictrate *l, const struct migration_args *a, nsec_t now)
{
    all_set(l, a, now);
    tokens_take(&l->all, now);
}

void evictrate_recall(struct evictrate *l, const struct migration_args *a, const char *ns,
                      const struct owner_ref *owner, nsec_t when)
{
    struct object o;

    tokens_set(&l->all, a->evict_qps, a->evict_burst, 1, when); /* the first one had a token */
    tokens_recall(&l->all, when);
    if (find_workload(l, a, ns, owner, &o) && o.n > 0)
        tokens_recall(&object_bucket(l, &o, when)->tokens, when);
    if (find_namespace(a, ns, &o) && o.n > 0)
        tokens_recall(&object_bucket(l, &o, when)->tokens, when);
}
