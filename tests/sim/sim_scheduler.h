/* sim_scheduler.h - what the files of the scheduler's simulation share.
 *
 * The model is what the server holds: it changes by what the run itself does there, and by what
 * schedulers have written (fake_on_write), which is judged at that moment. A scheduler is never
 * asked what it thinks, except by the plugins below, which every one of them runs.
 */
#ifndef KOORD_TESTS_SIM_SCHEDULER_H
#define KOORD_TESTS_SIM_SCHEDULER_H
#include "client/test/client_fixture.h"

#include "base/cpuset.h"
#include "base/vec.h"
#include "scheduler/framework/profile.h"
#include "scheduler/scheduler.h"

enum {
    SIM_NODES = 20,
    SIM_PODS = 100,
    SIM_ZONES = 3,
    SIM_APPS = 5,
    SIM_BUDGETS = 4,
    SIM_NOWHERE = -1,
    SIM_KEPT_MCPU = 500, /* what the plugin Rows keeps on some nodes */
    SIM_KEPT_PORT = 8000,
    SIM_NUMA_NODES = 2,
    SIM_QUOTAS = 6,
    SIM_ATTEMPTS_MAX = 4000 /* of one scheduler: more, and it goes in circles */
};
enum { /* plugins that take part in a run; the seed decides */
       SIM_CENSUS = 1 << 0,
       SIM_FETCH = 1 << 1,
       SIM_CLERK = 1 << 2,
       SIM_ROWS = 1 << 3,
       SIM_PAIR = 1 << 4,
       SIM_GAUGE = 1 << 5,
       SIM_RESERVE = 1 << 6,
       SIM_LOAD = 1 << 7,
       SIM_NUMA = 1 << 8,
       SIM_QUOTA = 1 << 9,
       SIM_ALL_PARTS = 10 /* so many */
};
#define SIM_NODES_PATH "/api/v1/nodes"
#define RESERVATIONS   "/apis/scheduling.koordinator.sh/v1alpha1/reservations"

struct sim_room {
    int mcpu, mib, pods;
};
struct sim_version { /* of a node, as it was at a revision of the server */
    uint64_t revision;
    struct sim_room room;
    bool cordoned, tainted;
    int bind;  /* it binds every pod: enum sim_bind */
    int ratio; /* its CPUs are amplified, in percent; 100: they are not */
};
enum sim_bind { SIM_BIND_ANY, SIM_BIND_FULL, SIM_BIND_SPREAD };
struct sim_topology { /* of a node, as it was at a revision of the server */
    uint64_t revision;
    bool machine; /* its CPUs are described, in a way that can be read */
    bool zones;   /* and so is what its NUMA nodes have */
    int policy;   /* enum numa_policy */
    struct cpuset reserved;
};
struct sim_node {
    char name[8];
    int zone;
    bool ssd, alive;
    struct sim_version now;
    struct vec_of(struct sim_version) versions; /* all there were */
    struct sim_topology topology;               /* revision 0: there is none */
    struct vec_of(struct sim_topology) topologies;
};
struct sim_quota {
    bool alive, lends, memory, by_namespace; /* memory: max names it */
    int parent, max, min, weight;            /* in CPUs */
};
struct sim_pod {
    char name[8]; /* another pod may have had it before */
    struct kuid uid;
    int mcpu, mib, priority, app;
    int port; /* on the host; 0: none */
    int near; /* only in a zone with a pod of this app; SIM_NOWHERE: anywhere */
    bool needs_ssd, tolerates, alone, spread; /* alone: no other pod of its app on its node */
    bool gated;
    const char *scheduler; /* its name; "foreign": none of ours */
    bool foreign;
    bool kept_out; /* by the plugin Fetch, while its app is closed */
    bool paired;   /* the plugin Pair makes room for two of them at once */
    bool pinned;   /* it wants CPUs of its own */
    int bind;      /* enum sim_bind: a policy that it requires */
    int quota;     /* by label; SIM_NOWHERE: it has none */
    struct cpuset cpus;
    struct sim_room parts[SIM_NUMA_NODES]; /* what it has of them */
    bool reserved;                         /* a Reservation; its pod is a placeholder */
    bool best_effort;
    bool alive, dying;
    int node, nominated; /* as the server has it */
    int by;              /* the scheduler that bound it */
    int said_by;         /* the scheduler that wrote its status last */
    int undone;          /* where it was reserved until this moment */
    nsec_t undone_at;
    uint64_t bound; /* order of bindings */
    struct sim *sim;
    struct timer *end; /* of its grace */
};

/* A nomination a scheduler's plugins know of: reserved, not yet undone or bound. */
struct sim_hold {
    struct sim_scheduler *of;
    struct kuid uid;
    int node;
    uint64_t revision;   /* of the node that the scheduler saw */
    uint64_t topology;   /* of its NodeResourceTopology; 0: none */
    struct timer *timer; /* the answer to a permit or a pre-bind */
    struct ks_bind *bind;
    enum ks_code answer;    /* then */
    bool annotates, labels; /* what the plugin wants on the pod */
};
struct sim_known { /* what a scheduler's services were told of a pod */
    struct kuid uid;
    int node, assumed; /* where it is, and where it is assumed to be */
};
struct sim_uids vec_of(struct kuid);
struct sim_scheduler { /* one instance; its record stays until the end of the run */
    struct sim *sim;
    int number;
    char agent[16];
    uint64_t born; /* bindings before it */
    struct ks_env env;
    struct http *http, *faulty;
    struct kube *kube;
    struct scheduler *s; /* NULL: gone */
    nsec_t ended;        /* then */
    struct vec_of(struct sim_hold *) holds;
    struct vec_of(struct sim_known) census;
    int services, instances; /* of the plugin Census */
    bool open[SIM_APPS];     /* the plugin Fetch lets their pods in */
    struct timer *opens;
    struct sim_uids named;              /* that it has asked for, and that have not come back yet */
    struct sim_uids let_in;             /* pods that it did not keep out */
    struct vec_of(struct kobj *) pairs; /* pods that the plugin Pair knows */
    bool asked;                         /* it was asked for room, and not told the outcome yet */
    struct kuid asked_of;
    bool leads, overlapped;          /* with another that led */
    struct controller *clerk;        /* runs; NULL: it does not */
    const struct ks_row_data *gauge; /* of the plugin Gauge */
    struct sim_load *load;           /* of the plugin LoadJudge; NULL: gone */
    struct sim_charges *charges;     /* of the plugin QuotaJudge; NULL: gone */
};
struct sim_owed { /* a pod was evicted, and we have not seen yet for whom */
    int node, priority;
    nsec_t since;
};

struct sim {
    uint64_t seed;
    int step;
    struct loop *loop;
    struct intern *strings;
    struct fakeapi *fake;
    struct sim_node nodes[SIM_NODES];
    struct sim_quota quotas[SIM_QUOTAS];
    struct sim_pod pods[SIM_PODS];
    int npods;
    struct vec_of(struct sim_scheduler *) schedulers;
    struct vec_of(struct sim_owed) owed;
    uint64_t binds;  /* the order of bindings */
    unsigned faults; /* of the network, in 1/1000 */
    bool crowded;    /* pods are large: many evict others */
    bool chaos;      /* the plugin makes trouble */
    unsigned parts;  /* SIM_CENSUS ... */
    struct kobj *placeholder;
    struct sim_counts { /* the runs are worth something only if all of it happened */
        uint64_t bound, evicted, undone, late, refused, waited, pending, leaders, kept_out, fetched,
            stamped, annotated, labelled, unstamped, overlaid, found, outcomes, pairs, filled,
            counted, reserved, judged, pinned, quotas_judged, quotas_admitted, quotas_gone, aligned,
            amplified, reserved_cpus;
    } n;
};

extern const char *const sim_scheduler_names[]; /* of the two profiles */
int sim_below(struct sim *s, int n);
bool sim_chance(struct sim *s, int percent);
/* Says seed, step and time, and ends the test. */
void sim_fail(const struct sim *s, const char *fmt, ...) PRINTF(2, 3) NORETURN;
int sim_node_of(const struct sim *s, const char *name);
struct sim_pod *sim_pod_of(struct sim *s, struct kuid uid); /* NULL: gone */
/* The server was asked to delete it; with a node it has some time left. */
void sim_pod_evicted(struct sim *s, struct sim_pod *p);
const char *sim_pod_json(const struct sim *s, const struct sim_pod *p); /* on the server; or NULL */

/* sim_scheduler_churn.c */
void churn_new_nodes(struct sim *s);
void churn_change_node(struct sim *s);
void churn_delete_node(struct sim *s);
void churn_new_pods(struct sim *s); /* a few, while there are fewer than SIM_PODS */
void churn_change_pod(struct sim *s);
void churn_end_pod(struct sim *s);
void churn_end_all(struct sim *s);
struct strbuf;
/* The pod of a Reservation, without its last brace. */
void churn_write_placeholder(const struct sim_pod *p, const char *node, const char *annotations,
                             struct strbuf *b);

/* sim_scheduler_judge.c */
void judge_wrote(void *sim, const char *agent, const char *method, const char *target,
                 const struct kj_val *body);
void judge_step(struct sim *s);
/* All news have arrived: nothing is kept for pods that are gone. */
void judge_holds(struct sim *s, const struct sim_scheduler *of);
/* Faults have stopped for long enough. */
void judge_end(struct sim *s);

/* sim_scheduler_plugins.c - ks_registry, a ledger of reservations, and a plugin that makes trouble.
 * The scheduler that is born next is told by plugins_for(). */
const struct ks_registered *plugins_for(struct sim_scheduler *s);
void plugins_calm(struct sim_scheduler *s); /* nobody waits for a permit any more */
struct sim_hold *hold_find(struct sim_scheduler *s, struct kuid uid);
void holds_free(struct sim_scheduler *s);

/* sim_scheduler_fetch.c - a plugin that keeps pods out of the queue and fetches some of them. */
extern const struct ks_plugin fetch_plugin;
void fetch_for(struct sim_scheduler *s);  /* the scheduler that is born next */
void fetch_calm(struct sim_scheduler *s); /* it lets all in */

/* sim_scheduler_clerk.c - a plugin with a controller, which writes where its scheduler leads. */
extern const struct ks_plugin clerk_plugin;
void clerk_for(struct sim_scheduler *s); /* the scheduler that is born next */
void clerk_new_budgets(struct sim *s);
void clerk_unstamp(struct sim *s); /* something to do for it */
void clerk_judge_write(struct sim *s, const struct sim_scheduler *by);
void clerk_judge_end(struct sim *s);

/* sim_scheduler_rows.c - a plugin that changes rows for an attempt, and names rows. */
extern const struct ks_plugin rows_plugin;
void rows_for(struct sim_scheduler *s); /* the scheduler that is born next */
struct kobj *rows_placeholder(struct sim *s);
/* Does the placeholder take room on the node, for a pod of this priority? */
bool rows_are_kept(const struct sim *s, int node, int priority);

/* sim_scheduler_reserve.c - a plugin that gives nodes to Reservations. */
extern const struct ks_plugin reserve_plugin;
void reserve_for(struct sim_scheduler *s); /* the scheduler that is born next */

/* sim_scheduler_pair.c - a plugin whose plans make room for two pods. */
extern const struct ks_plugin pair_plugin;
void pair_for(struct sim_scheduler *s); /* the scheduler that is born next */

/* sim_scheduler_gauge.c - a plugin with row data, and reports of nodes. */
const struct ks_plugin *gauge_for(struct sim_scheduler *s); /* the scheduler that is born next */
void gauge_report(struct sim *s);
void gauge_calm(struct sim *s); /* no node is too busy */

/* sim_scheduler_load.c - LoadAwareScheduling, and a plugin that judges where it lets pods go. */
extern const struct ks_plugin load_judge;
void load_for(struct sim_scheduler *s); /* the scheduler that is born next */
void load_report(struct sim *s);
void load_calm(struct sim *s); /* nodes report nothing */
/* Some thresholds of a node, with a comma behind; "": none. */
const char *load_annotation(struct sim *s);
void load_judge_end(struct sim *s); /* nothing is left when all pods have gone */

/* sim_scheduler_numa.c - pods with CPUs of their own, and with parts of NUMA nodes. */
void numa_new_topologies(struct sim *s);
void numa_change_topology(struct sim *s);
/* Members of a node's labels and annotations, each with a comma behind. */
const char *numa_labels(const struct sim_node *n);
const char *numa_annotations(const struct sim_node *n);
void numa_any_policies(struct sim *s, struct sim_node *n); /* other ones */
/* An annotation of the pod; "": none. */
const char *numa_annotation(const struct sim_pod *p);
/* It is on its node now, by this binding. */
void numa_judge_bind(struct sim *s, const struct sim_scheduler *by, struct sim_pod *p,
                     const struct sim_hold *h, const struct kj_val *body);
/* Certainly; in doubt it says no. */
bool numa_fits(const struct sim *s, const struct sim_pod *p, int node);

/* sim_scheduler_quota.c - ElasticQuota, and a plugin that knows what it should know. */
extern const struct ks_plugin quota_judge_plugin;
void quota_for(struct sim_scheduler *s); /* the scheduler that is born next */
void quota_new(struct sim *s);
void quota_change(struct sim *s);
void quota_calm(struct sim *s); /* all parents are there */
/* A label of the pod with a comma behind; "": none. And another one. */
const char *quota_label(const struct sim_pod *p);
void quota_change_pod(struct sim *s, struct sim_pod *p);
void quota_judge(struct sim_scheduler *of);     /* by the objects that the scheduler knows */
void quota_judge_end(struct sim_scheduler *of); /* by the server's, when all news have arrived */
bool quota_fits(const struct sim *s, const struct sim_pod *p);

/* sim_scheduler_census.c - a service that is told of pods, and what it was told. */
KS_SERVICE(census, struct sim_scheduler)
extern const struct ks_plugin census_plugin;
void census_for(struct sim_scheduler *s);        /* the scheduler that is born next */
void census_judge(struct sim_scheduler *of);     /* by the scheduler's own count, at any time */
void census_judge_end(struct sim_scheduler *of); /* by the server's, when all news have arrived */
#endif
