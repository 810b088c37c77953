/* cpuset.h - sets of logical CPUs in the kernel's list format: "0-3,8,10-11".
 *
 * A value type of fixed size (1024 CPUs: 128 bytes), so that plans and snapshots copy it freely.
 */
#ifndef KOORD_BASE_CPUSET_H
#define KOORD_BASE_CPUSET_H
#include "base/arena.h"
#include "base/base.h"

enum { CPUSET_MAX = 1024 };
struct cpuset {
    uint64_t w[CPUSET_MAX / 64];
};

/* Linux list format; blanks and a final newline around it are fine, "" is the empty set. A reversed
 * range ("3-1") adds no CPU, as upstream. -EINVAL for bad text, -ERANGE for a CPU >= CPUSET_MAX. */
int cpuset_parse(const char *s, size_t n, struct cpuset *ret, struct kerr *err);
const char *cpuset_format(const struct cpuset *c, struct arena *a);
static inline void cpuset_add(struct cpuset *c, unsigned cpu)
{
    assert(cpu < CPUSET_MAX);
    c->w[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}
static inline void cpuset_del(struct cpuset *c, unsigned cpu)
{
    assert(cpu < CPUSET_MAX);
    c->w[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
}
static inline bool cpuset_has(const struct cpuset *c, unsigned cpu)
{
    return cpu < CPUSET_MAX && (c->w[cpu / 64] >> (cpu % 64) & 1);
}
unsigned cpuset_count(const struct cpuset *c);
bool cpuset_is_empty(const struct cpuset *c);
int cpuset_next(const struct cpuset *c, int from); /* first member >= from, or -1 */
struct cpuset cpuset_union(const struct cpuset *a, const struct cpuset *b);
struct cpuset cpuset_intersect(const struct cpuset *a, const struct cpuset *b);
struct cpuset cpuset_minus(const struct cpuset *a, const struct cpuset *b);
bool cpuset_equal(const struct cpuset *a, const struct cpuset *b);
bool cpuset_subset(const struct cpuset *inner, const struct cpuset *outer);
#define cpuset_foreach(c, cpu) \
    for (int cpu = cpuset_next((c), 0); cpu >= 0; cpu = cpuset_next((c), cpu + 1))
#endif
