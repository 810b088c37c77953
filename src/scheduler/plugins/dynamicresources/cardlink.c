/* cardlink.c - devices of slices that DeviceShare knows too: the two are matched by what identifies
 * the card, and what the one side holds the other does not give (plugins/cards/cards.h). */
#include "api/dra.h"
#include "scheduler/plugins/cards/cards.h"
#include "scheduler/plugins/dynamicresources/pools.h"

/* ---- what a device is known by --------------------------------------------------------------- */

/* A device that several nodes reach is the card of none. */
static const char *node_listed(const struct pool *p, const struct slice_spec *s,
                               const struct slice_device *d)
{
    if (s->node_name)
        return s->node_name;
    return p->in->gates.partitionable && s->per_device_node_selection.set ? d->node_name : NULL;
}

static const char *node_of(const struct pool *p, const struct pool_device *d)
{
    return node_listed(p, &pool_slice_of(p, d)->slice->spec, d->d);
}

/* A name without a domain means that of every domain. */
static bool is_named(const char *attribute, const char *name, const char *driver)
{
    const char *slash = strchr(attribute, '/');

    if (!strchr(name, '/'))
        return streq(slash ? slash + 1 : attribute, name);
    size_t n = strlen(driver);
    return streq(attribute, name) || (!slash && strncmp(name, driver, n) == 0 && name[n] == '/' &&
                                      streq(name + n + 1, attribute));
}

static void read_ids(const struct pool *p, const struct slice_device *d, struct card_ids *ret)
{
    const kstrlist *names = &p->in->card_attributes;

    for (uint32_t i = 0; i < d->attributes.n; i++) {
        const struct device_attribute_entry *e = &d->attributes.items[i];
        for (uint32_t k = 0; k < names->n; k++)
            if (e->value.string_value && is_named(e->name, names->items[k], p->driver))
                card_ids_add(ret, e->value.string_value);
    }
}

/* ---- what claims hold ------------------------------------------------------------------------ */

/* A device that its slice does not list any more, or without what identifies it, stays what it was.
 */
void cardlink_hold_listed(struct pool *p, const struct slice_spec *s, const struct slice_device *d,
                          struct holding *h)
{
    CLEANUP(card_ids_fini) struct card_ids ids = { 0 };
    const char *node = node_listed(p, s, d);

    if (!p->in->cards || !h || !node)
        return;
    read_ids(p, d, &ids);
    for (size_t i = 0; ids.text.len && i < h->holders.n; i++) {
        struct holder *by = &h->holders.items[i];
        if (card_hold_is(by->card, node, &ids))
            continue;
        struct card_hold *old = by->card;
        by->card = cards_hold(p->in->cards, CARDS_OF_CLAIMS, node, &ids, by->claim);
        cards_give(p->in->cards, old);
    }
}

void cardlink_hold(struct pool *p, uint32_t device)
{
    const struct pool_device *d = &p->devices[device];

    cardlink_hold_listed(p, &pool_slice_of(p, d)->slice->spec, d->d, d->holding);
}

/* ---- what others hold ------------------------------------------------------------------------ */

static uint64_t held_in(const struct node_devices *n, const struct view_word *w)
{
    uint64_t held = 0;

    for (uint64_t bits = w->visible; bits; bits &= bits - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(bits);
        const struct pool_device *d = pool_device(w->pool, w->word, bit);
        const char *node = node_of(w->pool, d);
        CLEANUP(card_ids_fini) struct card_ids ids = { 0 };
        if (!node || !streq(node, n->name))
            continue;
        read_ids(w->pool, d->d, &ids);
        if (cards_holder(n->in->cards, CARDS_OF_DEVICES, n->name, &ids))
            held |= UINT64_C(1) << bit;
    }
    return held;
}

void node_devices_look(struct node_devices *n)
{
    bool any = n->in->cards && cards_any(n->in->cards, CARDS_OF_DEVICES, n->name);

    for (uint32_t i = 0; i < n->nwords; i++)
        n->words[i].elsewhere = any ? held_in(n, &n->words[i]) : 0;
    n->cards_current = true;
}

const char *cardlink_holder(const struct node_devices *n, const struct pool *p,
                            const struct pool_device *d)
{
    CLEANUP(card_ids_fini) struct card_ids ids = { 0 };
    const char *node = node_of(p, d);

    if (!p->in->cards || !node || (n && !streq(node, n->name)) ||
        !cards_any(p->in->cards, CARDS_OF_DEVICES, node))
        return NULL;
    read_ids(p, d->d, &ids);
    return cards_holder(p->in->cards, CARDS_OF_DEVICES, node, &ids);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void on_change(void *arg, const char *node)
{
    const struct pools *in = arg;
    struct node_devices *n = map_getz(&in->nodes, node);

    if (!n)
        return;
    n->cards_current = false;
    node_devices_changed(n);
}

void pools_link(struct pools *in, struct cards *cards, const kstrlist *attributes)
{
    if (in->cards)
        return;
    in->cards = cards;
    in->card_attributes = *attributes;
    cards_listen(cards, CARDS_OF_CLAIMS, on_change, in);
    map_foreach(&in->nodes, e)
        on_change(in, e->key);
    map_foreach(&in->by_key, e) {
        struct pool *p = e->value;
        pool_refresh(p);
        for (uint32_t i = 0; i < p->ndevices; i++)
            cardlink_hold(p, i);
    }
}

void pools_unlink(struct pools *in)
{
    if (!in->cards)
        return;
    cards_listen(in->cards, CARDS_OF_CLAIMS, NULL, NULL);
    map_foreach(&in->holdings, e) {
        struct holding *h = e->value;
        vec_foreach(&h->holders, i)
            cards_give(in->cards, take(h->holders.items[i].card));
    }
    in->cards = NULL;
}
