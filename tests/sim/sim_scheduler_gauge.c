/* sim_scheduler_gauge.c - a plugin with row data: what is reported of a node as long as that is
 * news, its pods, and what is reserved there. By the seed it counts pods one by one in plain
 * numbers, or keeps them in a list that its struct owns, copied for rows of an overlay or made
 * anew. Each time it is asked, what it is given is compared with the rows.
 */
#include "sim_scheduler.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/koord/nodemetric.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/ktime.h"
#include "loop/loop.h"
#include "scheduler/model/objects.h"

#define REPORTS "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
#define TRUST   (60 * NSEC_PER_SEC)
enum { BUSY = 95 };

static struct sim_scheduler *next_born;

enum { LOAD, HELD, ON_IT, COLUMNS }; /* percent; reserved here and not bound; a hash */
struct plain {
    uint64_t pods;
    int64_t load;
};
struct list {
    uint64_t *items; /* sorted */
    uint32_t n;
};

/* ---- what it should be ----------------------------------------------------------------------- */

static uint64_t hash_of(const struct pod *p)
{
    return kuid_hash(p->obj.meta.uid);
}

static uint64_t pods_of(const struct ks_nodes *nodes, uint32_t row)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < nodes->pods[row].n; i++)
        sum += hash_of(nodes->pods[row].items[i]);
    return sum;
}

static int64_t held_on(const struct sim_scheduler *s, const char *node)
{
    int k = sim_node_of(s->sim, node);
    int64_t n = 0;

    vec_foreach(&s->holds, i)
        n += s->holds.items[i]->node == k;
    return n;
}

/* *ret_until: when it says nothing any more, or did; 0: there is none. */
static int64_t load_of(const struct sim_scheduler *s, const char *node, nsec_t now,
                       nsec_t *ret_until)
{
    const struct kobj *o = objects_get(s->env.objects, &kind_nodemetric, NULL, node);
    const struct nodemetric_status *m = o ? &nodemetric_of(o)->status : NULL;

    *ret_until = m && m->node_metric ? m->update_time + TRUST : 0;
    if (now >= *ret_until)
        return 0;
    return requests_count(&m->node_metric->node_usage.resources, RES_CPU) / 10;
}

/* ---- row data -------------------------------------------------------------------------------- */

static void fill_columns(const struct sim_scheduler *s, struct ks_fill *f)
{
    const char *node = f->nodes->node[f->row]->obj.meta.name;

    f->column[LOAD] = load_of(s, node, f->now, &f->valid_until);
    f->column[HELD] = held_on(s, node);
    f->column[ON_IT] = (int64_t)pods_of(f->nodes, f->row);
    s->sim->n.filled++;
}

static void plain_fill(void *self, struct ks_fill *f)
{
    struct plain *d = f->data;

    fill_columns(self, f);
    d->pods = (uint64_t)f->column[ON_IT];
    if (!f->pods_only)
        d->load = f->column[LOAD];
}

static void plain_add(void *self, struct ks_fill *f, const struct pod *p)
{
    struct plain *d = f->data;

    ((struct sim_scheduler *)self)->sim->n.counted++;
    d->pods += hash_of(p);
    f->column[ON_IT] = (int64_t)d->pods;
}

static void plain_remove(void *self, struct ks_fill *f, const struct pod *p)
{
    struct plain *d = f->data;

    ((struct sim_scheduler *)self)->sim->n.counted++;
    d->pods -= hash_of(p);
    f->column[ON_IT] = (int64_t)d->pods;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void list_fill(void *self, struct ks_fill *f)
{
    const struct ks_podlist *on = &f->nodes->pods[f->row];
    struct list *d = f->data;

    fill_columns(self, f);
    d->items = xreallocarray(d->items, on->n + 1, sizeof *d->items);
    d->n = on->n;
    for (uint32_t i = 0; i < on->n; i++)
        d->items[i] = hash_of(on->items[i]);
    qsort(d->items, d->n, sizeof *d->items, by_number);
}

static void list_drop(void *self, void *data)
{
    (void)self;
    free(((struct list *)data)->items);
}

static void list_copy(void *self, void *to, const void *from)
{
    const struct list *x = from;

    (void)self;
    *(struct list *)to = (struct list){
        .items = memcpy(xnewn0(x->n + 1, uint64_t), x->items, x->n * sizeof *x->items), .n = x->n
    };
}

static const struct ks_row_data counting = {
    .size = sizeof(struct plain),
    .columns = COLUMNS,
    .pods = true,
    .fill = plain_fill,
    .add_pod = plain_add,
    .remove_pod = plain_remove,
};
static const struct ks_row_data owning = { .size = sizeof(struct list),
                                           .columns = COLUMNS,
                                           .pods = true,
                                           .fill = list_fill,
                                           .drop = list_drop };
static const struct ks_row_data copying = {
    .size = sizeof(struct list),
    .columns = COLUMNS,
    .pods = true,
    .fill = list_fill,
    .drop = list_drop,
    .copy = list_copy,
};

/* What the row data says must be so, whatever was tried on the row before. */
static void check_row(const struct sim_scheduler *s, const struct ks_cycle *c, uint32_t row)
{
    const char *node = c->nodes->node[row]->obj.meta.name;
    bool changed = c->nodes->overlaid && c->nodes->overlaid[row];
    nsec_t until;

    if (c->rows->column[ON_IT][row] != (int64_t)pods_of(c->nodes, row))
        sim_fail(s->sim, "row data of %s is about other pods", node);
    if (c->rows->column[HELD][row] != held_on(s, node))
        sim_fail(s->sim, "row data of %s is about other reservations", node);
    if (!changed && c->rows->column[LOAD][row] != load_of(s, node, c->now, &until))
        sim_fail(s->sim, "row data of %s is about another report", node);
    if (c->rows->stride == sizeof(struct plain) && s->gauge == &counting &&
        ((const struct plain *)ks_row(c->rows, row))->pods != pods_of(c->nodes, row))
        sim_fail(s->sim, "the struct of %s is about other pods", node);
}

/* ---- the attempt ----------------------------------------------------------------------------- */

/* For one pod in four a node is less busy than it is. */
static enum ks_code gauge_transform(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    struct ks_overlay *o, void **ret_state, struct ks_texts *why)
{
    uint64_t hash = hash_of(p->pod);

    (void)ret_state, (void)self, (void)why;
    if (hash % 4 || c->nodes->n == 0)
        return KS_SKIP;
    ks_overlay_add_own(o, c, (uint32_t)(hash / 4 % c->nodes->n), LOAD, -7);
    return KS_SUCCESS;
}

static enum ks_code gauge_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    (void)self, (void)c, (void)p, (void)ret_state, (void)only, (void)why;
    return KS_SUCCESS;
}

static void gauge_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                         struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    (void)p, (void)skip;
    for (uint32_t i = s.begin; i < s.end; i++) {
        check_row(self, c, i);
        why[i] = c->rows->column[LOAD][i] >= BUSY;
    }
}

static void gauge_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_span s, int64_t *restrict out)
{
    (void)self, (void)p;
    for (uint32_t i = s.begin; i < s.end; i++) {
        int64_t load = c->rows->column[LOAD][i];
        out[i] = KS_SCORE_MAX - MIN(MAX(load, 0), KS_SCORE_MAX);
    }
}

static enum ks_code gauge_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  uint32_t row, struct ks_texts *why)
{
    struct sim_scheduler *s = self;

    (void)p, (void)why;
    ks_touch_row(s->env.nodes, c->nodes->node[row]->obj.meta.name); /* Ledger has one more there */
    if (!(c->nodes->overlaid && c->nodes->overlaid[row]) && c->rows->column[LOAD][row] >= BUSY)
        sim_fail(s->sim, "%s goes to a node that is too busy", p->pod->obj.meta.name);
    return KS_SUCCESS;
}

static void gauge_unreserve(void *self, const struct pod *p, const char *node)
{
    (void)p;
    ks_touch_row(((struct sim_scheduler *)self)->env.nodes, node);
}

static int gauge_create(const struct ks_env *env, const void *args, void **ret_self,
                        struct kerr *err)
{
    (void)args, (void)err;
    next_born->env = *env;
    *ret_self = next_born;
    return 0;
}

/* ---- the plugin ------------------------------------------------------------------------------ */

static const struct ks_reason gauge_reasons[] = { { KS_SUCCESS, "" },
                                                  { KS_UNSCHEDULABLE, "node(s) were too busy" } };
static const struct kind *const gauge_kinds[] = { &kind_nodemetric, NULL };
static const struct ks_hint gauge_hints[] = {
    { KS_RES_OTHER, KS_ADD | KS_UPDATE | KS_DELETE, NULL, &kind_nodemetric },
    { KS_RES_NODE, KS_ADD, NULL, NULL },
};
#define GAUGE(row_data)                                                                       \
    {                                                                                         \
        .abi = KS_PLUGIN_ABI, .size = sizeof(struct ks_plugin), .name = "Gauge",              \
        .reasons = gauge_reasons, .reuse = KS_REUSE_LOCAL, .kinds = gauge_kinds,              \
        .row = (row_data), .create = gauge_create, .hints = gauge_hints,                      \
        .nhints = ARRAY_LEN(gauge_hints), .transform = gauge_transform,                       \
        .pre_filter = gauge_pre_filter, .filter = gauge_filter, .score = gauge_score,         \
        .reserve = gauge_reserve, .unreserve = gauge_unreserve, .post_bind = gauge_unreserve, \
    }
static const struct ks_plugin plugins[] = { GAUGE(&counting), GAUGE(&owning), GAUGE(&copying) };

const struct ks_plugin *gauge_for(struct sim_scheduler *s)
{
    const struct ks_plugin *p = &plugins[s->sim->seed % ARRAY_LEN(plugins)];

    next_born = s;
    s->gauge = p->row;
    return p;
}

/* ---- reports --------------------------------------------------------------------------------- */

static void put_report(struct sim *s, int node, int load)
{
    char body[256], at[KTIME_TEXT_MAX];

    ktime_format(loop_wall(s->loop), at);
    (void)snprintf(body, sizeof body,
                   "{\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":{\"nodeUsage\":{"
                   "\"resources\":{\"cpu\":\"%dm\"}}}}}",
                   at, 10 * load);
    fake_put(s->fake, REPORTS, s->nodes[node].name, body);
}

void gauge_report(struct sim *s)
{
    int node = sim_below(s, SIM_NODES);

    if (sim_chance(s, 10) && fake_find(s->fake, REPORTS, s->nodes[node].name))
        fake_delete(s->fake, REPORTS, s->nodes[node].name);
    else
        put_report(s, node, sim_below(s, 101));
}

void gauge_calm(struct sim *s)
{
    for (int node = 0; node < SIM_NODES; node++)
        put_report(s, node, node);
}
