/* permit.c - plugins may hold a pod whose node is chosen, each for its time (scheduler-core 5.7).
 * Then it goes on, when there is room: a gang may be let go by thousands.
 */
#include <stdio.h>

#include "api/pod.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "scheduler/engine/binding.h"

/* When the plugin does not say; upstream cuts every wait at this. */
#define PERMIT_WAIT_USUAL (15 * 60 * NSEC_PER_SEC)
#define PERMIT_WAIT_MAX   (INT64_C(366) * 24 * 3600 * NSEC_PER_SEC)

/* ---- room ------------------------------------------------------------------------------------ */

void waitlist_join(struct waitlist *l, struct binding *b)
{
    b->in = l;
    b->ahead = l->last;
    b->behind = NULL;
    *(l->last ? &l->last->behind : &l->first) = b;
    l->last = b;
    l->n++;
}

void waitlist_leave(struct binding *b)
{
    struct waitlist *l = b->in;

    if (!l)
        return;
    *(b->ahead ? &b->ahead->behind : &l->first) = b->behind;
    *(b->behind ? &b->behind->ahead : &l->last) = b->ahead;
    l->n--;
    b->in = NULL;
}

/* Pods that are held wait for other pods, which must be tried then. */
bool binding_room(const struct scheduler *s)
{
    return s->nbindings - s->nheld - s->line.n < s->max_binding;
}

static void go_on(struct binding *b)
{
    waitlist_leave(b);
    binding_enter(b, BIND_PRE_BIND);
}

void permit_line_up(struct binding *b)
{
    struct scheduler *s = b->s;

    podqueue_release(s->queue, b->uid);
    waitlist_join(&s->line, b);
    if (s->line.first == b && binding_room(s) && !s->batching)
        go_on(b);
    else
        scheduler_wake(s);
}

void binding_move_line(struct scheduler *s)
{
    while (s->line.first && binding_room(s))
        go_on(s->line.first);
}

/* ---- permits --------------------------------------------------------------------------------- */

/* The wait is over. */
static void permit_count(const struct binding *b, enum ks_code code)
{
    smetrics_permit(b->active->metrics, ks_code_name(code), loop_mono(b->s->loop) - b->since);
}

void permit_refuse(struct binding *b, uint64_t rejectors, const struct ks_rejection *r)
{
    if (b->state == BIND_HELD) /* otherwise it has its permits */
        permit_count(b, KS_UNSCHEDULABLE);
    binding_rejected(b, rejectors, r);
}

static void permit_arm(struct binding *b);

static void on_permit_timer(struct loop *l, void *arg)
{
    struct binding *b = arg;
    const struct profile *p = b->active->profile;
    nsec_t now = loop_mono(l);
    char why[256], wait[KTIME_TEXT_MAX];

    b->timer = NULL;
    for (uint32_t i = 0; i < p->n; i++) {
        if (!(b->waits >> i & 1) || b->permit[i].due > now)
            continue;
        wait[kdur_format(b->permit[i].wait, wait)] = '\0';
        (void)snprintf(why, sizeof why, "rejected due to timeout after waiting %s at plugin %s",
                       wait, p->slots[i].plugin->name);
        permit_refuse(b, UINT64_C(1) << i, &(struct ks_rejection){ why });
        return;
    }
    permit_arm(b);
}

static void permit_arm(struct binding *b)
{
    nsec_t first = INT64_MAX;

    for (uint32_t i = 0; i < b->active->profile->n; i++)
        if (b->waits >> i & 1)
            first = MIN(first, b->permit[i].due);
    timer_cancel(b->timer);
    b->timer = loop_after(b->s->loop, MAX(first - loop_mono(b->s->loop), 0), on_permit_timer, b);
}

/* false: the binding is over. */
bool permit_ask(struct binding *b, struct arena *a)
{
    const struct profile_point *point = &b->active->profile->points[KS_POINT_PERMIT];
    nsec_t now = loop_mono(b->s->loop);
    struct stretch x;
    struct stopwatch *w = stretch_begin(&x, b->active->times, b->each);

    for (uint32_t i = 0; i < point->n; i++) {
        uint32_t slot = point->slots[i];
        const struct profile_slot *s = &b->active->profile->slots[slot];
        struct ks_texts why = { .arena = a };
        nsec_t wait = PERMIT_WAIT_USUAL;
        enum ks_code code = s->plugin->permit(s->self, pod_of(b->pub.pod), b->node, &wait, &why);
        stopwatch_plugin(w, LAP_PERMIT, slot, code);
        if (code == KS_SUCCESS)
            continue;
        if (code == KS_WAIT) {
            wait = MIN(wait, PERMIT_WAIT_MAX);
            b->waits |= UINT64_C(1) << slot;
            b->permit = b->permit ? b->permit : xnewn0(b->active->profile->n, struct permit);
            b->permit[slot] = (struct permit){ now + wait, wait };
            continue;
        }
        stopwatch_point(w, LAP_PERMIT, code);
        binding_refused(b, "Permit", slot, code, &why);
        return false;
    }
    stopwatch_point(w, LAP_PERMIT, b->waits ? KS_WAIT : KS_SUCCESS);
    return true;
}

void permit_hold(struct binding *b)
{
    podqueue_hold(b->s->queue, b->pub.pod->meta.uid);
    b->s->unsaid_holds = true;
    permit_arm(b);
}

static void say(struct binding *b)
{
    struct scheduler *s = b->s;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    bool first = true;

    strbuf_appendf(&text, "waiting on permit of");
    for (uint32_t i = 0; i < b->active->profile->n; i++) {
        if (!(b->waits >> i & 1))
            continue;
        strbuf_appendf(&text, "%s %s", first ? "" : ",", b->active->profile->slots[i].plugin->name);
        first = false;
    }
    strbuf_appendf(&text, " for node %s", b->node);
    b->said = true;
    report_nominated(s, b->pub.pod, b->node);
    report_held(s, b->pub.pod, "Unschedulable", strbuf_str(&text));
}

void permit_say(struct scheduler *s)
{
    if (!s->unsaid_holds)
        return;
    s->unsaid_holds = false;
    for (struct binding *b = s->bindings; b; b = b->next)
        if (b->state == BIND_HELD && !b->said)
            say(b);
}

/* The plugin is not asked who goes next any more, and may never come to speak. Pods whose profile
 * has gone as a whole end as they began. */
static bool waits_in_vain(const struct scheduler *s, const struct binding *b)
{
    const struct active_profile *now = scheduler_profile(s, pod_of(b->pub.pod));

    for (uint32_t i = 0; now && b->state == BIND_HELD && i < b->active->profile->n; i++)
        if (b->waits >> i & 1 &&
            profile_slot(now->profile, b->active->profile->slots[i].plugin->name) < 0)
            return true;
    return false;
}

void permit_new_profiles(struct scheduler *s)
{
    struct binding *b = s->bindings;

    while (b) {
        if (!waits_in_vain(s, b)) {
            b = b->next;
            continue;
        }
        permit_refuse(b, 0, &(struct ks_rejection){ "the plugin that it waited for has gone" });
        b = s->bindings; /* others may have gone with it */
    }
}

static void allow(struct binding *b, uint32_t slot)
{
    b->waits &= ~(UINT64_C(1) << slot);
    if (b->waits)
        return;
    permit_count(b, KS_SUCCESS);
    b->timer = timer_cancel(b->timer);
    binding_enter(b, BIND_LINE);
}

/* The binding that waits for permits or room, and the slot of the plugin that speaks; NULL: it does
 * not wait, or not any more. */
static struct binding *waiting(const struct scheduler *s, struct kuid uid, const char *plugin,
                               int *ret_slot)
{
    struct binding *b = binding_find(s, uid);

    if (!b || (b->state != BIND_HELD && b->state != BIND_LINE))
        return NULL;
    *ret_slot = profile_slot(b->active->profile, plugin);
    return *ret_slot >= 0 ? b : NULL;
}

void ks_allow(const struct ks_env *env, struct kuid uid, const char *plugin)
{
    int slot;
    struct binding *b = waiting(env->scheduler, uid, plugin, &slot);
    if (b && (b->waits >> slot & 1))
        allow(b, (uint32_t)slot);
}

/* When that which is being undone now is. Until then it can be neither let go nor rejected again.
 */
static void doom(struct binding *b, uint64_t rejectors, const struct ks_rejection *r)
{
    bool held = b->state == BIND_HELD;

    if (held)
        permit_count(b, KS_UNSCHEDULABLE);
    b->rejectors = held ? rejectors : 0; /* nobody listens for it since it has its permits */
    b->verdict = xstrdup(r->why);
    b->nomination = r->nomination;
    b->quiet = r->quiet;
    binding_enter(b, BIND_DOOMED);
}

void ks_reject_as(const struct ks_env *env, struct kuid uid, const char *plugin,
                  const struct ks_rejection *r)
{
    int slot;
    struct binding *b = waiting(env->scheduler, uid, plugin, &slot);
    if (b && env->scheduler->undoing)
        doom(b, UINT64_C(1) << slot, r);
    else if (b)
        permit_refuse(b, UINT64_C(1) << slot, r);
}

void ks_reject(const struct ks_env *env, struct kuid uid, const char *plugin, const char *why)
{
    ks_reject_as(env, uid, plugin, &(struct ks_rejection){ why });
}
