/* reserved.c - devices that reservations keep (sched-device 8).
 *
 * Where a pod may use reservations their pods are away from the row, so what they keep is free
 * there; it is for those who take room of that reservation only. A pod with a nominated reservation
 * gets its devices, or none. Running pods that a reservation may take over are away as well: it
 * takes the devices of those, all of them, and of nobody else.
 */
#include "api/koord/reservation.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/deviceshare/deviceshare.h"

/* ---- which reservations ---------------------------------------------------------------------- */

static struct restored_devices *restored_of(struct device_plugin *d, const struct ks_cycle *c)
{
    for (uint32_t i = 0; i < DEVICE_ATTEMPTS_NESTED; i++)
        if (d->restored[i].serial == c->serial)
            return &d->restored[i];
    return NULL;
}

static struct restored_devices *restored_make(struct device_plugin *d, const struct ks_cycle *c)
{
    struct restored_devices *x = restored_of(d, c);

    if (x)
        return x;
    x = &d->restored[d->restored_next++ % DEVICE_ATTEMPTS_NESTED];
    x->serial = c->serial;
    vec_clear(&x->rows);
    vec_clear(&x->taken);
    return x;
}

static void note_restored(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                          struct ks_overlay *o, const struct ks_restored *r)
{
    struct restored_devices *x = restored_make(self, c);

    (void)o, (void)p;
    vec_push(&x->rows, *r);
}

static void note_taken_over(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                            struct ks_overlay *o, uint32_t row, const struct pod *const *pods,
                            uint32_t n)
{
    struct restored_devices *x = restored_make(self, c);
    struct taken_over t = { row, n, pods };

    (void)o, (void)p;
    vec_push(&x->taken, t);
}

static const struct ks_restored *restored_row(const struct row_try *t)
{
    const struct restored_devices *x = restored_of(t->d, t->c);

    for (size_t i = x ? x->rows.n : 0; i-- > 0;)
        if (x->rows.items[i].row == t->row)
            return &x->rows.items[i];
    return NULL;
}

static const struct taken_over *taken_row(const struct row_try *t)
{
    const struct restored_devices *x = restored_of(t->d, t->c);

    for (size_t i = x ? x->taken.n : 0; i-- > 0;)
        if (x->taken.items[i].row == t->row)
            return &x->taken.items[i];
    return NULL;
}

bool devices_restored(const struct row_try *t)
{
    const struct restored_devices *x = restored_of(t->d, t->c);

    return x && (restored_row(t) || taken_row(t));
}

/* ---- what they keep -------------------------------------------------------------------------- */

struct kept { /* of a reservation, for owners to come */
    const struct ks_reservation *of;
    struct held *items; /* what its pod holds, less what owners have */
    uint32_t n;         /* 0: it has no devices */
};

static struct amounts amounts_on(const struct devrow *row, const struct held *item)
{
    uint32_t card = inventory_find(row->inv, (enum device_kind)item->kind, item->minor);

    return card == NO_CARD ? item->amounts : devrow_held(row, card, item);
}

static void take_owner(struct kept *k, const struct devrow *row, const struct holding *owner)
{
    for (uint32_t i = 0; i < k->n; i++)
        for (uint32_t o = 0; o < owner->n; o++)
            if (owner->items[o].kind == k->items[i].kind &&
                owner->items[o].minor == k->items[i].minor) {
                struct amounts owned = amounts_on(row, &owner->items[o]);
                amounts_take(&k->items[i].amounts, &owned);
            }
}

static struct kept kept_of(const struct row_try *t, const struct ks_reservation *r)
{
    const struct holding *x = holdings_find(t->d->holdings, r->uid);
    const struct devrow *row = ks_row(t->c->rows, t->row);
    struct kept k = { .of = r };

    if (!x || !row->inv)
        return k;
    k.n = x->n;
    k.items = arena_newn0(t->d->scratch, x->n + 1, struct held);
    memcpy(k.items, x->items, x->n * sizeof *k.items);
    for (uint32_t i = 0; i < k.n; i++)
        k.items[i].amounts = amounts_on(row, &x->items[i]);
    for (uint32_t i = 0; i < r->nowners; i++) {
        const struct holding *owner = holdings_find(t->d->holdings, r->owners[i]->uid);
        if (owner && streq(owner->node, x->node))
            take_owner(&k, row, owner);
    }
    return k;
}

/* ---- tries ----------------------------------------------------------------------------------- */

static struct device_try base_try(const struct row_try *t)
{
    return (struct device_try){
        .row = ks_row(t->c->rows, t->row),
        .wish = t->c->state,
        .scorer = &t->d->scorer,
        .templates = t->d->templates ? &t->d->templates->table : NULL,
        .arena = t->d->scratch,
        .reserving = t->reserving,
        .numa = t->numa,
    };
}

struct bars { /* what is kept for others */
    struct amounts *amounts;
    uint8_t *vfs;
};

static void bar(const struct device_try *x, struct bars *b, const struct held *items, uint32_t n)
{
    const struct inventory *inv = x->row->inv;

    if (!b->amounts) {
        b->amounts = arena_newn0(x->arena, inventory_cards(inv) + 1, struct amounts);
        b->vfs = arena_newn0(x->arena, inv->nvfs + 1, uint8_t);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t card = inventory_find(inv, (enum device_kind)items[i].kind, items[i].minor);
        if (card == NO_CARD)
            continue;
        amounts_add(&b->amounts[card], &items[i].amounts);
        const struct card *c = &inv->card[card];
        for (uint32_t k = 0; k < items[i].nvfs; k++)
            for (uint32_t v = c->vf; v < c->vf + c->nvfs; v++)
                if (streq(card_vf_bus(&inv->vf[v]), str_or(items[i].vfs[k].bus_id, "")))
                    b->vfs[v] = 1;
    }
}

/* Nothing that other reservations of the row keep. */
static void bar_others(const struct row_try *t, const struct ks_restored *row,
                       const struct ks_reservation *but, struct device_try *x)
{
    struct bars b = { 0 };

    for (uint32_t i = 0; i < row->nmatched; i++) {
        if (row->matched[i] == but)
            continue;
        struct kept k = kept_of(t, row->matched[i]);
        if (k.n)
            bar(x, &b, k.items, k.n);
    }
    x->barred = b.amounts;
    x->vf_barred = b.vfs;
}

static enum ks_code try_node(const struct row_try *t, struct device_result *ret,
                             struct ks_texts *why)
{
    const struct ks_restored *row = restored_row(t);
    const struct wish *w = t->c->state;
    struct device_try x = base_try(t);

    if (row && !w->ignores)
        bar_others(t, row, NULL, &x);
    if (t->card) {
        uint8_t *must = arena_newn0(x.arena, inventory_cards(x.row->inv) + 1, uint8_t);
        must[*t->card] = 1;
        x.must = must;
    }
    return devices_allocate(&x, ret, why);
}

/* Of a Restricted one nothing but what it keeps. Of the others first its own devices, with all that
 * is free of them; then also devices that nobody reserved. */
static enum ks_code try_kept(const struct row_try *t, const struct kept *k,
                             struct device_result *ret, struct ks_texts *why)
{
    const struct ks_restored *row = restored_row(t);
    struct device_try x = base_try(t);

    if (row)
        bar_others(t, row, k->of, &x);
    x.limited = true;
    x.only = k->items;
    x.nonly = k->n;
    if (k->of->policy == ALLOCATE_RESTRICTED)
        return devices_allocate(&x, ret, why);
    struct held *open = arena_newn0(x.arena, k->n + 1, struct held);
    uint8_t *preferred = arena_newn0(x.arena, inventory_cards(x.row->inv) + 1, uint8_t);
    for (uint32_t i = 0; i < k->n; i++) {
        open[i] = k->items[i];
        open[i].amounts = (struct amounts){ 0 };
        uint32_t card = inventory_find(x.row->inv, (enum device_kind)open[i].kind, open[i].minor);
        if (card != NO_CARD)
            preferred[card] = 1;
    }
    x.only = open;
    if (devices_allocate(&x, ret, NULL) == KS_SUCCESS)
        return KS_SUCCESS;
    x.limited = false;
    x.preferred = preferred;
    return devices_allocate(&x, ret, why);
}

/* What a hint names: these devices, and no more of them than it says. */
static enum ks_code try_designated(const struct row_try *t, const struct ks_reservation *of,
                                   struct device_result *ret, struct ks_texts *why)
{
    const struct ks_restored *row = restored_row(t);
    const struct wish *w = t->c->state;
    struct device_try x = base_try(t);
    struct held *only = arena_newn0(x.arena, w->ndesignated + 1, struct held);

    if (row && !w->ignores)
        bar_others(t, row, of, &x);
    for (uint32_t i = 0; i < w->ndesignated; i++) {
        only[i] = w->designated[i];
        uint32_t card = inventory_find(x.row->inv, (enum device_kind)only[i].kind, only[i].minor);
        if (card != NO_CARD && only[i].kind == DEVICE_GPU)
            amounts_complete(&only[i].amounts, &x.row->inv->card[card].total);
    }
    x.limited = true;
    x.only = only;
    x.nonly = w->ndesignated;
    return devices_allocate(&x, ret, why);
}

/* ---- running pods that are taken over -------------------------------------------------------- */

/* All devices of the pods that are taken, and of the others none. */
static enum ks_code try_taken(const struct row_try *t, const struct taken_over *row,
                              const uint8_t *taken, struct device_result *ret, struct ks_texts *why)
{
    struct device_try x = base_try(t);
    struct bars b = { 0 };
    uint8_t *must = arena_newn0(x.arena, inventory_cards(x.row->inv) + 1, uint8_t);

    for (uint32_t i = 0; i < row->n; i++) {
        const struct holding *h = holdings_find(t->d->holdings, row->pods[i]->obj.meta.uid);
        if (h && !taken[i])
            bar(&x, &b, h->items, h->n);
        for (uint32_t k = 0; h && taken[i] && k < h->n; k++) {
            uint32_t card =
                inventory_find(x.row->inv, (enum device_kind)h->items[k].kind, h->items[k].minor);
            if (card != NO_CARD)
                must[card] = 1;
        }
    }
    x.barred = b.amounts;
    x.vf_barred = b.vfs;
    x.must = must;
    return devices_allocate(&x, ret, why);
}

/* Any one of them will do, or all; none only where it need not be one. */
static enum ks_code try_any_taken(const struct row_try *t, const struct taken_over *row,
                                  struct device_result *ret, struct ks_texts *why)
{
    const struct wish *w = t->c->state;
    uint8_t *taken = arena_newn0(t->d->scratch, row->n + 1, uint8_t);

    for (uint32_t i = 0; i < row->n; i++) {
        taken[i] = 1;
        if (try_taken(t, row, taken, ret, NULL) == KS_SUCCESS)
            return KS_SUCCESS;
        taken[i] = 0;
    }
    if (!w->required)
        return try_taken(t, row, taken, ret, why);
    memset(taken, 1, row->n);
    return try_taken(t, row, taken, ret, why);
}

static enum ks_code try_chosen(const struct row_try *t, const struct taken_over *row,
                               struct device_result *ret, struct ks_texts *why)
{
    uint8_t *taken = arena_newn0(t->d->scratch, row->n + 1, uint8_t);
    const struct pod *chosen;

    for (uint32_t k = 0; (chosen = ks_pre_allocated(t->c, t->row, k)); k++)
        for (uint32_t i = 0; i < row->n; i++)
            taken[i] |= row->pods[i] == chosen;
    return try_taken(t, row, taken, ret, why);
}

/* ---- all of a row ---------------------------------------------------------------------------- */

/* People must see that it is the reservation that is too small. */
static void say_reserved(struct ks_texts *why, uint32_t from)
{
    for (uint32_t i = from; why && i < why->n; i++)
        why->items[i] = arena_printf(why->arena, "Reservation(s) %s", why->items[i]);
}

static bool has_inventory(const struct row_try *t)
{
    const struct devrow *row = ks_row(t->c->rows, t->row);

    return row->inv != NULL;
}

enum ks_code devices_try(const struct row_try *t, struct device_result *ret, struct ks_texts *why)
{
    const struct ks_restored *row = restored_row(t);
    const struct taken_over *taken = taken_row(t);
    const struct wish *w = t->c->state;
    uint32_t ntexts = why ? why->n : 0, nkept = 0;

    arena_reset(t->d->scratch);
    if (!has_inventory(t))
        return KS_SUCCESS;
    for (uint32_t i = 0; row && w->ndesignated && i < row->nmatched; i++)
        if (try_designated(t, row->matched[i], ret, NULL) == KS_SUCCESS)
            return KS_SUCCESS;
    if (w->ndesignated)
        return try_designated(t, NULL, ret, why);
    if (taken)
        return try_any_taken(t, taken, ret, why);
    for (uint32_t i = 0; row && !w->ignores && i < row->nmatched; i++) {
        struct kept k = kept_of(t, row->matched[i]);
        nkept += k.n > 0;
        if (k.n && try_kept(t, &k, ret, why) == KS_SUCCESS) {
            if (why)
                why->n = ntexts;
            return KS_SUCCESS;
        }
    }
    if (nkept && w->required) {
        say_reserved(why, ntexts);
        return KS_UNSCHEDULABLE;
    }
    if (why)
        why->n = ntexts;
    return try_node(t, ret, why);
}

enum ks_code devices_try_of(const struct row_try *t, const struct ks_reservation *of,
                            struct device_result *ret, struct ks_texts *why)
{
    const struct taken_over *taken = taken_row(t);
    const struct wish *w = t->c->state;
    uint32_t ntexts = why ? why->n : 0;
    struct kept k = { 0 };

    arena_reset(t->d->scratch);
    if (!has_inventory(t))
        return KS_SUCCESS;
    if (w->ndesignated)
        return try_designated(t, of, ret, why);
    if (taken)
        return try_chosen(t, taken, ret, why);
    if (of && !w->ignores)
        k = kept_of(t, of);
    if (!k.n)
        return try_node(t, ret, why);
    enum ks_code code = try_kept(t, &k, ret, why);
    if (code != KS_SUCCESS)
        say_reserved(why, ntexts);
    return code == KS_SUCCESS ? code : KS_UNSCHEDULABLE;
}

static int64_t score_with(const struct row_try *t, const struct kept *k)
{
    const struct ks_restored *row = restored_row(t);
    const struct wish *w = t->c->state;
    struct device_try x = base_try(t);

    if (row && !w->ignores)
        bar_others(t, row, k->of, &x);
    if (k->n && k->of->policy == ALLOCATE_RESTRICTED) {
        x.limited = true;
        x.only = k->items;
        x.nonly = k->n;
    }
    return devices_score(&x);
}

int64_t devices_score_row(const struct row_try *t)
{
    const struct ks_restored *row = restored_row(t);
    const struct wish *w = t->c->state;

    if (!has_inventory(t))
        return 0;
    if (!row && w->plain && !t->d->scorer.npu)
        return devices_score_plain(ks_row(t->c->rows, t->row), w, &t->d->scorer);
    arena_reset(t->d->scratch);
    for (uint32_t i = 0; row && !w->ignores && i < row->nmatched; i++) {
        struct kept k = kept_of(t, row->matched[i]);
        if (k.n && try_kept(t, &k, NULL, NULL) == KS_SUCCESS)
            return score_with(t, &k);
    }
    return score_with(t, &(struct kept){ 0 });
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static enum ks_code filter_nominated(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     const struct ks_reservation *of, uint32_t row,
                                     struct ks_texts *why)
{
    struct row_try t = { .d = self, .c = c, .p = p, .row = row };

    if (!c->state)
        return KS_SUCCESS;
    struct kept k = kept_of(&t, of);
    if (!k.n) /* it says nothing about devices: those of the node are for the pod as for others */
        return KS_SUCCESS;
    return devices_try_of(&t, of, NULL, why);
}

static int64_t score_reservation(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 const struct ks_reservation *of, uint32_t row)
{
    struct row_try t = { .d = self, .c = c, .p = p, .row = row };

    if (!c->state || !has_inventory(&t))
        return 0;
    arena_reset(t.d->scratch);
    struct kept k = kept_of(&t, of);
    return MIN(score_with(&t, &k), KS_SCORE_MAX);
}

const struct ks_reservation_hooks device_reservations = {
    .restore = note_restored,
    .restore_pre_allocation = note_taken_over,
    .filter_nominated = filter_nominated,
    .score_reservation = score_reservation,
    .pre_bind_reservation = devices_pre_bind_reservation,
};
