/* rest.c - devices of nodes as JSON and as a gauge (sched-device 3, 10). */
#include "scheduler/plugins/deviceshare/rest.h"

#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/deviceshare/devrow.h"
#include "json/kj.h"

/* ---- sums ------------------------------------------------------------------------------------ */

typedef struct amounts (*card_fn)(const struct devrow *r, uint32_t card);

static struct amounts total_of(const struct devrow *r, uint32_t card)
{
    return r->inv->card[card].total;
}

static struct amounts used_of(const struct devrow *r, uint32_t card)
{
    return r->used[card];
}

static void write_list(struct kjw *w, const char *key, const reslist *l)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    reslist_encode(l, &b);
    kjw_raw(w, key, strbuf_str(&b), b.len);
}

static void write_sums(const struct devrow *r, const char *key, card_fn of, struct kjw *w,
                       struct arena *a)
{
    reslist all = { 0 };

    for (uint32_t k = 0; k < DEVICE_KINDS; k++) {
        struct amounts sum = { 0 };
        for (uint32_t i = r->inv->first[k]; i < r->inv->first[k + 1]; i++) {
            struct amounts x = of(r, i);
            amounts_add(&sum, &x);
        }
        reslist l = amounts_list((enum device_kind)k, &sum, a);
        for (uint32_t i = 0; i < l.n; i++)
            all = reslist_with(&all, l.items[i].name, l.items[i].value, a);
    }
    write_list(w, key, &all);
}

/* By kind and minor; empty: cards that nobody uses are left out. */
static void write_detail(const struct devrow *r, const char *key, card_fn of, bool empty,
                         struct kjw *w, struct arena *a)
{
    kjw_obj(w, key);
    for (uint32_t k = 0; k < DEVICE_KINDS; k++) {
        bool open = false;
        for (uint32_t i = r->inv->first[k]; i < r->inv->first[k + 1]; i++) {
            struct amounts x = of(r, i);
            if (!empty && amounts_are_zero(&x))
                continue;
            if (!open)
                kjw_obj(w, device_kind_name((enum device_kind)k));
            open = true;
            reslist l = amounts_list((enum device_kind)k, &x, a);
            write_list(w, arena_printf(a, "%d", r->inv->card[i].minor), &l);
        }
        if (open)
            kjw_end(w);
    }
    kjw_end(w);
}

/* ---- who holds what -------------------------------------------------------------------------- */

static void write_holding(const struct holding *x, enum device_kind kind, struct kjw *w,
                          struct arena *a)
{
    kjw_obj(w, arena_printf(a, "%s/%s", x->pod->meta.ns, x->pod->meta.name));
    for (uint32_t i = 0; i < x->n; i++) {
        reslist l = amounts_list(kind, &x->items[i].amounts, a);
        if (x->items[i].kind == kind)
            write_list(w, arena_printf(a, "%d", x->items[i].minor), &l);
    }
    kjw_end(w);
}

static bool holds_kind(const struct holding *x, enum device_kind kind)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (x->items[i].kind == kind)
            return true;
    return false;
}

static void write_holders(const struct holdings *h, const struct ks_podlist *pods, struct kjw *w,
                          struct arena *a)
{
    kjw_obj(w, "allocateSet");
    for (uint32_t k = 0; k < DEVICE_KINDS; k++) {
        bool open = false;
        for (uint32_t i = 0; i < pods->n; i++) {
            const struct holding *x = holdings_find(h, pods->items[i]->obj.meta.uid);
            if (!x || !holds_kind(x, (enum device_kind)k))
                continue;
            if (!open)
                kjw_obj(w, device_kind_name((enum device_kind)k));
            open = true;
            write_holding(x, (enum device_kind)k, w, a);
        }
        if (open)
            kjw_end(w);
    }
    kjw_end(w);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* false: the node has no devices, and never had. */
static bool write_node(struct holdings *h, uint32_t row, const char *key, struct kjw *w,
                       struct arena *a)
{
    const struct ks_nodes *n = h->env.nodes;
    struct devrow r;

    devrow_init(&r, h, n->node[row], &n->pods[row]);
    if (!r.inv)
        return false;
    kjw_obj(w, key);
    write_sums(&r, "deviceTotal", total_of, w, a);
    write_sums(&r, "deviceFree", devrow_free, w, a);
    write_sums(&r, "deviceUsed", used_of, w, a);
    write_detail(&r, "deviceTotalDetail", total_of, true, w, a);
    write_detail(&r, "deviceFreeDetail", devrow_free, true, w, a);
    write_detail(&r, "deviceUsedDetail", used_of, false, w, a);
    write_holders(h, &n->pods[row], w, a);
    kjw_end(w);
    devrow_fini(&r);
    return true;
}

static int get_all(void *service, const struct ks_get *g, struct kjw *w, struct kerr *err)
{
    struct holdings *h = service;

    (void)err;
    kjw_obj(w, NULL);
    for (uint32_t row = 0; h->env.nodes && row < h->env.nodes->n; row++)
        (void)write_node(h, row, h->env.nodes->node[row]->obj.meta.name, w, g->arena);
    kjw_end(w);
    return 0;
}

static int get_one(void *service, const struct ks_get *g, struct kjw *w, struct kerr *err)
{
    struct holdings *h = service;
    uint32_t row = h->env.nodes ? ks_row_of(h->env.nodes, g->params[0]) : KS_NO_ROW;

    if (row == KS_NO_ROW || !write_node(h, row, NULL, w, g->arena))
        return kerr_api(err, -ENOENT, KR_NOT_FOUND, "cannot find node %.200s", g->params[0]);
    return 0;
}

const struct ks_path device_paths[] = {
    { "nodeDeviceSummaries", get_all },
    { "nodeDeviceSummaries/:name", get_one },
    { NULL, NULL },
};

/* ---- the gauge ------------------------------------------------------------------------------- */

static const struct metric_desc not_planned_desc = {
    .name = "scheduler_secondary_device_not_well_planned",
    .help = "Nodes whose secondary devices are not well planned: 1",
    .type = METRIC_GAUGE,
    .labels = { "node_name" },
};

static void put_rows(void *arg, metric_put_fn put, void *out)
{
    const struct holdings *h = arg;
    struct kobj *o;

    for (size_t it = 0; (o = objects_next(h->env.objects, &kind_device, &it));) {
        struct opt_bool planned = secondary_well_planned(&o->meta.labels);
        if (planned.set && !planned.v)
            put(out, METRIC_VALUES(o->meta.name), 1);
    }
}

void device_gauges_start(struct holdings *h)
{
    if (h->env.metrics)
        metric_set_rows(metrics_add(h->env.metrics, &not_planned_desc), put_rows, h);
}

void device_gauges_stop(struct holdings *h)
{
    if (h->env.metrics)
        metric_set_rows(metrics_add(h->env.metrics, &not_planned_desc), NULL, NULL);
}
