/* stub_work.h - work for the pool that does not come back until the test says so. For tests that
 * are linked with --wrap=loop_work and count allocations. */
#ifndef KOORD_KOORDLET_TEST_STUB_WORK_H
#define KOORD_KOORDLET_TEST_STUB_WORK_H
#include "koordlet/test/counting.h"
#include "loop/loop.h"

static struct held { /* work that has not come back */
    bool on;
    unsigned n;
    work_fn work;
    post_fn done;
    void *arg;
} held;
void __real_loop_work(struct loop *l, work_fn work, post_fn done, void *arg);
void __wrap_loop_work(struct loop *l, work_fn work, post_fn done, void *arg);
void __wrap_loop_work(struct loop *l, work_fn work, post_fn done, void *arg)
{
    unsigned before = allocations;

    if (held.on)
        held = (struct held){ true, held.n + 1, work, done, arg };
    else
        __real_loop_work(l, work, done, arg);
    allocations = before; /* the loop's are not ours to count */
}
UNUSED static void held_finish(struct loop *l)
{
    held.on = false;
    held.work(held.arg);
    held.done(l, held.arg);
}
#endif
