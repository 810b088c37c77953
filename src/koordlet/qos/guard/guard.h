/* guard.h - the interference guard: best effort gives way when services wait for a CPU.
 *
 * The budget of suppression follows usage, which says nothing of how long a service's threads wait.
 * When a container that is not best effort waited for a CPU during more than 5% of the time, what
 * best effort may use is halved at once, and given back step by step when the waiting is over. The
 * gate InterferenceGuard is off by default; upstream has no such thing.
 */
#ifndef KOORD_KOORDLET_QOS_GUARD_GUARD_H
#define KOORD_KOORDLET_QOS_GUARD_GUARD_H
#include "koordlet/kernel/host.h"
#include "koordlet/states/podset.h"

/* ---- the decision, pure ---------------------------------------------------------------------- */

#define GUARD_SHARE 0.05 /* of the time */

struct guard_in {
    double waited;    /* the largest share of the time that one container waited */
    int64_t capacity; /* milli-cores of the node */
    int64_t quota_us; /* of best effort, in force; -1: none */
    int64_t used;     /* milli-cores that best effort uses; 0: not known */
};
/* What best effort may use from now on; cap_milli: until now, 0: no cap. 0: no cap. */
int64_t guard_next(int64_t cap_milli, const struct guard_in *in);

/* ---- measuring ------------------------------------------------------------------------------- */

/* How long containers waited between two looks: on cgroup v1 the run-queue delay of their threads
 * (/proc/TID/schedstat) less their own throttling, on v2 what cpu.pressure says of the same, or
 * memory.pressure and io.pressure where those are worse. A round reads at most DELAYS_PER_ROUND
 * threads and goes on with the others in the next. Loop thread only.
 */
enum { DELAYS_PER_ROUND = 512 };
struct delays;
struct delays *delays_new(const struct host *h);
struct delays *delays_free(struct delays *d);
DEFINE_CLEANUP(delays_free, struct delays *)

struct delays_worst {       /* borrowed from the pods */
    const struct npod *pod; /* NULL: there is no service */
    const char *container;
    double waited; /* share of the time; of several threads the sum, so it may be above 1 */
};
struct delays_worst delays_round(struct delays *d, const struct podset *pods, nsec_t now);
#endif
