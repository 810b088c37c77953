/* packing.c - the scoring strategy FragmentationAware. */
#include "scheduler/plugins/deviceshare/packing.h"

#include <math.h>

#include "base/arena.h"
#include "loop/loop.h"

enum { SCORE_SCALE = 1000 }; /* a thousandth of a percent of a card */

struct packing {
    struct loop *loop;
    struct podmix *mix;
    struct arena *scratch;
};

/* ---- the mix --------------------------------------------------------------------------------- */

/* In percent of a card; 0 when it is known only on a node, whose cards have so much memory. */
static int32_t share_of(const struct amounts *each)
{
    return (int32_t)MIN(MAX(each->v[GPU_CORE], each->v[GPU_RATIO]), FRAG_CARD);
}

static struct frag_kind kind_of(const struct wish *w, const struct requests *r)
{
    struct frag_kind k = { .mcpu = r->fixed[KS_MCPU], .memory = r->fixed[KS_MEMORY] };

    if (w && w->of[DEVICE_GPU].asked) {
        k.cards = (uint32_t)MIN(w->of[DEVICE_GPU].count, FRAG_CARDS_MAX + 1);
        k.share = share_of(&w->of[DEVICE_GPU].each);
    }
    return k;
}

/* The first time that the pod is told of. */
static void on_pod(void *service, const struct pod *before, const struct pod *now)
{
    struct packing *x = service;
    struct ks_texts unread = { .arena = x->scratch };
    struct wish *w = NULL;
    struct requests r;

    if (before)
        return;
    arena_reset(x->scratch);
    if (wish_read(now, NULL, x->scratch, &w, &unread) != KS_SUCCESS || !w)
        return;
    requests_placed(now, x->scratch, &r);
    struct frag_kind k = kind_of(w, &r);
    podmix_note(x->mix, &k, loop_mono(x->loop));
}

static const struct ks_pod_handler pods = { .pending = on_pod, .placed = on_pod };

static int packing_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    struct packing *x = xnew0(struct packing);

    (void)args, (void)err;
    x->loop = env->loop;
    x->mix = podmix_new();
    x->scratch = arena_new();
    *ret = x;
    return 0;
}

static void packing_destroy(void *service)
{
    struct packing *x = service;

    podmix_free(x->mix);
    arena_free(x->scratch);
    free(x);
}

const struct ks_service packing_service = {
    .name = "DeviceShare",
    .create = packing_create,
    .destroy = packing_destroy,
    .pods = &pods,
};

const struct frag_mix *packing_look(struct packing *x)
{
    return podmix_look(x->mix, loop_mono(x->loop));
}

uint64_t packing_version(struct packing *x)
{
    packing_look(x); /* the picture may be due */
    return podmix_version(x->mix);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* What is free of a card, in percent: of compute and memory the scarcer. */
static int32_t free_percent(const struct amounts *total, const struct amounts *left)
{
    int64_t core = amounts_has(total, GPU_CORE) ? left->v[GPU_CORE] : FRAG_CARD;
    int64_t ratio = amounts_has(total, GPU_RATIO) ? left->v[GPU_RATIO] : FRAG_CARD;

    return total->has ? (int32_t)MIN(MIN(core, ratio), FRAG_CARD) : 0;
}

static void node_of(const struct row_try *t, const struct devrow *row, struct frag_node *ret)
{
    const struct inventory *inv = row->inv;
    const struct ks_nodes *nodes = t->c->nodes;

    *ret = (struct frag_node){
        .n_cards =
            MIN(inv->first[DEVICE_GPU + 1] - inv->first[DEVICE_GPU], (uint32_t)FRAG_CARDS_MAX),
        .mcpu = nodes->alloc[KS_MCPU][t->row] - nodes->used[KS_MCPU][t->row],
        .memory = nodes->alloc[KS_MEMORY][t->row] - nodes->used[KS_MEMORY][t->row],
    };
    for (uint32_t i = 0; i < ret->n_cards; i++) {
        uint32_t card = inv->first[DEVICE_GPU] + i;
        struct amounts left = devrow_free(row, card);
        ret->card[i] = free_percent(&inv->card[card].total, &left);
    }
}

/* Shares that are asked for in bytes are percents of the first card of the node. */
static void resolve_share(const struct wish *w, const struct inventory *inv, struct frag_kind *k)
{
    const struct amounts *total = &inv->card[inv->first[DEVICE_GPU]].total;
    int64_t want = w->of[DEVICE_GPU].each.v[GPU_MEMORY], all = total->v[GPU_MEMORY];

    if (want > 0 && all > 0)
        k->share = MAX(k->share, (int32_t)MIN((want * FRAG_CARD + all - 1) / all, FRAG_CARD));
    k->share = MAX(k->share, 1);
}

static double growth(const struct row_try *t, const struct frag_mix *m, uint32_t *ret_card)
{
    const struct devrow *row = ks_row(t->c->rows, t->row);
    const struct wish *w = t->c->state;
    struct frag_node n;

    *ret_card = NO_CARD;
    if (!row->inv || row->inv->first[DEVICE_GPU] == row->inv->first[DEVICE_GPU + 1])
        return 0;
    node_of(t, row, &n);
    struct frag_kind k = kind_of(w, &t->p->requests);
    if (k.cards > 0)
        resolve_share(w, row->inv, &k);
    uint32_t card;
    double grown = frag_growth(&n, m, &k, &card);
    if (card != UINT32_MAX)
        *ret_card = row->inv->first[DEVICE_GPU] + card;
    return grown;
}

int64_t packing_score(const struct row_try *t, const struct frag_mix *m)
{
    uint32_t card;
    return -llround(growth(t, m, &card) * SCORE_SCALE);
}

uint32_t packing_card(const struct row_try *t, const struct frag_mix *m)
{
    uint32_t card;

    growth(t, m, &card);
    return card;
}

void packing_normalize(const uint8_t *skip, uint32_t n, int64_t *scores)
{
    int64_t most = INT64_MIN, least = INT64_MAX;

    for (uint32_t i = 0; i < n; i++)
        if (!skip[i]) {
            most = MAX(most, scores[i]);
            least = MIN(least, scores[i]);
        }
    for (uint32_t i = 0; i < n; i++)
        if (!skip[i])
            scores[i] = scores[i] == most
                            ? KS_SCORE_MAX
                            : MIN(i64_muldiv(scores[i] - least, KS_SCORE_MAX, most - least),
                                  KS_SCORE_MAX - 1);
}
