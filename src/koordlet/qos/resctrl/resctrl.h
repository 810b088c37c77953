/* resctrl.h - which part of the last-level cache and of memory bandwidth a QoS class gets.
 *
 * Pure: from NodeSLO and what the kernel offers to schemata of the groups LSR, LS and BE
 * (koordlet-qos 11). Mounted with code and data prioritisation the kernel has two lines for L3,
 * which get the same mask. IDs of caches may have gaps.
 */
#ifndef KOORD_KOORDLET_QOS_RESCTRL_RESCTRL_H
#define KOORD_KOORDLET_QOS_RESCTRL_RESCTRL_H
#include "koordlet/executor/plan.h"
#include "koordlet/facts/resctrl.h"

enum { RESCTRL_GROUPS = 3 };
extern const char *const resctrl_group_names[RESCTRL_GROUPS]; /* "LSR", "LS", "BE" */

struct resctrl_layout { /* what the root's schemata shows */
    bool cdp;           /* L3CODE and L3DATA in place of L3 */
    int32_t l3[RESCTRL_CACHES_MAX], mb[RESCTRL_CACHES_MAX];
    uint32_t nl3, nmb;
    uint64_t cbm; /* all ways; 0: not known */
};
/* The text of the root's schemata; cbm is not touched. -ENODATA: neither L3 nor MB. */
int resctrl_layout_parse(struct str text, struct resctrl_layout *ret, struct kerr *err);

/* Proposes groups and their lines. A percentage that makes no sense skips its line: err tells of
 * the first (code 0: none). */
void resctrl_propose(const struct resctrl_qos *const of[RESCTRL_GROUPS],
                     const struct resctrl_layout *l, const char *vendor, struct plan *p,
                     struct kerr *ret_bad);
/* The settings of a group, by its class; NULL: none. */
const struct resctrl_qos *resctrl_of_group(const struct resource_qos_strategy *s, int group);
/* Where a pod's threads belong; -1: they stay. */
int resctrl_group_of(const struct resource_qos_strategy *s, const struct npod *p);
#endif
