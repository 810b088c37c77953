/* pace.c - a clock of our own for the real loop: faster than the kernel's, or set to another date.
 *
 * A machine that cannot keep up gets a slower clock, not a loop that is ever more behind: leases
 * would run out and nodes would be declared dead for want of CPU time only.
 */
#include "loop/internal.h"

/* How far the clock moves at a time while timers that are due wait to be run. */
#define LATE_MAX NSEC_PER_SEC

static void pace_set(struct pace *p, nsec_t mono)
{
    atomic_store_explicit(&p->mono, mono, memory_order_relaxed);
}

void pace_begin(struct pace *p, unsigned by, nsec_t kernel)
{
    if (!p->on)
        pace_set(p, kernel);
    p->kernel_from = kernel;
    p->by = by;
    p->on = true;
}

nsec_t pace_last(const struct pace *p)
{
    return atomic_load_explicit(&p->mono, memory_order_relaxed);
}

/* What the clock shows when nothing holds it back. */
static nsec_t pace_estimate(const struct pace *p, nsec_t kernel)
{
    nsec_t passed = MAX(kernel - p->kernel_from, (nsec_t)0), by;

    if (__builtin_mul_overflow(passed, (nsec_t)p->by, &by))
        return NSEC_MAX;
    return nsec_add_sat(pace_last(p), by);
}

nsec_t pace_read(struct pace *p, nsec_t kernel, nsec_t first_due)
{
    nsec_t last = pace_last(p), now = pace_estimate(p, kernel);

    if (p->by > 1)
        now = MIN(now, nsec_add_sat(MAX(last, first_due), LATE_MAX));
    p->kernel_from = kernel;
    pace_set(p, now);
    return now;
}

nsec_t pace_wait(const struct pace *p, nsec_t due, nsec_t kernel)
{
    nsec_t left = due - pace_estimate(p, kernel);
    return left <= 0 ? 0 : left / p->by + (left % p->by != 0);
}
