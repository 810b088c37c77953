/* explain.h - koordctl explain: why a pod has no node, or why it has this one; what a node gives to
 * batch pods, and why; what becomes of a pod on its way in.
 *
 * This room reads the cluster and writes the answer. What is in between is the scheduler's own
 * attempt, or the manager's calculation, on the objects that were read; main hands them in, since
 * rooms of one level do not include each other. Nothing is written to the cluster.
 */
#ifndef KOORD_CTL_EXPLAIN_H
#define KOORD_CTL_EXPLAIN_H
#include "base/base.h"

struct arena;
struct kind;
struct kj_scratch;
struct kj_val;
struct kobj;
struct pod;
struct quota_forest;
struct strbuf;

/* Where profiles come from. */
struct explain_config {
    const char *file; /* of a person; "": none */
    const char *text; /* of the cluster's scheduler; NULL: not known */
};
/* A scheduler that tries a pod on a cluster made of objects. */
struct explain_scheduler {
    /* By the profile of this name: of the file, when one is given, else of the cluster, else of the
     * configuration that is shipped, else the default plugins. notes: lines that the person should
     * know. */
    int (*open)(const char *scheduler_name, const struct explain_config *config,
                struct strbuf *notes, void **ret, struct kerr *err);
    void (*close)(void *self); /* NULL is fine */
    /* Kind number i that the profile reads beside nodes and pods; NULL behind the last. */
    const struct kind *(*kind)(const void *self, unsigned i);
    int (*add)(void *self, struct kobj *o, struct kerr *err);
    /* The answer as JSON, which -o json shows:
     *   nodes      by name: fit, and scores, total; or plugin, code, reasons, changes; and details:
     *              what plugins know of the node
     *   best       names; or message: what the event says
     *   held       plugin, reasons: what keeps it out of the queue; absent: nothing
     *   preemption code, nominatedNode, victims, priorities, or message; absent: nobody makes room
     */
    int (*try_pod)(void *self, struct kobj *pod, nsec_t now, struct strbuf *json, struct kerr *err);
    /* The table of the best nodes of a pod. */
    void (*scores)(const void *self, unsigned max, struct strbuf *out);
    /* The answer about a gang, "namespace/name":
     *   gang, onceSatisfied
     *   gangs   of its group: name, and when it exists from, ready, minMember, mode, matchPolicy,
     *           members, pending, bound, gated
     *   wanted  members that wait, fitting: those that have room now; absent: none waits
     *   first   that has none, message: why, full: why nodes take no more; absent: all fit
     *   nodes   by kind: nodes, slots, oneMore: members that another one would take
     *   network layer, domains: name and slots; absent: the network is nothing to it, or its rules
     *           do not count: networkIgnored
     */
    int (*try_gang)(void *self, const char *id, nsec_t now, struct strbuf *json, struct kerr *err);
};

/* The manager's calculation on the objects of a node. */
struct explain_node_objects { /* NULL: it is not there, except for the node */
    struct kobj *node, *metric, *slo, *topology, *device, *config;
    struct kobj *const *pods; /* on the node */
    size_t npods;
};
/* The webhooks' answer about a pod that was not created yet. */
struct explain_profile_objects {
    const struct kj_val *pod;
    const char *ns;         /* where it would be created */
    struct kobj *ns_object; /* NULL: it is not there */
    struct kobj *const *profiles, *const *classes;
    size_t nprofiles, nclasses;
    const struct kj_val *limit_ranges; /* of the namespace; NULL: none */
};
struct explain_manager {
    const char *config_ns, *config_name; /* of its ConfigMap */
    /* The answer as JSON, which -o json shows. */
    void (*node)(const struct explain_node_objects *o, nsec_t now, struct strbuf *json);
    void (*profile)(const struct explain_profile_objects *o, struct strbuf *json); /* the same */
};

/* ---- explain_cluster.c ----------------------------------------------------------------------- */

struct ctl;
struct explain_cluster { /* filled in by the caller, but for self */
    struct ctl *c;
    const struct explain_scheduler *scheduler;
    void *self; /* the scheduler's: close() it, whatever comes of the reading */
    struct kj_scratch *scratch;
    struct arena *arena;
    struct quota_forest *quotas; /* filled too, when it is there; NULL */
};
/* Opens the scheduler and gives it everything that it reads. The exit code. */
int explain_read_cluster(struct explain_cluster *x, const char *scheduler_name, const char *config);
/* A pod as a template describes it, for a cluster to try. node NULL: it looks for one. */
struct kobj *explain_template_pod(const struct explain_cluster *x, const struct kj_val *template,
                                  const char *ns, const char *name, const char *node,
                                  struct kerr *err);

/* ---- explain.c ------------------------------------------------------------------------------- */

typedef void (*explain_text_fn)(const struct kj_val *answer, struct strbuf *out);
/* Prints an answer that is JSON, as -o says; the text for people is made by the function. The exit
 * code. */
int explain_show(struct ctl *c, const struct strbuf *json, explain_text_fn text);

/* ---- explain_node.c -------------------------------------------------------------------------- */

int explain_node_run(struct ctl *c, const char *name); /* the exit code */
void explain_node_text(const struct kj_val *answer, struct strbuf *out);

/* ---- explain_profile.c ----------------------------------------------------------------------- */

int explain_profile_run(struct ctl *c, const char *file); /* the exit code */

/* ---- explain_podgroup.c ---------------------------------------------------------------------- */

/* ns NULL: the one in use. The exit code. */
int explain_podgroup_run(struct ctl *c, const char *ns, const char *name, const char *config);

/* ---- explain_reservation.c ------------------------------------------------------------------- */

int explain_reservation_run(struct ctl *c, const char *name, const char *config); /* exit code */
void explain_reservation_text(const struct kj_val *answer, struct strbuf *out);

/* ---- explain_text.c -------------------------------------------------------------------------- */

/* How many nodes fit, and what the others lack: of an answer of try_pod(). */
void explain_attempt_text(const struct kj_val *answer, struct strbuf *out);

/* ---- between explain.c, explain_text.c and explain_*.c --------------------------------------- */

struct explain_options {
    const char *config, *file;
    bool all_nodes;
    int top;
};
struct explained { /* what was found out */
    const struct pod *pod;
    const char *node;            /* where it is; NULL: nowhere yet */
    const struct kj_val *answer; /* of try_pod() */
    const char *scores;          /* the table; "" when no node fits */
    const struct kj_val *quota;  /* of explain_quota(); NULL: it has none */
};
/* explain_quota.c: the quota of a pod without a node, what is short and which quota limits, as
 * JSON; false: there is nothing to say. */
bool explain_quota(struct quota_forest *f, const struct pod *p, struct strbuf *json);
void explain_quota_text(const struct kj_val *quota, struct strbuf *out);
/* What a plugin knows of nodes, as a table: those that it rejected come first. */
struct explain_table {
    const char *plugin;
    const char *list; /* of its details: nodes where this is empty are left out; NULL: none are */
    const char *heading;
    /* The lines of a node. */
    void (*put_node)(struct str name, const struct kj_val *details, struct strbuf *out);
};
extern const struct explain_table explain_load_table, explain_numa_table, explain_device_table,
    explain_claim_table;
void explain_text(const struct explained *e, const struct explain_options *o, struct strbuf *out);
#endif
