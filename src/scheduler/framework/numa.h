/* numa.h - the NUMA topology manager: on which NUMA nodes of a node a pod shall be (sched-numa 7).
 *
 * Plugins that hand out what belongs to NUMA nodes (CPUs, memory, devices) say for each resource
 * which sets of NUMA nodes would do; the manager finds the set on which all of them agree, as the
 * policy of node and pod demands. Pure; memory comes from the caller's arena.
 */
#ifndef KOORD_SCHEDULER_FRAMEWORK_NUMA_H
#define KOORD_SCHEDULER_FRAMEWORK_NUMA_H
#include "api/protocol/cpu.h"
#include "base/base.h"
#include "scheduler/framework/plugin.h"

struct arena;

struct numa_hint {
    uint64_t mask; /* NUMA ids; 0: no preference */
    int64_t score;
    bool preferred, unsatisfied;
};
struct numa_hints { /* of one resource */
    const char *resource;
    const struct numa_hint *hints; /* masks in ascending size, then lexicographically */
    uint32_t n;                    /* 0: no set of NUMA nodes would do */
    bool any;                      /* no preference; hints is not read */
};
enum numa_status { NUMA_IDLE, NUMA_SINGLE, NUMA_SHARED }; /* who has CPUs of a NUMA node bound */

struct numa_question {
    enum numa_policy policy; /* not none */
    enum numa_exclusive exclusive;
    uint64_t nodes;        /* the NUMA ids that there are */
    const uint8_t *status; /* [64], by NUMA id: enum numa_status */
    /* Of all providers, one after the other. A provider without hints has no preference, which is
     * the same as having no list here. */
    const struct numa_hints *lists;
    uint32_t nlists;
};
struct numa_answer {
    bool admit;
    struct numa_hint best; /* mask 0: wherever it likes */
};
/* Reasons of a rejection are added to why (NULL: nobody reads them). */
struct numa_answer numa_merge(const struct numa_question *q, struct arena *a, struct ks_texts *why);

/* ---- all plugins of a profile ---------------------------------------------------------------- */

struct numa_lists { /* what providers add to; memory from the arena */
    struct arena *arena;
    enum numa_policy policy;
    struct numa_hints *items;
    uint32_t n, cap;
    bool complete; /* somebody reads the reasons: also hints that cannot decide anything */
    /* Wider sets than the narrowest that would do are not needed yet; cut: some were left out. */
    bool narrow, cut;
};
void numa_lists_add(struct numa_lists *l, const struct numa_hints *h);

struct numa_site { /* of a row, as far as the manager needs to know */
    enum numa_policy policy;
    enum numa_exclusive exclusive;
    uint64_t nodes;
    const uint8_t *status;
};
/* On which NUMA nodes of the row shall the pod be? Asks every plugin of the profile with hints,
 * then whether the answer is enough for each of them. mask 0: it does not matter. Called from a
 * plugin, with its own cycle. why may be NULL. */
enum ks_code numa_admit(const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                        const struct numa_site *site, struct arena *a, uint64_t *ret_mask,
                        struct ks_texts *why);
/* The same answer for a plugin that does not know the policies: the one that does is asked. mask 0:
 * it does not matter, or nobody knows policies. Not from inside of hints() and allocate(). */
enum ks_code numa_affinity(const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                           uint64_t *ret_mask, struct ks_texts *why);
#endif
