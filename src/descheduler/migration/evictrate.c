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

/* ---- buckets of objects ---------------------------------------------------------------------- */

/* "workload/UID" or "namespace/NAME"; false: the pod has none, or there is no limit. n: how many
 * evictions in the limiter's duration. */
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

static bool workload_of_pod(struct evictrate *l, const struct migration_args *a,
                            const struct pod *p, struct object *o)
{
    const struct owner_ref *owner = kobj_controller(&p->obj);
    char uid[KUID_TEXT_MAX];

    o->limiter = args_limiter(a, "workload");
    if (!o->limiter || !owner)
        return false;
    const struct int_or_str *max =
        o->limiter->max_migrating ? o->limiter->max_migrating : a->max_migrating_per_workload;
    kuid_format(owner->uid, uid, sizeof uid);
    set_key(o, "workload/", uid);
    o->n = max_of(workloads_find(l->workloads, p->obj.meta.ns, owner)->replicas, max);
    return true;
}

static bool namespace_of_pod(const struct migration_args *a, const struct pod *p, struct object *o)
{
    o->limiter = args_limiter(a, "namespace");
    if (!o->limiter || !o->limiter->max_migrating)
        return false;
    set_key(o, "namespace/", p->obj.meta.ns);
    o->n = o->limiter->max_migrating->s ? 0 : o->limiter->max_migrating->i; /* a share is off */
    return true;
}

static nsec_t object_wait(struct evictrate *l, const struct object *o, nsec_t now)
{
    struct object_bucket *b = map_getz(&l->buckets, o->key);

    if (b && b->forget_at <= now) {
        map_removez(&l->buckets, o->key);
        free(b);
        return 0;
    }
    return b ? tokens_wait(&b->tokens, now) : 0;
}

static void object_take(struct evictrate *l, const struct object *o, nsec_t now)
{
    struct object_bucket *b = map_getz(&l->buckets, o->key);
    size_t n = strlen(o->key);

    if (o->n <= 0)
        return;
    if (!b) {
        b = xcalloc(1, sizeof *b + n + 1);
        memcpy(b->key, o->key, n + 1);
        map_put(&l->buckets, b->key, n, b);
    }
    double burst = o->limiter->burst > 0 ? o->limiter->burst : 1;
    tokens_set(&b->tokens, (double)o->n / ((double)o->limiter->duration / (double)NSEC_PER_SEC),
               burst, burst, now);
    tokens_take(&b->tokens, now);
    b->forget_at = i64_add_sat(now, i64_add_sat(o->limiter->duration, o->limiter->duration / 2));
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
    const char *what = NULL;
    struct object o;
    nsec_t wait = 0, w;

    if (workload_of_pod(l, a, p, &o) && (w = object_wait(l, &o, now)) > wait) {
        wait = w;
        what = "workload";
    }
    if (namespace_of_pod(a, p, &o) && (w = object_wait(l, &o, now)) > wait) {
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
    struct object o;

    sweep(l, now);
    if (workload_of_pod(l, a, p, &o))
        object_take(l, &o, now);
    if (namespace_of_pod(a, p, &o))
        object_take(l, &o, now);
}

void evictrate_take_rate(struct evictrate *l, const struct migration_args *a, nsec_t when)
{
    all_set(l, a, when);
    tokens_take(&l->all, when);
}
