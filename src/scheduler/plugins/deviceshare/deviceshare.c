/* deviceshare.c - DeviceShare: GPUs, RDMA and FPGA devices, whole or in shares (sched-device).
 *
 * What a row has left stands in its row data (devrow.h), made from the Device of the node and the
 * holdings of its pods; whether a pod fits follows from that and from the pod alone. So verdicts
 * and scores are reused, and overlays need nothing of their own.
 */
#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "api/protocol/reservation.h"
#include "base/arena.h"
#include "scheduler/plugins/cards/cards.h"
#include "scheduler/plugins/deviceshare/hints.h"
#include "scheduler/plugins/deviceshare/packing.h"
#include "scheduler/plugins/deviceshare/vendor.h"
#include "scheduler/plugins/registry.h"

#define NAME "DeviceShare"

enum { WHY_FITS, WHY_UNSCHEDULABLE, WHY_UNRESOLVABLE, WHY_ERROR };
static const struct ks_reason device_reasons[] = {
    [WHY_FITS] = { KS_SUCCESS, "" },
    [WHY_UNSCHEDULABLE] = { KS_UNSCHEDULABLE, "Insufficient devices" },
    [WHY_UNRESOLVABLE] = { KS_UNRESOLVABLE, "node(s) without suitable devices" },
    [WHY_ERROR] = { KS_ERROR, "devices could not be looked at" },
};

static uint8_t why_of(enum ks_code code)
{
    return code == KS_SUCCESS         ? WHY_FITS
           : code == KS_UNSCHEDULABLE ? WHY_UNSCHEDULABLE
           : code == KS_UNRESOLVABLE  ? WHY_UNRESOLVABLE
                                      : WHY_ERROR;
}

/* ---- the pod --------------------------------------------------------------------------------- */

static enum ks_code device_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                      void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    const struct device_plugin *d = self;
    const kstrlist *matched = d->args->templates ? &d->args->templates->matched : NULL;
    struct wish *w = NULL;

    (void)only;
    enum ks_code code = wish_read(p->pod, matched, c->arena, &w, why);
    *ret_state = w;
    return code;
}

/* A pod that needs a template waits for those, and for cards too. */
static uint64_t device_waits_for(void *self, const struct pod *p)
{
    const struct device_plugin *d = self;
    const kstrlist *matched = d->args->templates ? &d->args->templates->matched : NULL;
    struct ks_texts unread = { .arena = d->scratch };
    struct wish *w = NULL;

    arena_reset(d->scratch);
    return wish_read(p, matched, d->scratch, &w, &unread) == KS_SUCCESS && w->templated
               ? DEVICE_WAITS_FOR_TEMPLATES
               : DEVICE_WAITS_FOR_CARDS;
}

/* ---- filter ---------------------------------------------------------------------------------- */

/* What the columns are compared with. */
struct floor {
    int64_t core, memory, ratio, whole, rdma, fpga;
    bool asks_gpu, asks_rdma, asks_fpga;
};

static struct floor floor_of(const struct wish *w)
{
    const struct kind_wish *gpu = &w->of[DEVICE_GPU];
    int64_t core = gpu->each.v[GPU_CORE], ratio = gpu->each.v[GPU_RATIO];

    return (struct floor){
        .core = core,
        .memory = gpu->each.v[GPU_MEMORY],
        .ratio = ratio,
        .whole = core >= 100 && ratio >= 100 ? gpu->count : 0,
        .rdma = MIN(w->of[DEVICE_RDMA].each.v[0], 100),
        .fpga = MIN(w->of[DEVICE_FPGA].each.v[0], 100),
        .asks_gpu = gpu->asked,
        .asks_rdma = w->of[DEVICE_RDMA].asked,
        .asks_fpga = w->of[DEVICE_FPGA].asked,
    };
}

/* Rows that cannot do, whatever the allocator would say: one card has not so much, or there are not
 * so many whole ones. */
static inline void drop_span(const struct floor *f, int64_t *const *column, struct ks_span s,
                             uint8_t *restrict why)
{
    const int64_t *special = column[ROW_SPECIAL], *gpus = column[ROW_GPUS];
    const int64_t *whole = column[ROW_GPUS_FREE], *core = column[ROW_GPU_CORE];
    const int64_t *memory = column[ROW_GPU_MEMORY], *ratio = column[ROW_GPU_RATIO];
    const int64_t *rdmas = column[ROW_RDMAS], *rdma = column[ROW_RDMA];
    const int64_t *fpgas = column[ROW_FPGAS], *fpga = column[ROW_FPGA];

    for (uint32_t i = s.begin; i < s.end; i++) {
        bool known = (special[i] == 0) & (!f->asks_gpu | (gpus[i] > 0)) &
                     (!f->asks_rdma | (rdmas[i] > 0)) & (!f->asks_fpga | (fpgas[i] > 0));
        bool lacks = (f->core > core[i]) | (f->memory > memory[i]) | (f->ratio > ratio[i]) |
                     (f->whole > whole[i]) | (f->rdma > rdma[i]) | (f->fpga > fpga[i]);
        why[i] = (known & lacks) ? WHY_UNSCHEDULABLE : WHY_FITS;
    }
}

KOORD_CLONES static void drop_rows(struct floor f, int64_t *const *column, struct ks_span s,
                                   uint8_t *restrict why)
{
    drop_span(&f, column, s, why);
}

/* As devices_judge() for a pod and a row where amounts decide. A card that is not healthy has less
 * than nothing of whatever is asked for. */
static bool quick_fits(const struct wish *w, const struct devrow *r)
{
    for (uint32_t k = 0; r->inv && k < DEVICE_KINDS; k++) {
        const struct quick_wish *q = &w->quick[k];
        int64_t found = 0;
        for (uint32_t i = r->inv->first[k]; i < r->inv->first[k + 1] && found < q->count; i++)
            found += r->left[i].first >= q->first && r->left[i].ratio >= q->ratio &&
                     r->left[i].memory >= q->memory;
        if (found < q->count)
            return false;
    }
    return true;
}

/* Do the amounts of the row decide? Then whether it has what is asked for. */
static bool fits_at_once(const struct row_try *t)
{
    const struct devrow *r = ks_row(t->c->rows, t->row);

    return !devrow_is_special(r) && quick_fits(t->c->state, r) && !devices_restored(t);
}

static void filter_plain(struct row_try *t, struct ks_span s, const uint8_t *skip,
                         uint8_t *restrict why)
{
    struct floor floor = floor_of(t->c->state);
    bool one =
        s.end - s.begin == 1; /* a row that changed: what it has is nearer than the columns */

    if (!one)
        drop_rows(floor, t->c->rows->column, s, why);
    for (t->row = s.begin; t->row < s.end; t->row++) {
        if (skip[t->row] || why[t->row] != WHY_FITS || fits_at_once(t))
            continue;
        if (one)
            drop_span(&floor, t->c->rows->column, s, why);
        if (why[t->row] == WHY_FITS)
            why[t->row] = why_of(devices_judge(t, NULL));
    }
}

static void device_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                          struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct device_plugin *d = self;
    const struct wish *w = c->state;
    struct row_try t = { .d = self, .c = c, .p = p };

    memset(why + s.begin, WHY_FITS, s.end - s.begin);
    if (!w)
        return;
    if (w->plain && !(w->shared && d->args->unsupported.n)) {
        filter_plain(&t, s, skip, why);
        return;
    }
    for (t.row = s.begin; t.row < s.end; t.row++)
        if (!skip[t.row])
            why[t.row] = why_of(devices_judge(&t, NULL));
}

static void device_explain(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                           uint32_t row, struct ks_texts *out)
{
    struct row_try t = { .d = self, .c = c, .p = p, .row = row };
    uint8_t why = why_of(devices_judge(&t, out));

    if (out->n == 0)
        ks_texts_add(out, device_reasons[why].text);
}

/* ---- scores ---------------------------------------------------------------------------------- */

static enum ks_code device_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     void **ret_state, struct ks_texts *why)
{
    const struct device_plugin *d = self;

    (void)p, (void)why;
    *ret_state = c->state;
    return c->state || d->packing ? KS_SUCCESS : KS_SKIP; /* who asks for none takes CPUs away */
}

static void score_by_packing(struct device_plugin *d, struct row_try *t, struct ks_span s,
                             int64_t *restrict out)
{
    const struct frag_mix *m = packing_look(d->packing);

    for (t->row = s.begin; t->row < s.end; t->row++)
        out[t->row] = packing_score(t, m);
}

static void device_score_rows(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                              struct ks_span s, int64_t *restrict out)
{
    struct device_plugin *d = self;
    struct row_try t = { .d = d, .c = c, .p = p };

    if (d->packing) {
        score_by_packing(d, &t, s, out);
        return;
    }
    for (t.row = s.begin; t.row < s.end; t.row++)
        out[t.row] = c->rows->column[ROW_DEVICES][t.row] ? devices_score_row(&t) : 0;
}

static void device_normalize(void *self, const struct ks_cycle *c, const uint8_t *skip, uint32_t n,
                             int64_t *scores)
{
    const struct device_plugin *d = self;

    if (d->packing)
        packing_normalize(skip, n, scores);
    else
        ks_normalize(self, c, skip, n, scores);
}

static bool device_scales(void *self)
{
    const struct device_plugin *d = self;

    return !d->packing;
}

static uint64_t device_version(void *self)
{
    const struct device_plugin *d = self;
    return d->packing ? packing_version(d->packing) : 0;
}

/* ---- reserve --------------------------------------------------------------------------------- */

/* What the pod gets on the row that was chosen; result in the scratch arena. */
static enum ks_code allocate(struct device_plugin *d, const struct ks_cycle *c,
                             const struct ks_pod *p, uint32_t row, struct device_result *ret,
                             struct ks_texts *why)
{
    struct row_try t = { .d = d, .c = c, .p = p, .row = row, .reserving = true };

    *ret = (struct device_result){ 0 };
    if (!d->args->no_alignment) {
        enum ks_code code = numa_affinity(c, p, row, &t.numa, why);
        if (code != KS_SUCCESS)
            return code;
    }
    /* The card that is best for the mix; any other where that one does not do after all. */
    const struct wish *w = c->state;
    uint32_t card = d->packing && w && w->plain && w->shared && !ks_nominated(c, row)
                        ? packing_card(&t, packing_look(d->packing))
                        : NO_CARD;
    if (card != NO_CARD) {
        t.card = &card;
        if (devices_try_of(&t, NULL, ret, NULL) == KS_SUCCESS)
            return KS_SUCCESS;
        t.card = NULL;
    }
    return devices_try_of(&t, ks_nominated(c, row), ret, why);
}

static enum ks_code device_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   uint32_t row, struct ks_texts *why)
{
    struct device_plugin *d = self;
    struct device_result r;

    if (!c->state)
        return KS_SUCCESS;
    const char *node = c->nodes->node[row]->obj.meta.name;
    /* Claims of this pod, which it may have by resources of device classes too, may have just got
     * cards. */
    if (d->holdings->cards && cards_any(d->holdings->cards, CARDS_OF_CLAIMS, node))
        devrow_recount(ks_row(c->rows, row), d->holdings, &c->nodes->pods[row]);
    enum ks_code code = allocate(d, c, p, row, &r, why);
    if (code == KS_SUCCESS && r.n)
        holdings_reserve(d->holdings, p->pod, node, ks_nominated(c, row), r.items, r.n);
    return code;
}

static void device_unreserve(void *self, const struct pod *p, const char *node)
{
    struct device_plugin *d = self;

    (void)node;
    holdings_release(d->holdings, p->obj.meta.uid);
}

/* ---- resizing -------------------------------------------------------------------------------- */

static void add_request(const struct ks_cycle *c, struct requests *r, const char *name,
                        int64_t amount)
{
    for (uint32_t i = 0; i < r->nmore; i++)
        if (streq(r->more[i].name, name)) {
            r->more[i].count = i64_add_sat(r->more[i].count, amount);
            return;
        }
    struct ks_request *more = arena_newn0(c->arena, r->nmore + 1, struct ks_request);
    if (r->nmore)
        memcpy(more, r->more, r->nmore * sizeof *more);
    more[r->nmore] = (struct ks_request){ name, amount, ks_column_of(c->nodes, name) };
    r->more = more;
    r->nmore++;
}

/* A reservation has what its devices come down to, not only what was asked for. */
static enum ks_code device_resize(void *self, const struct ks_cycle *c, struct ks_pod *p,
                                  uint32_t row, struct ks_texts *why)
{
    struct device_plugin *d = self;
    struct device_result r;

    if (!c->state || !is_reserve_pod(&p->pod->obj.meta.annotations))
        return KS_SKIP;
    enum ks_code code = allocate(d, c, p, row, &r, why);
    if (code != KS_SUCCESS || r.n == 0)
        return code == KS_SUCCESS ? KS_SKIP : code;
    for (uint32_t i = 0; i < r.n; i++)
        for (uint32_t k = 0; k < DEVICE_RESOURCES; k++)
            if (r.items[i].amounts.v[k] > 0)
                add_request(c, &p->requests,
                            device_resource_name((enum device_kind)r.items[i].kind, k),
                            r.items[i].amounts.v[k]);
    return KS_SUCCESS;
}

/* ---- the plugin ------------------------------------------------------------------------------ */

static struct device_scorer scorer_of(const struct scoring_strategy *s)
{
    struct device_scorer x = { .most = s->type && streq(s->type, "MostAllocated") };

    for (uint32_t i = 0; i < s->resources.n; i++)
        for (uint32_t k = 0; k < DEVICE_KINDS; k++)
            for (uint32_t r = 0; r < DEVICE_RESOURCES; r++) {
                const char *name = device_resource_name((enum device_kind)k, r);
                if (!name || !streq(name, s->resources.items[i].name))
                    continue;
                x.weight[k][r] = s->resources.items[i].weight;
                x.npu |= r >= GPU_SUMMED;
            }
    return x;
}

static int device_create(const struct ks_env *env, const void *args, void **ret_self,
                         struct kerr *err)
{
    const struct deviceshare_args *given = args;
    struct device_plugin *d = xnew0(struct device_plugin);

    (void)err;
    d->holdings = holdings_of(env);
    holdings_link(d->holdings, cards_of(env));
    d->templates = templates_of(env);
    d->args = given;
    d->scorer = scorer_of(given->strategy);
    if (given->strategy->type && streq(given->strategy->type, STRATEGY_FRAGMENTATION_AWARE))
        d->packing = packing_of(env);
    d->adapts = ks_gate(env, "DevicePluginAdaption");
    d->resizes = ks_gate(env, "ResizePod");
    d->env = *env;
    d->scratch = arena_new();
    *ret_self = d;
    return 0;
}

static void device_destroy(void *self)
{
    struct device_plugin *d = self;

    for (uint32_t i = 0; i < DEVICE_ATTEMPTS_NESTED; i++) {
        vec_fini(&d->restored[i].rows);
        vec_fini(&d->restored[i].taken);
    }
    vendor_fini(d);
    arena_free(d->scratch);
    free(d);
}

static const struct kind *const device_kinds[] = { &kind_device, NULL };
static const char *const device_pod_annotations[] = {
    ANNO_DEVICE_ALLOCATED,     ANNO_DEVICE_HINT,
    ANNO_DEVICE_JOINT,         ANNO_GPU_PARTITION_SPEC,
    ANNO_RESERVATION_AFFINITY, ANNO_SCHEDULING_HINT,
    ANNO_SCHEDULING_HINT_OLD,  NULL
};
static const char *const device_pod_labels[] = { LABEL_GPU_ISOLATION_PROVIDER,
                                                 LABEL_RESERVATION_IGNORED,
                                                 LABEL_PRE_ALLOCATION_REQUIRED, NULL };
/* The cards outlive those who hold them. */
static const struct ks_service *const device_services[] = { &cards_service, &holdings_service,
                                                            &templates_service, &packing_service,
                                                            NULL };

const struct ks_plugin ks_plugin_device_share = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = NAME,
    .reasons = device_reasons,
    .reuse = KS_REUSE_LOCAL,
    .kinds = device_kinds,
    .pod_annotations = device_pod_annotations,
    .pod_labels = device_pod_labels,
    .row = &devrow_data,
    .points = KS_AT(PRE_FILTER) | KS_AT(FILTER) | KS_AT(PRE_SCORE) | KS_AT(SCORE) | KS_AT(RESERVE) |
              KS_AT(PRE_BIND),
    .args = &deviceshare_args,
    .create = device_create,
    .destroy = device_destroy,
    .services = device_services,
    .hints = device_hints,
    .nhints = DEVICE_HINTS,
    .waits_for = device_waits_for,
    .pre_filter = device_pre_filter,
    .filter = device_filter,
    .explain = device_explain,
    .show = devices_show,
    .pre_score = device_pre_score,
    .score = device_score_rows,
    .normalize = device_normalize,
    .scales = device_scales,
    .version = device_version,
    .reserve = device_reserve,
    .unreserve = device_unreserve,
    .resize = device_resize,
    .pre_bind = devices_pre_bind,
    .cancel = vendor_cancel,
    .numa = &device_numa,
    .reservations = &device_reservations,
};
