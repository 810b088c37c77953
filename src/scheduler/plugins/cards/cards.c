/* cards.c - cards that two plugins hand out, and which of them holds which. */
#include "scheduler/plugins/cards/cards.h"

#include "api/protocol/cardid.h"
#include "base/map.h"

struct card_hold {
    struct card_hold *next; /* of the side on the node */
    struct site *site;
    char *holder;
    enum card_side side;
    size_t len;
    char ids[]; /* as in struct card_ids */
};
struct held_id { /* somebody has it; in the map under its text */
    uint32_t n;
    const struct card_hold *by; /* one of them */
    char id[];
};
struct site { /* a node */
    struct card_hold *holds[CARD_SIDES];
    struct map ids[CARD_SIDES]; /* struct held_id */
    char name[];
};
struct cards {
    struct map sites; /* those where something is held */
    uint32_t n[CARD_SIDES];
    struct {
        void (*fn)(void *arg, const char *node);
        void *arg;
        void (*wake)(void *arg);
        void *wake_arg;
    } listener[CARD_SIDES];
};

/* ---- identities ------------------------------------------------------------------------------ */

/* for (const char *id = ids; id < ids + len; id += strlen(id) + 1) */
#define ids_foreach(id, ids, len)                                                      \
    for (const char *id = (len) ? (ids) : "", *id##_end_ = id + (len); id < id##_end_; \
         id += strlen(id) + 1)

void card_ids_add(struct card_ids *ids, const char *text)
{
    char id[CARD_ID_MAX + 1];

    if (!card_id_format(text, id))
        return;
    ids_foreach(is, ids->text.data, ids->text.len)
        if (streq(is, id))
            return;
    strbuf_appendn(&ids->text, id, strlen(id) + 1);
}

void card_ids_fini(struct card_ids *ids)
{
    strbuf_fini(&ids->text);
}

/* ---- sites ----------------------------------------------------------------------------------- */

static struct site *site_of(struct cards *c, const char *node)
{
    struct site *s = map_getz(&c->sites, node);

    if (s)
        return s;
    s = xcalloc(1, sizeof *s + strlen(node) + 1);
    memcpy(s->name, node, strlen(node) + 1);
    map_putz(&c->sites, s->name, s);
    return s;
}

static void site_free(struct site *s)
{
    for (uint32_t i = 0; i < CARD_SIDES; i++)
        map_fini(&s->ids[i]);
    free(s);
}

static enum card_side other_than(enum card_side side)
{
    return side == CARDS_OF_DEVICES ? CARDS_OF_CLAIMS : CARDS_OF_DEVICES;
}

static void tell(const struct cards *c, enum card_side side, const char *node)
{
    enum card_side other = other_than(side);

    if (c->listener[other].fn)
        c->listener[other].fn(c->listener[other].arg, node);
}

void cards_wake(const struct cards *c, enum card_side side)
{
    enum card_side other = other_than(side);

    if (c->listener[other].wake)
        c->listener[other].wake(c->listener[other].wake_arg);
}

void cards_listen_wake(struct cards *c, enum card_side side, void (*fn)(void *arg), void *arg)
{
    c->listener[side].wake = fn;
    c->listener[side].wake_arg = arg;
}

void cards_listen(struct cards *c, enum card_side side, void (*fn)(void *arg, const char *node),
                  void *arg)
{
    c->listener[side].fn = fn;
    c->listener[side].arg = arg;
}

bool cards_are_shared(const struct cards *c)
{
    return c->listener[CARDS_OF_DEVICES].fn && c->listener[CARDS_OF_CLAIMS].fn;
}

/* ---- who holds what -------------------------------------------------------------------------- */

static void add_id(struct map *ids, const char *id, const struct card_hold *by)
{
    struct held_id *x = map_getz(ids, id);

    if (!x) {
        x = xcalloc(1, sizeof *x + strlen(id) + 1);
        memcpy(x->id, id, strlen(id) + 1);
        x->by = by;
        map_putz(ids, x->id, x);
    }
    x->n++;
}

static bool has_id(const struct card_hold *h, const char *id)
{
    ids_foreach(is, h->ids, h->len)
        if (streq(is, id))
            return true;
    return false;
}

/* h has left the list of its site. */
static void remove_id(struct map *ids, const char *id, const struct card_hold *h)
{
    struct held_id *x = map_getz(ids, id);

    if (--x->n == 0) {
        map_removez(ids, id);
        free(x);
        return;
    }
    for (const struct card_hold *o = h->site->holds[h->side]; x->by == h && o; o = o->next)
        if (has_id(o, id))
            x->by = o;
}

struct card_hold *cards_hold(struct cards *c, enum card_side side, const char *node,
                             const struct card_ids *ids, const char *holder)
{
    if (ids->text.len == 0)
        return NULL;
    struct card_hold *h = xcalloc(1, sizeof *h + ids->text.len);
    struct site *s = site_of(c, node);
    *h = (struct card_hold){ .next = s->holds[side], .site = s, .side = side };
    h->holder = xstrdup(holder);
    h->len = ids->text.len;
    memcpy(h->ids, ids->text.data, h->len);
    s->holds[side] = h;
    ids_foreach(id, h->ids, h->len)
        add_id(&s->ids[side], id, h);
    c->n[side]++;
    tell(c, side, s->name);
    return h;
}

void cards_give(struct cards *c, struct card_hold *h)
{
    if (!h)
        return;
    struct site *s = h->site;
    struct card_hold **at = &s->holds[h->side];
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    ids_foreach(id, h->ids, h->len)
        remove_id(&s->ids[h->side], id, h);
    c->n[h->side]--;
    tell(c, h->side, s->name);
    free(h->holder);
    free(h);
    if (s->holds[CARDS_OF_DEVICES] || s->holds[CARDS_OF_CLAIMS])
        return;
    map_removez(&c->sites, s->name);
    site_free(s);
}

bool card_hold_is(const struct card_hold *h, const char *node, const struct card_ids *ids)
{
    if (!h)
        return ids->text.len == 0;
    return h->len == ids->text.len && memcmp(h->ids, ids->text.data, h->len) == 0 &&
           streq(h->site->name, node);
}

bool cards_any(const struct cards *c, enum card_side side, const char *node)
{
    const struct site *s = c->n[side] && node ? map_getz(&c->sites, node) : NULL;

    return node ? s && s->holds[side] : c->n[side] > 0;
}

const char *cards_holder(const struct cards *c, enum card_side side, const char *node,
                         const struct card_ids *ids)
{
    const struct site *s = c->n[side] ? map_getz(&c->sites, node) : NULL;

    if (!s)
        return NULL;
    ids_foreach(id, ids->text.data, ids->text.len) {
        const struct held_id *x = map_getz(&s->ids[side], id);
        if (x)
            return x->by->holder;
    }
    return NULL;
}

/* ---- the service ----------------------------------------------------------------------------- */

static int cards_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    (void)env, (void)args, (void)err;
    *ret = xnew0(struct cards);
    return 0;
}

static void cards_destroy(void *service)
{
    struct cards *c = service;

    assert(c->sites.n == 0); /* both sides have given back what they held */
    map_fini(&c->sites);
    free(c);
}

const struct ks_service cards_service = {
    .name = "cards",
    .create = cards_create,
    .destroy = cards_destroy,
};
