/* sim_scheduler_plugins.c - plugins beside the usual ones: Ledger writes down what is reserved
 * and sees it undone or bound exactly once; Chaos, after it, refuses, makes wait and fails.
 */
#include "sim_scheduler.h"

#include "scheduler/plugins/registry.h"

#include <stdlib.h>

#include "api/koord/noderesourcetopology.h"
#include "api/node.h"
#include "api/pod.h"
#include "loop/loop.h"
#include "scheduler/model/objects.h"

static struct sim_scheduler *next_born;

struct sim_hold *hold_find(struct sim_scheduler *s, struct kuid uid)
{
    vec_foreach(&s->holds, i)
        if (kuid_equal(s->holds.items[i]->uid, uid))
            return s->holds.items[i];
    return NULL;
}

static void hold_end(struct sim_hold *h)
{
    struct sim_scheduler *s = h->of;

    vec_foreach(&s->holds, i) {
        if (s->holds.items[i] == h) {
            vec_swap_remove(&s->holds, i);
            break;
        }
    }
    timer_cancel(h->timer);
    free(h);
}

void holds_free(struct sim_scheduler *s)
{
    while (s->holds.n)
        hold_end(s->holds.items[0]);
    vec_fini(&s->holds);
}

static int plugin_create(const struct ks_env *env, const void *args, void **ret_self,
                         struct kerr *err)
{
    (void)args, (void)err;
    next_born->env = *env;
    *ret_self = next_born;
    return 0;
}

/* The scheduler is gone; what it has sent may still arrive, so its holds stay. */
static void plugin_destroy(void *self)
{
    struct sim_scheduler *s = self;
    vec_foreach(&s->holds, i)
        s->holds.items[i]->timer = timer_cancel(s->holds.items[i]->timer);
}

/* ---- Ledger ---------------------------------------------------------------------------------- */

/* The pods that the scheduler knows on the row, this one among them, fit the node that it knows. */
static void ledger_add_up(struct sim_scheduler *s, const struct ks_cycle *c, uint32_t row)
{
    const struct ks_podlist *on = &c->nodes->pods[row];
    struct sim_room sum = { 0 };

    for (uint32_t i = 0; i < on->n; i++) {
        const struct sim_pod *p = sim_pod_of(s->sim, on->items[i]->obj.meta.uid);
        sum.mcpu += p ? p->mcpu : 0; /* those that the server has lost already we do not know */
        sum.mib += p ? p->mib : 0;
        sum.pods++;
    }
    if (sum.mcpu > c->nodes->alloc[KS_MCPU][row] || sum.pods > c->nodes->alloc[KS_PODS][row] ||
        (int64_t)sum.mib << 20 > c->nodes->alloc[KS_MEMORY][row])
        sim_fail(s->sim, "a pod was reserved on %s beyond its room",
                 c->nodes->node[row]->obj.meta.name);
}

static uint64_t topology_revision(const struct sim_scheduler *s, const char *node)
{
    const struct kobj *o = s->sim->parts & SIM_NUMA
                               ? objects_get(s->env.objects, &kind_noderesourcetopology, NULL, node)
                               : NULL;

    return o ? strtoull(o->meta.resource_version, NULL, 10) : 0;
}

static enum ks_code ledger_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   uint32_t row, struct ks_texts *why)
{
    const struct node *node = c->nodes->node[row];
    struct sim_scheduler *s = self;
    struct sim_hold *h = hold_find(s, p->pod->obj.meta.uid);

    (void)why;
    if (h)
        sim_fail(s->sim, "%s was reserved twice", p->pod->obj.meta.name);
    h = xnew0(struct sim_hold);
    h->of = s;
    h->uid = p->pod->obj.meta.uid;
    h->node = sim_node_of(s->sim, node->obj.meta.name);
    h->revision = strtoull(node->obj.meta.resource_version, NULL, 10);
    h->topology = topology_revision(s, node->obj.meta.name);
    vec_push(&s->holds, h);
    ledger_add_up(s, c, row);
    return KS_SUCCESS;
}

static void ledger_unreserve(void *self, const struct pod *p, const char *node)
{
    struct sim_scheduler *s = self;
    struct sim_hold *h = hold_find(s, p->obj.meta.uid);
    struct sim_pod *now = sim_pod_of(s->sim, p->obj.meta.uid);

    if (!h)
        sim_fail(s->sim, "%s was undone without being reserved", p->obj.meta.name);
    if (h->node != sim_node_of(s->sim, node))
        sim_fail(s->sim, "%s was undone on %s, where it was not reserved", p->obj.meta.name, node);
    if (now && now->node == h->node && now->by == s->number)
        sim_fail(s->sim, "%s was undone, but the server has it on %s", p->obj.meta.name, node);
    if (now) {
        now->undone = h->node;
        now->undone_at = loop_mono(s->sim->loop);
    }
    s->sim->n.undone++;
    hold_end(h);
}

static void ledger_post_bind(void *self, const struct pod *p, const char *node)
{
    struct sim_scheduler *s = self;
    struct sim_hold *h = hold_find(s, p->obj.meta.uid);
    const struct sim_pod *now = sim_pod_of(s->sim, p->obj.meta.uid);

    if (!h)
        sim_fail(s->sim, "%s is said to be bound and was not reserved", p->obj.meta.name);
    if (now && now->node != sim_node_of(s->sim, node))
        sim_fail(s->sim, "%s is said to be bound to %s and is not", p->obj.meta.name, node);
    hold_end(h);
}

/* ---- Chaos ----------------------------------------------------------------------------------- */

static enum ks_code any_refusal(struct sim *s)
{
    return sim_chance(s, 70) ? KS_UNSCHEDULABLE : KS_ERROR;
}

static enum ks_code chaos_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  uint32_t row, struct ks_texts *why)
{
    struct sim *s = ((struct sim_scheduler *)self)->sim;

    (void)c, (void)p, (void)row;
    if (!s->chaos || !sim_chance(s, 4))
        return KS_SUCCESS;
    ks_texts_add(why, "not today");
    return any_refusal(s);
}

static void chaos_unreserve(void *self, const struct pod *p, const char *node)
{
    struct sim_hold *h = hold_find(self, p->obj.meta.uid);

    (void)node;
    if (h && h->bind) /* cancel() comes first */
        sim_fail(h->of->sim, "%s was undone while its pre-bind is at work", p->obj.meta.name);
}

static void on_permit(struct loop *l, void *arg)
{
    struct sim_hold *h = arg;
    (void)l;
    h->timer = NULL;
    if (h->answer == KS_SUCCESS)
        ks_allow(&h->of->env, h->uid, "Chaos");
    else
        ks_reject(&h->of->env, h->uid, "Chaos", "changed its mind");
}

static enum ks_code chaos_permit(void *self, const struct pod *p, const char *node,
                                 nsec_t *ret_timeout, struct ks_texts *why)
{
    struct sim_scheduler *of = self;
    struct sim *s = of->sim;
    struct sim_hold *h = hold_find(of, p->obj.meta.uid);
    int dice = s->chaos ? sim_below(s, 100) : 99;

    (void)node;
    if (dice >= 40)
        return KS_SUCCESS;
    if (dice < 6) {
        ks_texts_add(why, "no permit");
        return any_refusal(s);
    }
    s->n.waited++;
    *ret_timeout = (dice < 8 ? 900 : 1 + sim_below(s, 20)) * NSEC_PER_SEC;
    h->answer = dice < 13 ? KS_UNSCHEDULABLE : KS_SUCCESS;
    if (dice >= 10) /* otherwise it is left to run out, or to wait for plugins_calm() */
        h->timer = loop_after(s->loop, sim_below(s, 15000) * NSEC_PER_MSEC, on_permit, h);
    return KS_WAIT;
}

void plugins_calm(struct sim_scheduler *s)
{
    for (size_t i = s->holds.n; i-- > 0;)
        ks_allow(&s->env, s->holds.items[i]->uid, "Chaos");
    if (s->sim->parts & SIM_FETCH)
        fetch_calm(s);
}

static enum ks_code chaos_flight(void *self, const struct pod *p, const char *node,
                                 struct ks_texts *why)
{
    struct sim *s = ((struct sim_scheduler *)self)->sim;
    (void)p, (void)node;
    if (s->chaos && sim_chance(s, 1)) {
        ks_texts_add(why, "not today");
        return KS_UNSCHEDULABLE;
    }
    return s->chaos && sim_chance(s, 30) ? KS_SUCCESS : KS_SKIP;
}

static void on_pre_bind(struct loop *l, void *arg)
{
    struct sim_hold *h = arg;
    (void)l;
    h->timer = NULL;
    ks_bind_done(take(h->bind), h->answer, "lost the key");
}

static enum ks_code chaos_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    struct sim_hold *h = hold_find(self, b->pod->meta.uid);
    struct sim *s = ((struct sim_scheduler *)self)->sim;

    const struct sim_pod *p = sim_pod_of(s, b->pod->meta.uid);
    bool writes = p && !p->reserved; /* it would change the object that the binding must meet */

    h->annotates = writes && sim_chance(s, 40);
    h->labels = writes && sim_chance(s, 15);
    if (h->annotates)
        ks_bind_annotate(b, "chaos", "yes");
    if (h->labels)
        ks_bind_label(b, "chaos", "yes");
    h->answer = sim_chance(s, 80) ? KS_SUCCESS : any_refusal(s);
    h->timer = timer_cancel(h->timer); /* of the permit, when another had its way */
    if (sim_chance(s, 40)) {
        ks_texts_add(why, "no key");
        return h->answer;
    }
    h->bind = b;
    h->timer = loop_after(s->loop, sim_below(s, 8000) * NSEC_PER_MSEC, on_pre_bind, h);
    return KS_WAIT;
}

static void chaos_cancel(void *self, struct ks_bind *b)
{
    struct sim_hold *h = hold_find(self, b->pod->meta.uid);

    if (!h || h->bind != b)
        sim_fail(((struct sim_scheduler *)self)->sim, "a pre-bind was cancelled that is not there");
    h->bind = NULL;
    h->timer = timer_cancel(h->timer);
}

static const struct ks_plugin ledger = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Ledger",
    .create = plugin_create,
    .reserve = ledger_reserve,
    .unreserve = ledger_unreserve,
    .post_bind = ledger_post_bind,
};
static const struct ks_hint chaos_hints[] = { { KS_RES_NODE, KS_ADD, NULL } };
static const struct ks_plugin chaos = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Chaos",
    .hints = chaos_hints,
    .nhints = ARRAY_LEN(chaos_hints),
    .create = plugin_create,
    .destroy = plugin_destroy,
    .reserve = chaos_reserve,
    .unreserve = chaos_unreserve,
    .permit = chaos_permit,
    .pre_flight = chaos_flight,
    .pre_bind = chaos_pre_bind,
    .cancel = chaos_cancel,
};

const struct ks_registered *plugins_for(struct sim_scheduler *s)
{
    static struct ks_registered all[PROFILE_PLUGINS_MAX];
    unsigned parts = s->sim->parts;
    size_t n = 0;

    next_born = s;
    census_for(s);
    fetch_for(s);
    clerk_for(s);
    rows_for(s);
    reserve_for(s);
    pair_for(s);
    load_for(s);
    quota_for(s);
    all[n++] = (struct ks_registered){ &ledger, 0, true }; /* before all who may refuse */
    if (parts & SIM_RESERVE)                               /* before the usual binder */
        all[n++] = (struct ks_registered){ &reserve_plugin, 0, true };
    if (parts & SIM_PAIR) /* before the usual preemption */
        all[n++] = (struct ks_registered){ &pair_plugin, 0, true };
    for (const struct ks_registered *r = ks_registry; r->plugin; r++) {
        assert(n + 11 <= ARRAY_LEN(all));
        all[n++] = *r;
        if (parts & SIM_LOAD && r->plugin == &ks_plugin_load_aware_scheduling)
            all[n - 1] = (struct ks_registered){ r->plugin, 1, true };
        if (parts & SIM_NUMA && r->plugin == &ks_plugin_node_numa_resource)
            all[n - 1] = (struct ks_registered){ r->plugin, 1, true };
        if (parts & SIM_QUOTA && r->plugin == &ks_plugin_elastic_quota)
            all[n - 1] = (struct ks_registered){ r->plugin, 0, true };
    }
    all[n++] = (struct ks_registered){ &chaos, 0, true };
    if (parts & SIM_CENSUS)
        all[n++] = (struct ks_registered){ &census_plugin, 0, true };
    if (parts & SIM_FETCH)
        all[n++] = (struct ks_registered){ &fetch_plugin, 0, true };
    if (parts & SIM_CLERK)
        all[n++] = (struct ks_registered){ &clerk_plugin, 0, true };
    if (parts & SIM_ROWS)
        all[n++] = (struct ks_registered){ &rows_plugin, 0, true };
    if (parts & SIM_GAUGE)
        all[n++] = (struct ks_registered){ gauge_for(s), 1, true };
    if (parts & SIM_LOAD)
        all[n++] = (struct ks_registered){ &load_judge, 0, true };
    if (parts & SIM_QUOTA)
        all[n++] = (struct ks_registered){ &quota_judge_plugin, 0, true };
    all[n] = (struct ks_registered){ NULL, 0, false };
    return all;
}
