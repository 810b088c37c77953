/* tc.h - TCNetworkQoS: htb classes on the node's link, by rtnetlink (koordlet-qos 15.10).
 *
 * tc_plan() decides, pure: classes of the node and of pods, filters by the pods' addresses, the
 * classes of cgroups. struct tc brings the kernel there: it replaces what another run left, adds
 * and removes what differs. Where upstream runs iptables and ipset, u32 filters match the source
 * address. Loop thread only; requests to the kernel do not block.
 */
#ifndef KOORD_KOORDLET_HOOKS_TC_H
#define KOORD_KOORDLET_HOOKS_TC_H
#include "base/vec.h"
#include "koordlet/states/snapshot.h"

enum { TC_ROOT = 1, TC_SYSTEM = 2, TC_LS = 3, TC_BE = 4, TC_FIRST_POD = 16 }; /* 1:N */

struct tc_class {
    uint16_t minor, parent; /* 1:minor below 1:parent; parent 0: the qdisc */
    uint64_t rate, ceil;    /* bytes a second */
    uint32_t buffer, cbuffer, prio;
};
struct tc_filter { /* packets from this address are of the class */
    uint32_t ip;   /* network order */
    uint16_t minor;
};
struct tc_pod { /* a pod with a class of its own */
    const struct npod *pod;
    uint16_t minor;
};
struct tc_want {
    struct vec_of(struct tc_class) classes;
    struct vec_of(struct tc_filter) filters;
    struct vec_of(struct tc_pod) pods; /* borrowed */
};
void tc_want_fini(struct tc_want *w);
static inline UNUSED void tc_want_fini_p(struct tc_want *w)
{
    tc_want_fini(w);
}

/* Bits a second: a quantity, or a percentage from 0 to 100 of the total; anything else is 0. */
int64_t tc_bandwidth(const struct int_or_str *v, int64_t total);
/* Nothing unless NodeSLO asks for it. hz: of /proc/net/psched. */
void tc_plan(const struct nodeslo_spec *slo, const struct podset *pods, uint32_t hz,
             struct tc_want *ret);
/* net_cls.classid of a pod; 0: left alone. */
uint32_t tc_classid(const struct tc_want *w, const struct npod *p);

/* The link of the first IPv4 default route in the text of /proc/net/route; false: none. */
bool tc_default_link(struct str route, char *name, size_t size);
/* Hz in the text of /proc/net/psched; 0: bad. */
uint32_t tc_hz(struct str psched);

struct tc;
struct tc *tc_new(void);
struct tc *tc_free(struct tc *t);
DEFINE_CLEANUP(tc_free, struct tc *)
/* What the link shall have; an empty want takes the qdisc away, also one that another run left.
 * -errno of the kernel. */
int tc_apply(struct tc *t, const char *link, const struct tc_want *w, struct kerr *err);
#endif
