/* object.c - writing objects that belong to the node. */
#include "koordlet/report/object.h"

#include "controllers/owner.h"

void object_write_head(struct kjw *w, const struct kind *k)
{
    char version[128];
    size_t n = kind_api_version(k, version, sizeof version);

    kjw_strn(w, "apiVersion", version, n);
    kjw_str(w, "kind", k->kind);
}

void object_write_owner(struct kjw *w, const struct node *owner)
{
    kjw_str(w, "name", owner->obj.meta.name);
    owner_write(w, &owner->obj, true);
}

void object_write_pairs(struct kjw *w, const kstrmap *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        kjw_str(w, m->items[i].key, m->items[i].value);
}

void object_write_devices(struct kjw *w, const device_infolist *l)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    kjw_arr(w, "devices");
    for (uint32_t i = 0; i < l->n; i++) {
        strbuf_reset(&text);
        kj_encode(&device_info_schema, &l->items[i], &text);
        kjw_raw(w, NULL, text.data, text.len);
    }
    kjw_end(w);
}

/* The same JSON value; texts that are no JSON are compared as they are. */
static bool json_text_equal(const char *a, const char *b)
{
    CLEANUP(kj_doc_free) struct kj_doc *x = NULL, *y = NULL;

    if (streq(a, b))
        return true;
    return kj_parse(a, strlen(a), KJ_RAW_NUMBERS, &x, NULL) == 0 &&
           kj_parse(b, strlen(b), KJ_RAW_NUMBERS, &y, NULL) == 0 &&
           kj_equal(kj_root(x), kj_root(y));
}

static bool pair_differs(const struct kstrpair *own, const kstrmap *stored)
{
    const char *there = kstrmap_get(stored, own->key);
    return !there || !json_text_equal(own->value, there);
}

bool pairs_differ(const kstrmap *own, const kstrmap *stored)
{
    for (uint32_t i = 0; i < own->n; i++)
        if (pair_differs(&own->items[i], stored))
            return true;
    return false;
}

void object_patch_pairs(struct kjw *w, const kstrmap *own, const kstrmap *stored)
{
    for (uint32_t i = 0; i < own->n; i++)
        if (pair_differs(&own->items[i], stored))
            kjw_str(w, own->items[i].key, own->items[i].value);
}

void object_patch_annotations(struct kjw *w, const kstrmap *own, const kstrmap *stored)
{
    if (!pairs_differ(own, stored))
        return;
    kjw_obj(w, "annotations");
    object_patch_pairs(w, own, stored);
    kjw_end(w);
}
