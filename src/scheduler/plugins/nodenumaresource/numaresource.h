/* numaresource.h - what the files of the plugin share: the pod as the plugin sees it, and what it
 * asks of a row. Everything here is pure over the row's stock.
 */
#ifndef KOORD_SCHEDULER_NODENUMARESOURCE_NUMARESOURCE_H
#define KOORD_SCHEDULER_NODENUMARESOURCE_NUMARESOURCE_H
#include "base/vec.h"
#include "scheduler/framework/reservation.h"
#include "scheduler/plugins/nodenumaresource/args.h"
#include "scheduler/plugins/nodenumaresource/stock.h"

/* A row where room was given back: what reservations keep that the pod may use, or what pods have
 * that a reservation may take over. */
struct restored_row {
    uint32_t row;
    const struct ks_reservation *const *matched;
    uint32_t nmatched;
    const struct pod *const *pods;
    uint32_t npods;
};
/* Those of an attempt; several attempts may be nested. */
struct restored_rows {
    uint64_t serial; /* of the attempt; 0: none */
    struct vec_of(struct restored_row) rows;
};
enum { ATTEMPTS_NESTED = 4 };

struct numa_plugin {
    struct grants *grants; /* first: row data is filled with it */
    struct restored_rows restored[ATTEMPTS_NESTED];
    uint32_t restored_next;
    const struct numa_args *args;
    enum cpu_bind_policy default_bind;
    enum numa_strategy node_strategy, zone_strategy;
    struct arena *scratch; /* of one row */
};

struct incoming { /* the state: what the pod asks for, whatever the row */
    int64_t amount[NUMA_RESOURCES];
    uint32_t asks;
    bool bind; /* by its own QoS and policies */
    enum cpu_bind_policy required, preferred;
    enum cpu_exclusive_policy exclusive;
    enum numa_policy policy;
    enum numa_exclusive numa_exclusive;
    bool of_others; /* only what a reservation keeps will do, or what a running pod has */
    /* What a scheduling hint wants it to get, and nothing else; NULL: it may be anything. */
    const struct numa_allocation *designated;
};

enum numa_why { /* why a row does not do */
                WHY_FITS,
                WHY_POLICY,
                WHY_INTEGER,
                WHY_RATIO,
                WHY_AMPLIFIED,
                WHY_TOPOLOGY,
                WHY_CONFLICT,
                WHY_SMT,
                WHY_CPUS,
                WHY_NUMA,
                WHY_NO_NUMA
};
/* Does the pod fit the row? texts: of the reasons that have no constant one; may be NULL. */
uint8_t numa_judge(struct numa_plugin *n, const struct ks_cycle *c, const struct ks_pod *p,
                   uint32_t row, struct ks_texts *texts);

/* As in the contract (plugin.h): both say what numa_judge() and numa_reserve() would, by columns as
 * far as these know it. */
void numa_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                 const uint8_t *skip, uint8_t *restrict why);
void numa_would_refuse(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                       struct ks_span s, const uint8_t *skip, uint8_t *restrict why);

/* The pod on a row: is it bound there, by which policy, and what does it weigh? false: it asks for
 * a part of a CPU where pods are bound. */
bool incoming_on(const struct numa_plugin *n, const struct incoming *in, const struct stock *s,
                 struct numa_request *ret);
/* The policy of pod and node together; false: they differ. */
bool incoming_policy(const struct incoming *in, const struct stock *s, enum numa_policy *ret);
/* On which NUMA nodes; mask 0: it does not matter. For policies that are not none. */
enum ks_code numa_place(struct numa_plugin *n, const struct ks_cycle *c, const struct ks_pod *p,
                        uint32_t row, enum numa_policy policy, uint64_t *ret_mask,
                        struct ks_texts *why);
/* What the pod gets on the row, on these NUMA nodes: of any reservation that it may use, or of what
 * nobody reserved. ret and why may be NULL. */
struct numa_try {
    struct numa_plugin *n;
    const struct ks_cycle *c;
    const struct ks_pod *p;
    uint32_t row;
    const struct numa_request *r;
};
enum ks_code numa_try(const struct numa_try *t, uint64_t mask, struct numa_allocation *ret,
                      struct ks_texts *why);
/* The same of the reservation that it takes, or of none (NULL); a reservation: of the pods that it
 * takes over. */
enum ks_code numa_try_of(const struct numa_try *t, const struct ks_reservation *of, uint64_t mask,
                         struct numa_allocation *ret, struct ks_texts *why);
/* Are there pods on the row that the reservation may take over? */
bool numa_takes_over(const struct numa_try *t);
/* Rows of the span where room was given back for this pod: what is `from` becomes `to`. */
void numa_mark_restored(struct numa_plugin *n, const struct ks_cycle *c, struct ks_span s,
                        uint8_t from, uint8_t to, uint8_t *why);
/* Writes on the pod, or on the Reservation, what it got. */
enum ks_code numa_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why);
extern const struct ks_reservation_hooks numa_reservations;
extern const struct ks_numa numa_provider;
/* As in the contract: each NUMA node of the row (koordctl explain). */
void numa_show(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
               struct kjw *w);

/* requested + what the pod asks for, against the capacity (sched-numa 8.1). */
struct numa_sums {
    int64_t requested[NUMA_RESOURCES], capacity[NUMA_RESOURCES];
};
int64_t numa_score_of(const struct numa_plugin *n, enum numa_strategy strategy,
                      const struct numa_request *r, const struct numa_sums *sums);
void numa_score(void *self, const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                int64_t *restrict out);
#endif
