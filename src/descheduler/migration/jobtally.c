/* jobtally.c - counting unfinished jobs. */
#include "descheduler/migration/jobtally.h"

#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "descheduler/migration/workloads.h"

struct counts {
    int64_t n[TALLY_SCOPES];
};
struct group { /* a node, a namespace, a workload */
    struct counts jobs, pods, up;
};
struct subject {           /* a pod that jobs refer to */
    const struct pod *pod; /* NULL: gone */
    struct counts jobs;
};
struct entry {
    const struct podmigrationjob *job;
    struct subject *subject;
    bool passed, paused;
    bool proposed; /* paused, and by a descheduler: it waits for approval */
};
struct jobtally {
    struct arena *arena;
    struct vec_of(struct entry *) entries;
    struct map by_name;        /* ns/name of the reference -> subject */
    struct map by_uid, by_job; /* UID of the reference -> counts; name of the job -> entry */
    struct map rejected;       /* UID of the reference -> job */
    struct map nodes, spaces, workloads; /* -> group */
    struct counts jobs;
};

struct jobtally *jobtally_new(void)
{
    struct jobtally *t = xnew0(struct jobtally);

    t->arena = arena_new();
    return t;
}

struct jobtally *jobtally_free(struct jobtally *t)
{
    if (!t)
        return NULL;
    vec_fini(&t->entries);
    map_fini(&t->by_name);
    map_fini(&t->by_uid);
    map_fini(&t->by_job);
    map_fini(&t->rejected);
    map_fini(&t->nodes);
    map_fini(&t->spaces);
    map_fini(&t->workloads);
    arena_free(t->arena);
    free(t);
    return NULL;
}

/* ---- keys ------------------------------------------------------------------------------------ */

struct key {
    char text[KOBJ_KEY_MAX + KUID_TEXT_MAX];
};

static const char *key_of(struct key *k, const char *ns, const char *name)
{
    size_t n = MIN(strlen(ns), sizeof k->text / 2), m = MIN(strlen(name), sizeof k->text / 2 - 2);

    memcpy(k->text, ns, n);
    k->text[n] = '/';
    memcpy(k->text + n + 1, name, m);
    k->text[n + 1 + m] = '\0';
    return k->text;
}

static const char *workload_key(struct key *k, const struct pod *p)
{
    const struct owner_ref *o = kobj_controller(&p->obj);
    char uid[KUID_TEXT_MAX];

    if (!o)
        return NULL;
    kuid_format(o->uid, uid, sizeof uid);
    return key_of(k, p->obj.meta.ns, uid);
}

static const char *uid_key(struct key *k, struct kuid uid)
{
    kuid_format(uid, k->text, sizeof k->text);
    return k->text;
}

#define OF(t, m, key, type) ((type *)get_or_make((t), (m), (key), sizeof(type)))
static void *get_or_make(struct jobtally *t, struct map *m, const char *key, size_t size)
{
    void *v = map_getz(m, key);

    if (!v) {
        v = arena_zalloc(t->arena, size);
        map_putz(m, arena_strdup(t->arena, key), v);
    }
    return v;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static void count_pod(struct jobtally *t, const struct pod *p, enum tally_scope s)
{
    struct key k;
    const char *workload = workload_key(&k, p);

    if (workload) {
        struct group *g = OF(t, &t->workloads, workload, struct group);
        g->pods.n[s]++;
        g->up.n[s] += pod_is_up(p);
    }
    if (!str_empty(p->node_name))
        OF(t, &t->nodes, p->node_name, struct group)->pods.n[s]++;
}

static void count(struct jobtally *t, const struct entry *e, enum tally_scope s)
{
    const struct object_ref *ref = e->job->spec.pod_ref;
    struct subject *x = e->subject;
    struct key k;

    t->jobs.n[s]++;
    OF(t, &t->spaces, ref->ns, struct group)->jobs.n[s]++;
    if (!kuid_is_empty(ref->uid))
        OF(t, &t->by_uid, uid_key(&k, ref->uid), struct counts)->n[s]++;
    if (x->jobs.n[s]++ == 0 && x->pod)
        count_pod(t, x->pod, s);
    const char *workload = x->pod ? workload_key(&k, x->pod) : NULL;
    if (workload)
        OF(t, &t->workloads, workload, struct group)->jobs.n[s]++;
}

void jobtally_add(struct jobtally *t, const struct podmigrationjob *j, const struct pod *pod,
                  bool has_passed)
{
    const struct object_ref *ref = j->spec.pod_ref;
    struct key k;

    if (ref && job_is_rejected(j) && !kuid_is_empty(ref->uid))
        map_putz(&t->rejected, arena_strdup(t->arena, uid_key(&k, ref->uid)), (void *)(uintptr_t)j);
    if (job_is_over(j) || !ref)
        return;
    struct entry *e = arena_new0(t->arena, struct entry);
    *e = (struct entry){ .job = j, .passed = has_passed, .paused = j->spec.paused };
    e->proposed = e->paused && kstrmap_get(&j->obj.meta.annotations, ANNO_JOB_CREATED_BY);
    e->subject = OF(t, &t->by_name, key_of(&k, ref->ns, ref->name), struct subject);
    if (!e->subject->pod)
        e->subject->pod = pod;
    vec_push(&t->entries, e);
    map_putz(&t->by_job, j->obj.meta.name, e);
    /* Known by its UID also while it is paused. */
    if (!kuid_is_empty(ref->uid))
        (void)OF(t, &t->by_uid, uid_key(&k, ref->uid), struct counts);
    if (!e->paused || e->proposed)
        count(t, e, TALLY_ALL);
    if (!e->paused && has_passed)
        count(t, e, TALLY_PASSED);
}

void jobtally_pass(struct jobtally *t, const struct podmigrationjob *j)
{
    struct entry *e = map_getz(&t->by_job, j->obj.meta.name);

    if (!e || e->passed)
        return;
    e->passed = true;
    if (!e->paused)
        count(t, e, TALLY_PASSED);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static const struct subject *subject_of(const struct jobtally *t, const struct pod *p)
{
    struct key k;
    return map_getz(&t->by_name, key_of(&k, p->obj.meta.ns, p->obj.meta.name));
}

bool jobtally_has(const struct jobtally *t, const struct pod *p)
{
    struct key k;
    return subject_of(t, p) || map_getz(&t->by_uid, uid_key(&k, p->obj.meta.uid));
}

bool jobtally_rejected(const struct jobtally *t, const struct pod *p)
{
    struct key k;
    return map_getz(&t->rejected, uid_key(&k, p->obj.meta.uid)) != NULL;
}

/* Jobs that name the UID of this pod. */
static int64_t own_jobs(const struct jobtally *t, enum tally_scope s, const struct pod *p)
{
    struct key k;
    const struct counts *c = map_getz(&t->by_uid, uid_key(&k, p->obj.meta.uid));
    return c ? c->n[s] : 0;
}

/* It is itself among the pods of a workload that are counted. A job that does not name its UID is
 * another one's, as in upstream. */
static bool is_counted_as_own(const struct jobtally *t, enum tally_scope s, const struct pod *p)
{
    const struct subject *x = subject_of(t, p);
    return x && x->pod && x->jobs.n[s] > 0 && x->jobs.n[s] <= own_jobs(t, s, p);
}

/* It is itself among the counted pods. */
static bool is_counted(const struct jobtally *t, enum tally_scope s, const struct pod *p)
{
    const struct subject *x = subject_of(t, p);
    return x && x->pod && x->jobs.n[s] > 0;
}

int64_t jobtally_count(const struct jobtally *t, enum tally_by by, enum tally_scope s,
                       const struct pod *p)
{
    const struct group *g = NULL;
    struct key k;

    switch (by) {
    case TALLY_CLUSTER: return t->jobs.n[s] - own_jobs(t, s, p);
    case TALLY_NAMESPACE:
        g = map_getz(&t->spaces, p->obj.meta.ns);
        return g ? g->jobs.n[s] - own_jobs(t, s, p) : 0;
    case TALLY_NODE: g = str_empty(p->node_name) ? NULL : map_getz(&t->nodes, p->node_name); break;
    case TALLY_WORKLOAD: g = workload_key(&k, p) ? map_getz(&t->workloads, k.text) : NULL; break;
    }
    if (!g)
        return 0;
    return g->pods.n[s] - (by == TALLY_NODE ? is_counted(t, s, p) : is_counted_as_own(t, s, p));
}

int64_t jobtally_count_up(const struct jobtally *t, enum tally_scope s, const struct pod *p)
{
    struct key k;
    const struct group *g = workload_key(&k, p) ? map_getz(&t->workloads, k.text) : NULL;

    return g ? g->up.n[s] - (is_counted_as_own(t, s, p) && pod_is_up(p)) : 0;
}

int64_t jobtally_jobs_of(const struct jobtally *t, const struct pod *p)
{
    struct key k;
    const struct group *g = workload_key(&k, p) ? map_getz(&t->workloads, k.text) : NULL;

    return g ? g->jobs.n[TALLY_PASSED] : 0;
}

/* ---- who ------------------------------------------------------------------------------------- */

enum { HOLDERS_SHOWN = 5 };

static bool holds(const struct entry *e, enum tally_by by, enum tally_scope s, const struct pod *p)
{
    const struct pod *o = e->subject->pod;
    struct key a, b;

    if ((e->paused && !e->proposed) || (s == TALLY_PASSED && (e->paused || !e->passed)) ||
        kuid_equal(e->job->spec.pod_ref->uid, p->obj.meta.uid))
        return false;
    switch (by) {
    case TALLY_CLUSTER: return true;
    case TALLY_NAMESPACE: return streq(e->job->spec.pod_ref->ns, p->obj.meta.ns);
    case TALLY_NODE: return o && streq(str_or(o->node_name, ""), str_or(p->node_name, ""));
    case TALLY_WORKLOAD:
        return o && workload_key(&a, o) && workload_key(&b, p) && streq(a.text, b.text);
    }
    return false;
}

static int compare_names(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;
    return strcmp((*x)->job->obj.meta.name, (*y)->job->obj.meta.name);
}

void jobtally_holders(const struct jobtally *t, enum tally_by by, enum tally_scope s,
                      const struct pod *p, struct strbuf *out)
{
    struct vec_of(struct entry *) found = { 0 };

    vec_foreach(&t->entries, i)
        if (holds(t->entries.items[i], by, s, p))
            vec_push(&found, t->entries.items[i]);
    if (found.n)
        qsort(found.items, found.n, sizeof *found.items, compare_names);
    for (size_t i = 0; i < MIN(found.n, (size_t)HOLDERS_SHOWN); i++) {
        const struct podmigrationjob *j = found.items[i]->job;
        strbuf_appendf(out, "%s%s (%s/%s)", i ? ", " : "", j->obj.meta.name, j->spec.pod_ref->ns,
                       j->spec.pod_ref->name);
    }
    if (found.n > HOLDERS_SHOWN)
        strbuf_appendf(out, " and %zu more", found.n - HOLDERS_SHOWN);
    vec_fini(&found);
}
