/* cluster.c - life of the room: caches that are shared, in which order all begins and ends. */
#include <stdio.h>

#include "api/node.h"
#include "base/klog.h"
#include "cluster/discovery.h"
#include "cluster/internal.h"

/* ---- caches -------------------------------------------------------------------------------- */

static void index_owner(const struct kobj *o, index_emit_fn emit, void *to)
{
    for (uint32_t i = 0; i < o->meta.owners.n; i++) {
        char uid[KUID_TEXT_MAX];
        kuid_format(o->meta.owners.items[i].uid, uid, sizeof uid);
        emit(to, uid);
    }
}

static void index_orphan(const struct kobj *o, index_emit_fn emit, void *to)
{
    if (!kobj_controller(o))
        emit(to, o->meta.ns);
}

static void index_ns(const struct kobj *o, index_emit_fn emit, void *to)
{
    emit(to, o->meta.ns);
}

static void index_node(const struct kobj *o, index_emit_fn emit, void *to)
{
    const char *node = pod_of(o)->node_name;
    if (!str_empty(node))
        emit(to, node);
}

static struct shared *shared_make(struct cluster *c, struct shared *s, const struct kind *k)
{
    if (s->inf)
        return s;
    s->inf = informer_new(c->kube, &(struct informer_opts){ .kind = k });
    s->by_owner = informer_add_index(s->inf, index_owner);
    if (k->namespaced) {
        s->orphans = informer_add_index(s->inf, index_orphan);
        s->by_ns = informer_add_index(s->inf, index_ns);
    }
    if (k == &kind_pod)
        s->by_node = informer_add_index(s->inf, index_node);
    return s;
}

struct shared *cluster_pods(struct cluster *c)
{
    return shared_make(c, &c->pods, &kind_pod);
}
struct shared *cluster_replicasets(struct cluster *c)
{
    return shared_make(c, &c->replicasets, &doc_replicaset);
}
struct shared *cluster_deployments(struct cluster *c)
{
    return shared_make(c, &c->deployments, &doc_deployment);
}
struct shared *cluster_jobs(struct cluster *c)
{
    return shared_make(c, &c->jobs, &doc_job);
}
struct shared *cluster_nodes(struct cluster *c)
{
    return shared_make(c, &c->nodes, &kind_node);
}

static int by_name(const void *a, const void *b)
{
    const struct kobj *x = *(struct kobj *const *)a, *y = *(struct kobj *const *)b;
    int r = strcmp(x->meta.ns, y->meta.ns);
    return r ? r : strcmp(x->meta.name, y->meta.name);
}

/* Sorted: what controllers do must not depend on how the cache lies in memory. */
void shared_by(const struct shared *s, int index, const char *value, kobjvec *out)
{
    size_t n, before = out->n;
    struct kobj *const *found = informer_by_index(s->inf, index, value, &n);
    for (size_t i = 0; i < n; i++)
        vec_push(out, found[i]);
    if (n > 1)
        qsort(out->items + before, n, sizeof *out->items, by_name);
}

void shared_by_uid(const struct shared *s, struct kuid uid, kobjvec *out)
{
    char text[KUID_TEXT_MAX];
    kuid_format(uid, text, sizeof text);
    shared_by(s, s->by_owner, text, out);
}

/* ---- life ---------------------------------------------------------------------------------- */

static void start(struct shared *s)
{
    if (s->inf)
        informer_start(s->inf);
}

struct cluster *cluster_new(struct loop *l, struct kube *k, const struct cluster_opts *o,
                            struct kerr *err)
{
    CLEANUP(cluster_free) struct cluster *c = xnew0(struct cluster);

    c->loop = l;
    c->kube = k;
    c->o = *o;
    c->o.node_grace = o->node_grace ? o->node_grace : 40 * NSEC_PER_SEC;
    c->events = recorder_new(
        k, &(struct recorder_opts){ .component = "koord-cluster", .instance = "koord-cluster" });
    if (o->gc || o->namespaces)
        c->disco = discovery_new(c);
    if (o->replicaset)
        c->rs = rsctl_new(c);
    if (o->deployment)
        c->deploy = deployctl_new(c);
    if (o->job)
        c->job = jobctl_new(c);
    if (o->pdb)
        c->pdb = pdbctl_new(c);
    if (o->nodes)
        c->node = nodectl_new(c);
    if (o->gc) {
        c->gc = gc_new(c);
        c->podgc = podgc_new(c);
    }
    if (o->namespaces)
        c->ns = nsctl_new(c);
    if (o->hollow.nshapes) {
        c->hollow = hollow_new(c, &o->hollow, err);
        if (!c->hollow)
            return NULL;
    }
    memset(&c->o.hollow, 0, sizeof c->o.hollow); /* its shapes are the caller's */
    start(&c->pods);
    start(&c->replicasets);
    start(&c->deployments);
    start(&c->jobs);
    start(&c->nodes);
    return take(c);
}

struct cluster *cluster_free(struct cluster *c)
{
    if (!c)
        return NULL;
    batches_drop(c);
    hollow_free(c->hollow);
    nsctl_free(c->ns);
    podgc_free(c->podgc);
    gc_free(c->gc);
    nodectl_free(c->node);
    pdbctl_free(c->pdb);
    jobctl_free(c->job);
    deployctl_free(c->deploy);
    rsctl_free(c->rs);
    discovery_free(c->disco);
    informer_free(c->pods.inf);
    informer_free(c->replicasets.inf);
    informer_free(c->deployments.inf);
    informer_free(c->jobs.inf);
    informer_free(c->nodes.inf);
    recorder_free(c->events);
    free(c);
    return NULL;
}

static bool is_synced(const struct shared *s)
{
    return !s->inf || informer_synced(s->inf);
}

bool cluster_ready(const struct cluster *c)
{
    return is_synced(&c->pods) && is_synced(&c->replicasets) && is_synced(&c->deployments) &&
           is_synced(&c->jobs) && is_synced(&c->nodes) && (!c->hollow || hollow_ready(c->hollow));
}

struct cluster_stats cluster_stats(const struct cluster *c)
{
    return c->stats;
}
