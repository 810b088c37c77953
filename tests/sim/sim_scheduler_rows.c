/* sim_scheduler_rows.c - a plugin that changes rows for the time of an attempt, and has a say in
 * which rows count.
 *
 * On every third node it keeps room and a port for important pods: for the others transform() puts
 * a placeholder pod there, which no server knows. While there is trouble it also narrows the rows,
 * names the one row or prefers some, and makes changes that it takes back at once.
 */
#include "sim_scheduler.h"

#include "api/kobj.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/framework/attempt.h"
#include "json/kj.h"

enum { PREFERRED = 3 };

static struct sim_scheduler *next_born;

void rows_for(struct sim_scheduler *s)
{
    next_born = s;
}

/* ---- the placeholder ------------------------------------------------------------------------- */

struct kobj *rows_placeholder(struct sim *s)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(s->strings);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    struct kobj *o = NULL;

    strbuf_appendf(&b,
                   "{\"metadata\":{\"name\":\"placeholder\",\"namespace\":\"ns\",\"uid\":"
                   "\"placeholder\"},\"spec\":{\"priority\":2000000000,\"containers\":[{\"name\":"
                   "\"c\",\"ports\":[{\"containerPort\":80,\"hostPort\":%d}],\"resources\":{"
                   "\"requests\":{\"cpu\":\"%dm\"}}}]}}",
                   SIM_KEPT_PORT, SIM_KEPT_MCPU);
    if (kj_parse(b.data, b.len, 0, &doc, NULL) < 0 ||
        kobj_decode(&kind_pod, kj_root(doc), scratch, &o, &err) < 0)
        sim_fail(s, "no placeholder: %s", err.text);
    return o;
}

bool rows_are_kept(const struct sim *s, int node, int priority)
{
    return s->parts & SIM_ROWS && node % 3 == 0 && priority < 200;
}

/* ---- rows of an attempt ---------------------------------------------------------------------- */

/* The same for all questions about a pod in this step: an attempt may be made twice, to compare. */
static uint64_t draw(const struct sim_scheduler *s, const struct pod *p, uint64_t what)
{
    uint64_t x = kuid_hash(p->obj.meta.uid) ^ (uint64_t)s->sim->step << 32 ^ what;

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static bool in_trouble(const struct sim_scheduler *s, const struct pod *p, uint64_t what,
                       uint64_t percent)
{
    return s->sim->chaos && draw(s, p, what) % 100 < percent;
}

static void any_change(struct sim *s, const struct ks_nodes *nodes, struct ks_overlay *o)
{
    uint32_t row = (uint32_t)sim_below(s, (int)nodes->n);
    const struct ks_podlist *on = &nodes->pods[row];

    if (on->n && sim_chance(s, 60)) {
        const struct pod *p = on->items[sim_below(s, (int)on->n)];
        ks_overlay_remove_pod(o, row, p);
        if (sim_chance(s, 30) && p != pod_of(s->placeholder))
            ks_overlay_restore_pod(o, row, p);
    } else if (sim_chance(s, 50)) {
        ks_overlay_add_pod(o, row, s->placeholder);
    } else {
        ks_overlay_add(o, row, KS_MCPU, sim_below(s, 2000) - 1000);
    }
}

static enum ks_code rows_transform(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   struct ks_overlay *o, void **ret_state, struct ks_texts *why)
{
    struct sim_scheduler *of = self;
    struct sim *s = of->sim;
    uint32_t mark = ks_overlay_mark(o);
    bool any = false;

    (void)ret_state, (void)why;
    for (int n = c->nodes->n && sim_chance(s, 30) ? sim_below(s, 8) : 0; n > 0; n--)
        any_change(s, c->nodes, o);
    ks_overlay_rollback(o, mark);
    for (uint32_t row = 0; row < c->nodes->n; row++) {
        int node = sim_node_of(s, c->nodes->node[row]->obj.meta.name);
        if (!rows_are_kept(s, node, pod_priority(p->pod)))
            continue;
        ks_overlay_add_pod(o, row, s->placeholder);
        any = true;
    }
    s->n.overlaid += any;
    return any ? KS_SUCCESS : KS_SKIP;
}

static enum ks_code rows_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    (void)self, (void)c, (void)p, (void)ret_state, (void)only, (void)why;
    return KS_SKIP;
}

static enum ks_code rows_after_pre_filter(void *self, const struct ks_cycle *c,
                                          const struct ks_pod *p, struct ks_only *only,
                                          struct ks_texts *why)
{
    const struct sim_scheduler *s = self;
    uint32_t *rows = arena_newn0(c->arena, c->nodes->n, uint32_t), n = 0;

    (void)why;
    if (!in_trouble(s, p->pod, 1, 10))
        return KS_SKIP;
    for (uint32_t row = 0; row < c->nodes->n; row++)
        if (draw(s, p->pod, 100 + row) % 2)
            rows[n++] = row;
    *only = (struct ks_only){ rows, n, true };
    return KS_SUCCESS;
}

static enum ks_code rows_find_one(void *self, struct attempt *a, uint32_t *ret_row,
                                  struct ks_texts *why)
{
    struct sim_scheduler *s = self;

    (void)why;
    if (a->n == 0 || !in_trouble(s, a->pod.pod, 2, 5))
        return KS_SKIP;
    s->sim->n.found++;
    *ret_row = (uint32_t)(draw(s, a->pod.pod, 3) % a->n);
    return KS_SUCCESS;
}

static uint32_t rows_prefer(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                            const uint32_t **ret_rows)
{
    const struct sim_scheduler *s = self;
    uint32_t *rows = arena_newn0(c->arena, PREFERRED, uint32_t), n = 0;

    if (c->nodes->n == 0 || !in_trouble(s, p->pod, 4, 10))
        return 0;
    while (n < PREFERRED) {
        rows[n] = (uint32_t)(draw(s, p->pod, 5 + n) % c->nodes->n);
        n++;
    }
    *ret_rows = rows;
    return n;
}

/* What was kept is still free, and the placeholder is there until the end of the attempt. */
static enum ks_code rows_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 uint32_t row, struct ks_texts *why)
{
    struct sim *s = ((struct sim_scheduler *)self)->sim;
    const char *name = c->nodes->node[row]->obj.meta.name;
    const struct ks_podlist *on = &c->nodes->pods[row];
    bool kept = rows_are_kept(s, sim_node_of(s, name), pod_priority(p->pod)), there = false;
    int mcpu = kept ? SIM_KEPT_MCPU : 0;

    (void)why;
    for (uint32_t i = 0; i < on->n; i++) {
        const struct sim_pod *x = sim_pod_of(s, on->items[i]->obj.meta.uid);
        there |= on->items[i] == pod_of(s->placeholder);
        mcpu += x ? x->mcpu : 0;
    }
    if (there != kept)
        sim_fail(s, "the placeholder is %s %s", there ? "on" : "not on", name);
    if (mcpu > c->nodes->alloc[KS_MCPU][row])
        sim_fail(s, "%s was reserved on %s, in room that is kept", p->pod->obj.meta.name, name);
    return KS_SUCCESS;
}

static int rows_create(const struct ks_env *env, const void *args, void **ret_self,
                       struct kerr *err)
{
    (void)env, (void)args, (void)err;
    *ret_self = next_born;
    return 0;
}

const struct ks_plugin rows_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Rows",
    .reuse = KS_REUSE_LOCAL,
    .create = rows_create,
    .pre_filter = rows_pre_filter,
    .reserve = rows_reserve,
    .transform = rows_transform,
    .after_pre_filter = rows_after_pre_filter,
    .find_one = rows_find_one,
    .prefer = rows_prefer,
};
