/* hollow.h - inside the hollow kubelets.
 *
 *   hollow.c          the nodes: born, registered, alive (leases, heartbeats)
 *   hollow_node.c     what their objects say: Node, Device, NodeResourceTopology
 *   hollow_slice.c    ResourceSlices of its DRA drivers
 *   hollow_claim.c    pods with ResourceClaims: when they may start, when devices are free
 *   hollow_pod.c      pods as state machines: admitted, started, ready, ended, stopped
 *   hollow_script.c   what the commands of containers mean: how long they run, how they end
 *   hollow_status.c   the status of a pod in each of its stages
 *   hollow_usage.c    what pods want and what they get: readings, work, slow minutes
 *   hollow_metric.c   NodeMetric, as koordlet would publish it
 */
#ifndef KOORD_CLUSTER_HOLLOW_H
#define KOORD_CLUSTER_HOLLOW_H
#include "api/node.h"
#include "cluster/contention.h"
#include "cluster/hollow_script.h"
#include "cluster/internal.h"
#include "cluster/load.h"

#define LABEL_HOLLOW   "sim.koordinator.sh/hollow"
#define ANNO_LOAD      "sim.koordinator.sh/load"
#define ANNO_RUN       "sim.koordinator.sh/run"
#define ANNO_WORK      "sim.koordinator.sh/work"
#define ANNO_EXIT_CODE "sim.koordinator.sh/exit-code"
#define ANNO_RESTARTS  "sim.koordinator.sh/restarts"

enum hstage {             /* of a pod */
              H_NEW,      /* not looked at yet */
              H_REJECTED, /* did not fit: Failed */
              H_CREATING, /* sandbox, images */
              H_INIT,     /* init containers */
              H_STARTED,  /* containers run, not ready yet */
              H_READY,
              H_BACKOFF, /* ended, to be started again */
              H_ENDED    /* Succeeded or Failed */
};
struct hcount {
    char *name;
    int64_t count;
};
struct hdemand { /* what a pod wants, by its spec and annotations */
    struct load load;
    int64_t limit_mcpu, limit_bytes; /* 0: none */
    int64_t request_mcpu, request_bytes;
    int64_t work; /* core-milliseconds until its containers end; 0: they end by time */
    bool be, prod, service;
};
struct husage { /* what it got */
    struct load_usage now;
    int64_t peak_mcpu[2], peak_bytes[2]; /* of this quarter of an hour and the one before */
    nsec_t quarter;                      /* which one */
    nsec_t slow_minute;                  /* the last one, since 1970; 0: none */
    int64_t done;                        /* of the work */
};
struct hpod {
    struct hnode *node;
    char *key;
    char uid_text[KUID_TEXT_MAX];
    uint64_t seed;
    enum hstage stage, written; /* written: what the server has */
    nsec_t since;               /* wall: when the stage began */
    nsec_t started_at;          /* wall: the containers */
    nsec_t stop_at;             /* wall: when a deletion is confirmed; 0: none asked */
    int32_t restarts, exit_code;
    unsigned ip;
    char *reject_reason, *reject_message;
    struct vec_of(struct hcount) requests; /* counted against the node */
    struct vec_of(int32_t) host_ports;
    bool holds; /* resources */
    bool script_asked, script_read, script_known;
    struct hscript script; /* what its commands do */
    bool past_deadline;    /* activeDeadlineSeconds is over */
    bool demand_known;
    struct hdemand demand;
    struct husage usage;
};
/* Use of a node, each READING_EVERY: half an hour of it. */
#define READING_EVERY (15 * NSEC_PER_SEC)
enum { READINGS_MAX = 120 };
struct hreadings {
    uint32_t n, next;
    uint32_t mcpu[READINGS_MAX], kib[READINGS_MAX];
};
enum { HOLLOW_IPS = 4094 }; /* addresses for the pods of a node: 1 ... */
struct hnode {
    struct hollow *h;
    char *name, *zone;
    const struct hollow_shape *shape;
    unsigned index;
    bool registered, gone, extras_done, lease_known;
    nsec_t status_at; /* wall: last heartbeat in the status */
    struct vec_of(struct hpod *) pods;
    unsigned next_ip;      /* the last number that was handed out; 0: none yet */
    nsec_t metric_written; /* updateTime of our last NodeMetric, in seconds; 0: none */
    nsec_t used_until;     /* wall: what pods got is counted until then; 0: nothing yet */
    nsec_t reading_at;     /* wall: of the last reading that is kept */
    struct load_usage use, system;
    int64_t be_mcpu;
    unsigned services_short; /* got less than they wanted */
    struct hreadings readings;
    struct hfiles files;
};
struct hollow {
    struct cluster *c;
    struct hollow_opts o;
    struct arena *arena; /* shapes */
    struct hollow_shape *shapes;
    struct hnode *nodes;
    size_t n;
    struct map by_name; /* struct hnode */
    struct map pods;    /* by key: struct hpod */
    struct controller *node_controller, *pod_controller;
    struct controller *metric_controller; /* NULL: no NodeMetrics are published */
    struct informer *node_cache, *pod_cache, *slo_cache;
    struct informer *claim_cache; /* ResourceClaims */
    struct timer *usage_timer;
    unsigned usage_slot;
    claimvec others, be; /* of the node that is read just now */
    struct cluster_usage sum;
};

/* hollow_node.c */
void hnode_defaults(struct hollow_shape *s);
void hnode_write_node(const struct hnode *n, struct strbuf *out);
void hnode_write_status(const struct hnode *n, nsec_t now, const struct node *old,
                        struct strbuf *out);
void hnode_write_device(const struct hnode *n, struct strbuf *out);
void hnode_write_topology(const struct hnode *n, struct strbuf *out);
void hnode_gpu_uuid(const struct hnode *n, unsigned i, char *out, size_t size);

/* hollow_slice.c: makes what is missing, brings what is there to this shape. */
void hnode_publish_slices(struct batch *b, const struct hnode *n, const struct kobj *node);

/* hollow_claim.c */
/* May its containers start? If not, the pod is looked at again in time. */
bool hpod_prepare_claims(struct batch *b, struct hpod *hp, const struct pod *p);
/* From hpod_prepare_claims() on, until the claims are released. */
bool hpod_holds_devices(const struct pod *p);
void hpod_release_claims(struct batch *b, const struct pod *p); /* its containers have ended */

/* hollow_pod.c */
void hpod_sync(void *arg, struct batch *b, const char *key, struct kobj *pod);
void hpod_free(struct hollow *h, struct hpod *p);

/* hollow_status.c */
void hpod_write_status(const struct hpod *hp, const struct pod *p, nsec_t now, struct strbuf *out);
/* Stopped by a deletion: containers ended, a phase that is final. */
void hpod_write_stopped(const struct hpod *hp, const struct pod *p, nsec_t now, struct strbuf *out);

/* hollow_usage.c */
void husage_start(struct hollow *h);
void husage_stop(struct hollow *h);
/* Brings what is known of a node's pods to this moment. */
void husage_read(struct hnode *n);
/* The pod object has changed: what it wants is read again. */
void husage_pod_changed(struct hpod *hp);
/* It starts anew or is gone: whatever its containers did is lost. */
void husage_pod_lost(struct hpod *hp);
/* Its containers ended by themselves: their work is done. */
void husage_pod_ended(struct hpod *hp);
/* What it wants; read when it has changed. */
const struct hdemand *husage_demand(struct hpod *hp, const struct pod *p);
bool husage_runs(const struct hpod *hp);

/* hollow_metric.c */
void hmetric_sync(void *arg, struct batch *b, const char *node, struct kobj *metric);
#endif
