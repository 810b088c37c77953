/* whatif.h - what would become of a pod: the verdict or the scores of every node, and who would
 * have to go to make room.
 *
 * The scheduler's own attempt on a cluster that is put together from objects: of files, of a dump,
 * of a test. Nothing is written anywhere. One thread; holds a reference on each object it reads.
 *
 *     w = whatif_new(&config, ks_registry, &err);
 *     whatif_add(w, node, &err); ...
 *     whatif_explain(w, pod, now, &r, &err);   whatif_preempt(w, &p, &err);
 */
#ifndef KOORD_SCHEDULER_OBSERVE_EXPLAIN_WHATIF_H
#define KOORD_SCHEDULER_OBSERVE_EXPLAIN_WHATIF_H
#include "scheduler/framework/profile.h"

struct attempt;
struct strbuf;
struct whatif;

struct whatif *whatif_new(const struct profile_config *c, const struct ks_registered *table,
                          struct kerr *err);
struct whatif *whatif_free(struct whatif *w);
DEFINE_CLEANUP(whatif_free, struct whatif *)
/* An object of any kind: nodes, pods that have a node or a nominated one, and whatever the
 * profile's plugins read; others do no harm. -EINVAL: a pod without uid. */
int whatif_add(struct whatif *w, struct kobj *o, struct kerr *err);
/* Kind number i that the profile's plugins read beside nodes and pods; NULL behind the last. */
const struct kind *whatif_kind(const struct whatif *w, unsigned i);

/* The service that a plugin of the profile provides under this key, which knows of everything that
 * was added; NULL: no plugin does. */
void *whatif_service(struct whatif *w, const struct ks_service *key);

/* ---- nodes ----------------------------------------------------------------------------------- */

struct whatif_score {
    const char *plugin;
    int64_t score, weight; /* 0..100, before the weight */
};
/* Something that keeps the pod from the node; all of them must change before it fits. */
struct whatif_change {
    const char *plugin;
    enum ks_code code;    /* KS_UNRESOLVABLE: pods that leave the node do not change it */
    const char *reason;   /* the plugin's words */
    const char *resource; /* of which there is too little; NULL: it is not about that */
    int64_t missing;      /* so much: cpu in milli, others in units */
    const char *taint;    /* "key=value:Effect"; NULL: it is not about that */
};
struct whatif_node {
    const char *name;
    enum ks_code code;    /* KS_SUCCESS: it fits */
    const char *plugin;   /* the first that said no; NULL: none, or the node was left out */
    const char **reasons; /* sorted */
    struct whatif_change *changes;
    struct whatif_score *scores; /* by name of the plugin; when the node fits */
    int64_t total;
    const char *details; /* what plugins show of it: a JSON object by their names */
    uint32_t nreasons, nchanges, nscores;
    const char **usable; /* reservations of the node that the pod may use, by name */
    uint32_t nusable;
    /* By others, with those given back. When the pod was rejected before nodes were looked at:
     * what all of them request. */
    int64_t used_mcpu, used_memory;
};
struct whatif_result {
    const char *held_by; /* a plugin that keeps the pod out of the queue; NULL: none */
    const char **held_reasons;
    struct whatif_node *nodes; /* by name */
    const char **best;         /* nodes with the highest total, by name */
    const char *message;       /* what the event would say; NULL when a node fits */
    uint32_t nheld_reasons, nnodes, nbest;
};
/* The result lives until the next call or change. When the pod itself is in the cluster, it counts
 * as not placed. -EIO: a plugin failed. */
int whatif_explain(struct whatif *w, struct kobj *pod, nsec_t now, struct whatif_result *ret,
                   struct kerr *err);
/* An attempt for the pod, in which no node was looked at yet, for those who try more than one pod;
 * lives until the next call or change. */
struct attempt *whatif_begin(struct whatif *w, struct kobj *pod, nsec_t now);
/* What would become of a gang, "namespace/name", as JSON (whatgang.c). -ENOENT: nothing names it;
 * -ENOTSUP: the profile knows no gangs. */
int whatif_explain_gang(struct whatif *w, const char *id, nsec_t now, struct strbuf *json,
                        struct kerr *err);
/* A Markdown table of the best nodes of the last whatif_explain(), with weighted scores. */
void whatif_write_scores(const struct whatif *w, unsigned max, struct strbuf *out);

/* ---- what the pod would get ------------------------------------------------------------------ */

struct whatif_note { /* that the binding would write on the pod */
    bool label;
    const char *key, *value; /* value NULL: the key goes */
};
struct whatif_placement {
    enum ks_code code;         /* not success: a plugin refuses to reserve, or to bind */
    const char *plugin;        /* that one */
    const char *point;         /* "Reserve" or "PreBind" */
    const char **reasons;      /* sorted */
    struct whatif_note *notes; /* in the order of plugins */
    uint32_t nreasons, nnotes;
    const char *reservation; /* that it would take; NULL: none */
};
/* For the pod of the last whatif_explain(), on a node that it found to fit: reserved, and given
 * back again. Plugins whose preparation takes time are left out. -ENOENT: no such node. */
int whatif_place(struct whatif *w, const char *node, struct whatif_placement *ret,
                 struct kerr *err);

/* ---- making room ----------------------------------------------------------------------------- */

struct whatif_preemption {
    enum ks_code code;
    const char *message;              /* "" with KS_SUCCESS */
    const char *node;                 /* that would be nominated; "": none */
    const struct pod *const *victims; /* to be evicted: terminating ones go by themselves */
    uint32_t n;
};
/* For the pod of the last whatif_explain(), which found no node. -ENOTSUP: no plugin of the profile
 * makes room. */
int whatif_preempt(struct whatif *w, struct whatif_preemption *ret, struct kerr *err);

/* ---- JSON ------------------------------------------------------------------------------------ */

enum {
    WHATIF_CHANGES = 1 << 0, /* what would have to change too */
    WHATIF_DETAILS = 1 << 1  /* what plugins know of the nodes too: "details":{"Plugin":{..}} */
};
/* {"nodes":{"n1":{"fit":true,"scores":{..},"total":586},"n2":{"fit":false,"plugin":..,"code":..,
 * "reasons":[..]}},"best":["n1"]} or "message" */
void whatif_write(const struct whatif_result *r, unsigned flags, struct strbuf *out);
/* {"code":"Success","nominatedNode":"n1","victims":["ns/name"]} or "message" */
void whatif_write_preemption(const struct whatif_preemption *p, struct strbuf *out);
#endif
