/* sim_dra.h - devices by ResourceClaim in a whole cluster where everything goes wrong: sim_dra.c
 * says what happens, sim_dra_drivers.c what devices there are, sim_dra_judge.c what must hold,
 * sim_dra_search.c where a pod could go. */
#ifndef KOORD_TESTS_SIM_DRA_H
#define KOORD_TESTS_SIM_DRA_H
#include "sim_cluster.h"

#include "api/dra.h"
#include "base/vec.h"
#include "component/gates.h"
#include "sim_net.h"

struct scheduler;

#define GPU_DRIVER "gpu.sim"
#define NET_DRIVER "net.sim"
#define IN_ZONE_A                                                               \
    "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":" \
    "\"topology.kubernetes.io/zone\",\"operator\":\"In\",\"values\":[\"zone-a\"]}]}]}"
#define ATTACHED "sim/attached" /* binding conditions of devices */
#define BROKEN   "sim/broken"
#define NEVER    INT64_MAX
enum {
    NODES = 3,
    GPUS = 4,
    NETS = 3,
    POOLS = NODES + 2,
    TEMPLATES = 14,
    GATED_TEMPLATES = 4, /* more of them, that use the run's gate */
    CLAIMS = 4,
    NODE_PODS = 5,
    RULES = 2,
    TAINT_KINDS = 4 /* none is the first */
};
/* The feature of a run that is off by default. */
enum sim_gate { NO_GATE, PARTITIONS, TAINTS, TAINT_RULES, CAPACITY, CONDITIONS, SIM_GATES };

struct dra_counts { /* over all runs: where nothing happens nothing is proved */
    uint64_t judged, bound, allocated, shared, admin, network, later, kills, takeovers, deallocated,
        forced, pending;
    uint64_t parts, taints, rules, tolerated, shares, attached, failures; /* of gates */
};
struct device_taint_now {
    unsigned kind; /* 0: none */
    nsec_t since;
};
struct pool { /* what a driver says of one */
    int64_t generation;
    unsigned slices, devices; /* slices with devices; devices: in all of them */
    struct device_taint_now taints[GPUS];
};
struct sim_rule {                  /* a DeviceTaintRule */
    struct device_taint_now taint; /* kind 0: there is no such rule */
    int pool, device;              /* negative: any */
    bool network;                  /* of that driver only */
};
struct member { /* a scheduler */
    struct kube *link;
    struct scheduler *s;
};
struct dra_sim {
    struct sim s;
    uint64_t seed;
    enum sim_gate gate;
    struct gates gates; /* of both schedulers */
    int step, npods;
    struct net *net;
    struct kube *cluster_link;
    struct member leader, standby;
    nsec_t lead_at; /* the next leader may begin, by the lease */
    bool faults, had_faults, killed;
    struct pool pools[POOLS];
    struct sim_rule rules[RULES];
    struct informer *claims, *slices, *classes;
    struct vec_of(char *) bound; /* keys of pods, to be judged in a moment */
    struct timer *judge;
    struct dra_counts n;
};
NORETURN void dra_die(const struct dra_sim *d, const char *fmt, ...) PRINTF(2, 3);
static inline unsigned below(struct dra_sim *d, unsigned n)
{
    return (unsigned)loop_rand_below(d->s.loop, n);
}
static inline bool chance(struct dra_sim *d, unsigned percent)
{
    return below(d, 100) < percent;
}

/* ---- drivers ---------------------------------------------------------------------------------- */

void new_pools(struct dra_sim *d);
void change_pool(struct dra_sim *d, int pool);
void lose_slice(struct dra_sim *d, int pool);
void mend_pool(struct dra_sim *d, int pool);
void change_taints(struct dra_sim *d); /* now and then: of a pool's devices, or by rules */
/* Drivers say of devices with binding conditions that they are ready, or that they never will be;
 * and of some nothing, unless all is well. */
void drivers_report(struct dra_sim *d, bool all_well);

/* Devices are the same in all generations. Numbers are those at the end of their names. */
int name_number(const char *name);
int64_t pool_units(int pool); /* PARTITIONS: the counter of the pool, and what a device needs */
int64_t device_units(int pool, int device);
bool device_is_shared(int pool, int device); /* CAPACITY */
const char *capacity_name(int pool);
int64_t device_capacity(int pool);
/* What a request takes of it; asked negative: the request does not say. Negative: it cannot be. */
int64_t device_amount(int pool, int device, int64_t asked);
bool device_binds(int pool, int device); /* CONDITIONS */
/* Since when a taint has kept the device from such requests; NEVER: none does. */
nsec_t tainted_since(const struct dra_sim *d, int pool, int device, const struct device_ask *k);

/* ---- judge, search ---------------------------------------------------------------------------- */

/* The selectors that classes and requests have. NULL ends the table. */
struct known_selector {
    const char *expression;
    const char *driver, *model; /* NULL: any */
};
extern const struct known_selector known_selectors[];

void judge_begin(struct dra_sim *d);
void judge_stop(struct dra_sim *d);
void judge_step(struct dra_sim *d);
void judge_end(struct dra_sim *d); /* all is quiet */
const struct resource_claim *claim_named(const struct dra_sim *d, const char *name);
/* The name of the claim for an entry of a pod; NULL: none yet. */
const char *entry_claim(const struct pod *p, uint32_t entry);

/* Could the pod be placed on some node now, at the latest after claims that nobody else uses have
 * lost their devices? NULL: no; else a node's name. */
const char *search_place(const struct dra_sim *d, const struct pod *p);
bool claim_fits_node(const struct resource_claim *c, const struct node *n);
/* What a request takes of a device's capacity, with that gate; negative: it cannot have it. */
int64_t amount_for(int pool, int device, const struct device_ask *k);
#endif
