/* run_migration.c - which pods may be moved, and which jobs may begin (descheduler 4.4, 4.6):
 * filter and arbitrate of the area descheduler. */
#include "api/workload.h"
#include "base/intern.h"
#include "base/vec.h"
#include "descheduler/framework/plugin.h"
#include "descheduler/migration/arbitrate.h"
#include "descheduler/migration/workloads.h"
#include "runners.h"

struct named {
    const char *member;
    const struct kind *kind;
};
static const struct named lists[] = {
    { "pods", &kind_pod },
    { "replicaSets", &kind_replicaset },
    { "deployments", &kind_deployment },
    { "statefulSets", &kind_statefulset },
    { "replicationControllers", &kind_replicationcontroller },
    { "cloneSets", &kind_cloneset },
    { "podMigrationJobs", &kind_podmigrationjob },
};

struct cluster {
    struct vec_of(struct kobj *) objects;
    struct vec_of(const char *) passed, finished, waiting; /* names of jobs */
};

/* ---- objects --------------------------------------------------------------------------------- */

static int read_objects(struct cluster *c, const struct kj_val *in, struct kj_scratch *scratch,
                        struct kerr *err)
{
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const struct kj_val *l = kj_get(in, lists[i].member);
        for (size_t k = 0; k < kj_len(l); k++) {
            struct kobj *o = NULL;
            if (kobj_decode(lists[i].kind, kj_at(l, k), scratch, &o, err) < 0)
                return err->code;
            vec_push(&c->objects, o);
        }
    }
    return 0;
}

#define ADD_NAMES(vec, list)                                     \
    do                                                           \
        for (size_t add_ = 0; add_ < kj_len(list); add_++)       \
            vec_push((vec), kj_str_or(kj_at((list), add_), "")); \
    while (0)
#define HAS_NAME(vec, name) has_name((vec)->items, (vec)->n, (name))

static bool has_name(const char *const *items, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (streq(items[i], name))
            return true;
    return false;
}

static void cluster_fini(struct cluster *c)
{
    vec_foreach(&c->objects, i)
        kobj_unref(c->objects.items[i]);
    vec_fini(&c->objects);
    vec_fini(&c->passed);
    vec_fini(&c->finished);
    vec_fini(&c->waiting);
}

static struct kobj *find(const struct cluster *c, const struct kind *k, const char *ns,
                         const char *name)
{
    vec_foreach(&c->objects, i) {
        struct kobj *o = c->objects.items[i];
        if (o->kind == k && streq(o->meta.ns, ns) && streq(o->meta.name, name))
            return o;
    }
    return NULL;
}

static const struct pod *find_pod(const struct cluster *c, const struct object_ref *ref)
{
    const struct kobj *o = ref ? find(c, &kind_pod, ref->ns, ref->name) : NULL;
    return o ? pod_of(o) : NULL;
}

/* ---- workloads ------------------------------------------------------------------------------- */

static enum workload_known get(void *arg, const struct kind *k, const char *ns, const char *name,
                               const struct kobj **ret)
{
    *ret = find(arg, k, ns, name);
    return *ret ? WORKLOAD_FOUND : WORKLOAD_NONE;
}

static void owned(void *arg, const struct kind *k, struct kuid owner, kobjvec *out)
{
    const struct cluster *c = arg;

    vec_foreach(&c->objects, i) {
        struct kobj *o = c->objects.items[i];
        for (uint32_t j = 0; o->kind == k && j < o->meta.owners.n; j++)
            if (kuid_equal(o->meta.owners.items[j].uid, owner))
                vec_push(out, o);
    }
}

static enum workload_known scale(void *arg, const char *ns, const struct owner_ref *owner,
                                 int32_t *ret_replicas)
{
    (void)arg, (void)ns, (void)owner, (void)ret_replicas;
    return WORKLOAD_NONE; /* 404 */
}

/* ---- args and jobs --------------------------------------------------------------------------- */

static int read_args(const struct kj_val *in, struct arena *a, struct migration_args *ret,
                     struct kerr *err)
{
    const struct kd_args *t = &migration_kd_args;
    int r = kj_decode(t->schema, kj_get(in, "args"), KJ_STRICT, a, ret, err);

    if (r == 0) {
        kj_default(t->schema, a, ret);
        r = kj_validate(t->schema, ret, err);
    }
    return r == 0 ? t->check(ret, a, err) : r;
}

static struct jobtally *count_jobs(const struct cluster *c)
{
    struct jobtally *t = jobtally_new();

    vec_foreach(&c->objects, i) {
        const struct kobj *o = c->objects.items[i];
        if (o->kind != &kind_podmigrationjob || HAS_NAME(&c->finished, o->meta.name))
            continue;
        const struct podmigrationjob *j = podmigrationjob_of(o);
        jobtally_add(t, j, find_pod(c, j->spec.pod_ref),
                     j->status.phase == MIGRATION_RUNNING || HAS_NAME(&c->passed, o->meta.name));
    }
    return t;
}

/* What both files have; then the case itself. */
typedef int (*case_fn)(struct cluster *c, struct checks *k, const struct kj_val *in, struct kjw *w,
                       struct kerr *err);

static int run(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err,
               case_fn fn)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    struct migration_args *args = arena_new0(a, struct migration_args);
    struct cluster c = { 0 };
    struct kjw w = kjw_to(got);
    struct kerr refused = { 0 };

    kjw_obj(&w, NULL);
    if (read_args(in, a, args, &refused) < 0) {
        kjw_str(&w, "error", refused.text);
        kjw_end(&w);
        return 0;
    }
    ADD_NAMES(&c.passed, kj_get(in, "passed"));
    ADD_NAMES(&c.waiting, kj_get(in, "waiting"));
    int r = read_objects(&c, in, scratch, err);
    if (r == 0) {
        const struct workload_source source = { &c, get, owned, scale };
        CLEANUP(workloads_free) struct workloads *workloads = workloads_new(&source);
        struct checks k = { args, workloads, NULL };
        r = fn(&c, &k, in, &w, err);
    }
    kjw_end(&w);
    cluster_fini(&c);
    return r;
}

/* ---- filter ---------------------------------------------------------------------------------- */

static void write_reasons(struct kjw *w, unsigned fails)
{
    kjw_arr(w, "reasons");
    for (unsigned i = 0; i < BASE_CHECKS; i++)
        if (fails & 1u << i)
            kjw_str(w, NULL, base_check_texts[i]);
    kjw_end(w);
}

static void write_pod(struct kjw *w, const struct checks *k, const struct pod *p)
{
    static const char *const names[LIMITS] = { "globally", "perNode", "perNamespace",
                                               "perWorkload" };
    bool permanent = check_permanent(k, p, NULL) == CHECK_YES;

    kjw_bool(w, "evictable", check_filter(k, p, NULL));
    kjw_bool(w, "existingJob", jobtally_has(k->tally, p));
    kjw_bool(w, "schedulerOK", check_scheduler(k->args, p));
    kjw_bool(w, "nonRetryable", permanent);
    kjw_bool(w, "retryable", check_limits(k, TALLY_ALL, p, NULL));
    if (!permanent)
        write_reasons(w, check_base(k->args, p));
    for (unsigned i = 0; i < LIMITS; i++)
        kjw_bool(w, names[i], check_limit(k, (enum limit)i, TALLY_ALL, p, NULL));
}

static int filter_case(struct cluster *c, struct checks *k, const struct kj_val *in, struct kjw *w,
                       struct kerr *err)
{
    CLEANUP(jobtally_free) struct jobtally *t = count_jobs(c);
    const struct kj_val *check = kj_get(in, "check");

    k->tally = t;
    kjw_obj(w, "pods");
    for (size_t i = 0; i < kj_len(check); i++) {
        const char *key = kj_str_or(kj_at(check, i), ""), *slash = strchr(key, '/');
        CLEANUP(mem_free) char *ns = slash ? xstrndup(key, (size_t)(slash - key)) : NULL;
        const struct kobj *o = slash ? find(c, &kind_pod, ns, slash + 1) : NULL;
        if (!o)
            return kerr_set(err, -EINVAL, "no pod %s", key);
        kjw_obj(w, key);
        write_pod(w, k, pod_of(o));
        kjw_end(w);
    }
    kjw_end(w);
    return 0;
}

int golden_migration_filter(const struct kj_val *in, struct arena *a, struct strbuf *got,
                            struct kerr *err)
{
    return run(in, a, got, err, filter_case);
}

/* Reasons are a set, and given only when a check of the pod itself has failed. */
static bool same_reasons(const struct kj_val *want, const struct kj_val *got)
{
    bool found = kj_len(want) == 0;

    if (kj_len(want) == 0)
        return true;
    if (kj_len(want) != kj_len(got))
        return false;
    for (size_t i = 0; i < kj_len(want); i++, found = false) {
        for (size_t k = 0; k < kj_len(got) && !found; k++)
            found = kj_equal(kj_at(want, i), kj_at(got, k));
        if (!found)
            return false;
    }
    return true;
}

bool golden_migration_filter_same(const struct kj_val *out, const struct kj_val *got)
{
    struct kj_iter pods = kj_iter(kj_get(out, "pods"));
    struct str key;
    const struct kj_val *want;

    if (!kj_get(out, "error") != !kj_get(got, "error"))
        return false;
    while (kj_next(&pods, &key, &want)) {
        const struct kj_val *have = kj_getn(kj_get(got, "pods"), key.p, key.n), *v;
        struct kj_iter it = kj_iter(want);
        struct str member;
        while (kj_next(&it, &member, &v)) {
            const struct kj_val *mine = kj_getn(have, member.p, member.n);
            if (str_eqz(member, "reasons") ? !same_reasons(v, mine) : !kj_equal(v, mine))
                return false;
        }
    }
    return true;
}

/* ---- arbitrate ------------------------------------------------------------------------------- */

static void write_those(struct kjw *w, const char *member, const struct candidate *items, size_t n,
                        int verdict)
{
    kjw_arr(w, member);
    for (size_t i = 0; i < n; i++)
        if (verdict < 0 || items[i].verdict == (enum verdict)verdict)
            kjw_str(w, NULL, items[i].job->obj.meta.name);
    kjw_end(w);
}

static void arbitrate_round(struct cluster *c, struct checks *k, struct kjw *w)
{
    CLEANUP(jobtally_free) struct jobtally *t = count_jobs(c);
    struct vec_of(struct candidate) items = { 0 };

    k->tally = t;
    vec_foreach(&c->objects, i) {
        const struct kobj *o = c->objects.items[i];
        if (o->kind != &kind_podmigrationjob || !HAS_NAME(&c->waiting, o->meta.name))
            continue;
        const struct podmigrationjob *j = podmigrationjob_of(o);
        vec_push(&items, ((struct candidate){ .job = j, .pod = find_pod(c, j->spec.pod_ref) }));
    }
    arbitrate(k, t, items.items, items.n);
    kjw_obj(w, NULL);
    write_those(w, "order", items.items, items.n, -1);
    write_those(w, "passed", items.items, items.n, VERDICT_PASS);
    write_those(w, "failed", items.items, items.n, VERDICT_FORBID);
    write_those(w, "waiting", items.items, items.n, VERDICT_WAIT);
    kjw_end(w);
    vec_clear(&c->waiting);
    vec_foreach(&items, i) {
        const char *name = items.items[i].job->obj.meta.name;
        if (items.items[i].verdict == VERDICT_PASS)
            vec_push(&c->passed, name);
        else if (items.items[i].verdict == VERDICT_WAIT)
            vec_push(&c->waiting, name);
        else
            vec_push(&c->finished, name);
    }
    vec_fini(&items);
}

static int arbitrate_case(struct cluster *c, struct checks *k, const struct kj_val *in,
                          struct kjw *w, struct kerr *err)
{
    const struct kj_val *rounds = kj_get(in, "rounds");

    (void)err;
    kjw_arr(w, "rounds");
    for (size_t i = 0; i < kj_len(rounds); i++) {
        ADD_NAMES(&c->finished, kj_get(kj_at(rounds, i), "finished"));
        arbitrate_round(c, k, w);
    }
    kjw_end(w);
    return 0;
}

int golden_migration_arbitrate(const struct kj_val *in, struct arena *a, struct strbuf *got,
                               struct kerr *err)
{
    return run(in, a, got, err, arbitrate_case);
}
