/* ep_slices.c - EndpointSlices: an address stays in the slice where it is, new ones fill slices
 * that have room, and what is left makes new ones.
 */
#include <stdio.h>

#include "cluster/ep.h"

#define LABEL_SERVICE    "kubernetes.io/service-name"
#define LABEL_MANAGED_BY "endpointslice.kubernetes.io/managed-by"
#define LABEL_HEADLESS   "service.kubernetes.io/headless"

struct filling {                 /* a slice, and what is to be in it */
    const struct slice_doc *had; /* NULL: a new one */
    struct vec_of(struct ep_addr *) in;
    const char *ports_json;
    bool settled; /* ours: not to be used for another group */
};
typedef struct vec_of(struct filling) fillvec;

bool ep_is_slice_of(const struct kobj *slice, const char *managed_by)
{
    return streq(str_or(kstrmap_get(&slice->meta.labels, LABEL_MANAGED_BY), ""), managed_by);
}

/* ---- what goes where ----------------------------------------------------------------------- */

static bool same_json(const char *a, const char *b)
{
    CLEANUP(kj_doc_free) struct kj_doc *x = NULL, *y = NULL;

    if (!a || !b || kj_parse(a, strlen(a), 0, &x, NULL) < 0 ||
        kj_parse(b, strlen(b), 0, &y, NULL) < 0)
        return (!a || streq(a, "[]")) && (!b || streq(b, "[]"));
    return kj_equal(kj_root(x), kj_root(y));
}

static const char *id_of(const struct kj_val *endpoint)
{
    const char *ip = kj_str_or(kj_at(kj_get(endpoint, "addresses"), 0), "");
    return kj_str_or(kj_path(endpoint, "targetRef.uid"), ip);
}

/* Addresses of the slice that still belong there. */
static void keep(struct filling *f, struct map *by_id)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *text = f->had->endpoints_json;
    const struct kj_val *v;
    struct str key;

    if (!text || kj_parse(text, strlen(text), 0, &doc, NULL) < 0)
        return;
    for (struct kj_iter it = kj_iter(kj_root(doc)); kj_next(&it, &key, &v);) {
        struct ep_addr *x = map_getz(by_id, id_of(v));
        if (!x)
            x = map_getz(by_id, kj_str_or(kj_at(kj_get(v, "addresses"), 0), ""));
        if (x && !x->placed && f->in.n < EP_SLICE_MAX) {
            x->placed = true;
            vec_push(&f->in, x);
        }
    }
}

static void place_group(struct ep_group *g, fillvec *fills)
{
    struct map by_id = { 0 };
    size_t mine = fills->n;

    vec_foreach(&g->addrs, i)
        map_putz(&by_id, g->addrs.items[i].id, &g->addrs.items[i]);
    vec_foreach(fills, i) {
        struct filling *f = &fills->items[i];
        if (f->settled || !same_json(f->had->ports_json, g->ports_json))
            continue;
        f->settled = true;
        f->ports_json = g->ports_json;
        mine = MIN(mine, i);
        keep(f, &by_id);
    }
    map_fini(&by_id);
    vec_foreach(&g->addrs, i) {
        struct ep_addr *x = &g->addrs.items[i];
        while (!x->placed && mine < fills->n &&
               (fills->items[mine].ports_json != g->ports_json ||
                fills->items[mine].in.n >= EP_SLICE_MAX))
            mine++;
        if (!x->placed && mine == fills->n) {
            struct filling fresh = { .settled = true, .ports_json = g->ports_json };
            vec_push(fills, fresh);
        }
        if (!x->placed)
            vec_push(&fills->items[mine].in, x);
        x->placed = true;
    }
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void write_endpoint(struct kjw *w, const struct ep_addr *x)
{
    kjw_obj(w, NULL);
    kjw_arr(w, "addresses");
    kjw_str(w, NULL, x->ip);
    kjw_end(w);
    kjw_obj(w, "conditions");
    kjw_bool(w, "ready", x->ready);
    if (!x->plain) {
        kjw_bool(w, "serving", x->serving);
        kjw_bool(w, "terminating", x->terminating);
    }
    kjw_end(w);
    if (*x->hostname)
        kjw_str(w, "hostname", x->hostname);
    if (x->target_json)
        kjw_raw(w, "targetRef", x->target_json, strlen(x->target_json));
    if (*x->node)
        kjw_str(w, "nodeName", x->node);
    if (*x->zone)
        kjw_str(w, "zone", x->zone);
    kjw_end(w);
}

static void write_endpoints(const struct filling *f, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_arr(&w, NULL);
    vec_foreach(&f->in, i)
        write_endpoint(&w, f->in.items[i]);
    kjw_end(&w);
}

static bool is_ours(const char *key)
{
    return streq(key, LABEL_SERVICE) || streq(key, LABEL_MANAGED_BY) ||
           streq(key, LABEL_HEADLESS) || streq(key, "endpointslice.kubernetes.io/skip-mirror");
}

static void write_labels(struct kjw *w, const struct ep_slicing *s)
{
    const kstrmap *from = &s->owner->meta.labels;

    kjw_obj(w, "labels");
    for (uint32_t i = 0; i < from->n; i++)
        if (!is_ours(from->items[i].key))
            kjw_str(w, from->items[i].key, from->items[i].value);
    kjw_str(w, LABEL_SERVICE, s->owner->meta.name);
    kjw_str(w, LABEL_MANAGED_BY, s->managed_by);
    if (s->headless)
        kjw_str(w, LABEL_HEADLESS, "");
    kjw_end(w);
}

static bool has_labels(const struct ep_slicing *s, const struct kobj *slice)
{
    const kstrmap *from = &s->owner->meta.labels, *have = &slice->meta.labels;

    for (uint32_t i = 0; i < from->n; i++) {
        const char *v = kstrmap_get(have, from->items[i].key);
        if (!is_ours(from->items[i].key) && (!v || !streq(v, from->items[i].value)))
            return false;
    }
    return s->headless == (kstrmap_get(have, LABEL_HEADLESS) != NULL);
}

/* ---- writes -------------------------------------------------------------------------------- */

/* Stable: the same create, repeated, makes no second slice. */
static const char *new_name(struct batch *b, const struct ep_slicing *s, const char *ports,
                            size_t *count)
{
    struct arena *a = batch_arena(b);
    char uid[KUID_TEXT_MAX], hash[HASH_NAME_MAX];

    kuid_format(s->owner->meta.uid, uid, sizeof uid);
    for (;;) {
        const char *text = arena_printf(a, "%s %s %zu", uid, ports, (*count)++);
        hash_name(text, strlen(text), hash);
        const char *name = arena_printf(a, "%.57s-%.5s", s->owner->meta.name, hash);
        if (!informer_get(s->slices, arena_printf(a, "%s/%s", s->owner->meta.ns, name)))
            return name;
    }
}

static void create(struct batch *b, const struct ep_slicing *s, const struct filling *f,
                   size_t *count)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, list = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    write_endpoints(f, &list);
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "discovery.k8s.io/v1");
    kjw_str(&w, "kind", "EndpointSlice");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", new_name(b, s, f->ports_json, count));
    kjw_str(&w, "generateName", arena_printf(batch_arena(b), "%.57s-", s->owner->meta.name));
    write_labels(&w, s);
    owner_write(&w, s->owner, true);
    kjw_end(&w);
    kjw_str(&w, "addressType", "IPv4");
    kjw_raw(&w, "endpoints", list.data, list.len);
    kjw_raw(&w, "ports", f->ports_json, strlen(f->ports_json));
    kjw_end(&w);
    batch_create(b, &doc_slice, s->owner->meta.ns, &body, NULL, NULL);
}

static void update(struct batch *b, const struct ep_slicing *s, const struct filling *f)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, list = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    write_endpoints(f, &list);
    if (same_json(strbuf_str(&list), f->had->endpoints_json) &&
        same_json(f->ports_json, f->had->ports_json) && has_labels(s, &f->had->obj))
        return;
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", f->had->obj.meta.resource_version);
    write_labels(&w, s);
    kjw_end(&w);
    kjw_raw(&w, "endpoints", list.data, list.len);
    kjw_raw(&w, "ports", f->ports_json, strlen(f->ports_json));
    kjw_end(&w);
    batch_patch(b, &f->had->obj, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

/* One slice is always there, if only to say that there is no address. */
static void write_all(struct batch *b, const struct ep_slicing *s, fillvec *fills)
{
    size_t full = 0, count = 0;

    vec_foreach(fills, i)
        full += fills->items[i].in.n > 0;
    if (fills->n == 0) {
        struct filling none = { 0 };
        vec_push(fills, none);
    }
    vec_foreach(fills, i) {
        struct filling *f = &fills->items[i];
        if (!f->ports_json)
            f->ports_json = "[]";
        if (!f->had)
            create(b, s, f, &count);
        else if (f->in.n > 0 || (full == 0 && i == 0))
            update(b, s, f);
        else
            batch_delete(b, &f->had->obj, &(struct delete_opts){ .grace = -1 }, NULL, NULL);
    }
}

void ep_sync_slices(struct batch *b, const struct ep_slicing *s)
{
    kobjvec owned = { 0 };
    fillvec fills = { 0 };

    objects_by_owner(s->slices, s->owner->meta.uid, &owned);
    vec_foreach(&owned, i) {
        struct filling f = { .had = slice_doc_of(owned.items[i]) };
        if (!owned.items[i]->meta.deleted && ep_is_slice_of(owned.items[i], s->managed_by))
            vec_push(&fills, f);
    }
    vec_foreach(s->groups, i)
        place_group(&s->groups->items[i], &fills);
    write_all(b, s, &fills);
    vec_foreach(&fills, i)
        vec_fini(&fills.items[i].in);
    vec_fini(&fills);
    vec_fini(&owned);
}
