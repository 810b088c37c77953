/* cluster.c - life of the room: in which order all begins and ends. */
#include "api/koord/nodemetric.h"
#include "api/node.h"
#include "client/discovery.h"
#include "cluster/internal.h"

/* ---- which kinds there are ----------------------------------------------------------------- */

static const struct kind kind_crd_meta = { .group = "apiextensions.k8s.io",
                                           .version = "v1",
                                           .kind = "CustomResourceDefinition",
                                           .plural = "customresourcedefinitions",
                                           .schema = &kobj_schema };

static void on_crd(void *arg, struct kobj *o)
{
    struct cluster *c = arg;
    (void)o;
    discovery_refresh(c->discovery);
}

static void on_crd_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (old->meta.generation != o->meta.generation || old->meta.generation == 0)
        on_crd(arg, o);
}

static void make_discovery(struct cluster *c)
{
    static const struct informer_handler crds = { .on_add = on_crd,
                                                  .on_update = on_crd_update,
                                                  .on_delete = on_crd };

    c->discovery = discovery_new(c->kube);
    informer_add_handler(caches_get(c->caches, &kind_crd_meta), &crds, c);
}

/* ---- life ---------------------------------------------------------------------------------- */

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
    c->caches = caches_new(k);
    c->controllers = controllers_new(&(struct controller_env){ l, k, c->caches, c->events });
    if (o->gc || o->namespaces || o->autoscaler)
        make_discovery(c);
    if (o->replicaset)
        c->rs = rsctl_new(c, &doc_replicaset);
    if (o->replicationcontroller)
        c->rc = rsctl_new(c, &doc_rc);
    if (o->statefulset)
        c->sts = stsctl_new(c);
    if (o->daemonset)
        c->ds = dsctl_new(c);
    if (o->endpoints)
        c->ep = epctl_new(c);
    if (o->deployment)
        c->deploy = deployctl_new(c);
    if (o->job)
        c->job = jobctl_new(c);
    if (o->cronjob)
        c->cron = cronctl_new(c);
    if (o->pdb)
        c->pdb = pdbctl_new(c);
    if (o->resourceclaims)
        c->claims = claimctl_new(c);
    if (o->servicecidrs)
        c->cidrs = cidrctl_new(c);
    if (o->autoscaler)
        c->hpa = hpactl_new(c);
    if (o->volumes)
        c->volumes = volctl_new(c);
    if (o->nodes)
        c->node = nodectl_new(c);
    if (o->gc) {
        c->gc = gc_new(c);
        c->podgc = podgc_new(c);
        c->eventgc = eventgc_new(c);
    }
    if (o->namespaces)
        c->ns = nsctl_new(c);
    if (o->accounts)
        c->accounts = nsaccounts_new(c, o->root_ca);
    if (o->usage)
        c->reports = caches_get(c->caches, &kind_nodemetric);
    if (o->hollow.nshapes) {
        c->hollow = hollow_new(c, &o->hollow, err);
        if (!c->hollow)
            return NULL;
    }
    memset(&c->o.hollow, 0, sizeof c->o.hollow); /* its shapes are the caller's */
    c->o.root_ca = NULL;
    controllers_start(c->controllers);
    caches_start(c->caches);
    if (c->discovery)
        discovery_start(c->discovery, c->o.discovery_interval);
    return take(c);
}

struct cluster *cluster_free(struct cluster *c)
{
    if (!c)
        return NULL;
    controllers_stop(c->controllers);
    hollow_free(c->hollow);
    nsaccounts_free(c->accounts);
    nsctl_free(c->ns);
    podgc_free(c->podgc);
    eventgc_free(c->eventgc);
    gc_free(c->gc);
    nodectl_free(c->node);
    volctl_free(c->volumes);
    hpactl_free(c->hpa);
    cidrctl_free(c->cidrs);
    claimctl_free(c->claims);
    pdbctl_free(c->pdb);
    cronctl_free(c->cron);
    jobctl_free(c->job);
    deployctl_free(c->deploy);
    epctl_free(c->ep);
    dsctl_free(c->ds);
    stsctl_free(c->sts);
    rsctl_free(c->rc);
    rsctl_free(c->rs);
    controllers_free(c->controllers);
    caches_free(c->caches); /* with kinds that the discovery found */
    discovery_free(c->discovery);
    recorder_free(c->events);
    free(c);
    return NULL;
}

void cluster_set_root_ca(struct cluster *c, const char *pem)
{
    if (c->accounts)
        nsaccounts_set_root_ca(c->accounts, pem);
}

/* Kinds that every server has; others may be missing, or come later. */
bool cluster_ready(const struct cluster *c)
{
    static const struct kind *const kinds[] = { &kind_pod, &doc_replicaset, &doc_deployment,
                                                &doc_job, &kind_node };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct informer *inf = caches_find(c->caches, kinds[i]->group, kinds[i]->plural);
        if (inf && !informer_synced(inf))
            return false;
    }
    return !c->hollow || hollow_ready(c->hollow);
}

struct cluster_stats cluster_stats(const struct cluster *c)
{
    struct controllers_stats done = controllers_stats(c->controllers);
    struct cluster_stats s = c->stats;

    s.syncs = done.syncs;
    s.retries = done.retries;
    s.writes = done.writes;
    s.failures = done.failures;
    s.in_flight = done.in_flight;
    return s;
}
