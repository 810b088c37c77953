/* stub_work.h - work for the pool that does not come back until the test says so. */
#ifndef KOORD_KOORDLET_TEST_STUB_WORK_H
#define KOORD_KOORDLET_TEST_STUB_WORK_H
#include "loop/loop.h"

static struct held { /* work that has not come back */
    bool on;
    unsigned n;
    work_fn work;
    post_fn done;
    void *arg;
} held;

/* For loop_set_worker(). */
UNUSED static bool held_take(void *unused, work_fn work, post_fn done, void *arg)
{
    (void)unused;
    if (held.on)
        held = (struct held){ true, held.n + 1, work, done, arg };
    return held.on;
}
UNUSED static void held_finish(struct loop *l)
{
    held.on = false;
    held.work(held.arg);
    held.done(l, held.arg);
}
#endif
