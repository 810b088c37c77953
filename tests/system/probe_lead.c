/* probe_lead.c - leader election, with the time at which everything happened.
 *
 * Prints       started NS, stopped NS, leader NS ID         what the handler was told
 *              leading NS                                   every 100 ms while leader_is()
 *              released NS                                  the orderly end, after SIGTERM
 * NS is the wall clock in nanoseconds. The end of the input ends it as a crash would: at once, and
 * the lease is kept.
 */
#include <signal.h>
#include <stdio.h>

#include "client/leader.h"
#include "loop/loop.h"

#include "probe.h"

#define TICK (100 * NSEC_PER_MSEC)

struct candidate {
    struct probe *p;
    struct leader *leader;
    struct timer *tick;
};

static void say(const struct candidate *c, const char *what, const char *more)
{
    printf("%s %lld%s%s\n", what, (long long)loop_wall(c->p->loop), *more ? " " : "", more);
}

static void on_started(void *arg)
{
    say(arg, "started", "");
}

static void on_stopped(void *arg)
{
    say(arg, "stopped", "");
}

static void on_new_leader(void *arg, const char *identity)
{
    say(arg, "leader", identity);
}

static const struct leader_handler handler = { on_started, on_stopped, on_new_leader };

static void on_tick(struct loop *l, void *arg)
{
    struct candidate *c = arg;
    c->tick = loop_after(l, TICK, on_tick, c);
    if (leader_is(c->leader))
        say(c, "leading", "");
}

static void on_released(void *arg)
{
    struct candidate *c = arg;
    say(c, "released", "");
    loop_stop(c->p->loop);
}

static void on_term(struct loop *l, int signum, void *arg)
{
    struct candidate *c = arg;
    loop_on_signal(l, signum, NULL, NULL, NULL);
    leader_release(c->leader, on_released, c);
}

static void on_line(void *arg, char *line)
{
    struct candidate *c = arg;
    if (!line)
        loop_stop(c->p->loop);
}

static int start(struct probe *p, void **ret_state, struct kerr *err)
{
    struct candidate *c = xnew0(struct candidate);
    struct leader_opts o = {
        .ns = p->o.ns,
        .name = p->o.name,
        .identity = p->o.id,
        .lease_duration = p->o.lease,
        .renew_deadline = p->o.deadline,
        .retry_period = p->o.retry,
    };

    *ret_state = c;
    c->p = p;
    int r = leader_new(p->kube, &o, &handler, c, &c->leader, err);
    if (r == 0)
        r = loop_on_signal(p->loop, SIGTERM, on_term, c, err);
    if (r == 0)
        r = probe_read_lines(p, on_line, c, err);
    if (r < 0)
        return r;
    leader_start(c->leader);
    on_tick(p->loop, c);
    return 0;
}

static void end(void *state)
{
    struct candidate *c = state;
    if (!c)
        return;
    timer_cancel(c->tick);
    leader_free(c->leader);
    free(c);
}

const struct probe_verb probe_lead = { "lead", start, end };
