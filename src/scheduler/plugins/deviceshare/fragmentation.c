/* fragmentation.c - how much of a node's free GPUs the pods of this cluster cannot use. */
#include "scheduler/plugins/deviceshare/fragmentation.h"

/* How much it counts that a node's CPU or memory would not suffice for all of its cards. On a
 * production trace (openb) 0.15 to 0.5 differ little; without it and with all of it, up to one
 * percent of all GPUs stays idle that could have been used. */
#define ROOM_WEIGHT 0.25

struct tally {                   /* of the free cards, by how large a share is asked of them */
    int32_t fit[FRAG_CARD + 1];  /* how many have that much */
    int32_t rest[FRAG_CARD + 1]; /* the sum of those that have less */
    int32_t free;                /* the sum of all */
};

static int32_t free_of(const struct frag_node *n, uint32_t card)
{
    return MIN(MAX(n->card[card], 0), (int32_t)FRAG_CARD);
}

static void tally_init(struct tally *t, const struct frag_node *n)
{
    memset(t, 0, sizeof *t);
    for (uint32_t i = 0; i < n->n_cards; i++) {
        int32_t free = free_of(n, i);
        t->fit[free]++;
        t->free += free;
    }
    for (int32_t share = FRAG_CARD - 1; share >= 0; share--) /* at least that much */
        t->fit[share] += t->fit[share + 1];
    for (int32_t share = 1; share <= FRAG_CARD; share++)
        t->rest[share] = t->rest[share - 1] + (t->fit[share - 1] - t->fit[share]) * (share - 1);
}

static double room_for(int64_t free, int64_t each, double cards)
{
    return each > 0 ? (double)free / (double)each * cards : (double)INT64_MAX;
}

static double waste_for(const struct tally *t, const struct frag_node *n, const struct frag_kind *k)
{
    if (t->fit[k->share] < (int32_t)k->cards || n->mcpu < k->mcpu || n->memory < k->memory)
        return t->free;
    double used = t->free - t->rest[k->share], each = (double)k->cards * k->share;
    double room = MIN(room_for(n->mcpu, k->mcpu, each), room_for(n->memory, k->memory, each));
    return t->free - (room < used ? ROOM_WEIGHT * room + (1 - ROOM_WEIGHT) * used : used);
}

double frag_waste(const struct frag_node *n, const struct frag_mix *m)
{
    struct tally t;
    double sum = 0;

    tally_init(&t, n);
    if (t.free == 0)
        return 0;
    for (uint32_t i = 0; i < m->n; i++)
        sum += m->weights[i] * waste_for(&t, n, &m->kinds[i]);
    return sum;
}

double frag_growth(const struct frag_node *n, const struct frag_mix *m, const struct frag_kind *pod,
                   uint32_t *ret_card)
{
    struct frag_node after = *n;
    double before = frag_waste(n, m), best = 0;
    uint32_t left = pod->cards;

    *ret_card = UINT32_MAX;
    after.mcpu -= pod->mcpu;
    after.memory -= pod->memory;
    if (pod->cards == 1 && pod->share < FRAG_CARD) {
        bool asked[FRAG_CARD + 1] = { false }; /* cards with as much free are alike */
        for (uint32_t i = 0; i < n->n_cards; i++) {
            int32_t free = free_of(n, i);
            if (free < pod->share || asked[free])
                continue;
            asked[free] = true;
            after.card[i] = free - pod->share;
            double growth = frag_waste(&after, m) - before;
            after.card[i] = n->card[i];
            if (*ret_card == UINT32_MAX || growth < best) {
                best = growth;
                *ret_card = i;
            }
        }
        return best;
    }
    /* The fullest cards that suffice: whole cards are alike, shares of several leave least so. */
    while (left > 0) {
        uint32_t at = UINT32_MAX;
        for (uint32_t i = 0; i < n->n_cards; i++)
            if (after.card[i] == n->card[i] && n->card[i] >= pod->share &&
                (at == UINT32_MAX || n->card[i] < n->card[at]))
                at = i;
        if (at == UINT32_MAX)
            break;
        after.card[at] -= pod->share;
        left--;
    }
    return frag_waste(&after, m) - before;
}
