/* show.c - the claims of a pod on one node, for koordctl explain: of each request how many devices
 * its selectors accept, how many of these are taken and by whom, and what fails. */
#include "api/node.h"
#include "api/selector/selector.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/dynamicresources/internal.h"
#include "json/kj.h"

/* Looks at the clock, in the place of one: of a search, and while selectors are evaluated, where
 * there is one for each device and for each 100 rounds of loops. */
enum { HOLDERS_MAX = 16, LOOKS_MAX = 100, EVALUATIONS_MAX = 10000 };

struct counted { /* devices of a node, for one request */
    uint32_t devices, accepted, failed, taken, tainted, free;
    kstrlist claims, pods; /* that have taken some: by claim, by DeviceShare */
};

static void add_name(kstrlist *l, const char *name, struct arena *a)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i], name))
            return;
    if (!l->items)
        l->items = arena_newn0(a, HOLDERS_MAX, const char *);
    if (l->n < HOLDERS_MAX)
        l->items[l->n++] = name;
}

static void count_device(const struct ask *k, const struct node_devices *n,
                         const struct view_word *w, unsigned bit, struct counted *to,
                         struct arena *a)
{
    const struct pool_device *d = pool_device(w->pool, w->word, bit);
    const char *pod = w->elsewhere >> bit & 1 ? cardlink_holder(n, w->pool, d) : NULL;
    bool taken = view_taken(w) >> bit & 1 && !k->admin;

    to->accepted++;
    to->taken += taken;
    if (!taken && device_is_tainted(d, k->in))
        to->tainted++;
    else
        to->free += !taken;
    for (size_t i = 0; taken && d->holding && i < d->holding->holders.n; i++)
        add_name(&to->claims, d->holding->holders.items[i].claim, a);
    if (taken && pod)
        add_name(&to->pods, arena_strdup(a, pod), a);
}

static struct counted count(const struct ask *k, const struct node_devices *n, struct arena *a)
{
    struct counted to = { 0 };

    for (uint32_t i = 0; i < n->nwords; i++) {
        const struct view_word *w = &n->words[i];
        const struct match *m = match_of(w->pool, k->selection);
        to.devices += (uint32_t)__builtin_popcountll(w->visible);
        to.failed += (uint32_t)__builtin_popcountll(w->visible & m->failed[w->word]);
        for (uint64_t bits = w->visible & m->accepted[w->word]; bits; bits &= bits - 1)
            count_device(k, n, w, (unsigned)__builtin_ctzll(bits), &to, a);
    }
    return to;
}

/* ---- one request ----------------------------------------------------------------------------- */

static void write_names(struct kjw *w, const char *key, const kstrlist *l)
{
    if (l->n == 0)
        return;
    kjw_arr(w, key);
    for (uint32_t i = 0; i < l->n; i++)
        kjw_str(w, NULL, l->items[i]);
    kjw_end(w);
}

static uint32_t wanted_of(const struct ask *k, const struct counted *c)
{
    return k->all ? c->accepted : k->count;
}

static void write_ask(struct kjw *w, const struct ask *k, const struct counted *c)
{
    kjw_obj(w, NULL);
    kjw_str(w, "name", k->request);
    kjw_str(w, "class", k->in->device_class_name);
    if (k->all)
        kjw_bool(w, "all", true);
    else
        kjw_i64(w, "count", k->count);
    if (k->admin)
        kjw_bool(w, "adminAccess", true);
    kjw_i64(w, "devices", c->devices);
    kjw_i64(w, "accepted", c->accepted);
    kjw_i64(w, "taken", c->taken);
    if (c->tainted)
        kjw_i64(w, "tainted", c->tainted);
    if (c->failed)
        kjw_i64(w, "failed", c->failed);
    kjw_i64(w, "free", c->free);
    write_names(w, "holders", &c->claims);
    write_names(w, "deviceShare", &c->pods);
    kjw_end(w);
}

/* ---- what fails ------------------------------------------------------------------------------ */

static bool is_over(void *arg)
{
    uint32_t *left = arg;
    return *left == 0 || --*left == 0;
}

static bool can_evaluate(const struct plan *p, const struct node_devices *n)
{
    uint32_t left = EVALUATIONS_MAX;
    const struct patience patience = { is_over, &left };

    return plan_evaluate(p, n, &patience);
}

static enum found try_search(struct plan *p, struct node_devices *n)
{
    CLEANUP(arena_free) struct arena *scratch = arena_new();
    uint32_t left = LOOKS_MAX;
    const struct patience patience = { is_over, &left };
    struct outcome o;

    search_node(p, n, &patience, scratch, &o);
    return o.found;
}

/* Without these constraints of the claim, would there be a choice? */
static enum found try_without(struct plan *p, struct claim_plan *c, uint64_t rules,
                              struct node_devices *n)
{
    CLEANUP(arena_free) struct arena *saved = arena_new();
    uint64_t *was = arena_newn0(saved, p->nasks + 1, uint64_t);

    for (uint32_t i = 0; i < c->nwants; i++)
        for (uint32_t k = 0; k < c->wants[i].n; k++) {
            was[c->wants[i].asks[k].number] = c->wants[i].asks[k].rules;
            c->wants[i].asks[k].rules &= ~rules;
        }
    enum found f = try_search(p, n);
    for (uint32_t i = 0; i < c->nwants; i++)
        for (uint32_t k = 0; k < c->wants[i].n; k++)
            c->wants[i].asks[k].rules = was[c->wants[i].asks[k].number];
    return f;
}

/* The constraint without which there would be a choice; NULL: none alone is to blame. */
static const char *failing_rule(struct plan *p, struct node_devices *n, struct arena *a)
{
    for (uint32_t c = 0; c < p->n; c++)
        for (uint32_t r = 0; r < p->claims[c].nrules; r++)
            if (try_without(p, &p->claims[c], UINT64_C(1) << r, n) == FOUND)
                return arena_printf(
                    a, "claim %s: no choice of devices satisfies %s %s", p->claims[c].key,
                    p->claims[c].rules[r].distinct ? "distinctAttribute" : "matchAttribute",
                    p->claims[c].rules[r].attribute);
    for (uint32_t c = 0; c < p->n; c++)
        if (p->claims[c].nrules > 1 && try_without(p, &p->claims[c], UINT64_MAX, n) == FOUND)
            return arena_printf(a, "claim %s: no choice of devices satisfies all its constraints",
                                p->claims[c].key);
    return NULL;
}

/* A request that could not be satisfied even alone, in none of its forms; NULL: all could. */
static const char *failing_request(const struct plan *p, const struct node_devices *n,
                                   struct arena *a)
{
    for (uint32_t c = 0; c < p->n; c++)
        for (uint32_t i = 0; i < p->claims[c].nwants; i++) {
            const struct want *w = &p->claims[c].wants[i];
            uint32_t lacks = UINT32_MAX, wanted = 0, free = 0;
            for (uint32_t k = 0; k < w->n; k++) {
                struct counted x = count(&w->asks[k], n, a);
                uint32_t want = MAX(wanted_of(&w->asks[k], &x), 1u);
                if (want - MIN(want, x.free) >= lacks)
                    continue;
                lacks = want - MIN(want, x.free);
                wanted = want;
                free = x.free;
            }
            if (lacks)
                return arena_printf(a, "claim %s, request %s: %u of %u devices are free",
                                    p->claims[c].key, w->in->name, free, wanted);
        }
    return NULL;
}

static const char *what_fails(struct plan *p, struct node_devices *n, struct arena *a)
{
    static const char *const texts[] = {
        [FOUND_INVALID] = "a resource pool of the node is invalid",
        [FOUND_TIMEOUT] = "the search takes too long",
    };
    enum found f = try_search(p, n);

    if (f == FOUND || f == FOUND_ERROR)
        return NULL; /* errors end the attempt with their text */
    const char *why = failing_request(p, n, a);
    if (!why && f == FOUND_NONE)
        why = failing_rule(p, n, a);
    if (!why && f == FOUND_NONE)
        why = "requests want the same devices, and there are not enough for all of them";
    return why ? why : texts[f];
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void write_plan(struct kjw *w, const struct plan *p, struct node_devices *n, struct arena *a)
{
    for (uint32_t c = 0; c < p->n; c++) {
        const struct claim_plan *cp = &p->claims[c];
        kjw_obj(w, NULL);
        kjw_str(w, "name", cp->key);
        kjw_arr(w, "requests");
        for (uint32_t i = 0; i < cp->nwants; i++)
            for (uint32_t k = 0; k < cp->wants[i].n; k++) {
                struct counted x = count(&cp->wants[i].asks[k], n, a);
                write_ask(w, &cp->wants[i].asks[k], &x);
            }
        kjw_end(w);
        kjw_end(w);
    }
}

static void write_allocated(struct kjw *w, const struct dra_state *st, const struct node *node)
{
    for (uint32_t i = 0; i < st->n; i++) {
        const struct resource_claim *c = st->claims[i];
        char key[KOBJ_KEY_MAX];
        if (!c->status.allocation)
            continue;
        kobj_key(&c->obj, key, sizeof key);
        kjw_obj(w, NULL);
        kjw_str(w, "name", key);
        kjw_bool(w, "allocated", true);
        kjw_bool(w, "available", claim_is_available(st, i, node));
        kjw_end(w);
    }
}

void dra_show(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
              struct kjw *w)
{
    const struct dra_state *st = c->state;
    const struct node *node = c->nodes->node[row];
    CLEANUP(arena_free) struct arena *a = NULL;
    bool evaluated = false;

    (void)self, (void)p;
    if (!st)
        return;
    a = arena_new();
    kjw_arr(w, "claims");
    if (st->where)
        write_allocated(w, st, node);
    struct node_devices *n = NULL;
    struct plan *plan = variant_at(st, row)->plan;
    if (plan) {
        n = ((struct dra_row *)ks_row(c->rows, row))->devices;
        node_devices_refresh(n, node);
        evaluated = can_evaluate(plan, n);
    }
    if (plan && evaluated)
        write_plan(w, plan, n, a);
    kjw_end(w);
    const char *why = plan ? "the selectors take too long" : NULL;
    if (plan && evaluated)
        why = what_fails(plan, n, a);
    if (why)
        kjw_str(w, "fails", why);
}
