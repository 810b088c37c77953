/* devices_cards.c - which pods and Reservations have cards by DeviceShare: from Devices and the
 * annotation device-allocated. */
#include "ctl/devices_cards.h"

#include "api/koord/device.h"
#include "api/koord/reservation.h"
#include "api/pod.h"
#include "api/protocol/cardid.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/installation.h"
#include "json/kj.h"

enum { PAGE = 500 };

struct card_holders {
    struct arena *a;
    struct map cards;   /* "node/type/minor" -> struct card_id: what the card is known by */
    struct map holders; /* "node/identity" -> struct card_holder */
};
struct card_id { /* more of the same card follow */
    const struct card_id *next;
    const char *id;
};

static const char *text_of(const struct kj_val *v, const char *member)
{
    return kj_str_or(kj_get(v, member), "");
}

/* ---- Devices --------------------------------------------------------------------------------- */

static const char *card_key(struct card_holders *h, const char *node, struct str type,
                            int64_t minor)
{
    return arena_printf(h->a, "%s/%.*s/%lld", node, (int)type.n, type.p, (long long)minor);
}

static void add_id(struct card_holders *h, const char *card, const char *text)
{
    struct card_id *x = arena_new0(h->a, struct card_id);
    char id[CARD_ID_MAX + 1];

    if (!card_id_format(text, id))
        return;
    *x = (struct card_id){ map_getz(&h->cards, card), arena_strdup(h->a, id) };
    (void)map_putz(&h->cards, card, x);
}

static bool on_device(void *arg, const struct kj_val *item)
{
    struct card_holders *h = arg;
    const char *node = text_of(kj_get(item, "metadata"), "name");
    struct kj_iter it = kj_iter(kj_path(item, "spec.devices"));
    const struct kj_val *d, *group, *vf;

    while (kj_next(&it, NULL, &d)) {
        const char *card =
            card_key(h, node, str_of(text_of(d, "type")), kj_i64_or(kj_get(d, "minor"), -1));
        add_id(h, card, text_of(d, "id"));
        add_id(h, card, kj_str_or(kj_path(d, "topology.busID"), ""));
        for (struct kj_iter g = kj_iter(kj_get(d, "vfGroups")); kj_next(&g, NULL, &group);)
            for (struct kj_iter v = kj_iter(kj_get(group, "vfs")); kj_next(&v, NULL, &vf);)
                add_id(h, card, text_of(vf, "busID"));
    }
    return true;
}

/* ---- who has what ---------------------------------------------------------------------------- */

static void add_holder(struct card_holders *h, const char *node, const struct card_id *ids,
                       const char *name)
{
    for (; ids; ids = ids->next) {
        const char *key = arena_printf(h->a, "%s/%s", node, ids->id);
        struct card_holder *x = arena_new0(h->a, struct card_holder);
        *x = (struct card_holder){ map_getz(&h->holders, key), name };
        (void)map_putz(&h->holders, key, x);
    }
}

/* An annotation that does not parse says nothing, to the scheduler too. */
static void read_annotation(struct card_holders *h, const char *node, const char *text,
                            const char *name)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *list, *d;
    struct str type;

    if (!text || !*node || kj_parse(text, strlen(text), 0, &doc, NULL) < 0)
        return;
    for (struct kj_iter it = kj_iter(kj_root(doc)); kj_next(&it, &type, &list);)
        for (struct kj_iter k = kj_iter(list); kj_next(&k, NULL, &d);) {
            const char *card = card_key(h, node, type, kj_i64_or(kj_get(d, "minor"), -1));
            add_holder(h, node, map_getz(&h->cards, card), name);
        }
}

static const char *allocated(const struct kj_val *item)
{
    return kj_str(kj_get(kj_path(item, "metadata.annotations"), ANNO_DEVICE_ALLOCATED));
}

static bool on_pod(void *arg, const struct kj_val *item)
{
    struct card_holders *h = arg;
    const struct kj_val *meta = kj_get(item, "metadata");
    const char *phase = kj_str_or(kj_path(item, "status.phase"), "");

    if (allocated(item) && !streq(phase, "Succeeded") && !streq(phase, "Failed"))
        read_annotation(
            h, kj_str_or(kj_path(item, "spec.nodeName"), ""), allocated(item),
            arena_printf(h->a, "%s/%s", text_of(meta, "namespace"), text_of(meta, "name")));
    return true;
}

static bool on_reservation(void *arg, const struct kj_val *item)
{
    struct card_holders *h = arg;

    if (streq(kj_str_or(kj_path(item, "status.phase"), ""), "Available"))
        read_annotation(
            h, kj_str_or(kj_path(item, "status.nodeName"), ""), allocated(item),
            arena_printf(h->a, "Reservation %s", text_of(kj_get(item, "metadata"), "name")));
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* A kind that the server does not have counts as empty, and so does one that may not be read:
 * slices and claims are of use without it. */
static int read_kind(struct ctl *c, struct kube_req r, ctl_item_fn fn, struct card_holders *h,
                     struct kerr *err)
{
    r.verb = KUBE_LIST;
    r.limit = PAGE;
    int code = ctl_each(c, &r, fn, h, err);
    if (code < 0 && (err->reason == KR_NOT_FOUND || err->reason == KR_FORBIDDEN)) {
        if (err->reason == KR_FORBIDDEN)
            fprintf(c->err, "note: %s may not be listed: who has cards by DeviceShare is unknown\n",
                    r.kind->plural);
        *err = (struct kerr){ 0 };
        return 0;
    }
    return code;
}

int card_holders_read(struct ctl *c, const char *node, struct card_holders **ret, struct kerr *err)
{
    CLEANUP(card_holders_free) struct card_holders *h = xnew0(struct card_holders);

    h->a = arena_new();
    int r = read_kind(c, (struct kube_req){ .kind = &kind_device }, on_device, h, err);
    if (r == 0 && h->cards.n)
        r = read_kind(
            c,
            (struct kube_req){ .kind = &kind_pod,
                               .field_selector =
                                   node ? arena_printf(h->a, "spec.nodeName=%s", node) : NULL },
            on_pod, h, err);
    if (r == 0 && h->cards.n)
        r = read_kind(c, (struct kube_req){ .kind = &kind_reservation }, on_reservation, h, err);
    if (r < 0)
        return r;
    *ret = take(h);
    return 0;
}

struct card_holders *card_holders_free(struct card_holders *h)
{
    if (!h)
        return NULL;
    map_fini(&h->cards);
    map_fini(&h->holders);
    arena_free(h->a);
    free(h);
    return NULL;
}

static bool identifies(struct str attribute)
{
    const char *slash = memchr(attribute.p, '/', attribute.n);
    size_t skip = slash ? (size_t)(slash - attribute.p) + 1 : 0;

    for (size_t i = 0; card_id_attributes[i]; i++)
        if (strlen(card_id_attributes[i]) == attribute.n - skip &&
            memcmp(card_id_attributes[i], attribute.p + skip, attribute.n - skip) == 0)
            return true;
    return false;
}

const struct card_holder *card_holders_find(const struct card_holders *h, const char *node,
                                            const struct kj_val *device)
{
    struct kj_iter it = kj_iter(kj_get(device, "attributes"));
    const struct kj_val *v;
    struct str name;

    while (kj_next(&it, &name, &v)) {
        CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;
        char id[CARD_ID_MAX + 1];
        if (!identifies(name) || !card_id_format(text_of(v, "string"), id))
            continue;
        strbuf_appendf(&key, "%s/%s", node, id);
        const struct card_holder *x = map_getz(&h->holders, strbuf_str(&key));
        if (x)
            return x;
    }
    return NULL;
}
