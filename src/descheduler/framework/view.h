/* view.h - the cluster as one round sees it: nodes, their pods, objects that plugins read.
 *
 * Made from the caches; it holds a reference on what it has shown, so nothing it returns changes or
 * vanishes while the view lives. Nodes come in the order of their names, pods of a node by
 * namespace and name. Loop thread only.
 *
 * Nodes and pods are adapted as Koordinator's informers do it (descheduler 2): what the annotation
 * node.koordinator.sh/reservation takes is not allocatable, and deprecated resource names are
 * replaced.
 */
#ifndef KOORD_DESCHEDULER_VIEW_H
#define KOORD_DESCHEDULER_VIEW_H
#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/protocol.h"
#include "client/informer.h"

struct caches;
struct kd_view;
struct labelsel;

struct kd_node {
    const struct node *node;
    const char *name;
    reslist allocatable; /* adapted; the node's own is node->status.allocatable */
    bool ready;          /* or it does not say */
};
struct kd_pods {
    const struct pod *const *items;
    uint32_t n;
};

/* ---- making ----------------------------------------------------------------------------------- */

struct kd_view_opts {
    struct informer *nodes, *pods;
    struct caches *caches; /* for other kinds */
    /* Instead of these three: objects of any kinds. They must outlive the view. */
    const struct kobj *const *objects;
    size_t nobjects;
    const struct labelsel *include; /* nodes to show; NULL: all */
    bool not_ready;                 /* also nodes that are not ready */
    nsec_t now;
};
struct kd_view *kd_view_new(const struct kd_view_opts *o);
struct kd_view *kd_view_free(struct kd_view *v); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(kd_view_free, struct kd_view *)

/* ---- reading ---------------------------------------------------------------------------------- */

nsec_t kd_view_time(const struct kd_view *v);
uint32_t kd_view_count(const struct kd_view *v);
const struct kd_node *kd_view_node(const struct kd_view *v, uint32_t i);
/* -1: no such node, or the view leaves it out. */
int64_t kd_view_find(const struct kd_view *v, const char *name);
/* All pods bound to the node, those that have ended too. */
struct kd_pods kd_view_pods(const struct kd_view *v, uint32_t i);
/* The same without those that have ended (Succeeded, Failed). */
struct kd_pods kd_view_active(const struct kd_view *v, uint32_t i);
/* Resources have numbers in a view, given when they are first seen. Amounts are in thousandths of
 * the resource's unit, rounded up, and saturate. */
uint32_t kd_view_resource(const struct kd_view *v, const char *name);
const char *kd_view_resource_name(const struct kd_view *v, uint32_t resource);
struct kd_amount {
    uint32_t resource;
    int64_t milli;
};
struct kd_amounts {
    const struct kd_amount *items;
    uint32_t n;
};
/* What the pod asks for, by adapted names; pods with equal specs share it. Without `pods`. */
struct kd_amounts kd_view_requests(const struct kd_view *v, const struct pod *p);
/* What the active pods of a node ask for together, of one resource; of `pods`: their number. */
int64_t kd_view_requested(const struct kd_view *v, uint32_t i, uint32_t resource);
/* 0 when the node has none. */
int64_t kd_view_allocatable(const struct kd_view *v, uint32_t i, uint32_t resource);
/* The node that the pod is bound to, as a number; -1: none that the view shows. */
int64_t kd_view_node_of(const struct kd_view *v, const struct pod *p);

/* Another object by its key; NULL when there is none. The kind is one of the plugin's. Borrowed
 * until the next turn of the loop. */
const struct kobj *kd_view_object(const struct kd_view *v, const struct kind *k, const char *key);
/* Keeps an object as long as the view lives; returns it. */
const struct kobj *kd_view_hold(const struct kd_view *v, const struct kobj *o);
/* All of them, in no order: size_t it = 0; while ((o = kd_view_next(v, k, &it))) ... */
const struct kobj *kd_view_next(const struct kd_view *v, const struct kind *k, size_t *it);

/* Where a pod may go by its own words, compiled once for each spec. */
struct kd_apart { /* a required term of its anti-affinity */
    const struct pod_affinity_term *term;
    const struct labelsel *selector; /* NULL: it cannot be understood, and matches nothing */
};
struct kd_where {
    const struct labelsel *selector; /* nodeSelector; NULL: none */
    const struct nodesel *required;  /* required node affinity; NULL: none */
    const struct kd_apart *apart;
    uint32_t napart;
};
const struct kd_where *kd_view_where(const struct kd_view *v, const struct pod *p);

/* ---- adapted pods ----------------------------------------------------------------------------- */

/* spec.schedulerName, unless the label scheduling.koordinator.sh/scheduler-name says another. */
const char *kd_pod_scheduler(const struct pod *p);
#endif
