/* workloads.c - the workload of a pod, from objects in a cache. */
#include "descheduler/migration/workloads.h"

#include "api/workload.h"
#include "base/map.h"

struct found { /* one controller of pods */
    struct workload_state state;
    uint64_t generation;
    char *kind, *name;
    char key[]; /* namespace and UID */
};
struct workloads {
    struct workload_source s;
    struct map by_owner;
    uint64_t generation;
};

bool pod_is_up(const struct pod *p)
{
    return !pod_is_terminal(p) && pod_is_ready(p);
}

/* ---- the object ------------------------------------------------------------------------------ */

struct owner_kind {
    const char *group, *kind;
    const struct kind *table;
};
static const struct owner_kind kinds[] = {
    { "apps", "Deployment", &kind_deployment },
    { "apps", "ReplicaSet", &kind_replicaset },
    { "apps", "StatefulSet", &kind_statefulset },
    { "", "ReplicationController", &kind_replicationcontroller },
    { "batch", "Job", &kind_job },
    { "apps.kruise.io", "CloneSet", &kind_cloneset },
    { "apps.kruise.io", "StatefulSet", &kind_kruise_statefulset },
};

/* Any version of the group will do. */
static const struct kind *kind_of(const struct owner_ref *o)
{
    const char *slash = strchr(o->api_version, '/');
    struct str group = { o->api_version, slash ? (size_t)(slash - o->api_version) : 0 };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (streq(kinds[i].kind, o->kind) && str_eqz(group, kinds[i].group))
            return kinds[i].table;
    return NULL;
}

/* Only the one with this UID counts: another may have its name by now. */
static enum workload_known get(struct workloads *w, const char *ns, const struct owner_ref *o,
                               const struct workload **ret)
{
    const struct kobj *obj = NULL;
    enum workload_known known = w->s.get(w->s.arg, kind_of(o), ns, o->name, &obj);

    if (known != WORKLOAD_FOUND)
        return known;
    if (!kuid_equal(obj->meta.uid, o->uid))
        return WORKLOAD_NONE;
    *ret = workload_of(obj);
    return WORKLOAD_FOUND;
}

/* ---- its state ------------------------------------------------------------------------------- */

/* A status counts when a controller has written it: observedGeneration, which Jobs do not have. */
static bool is_reported(const struct workload *w)
{
    return w->status.observed_generation > 0;
}

static bool is_set(const char *partition)
{
    return partition && !streq(partition, "0") && !streq(partition, "\"0%\"");
}

/* Pods of an older revision may stay for as long as somebody likes. */
static bool updates_are_held_back(const struct workload *w)
{
    const struct workload_update *u = w->spec.update;

    return u &&
           (streq(u->type, "OnDelete") || is_set(u->partition) || is_set(u->rolling.partition));
}

static const char *changing(const struct workload *w)
{
    const struct workload_status *s = &w->status;
    int32_t wanted = workload_replicas(w);

    if (!is_reported(w))
        return NULL;
    if (s->observed_generation < w->obj.meta.generation)
        return "was changed a moment ago";
    if (s->replicas > wanted && (w->obj.kind != &kind_deployment || s->updated >= s->replicas))
        return "is scaling down";
    if (w->obj.kind == &kind_replicaset || w->obj.kind == &kind_replicationcontroller ||
        updates_are_held_back(w))
        return NULL;
    return s->updated < MIN(s->replicas, wanted) || s->replicas > wanted ? "is rolling out" : NULL;
}

static void count_down(struct workloads *w, struct kuid owner, struct workload_state *st)
{
    kobjvec pods = { 0 };

    w->s.owned(w->s.arg, &kind_pod, owner, &pods);
    vec_foreach(&pods, i)
        st->down += !pod_is_up(pod_of(pods.items[i]));
    vec_fini(&pods);
}

/* The pods of all its ReplicaSets. */
static void count_deployment(struct workloads *w, struct kuid deployment, struct workload_state *st)
{
    kobjvec sets = { 0 };

    w->s.owned(w->s.arg, &kind_replicaset, deployment, &sets);
    vec_foreach(&sets, i)
        count_down(w, sets.items[i]->meta.uid, st);
    vec_fini(&sets);
}

static void fill(struct workloads *w, struct found *f, const struct workload *top)
{
    struct workload_state *st = &f->state;

    st->replicas = workload_replicas(top);
    st->changing = changing(top);
    if (is_reported(top))
        st->missing = MAX(st->replicas - top->status.ready, 0);
    f->kind = xstrdup(top->obj.kind->kind);
    f->name = xstrdup(top->obj.meta.name);
    if (top->obj.kind == &kind_deployment)
        count_deployment(w, top->obj.meta.uid, st);
    else
        count_down(w, top->obj.meta.uid, st);
}

static void look_up_scale(struct workloads *w, const char *ns, const struct owner_ref *o,
                          struct found *f)
{
    f->state.known = w->s.scale(w->s.arg, ns, o, &f->state.replicas);
    f->kind = xstrdup(o->kind);
    f->name = xstrdup(o->name);
    if (f->state.known == WORKLOAD_FOUND)
        count_down(w, o->uid, &f->state);
}

static void look_up(struct workloads *w, const char *ns, const struct owner_ref *o, struct found *f)
{
    const struct workload *own = NULL, *top = NULL;

    if (!kind_of(o)) {
        look_up_scale(w, ns, o, f);
        return;
    }
    f->state.known = get(w, ns, o, &own);
    if (f->state.known != WORKLOAD_FOUND)
        return;
    const struct owner_ref *above =
        own->obj.kind == &kind_replicaset ? kobj_controller(&own->obj) : NULL;
    /* A ReplicaSet of something else than a Deployment decides for itself. */
    if (above && kind_of(above) == &kind_deployment) {
        f->state.known = get(w, ns, above, &top);
        if (f->state.known != WORKLOAD_FOUND)
            return;
    }
    fill(w, f, top ? top : own);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void found_reset(struct found *f)
{
    free(f->kind);
    free(f->name);
    f->kind = f->name = NULL;
    f->state = (struct workload_state){ 0 };
}

static void forget_all(struct workloads *w)
{
    map_foreach(&w->by_owner, e) {
        found_reset(e->value);
        free(e->value);
    }
    map_fini(&w->by_owner);
}

struct workloads *workloads_new(const struct workload_source *s)
{
    struct workloads *w = xnew0(struct workloads);

    w->s = *s;
    w->generation = 1;
    return w;
}

struct workloads *workloads_free(struct workloads *w)
{
    if (!w)
        return NULL;
    forget_all(w);
    free(w);
    return NULL;
}

/* Kept entries are filled again when they are asked for; owners that are gone must not pile up. */
enum { FOUND_MAX = 100000 };

void workloads_changed(struct workloads *w)
{
    w->generation++;
    if (w->by_owner.n > FOUND_MAX)
        forget_all(w);
}

const struct workload_state *workloads_find(struct workloads *w, const char *ns,
                                            const struct owner_ref *controller)
{
    char key[KOBJ_KEY_MAX + KUID_TEXT_MAX], uid[KUID_TEXT_MAX];

    kuid_format(controller->uid, uid, sizeof uid);
    size_t n = strlen(ns), m = strlen(uid);
    if (n + m + 2 > sizeof key)
        n = sizeof key - m - 2;
    memcpy(key, ns, n);
    key[n] = '/';
    memcpy(key + n + 1, uid, m + 1);
    struct found *f = map_get(&w->by_owner, key, n + 1 + m);
    if (!f) {
        f = xcalloc(1, sizeof *f + n + m + 2);
        memcpy(f->key, key, n + m + 2);
        map_put(&w->by_owner, f->key, n + 1 + m, f);
    }
    if (f->generation != w->generation) {
        found_reset(f);
        look_up(w, ns, controller, f);
        f->state.kind = f->kind;
        f->state.name = f->name;
        f->generation = w->generation;
    }
    return &f->state;
}
