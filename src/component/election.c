/* election.c - the lease of a program. */
#include "component/election.h"

#include <stdio.h>
#include <unistd.h>

#include "base/klog.h"
#include "client/leader.h"
#include "component/flags.h"
#include "component/run.h"
#include "loop/loop.h"

#define READY_PERIOD   (100 * NSEC_PER_MSEC)
#define RELEASE_GRACE  (5 * NSEC_PER_SEC)
#define WATCHDOG_SLACK (20 * NSEC_PER_SEC) /* beyond the lease, as upstream's adaptor */

struct election {
    struct run *run;
    const struct election_handler *h;
    void *arg;
    struct leader *leader; /* NULL: there is no lease */
    char *identity, *name;
    nsec_t lease_duration;
    struct timer *waiting; /* to be ready, or for the end of the release */
    bool leading;
};

/* ---- flags ----------------------------------------------------------------------------------- */

void election_options_add(struct flags *f, struct election_options *o, const char *name)
{
#define O(member) .off = offsetof(struct election_options, member)
    static const char *const locks[] = { "leases", NULL };
    static const struct flag table[] = {
        { "leader-elect", FLAG_BOOL, O(enabled), .def = "true",
          .help = "act only while holding the lease, so that replicas can stand by" },
        { "leader-elect-lease-duration", FLAG_DUR, O(lease_duration), .def = "15s",
          .help = "how long others wait for a leader that is silent" },
        { "leader-elect-renew-deadline", FLAG_DUR, O(renew_deadline), .def = "10s",
          .help = "how long a leader tries to renew before it gives up; less than the lease "
                  "duration" },
        { "leader-elect-retry-period", FLAG_DUR, O(retry_period), .def = "2s",
          .help = "time between attempts to get or renew the lease" },
        { "leader-elect-resource-lock", FLAG_STR, O(lock), .def = "leases", .choices = locks,
          .help = "kind of the lock object" },
        { "leader-elect-resource-name", FLAG_STR, O(name), .help = "name of the lease" },
        { "leader-elect-resource-namespace", FLAG_STR, O(ns), .def = "koordinator-system",
          .help = "namespace of the lease" },
    };
#undef O
    flags_add(f, "Leader election flags", table, ARRAY_LEN(table), o);
    flags_default(f, "leader-elect-resource-name", name);
}

char *election_identity(struct loop *l)
{
    char host[256] = "";
    uint64_t hi = loop_rand(l), lo = loop_rand(l);

    if (gethostname(host, sizeof host - 1) < 0 || !*host)
        (void)snprintf(host, sizeof host, "unknown");
    hi = (hi & ~UINT64_C(0xf000)) | 0x4000; /* a random UUID, version 4 */
    lo = (lo & ~(UINT64_C(3) << 62)) | UINT64_C(2) << 62;
    return xasprintf("%s_%08x-%04x-%04x-%04x-%012llx", host, (unsigned)(hi >> 32),
                     (unsigned)(hi >> 16 & 0xffff), (unsigned)(hi & 0xffff), (unsigned)(lo >> 48),
                     (unsigned long long)(lo & 0xffffffffffff));
}

/* ---- won and lost ---------------------------------------------------------------------------- */

static void on_started(void *arg)
{
    struct election *e = arg;

    KLOG_I(0, "Leading", KV_S("identity", e->identity));
    e->leading = true;
    e->h->lead(e->arg);
}

static void on_stopped(void *arg)
{
    struct election *e = arg;

    e->leading = false;
    if (e->run->stopping)
        return;
    KLOG_E(NULL, e->h->lost);
    run_last_words(e->run, e->h->lost, NULL);
    run_exit(e->run, 1);
}

static void on_new_leader(void *arg, const char *identity)
{
    (void)arg;
    KLOG_I(0, "New leader", KV_S("identity", identity));
}

/* ---- life ------------------------------------------------------------------------------------ */

int election_new(struct run *r, struct kube *k, const struct election_options *o,
                 const struct election_handler *h, void *arg, struct election **ret,
                 struct kerr *err)
{
    static const struct leader_handler handler = { on_started, on_stopped, on_new_leader };
    CLEANUP(election_free) struct election *e = xnew0(struct election);

    *e = (struct election){ .run = r, .h = h, .arg = arg, .lease_duration = o->lease_duration };
    if (o->enabled) {
        e->identity = election_identity(r->loop);
        e->name = xstrdup(o->name);
        const struct leader_opts opts = { .ns = o->ns,
                                          .name = o->name,
                                          .identity = e->identity,
                                          .lease_duration = o->lease_duration,
                                          .renew_deadline = o->renew_deadline,
                                          .retry_period = o->retry_period };
        if (leader_new(k, &opts, &handler, e, &e->leader, err) < 0)
            return kerr_wrap(err, "leader election");
    }
    *ret = take(e);
    return 0;
}

struct election *election_free(struct election *e)
{
    if (!e)
        return NULL;
    timer_cancel(e->waiting);
    leader_free(e->leader);
    free(e->identity);
    free(e->name);
    free(e);
    return NULL;
}

static void on_waiting(struct loop *l, void *arg)
{
    struct election *e = arg;

    e->waiting = NULL;
    if (!e->h->ready || e->h->ready(e->arg))
        leader_start(e->leader);
    else
        e->waiting = loop_after(l, READY_PERIOD, on_waiting, e);
}

void election_start(struct election *e)
{
    if (e->leader) {
        e->waiting = loop_after(e->run->loop, 0, on_waiting, e);
        return;
    }
    e->leading = true;
    e->h->lead(e->arg);
}

static void on_released(void *arg)
{
    struct election *e = arg;
    run_exit(e->run, 0);
}

static void on_grace_over(struct loop *l, void *arg)
{
    struct election *e = arg;

    (void)l;
    e->waiting = NULL;
    run_exit(e->run, 0);
}

void election_stop(struct election *e)
{
    e->waiting = timer_cancel(e->waiting);
    e->leading = false;
    if (!e->leader) {
        run_exit(e->run, 0);
        return;
    }
    e->waiting = loop_after(e->run->loop, RELEASE_GRACE, on_grace_over, e);
    leader_release(e->leader, on_released, e);
}

bool election_leads(const struct election *e)
{
    return e->leading && (!e->leader || leader_is(e->leader));
}

bool election_has_lease(const struct election *e)
{
    return e->leader != NULL;
}

int election_check(void *election, struct kerr *err)
{
    const struct election *e = election;

    if (!e->leader)
        return 0;
    nsec_t silent = loop_mono(e->run->loop) - leader_renewed(e->leader);
    /* Not leader_is(): it is false as soon as the lease has run out, which is when this matters. */
    if (!streq(leader_holder(e->leader), e->identity) ||
        silent <= e->lease_duration + WATCHDOG_SLACK)
        return 0;
    return kerr_set(err, -ETIMEDOUT, "failed election to renew leadership on lease %s", e->name);
}
