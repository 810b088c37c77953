/* bindwait.c - devices with binding conditions (sched-dra 6.4): before the pod is bound their
 * drivers must have said that they are ready. */
#include "scheduler/plugins/dynamicresources/bindwait.h"

#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "scheduler/plugins/dynamicresources/claimcache.h"

/* Conditions are looked at when a claim changes; whether a claim is late is asked so often, as
 * upstream does, and its messages depend on it. */
#define TICK (5 * NSEC_PER_SEC)

/* ---- one claim ------------------------------------------------------------------------------- */

static const struct allocated_device_status *status_of(const struct resource_claim *c,
                                                       const struct device_result *r)
{
    for (uint32_t i = 0; i < c->status.devices.n; i++) {
        const struct allocated_device_status *s = &c->status.devices.items[i];
        if (streq(s->driver, r->driver) && streq(s->pool, r->pool) && streq(s->device, r->device) &&
            streq(str_or(s->share_id, ""), str_or(r->share_id, "")))
            return s;
    }
    return NULL;
}

static const struct condition *true_condition(const struct allocated_device_status *s,
                                              const char *type)
{
    const struct condition *c = condition_find(&s->conditions, type);
    return c && c->status == COND_TRUE ? c : NULL;
}

static void say_failed(const struct resource_claim *c, const struct condition *by,
                       struct strbuf *why)
{
    const char *message = str_or(by->message, "");

    strbuf_appendf(why, "claim %s binding failed: reason=%s, message=", c->obj.meta.name,
                   str_or(by->reason, ""));
    strbuf_append_quoted(why, message, strlen(message));
}

static enum readiness device_readiness(const struct resource_claim *c,
                                       const struct device_result *r, struct strbuf *why)
{
    const struct allocated_device_status *s = status_of(c, r);

    for (uint32_t i = 0; s && i < r->binding_failure_conditions.n; i++) {
        const struct condition *by = true_condition(s, r->binding_failure_conditions.items[i]);
        if (!by)
            continue;
        if (why)
            say_failed(c, by, why);
        return CLAIM_FAILED;
    }
    for (uint32_t i = 0; s && i < r->binding_conditions.n; i++)
        if (!true_condition(s, r->binding_conditions.items[i]))
            return CLAIM_NOT_READY;
    return s ? CLAIM_READY : CLAIM_NOT_READY;
}

/* Device by device: behind one that is not ready nobody looks, as upstream. */
enum readiness claim_readiness(const struct resource_claim *c, struct strbuf *why)
{
    const struct claim_allocation *a = c->status.allocation;
    enum readiness is = a ? CLAIM_READY : CLAIM_NOT_READY;

    for (uint32_t i = 0; a && is == CLAIM_READY && i < a->devices.results.n; i++)
        if (a->devices.results.items[i].binding_conditions.n)
            is = device_readiness(c, &a->devices.results.items[i], why);
    return is;
}

static bool has_conditions(const struct claim_allocation *a)
{
    for (uint32_t i = 0; a && i < a->devices.results.n; i++)
        if (a->devices.results.items[i].binding_conditions.n)
            return true;
    return false;
}

bool claim_is_late(const struct resource_claim *c, nsec_t timeout, nsec_t now)
{
    const struct claim_allocation *a = c->status.allocation;
    nsec_t since;

    return has_conditions(a) && a->allocation_timestamp &&
           !__builtin_sub_overflow(now, a->allocation_timestamp, &since) && since > timeout;
}

/* ---- all claims of a pod --------------------------------------------------------------------- */

static void arm(struct booking *b, nsec_t at, void (*fn)(struct loop *, void *))
{
    struct loop *l = b->cc->env.loop;

    timer_cancel(b->timer);
    b->timer = loop_after(l, MAX(at - loop_mono(l), 0), fn, b);
}

static void unlink_waiting(struct booking *b)
{
    for (struct booking **at = &b->cc->waiting; *at; at = &(*at)->next_waiting)
        if (*at == b) {
            *at = b->next_waiting;
            break;
        }
    b->waits = false;
}

static void end(struct booking *b, enum ks_code code, const char *why)
{
    bindwait_stop(b);
    claimwrite_finish(b, code, why);
}

/* CLAIM_FAILED: why says how. */
static enum readiness all_ready(const struct booking *b, bool ticks, struct strbuf *why)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const struct resource_claim *c = claimcache_get(b->cc, b->claims[i].ns, b->claims[i].name);
        if (!c && b->claims[i].special)
            return CLAIM_NOT_READY; /* the server has not shown it yet */
        if (!c) {
            strbuf_appendf(why, "could not find ResourceClaim \"%s\"", b->claims[i].key);
            return CLAIM_FAILED;
        }
        enum readiness is = claim_readiness(c, why);
        if (is == CLAIM_READY)
            continue;
        if (is == CLAIM_NOT_READY && ticks &&
            claim_is_late(c, b->binding_timeout, loop_wall(b->cc->env.loop))) {
            strbuf_appendf(why, "claim %s binding timeout", c->obj.meta.name);
            return CLAIM_FAILED;
        }
        return is;
    }
    return CLAIM_READY;
}

static void on_tick(struct loop *l, void *arg);

static void look(struct booking *b, bool ticks)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    enum readiness is = all_ready(b, ticks, &why);

    if (is == CLAIM_NOT_READY)
        arm(b, MIN(b->next_tick, b->wait_until), on_tick);
    else
        end(b, is == CLAIM_READY ? KS_SUCCESS : KS_ERROR, strbuf_str(&why));
}

static void on_tick(struct loop *l, void *arg)
{
    struct booking *b = arg;

    b->timer = NULL;
    if (loop_mono(l) >= b->wait_until) {
        end(b, KS_ERROR, "device binding timeout");
        return;
    }
    b->next_tick += TICK;
    look(b, true);
}

static void on_change(struct loop *l, void *arg)
{
    struct booking *b = arg;

    (void)l;
    b->timer = NULL;
    look(b, false);
}

void bindwait_claim_changed(struct claimcache *cc, struct kuid claim)
{
    for (struct booking *b = cc->waiting; b; b = b->next_waiting)
        for (uint32_t i = 0; i < b->n; i++)
            if (kuid_equal(b->claims[i].uid, claim))
                arm(b, 0, on_change); /* not from inside the informer */
}

bool bindwait_expects(const struct booking *b)
{
    for (uint32_t i = 0; b->binding_timeout && i < b->n; i++) {
        const struct resource_claim *c = claimcache_get(b->cc, b->claims[i].ns, b->claims[i].name);
        const struct claim_allocation *has = c ? c->status.allocation : NULL;
        if (has_conditions(has ? has : b->claims[i].allocation))
            return true;
    }
    return false;
}

bool bindwait_begin(struct booking *b)
{
    nsec_t now = loop_mono(b->cc->env.loop);

    if (!bindwait_expects(b))
        return false;
    CLEANUP(mem_free)
    char *note = xasprintf("waiting for binding conditions for device on node %s", b->bind->node);
    if (b->cc->env.scheduler)
        ks_note(&b->cc->env, pod_of(b->pod), "BindingConditionsPending", note);
    b->waits = true;
    b->next_waiting = b->cc->waiting;
    b->cc->waiting = b;
    b->wait_until = now + b->binding_timeout;
    b->next_tick = now + TICK;
    look(b, true);
    return true;
}

void bindwait_stop(struct booking *b)
{
    if (!b->waits)
        return;
    unlink_waiting(b);
    b->timer = timer_cancel(b->timer);
}
