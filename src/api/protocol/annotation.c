/* annotation.c - reading and writing the JSON annotations. The list of codecs: codecs.c. */
#include "api/protocol/annotation.h"

#include "json/kj.h"

enum { ANNOTATION_MAX = 1 << 20 }; /* all annotations of an object share 256 KiB at the server */

/* The empty value: zero, but strings are "". Absent is the usual case, so it must cost nothing. */
static void fill_empty(const struct kschema *s, char *out)
{
    static const char *const nothing = "";

    for (uint32_t i = 0; i < s->nfields; i++) {
        const struct kfield *f = &s->fields[i];

        if (f->type == KF_STR)
            memcpy(out + f->off, &nothing, sizeof nothing);
        else if (f->type == KF_OBJ && !(f->flags & KF_PTR))
            fill_empty(f->sub, out + f->off);
    }
}

static void set_empty(const struct annotation_codec *c, void *ret)
{
    memset(ret, 0, c->schema->size);
    fill_empty(c->schema, ret);
}

static int decode_json(const struct annotation_codec *c, const char *text, struct arena *a,
                       void *ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    size_t n = strlen(text);

    if (n > ANNOTATION_MAX)
        return kerr_set(err, -E2BIG, "the annotation is longer than 1 MiB");
    /* Quantities keep the text of numbers: 0.1 is exact. */
    int r = kj_parse(text, n, KJ_RAW_NUMBERS, &doc, err);
    if (r < 0)
        return r;
    if (kj_type(kj_root(doc)) == KJ_NULL) { /* Go decodes null into nothing */
        set_empty(c, ret);
        return 0;
    }
    return kj_decode(c->schema, kj_root(doc), KJ_ANY_CASE, a, ret, err);
}

int annotation_decode(const struct annotation_codec *c, const char *text, struct arena *a,
                      void *ret, struct kerr *err)
{
    struct kerr local = { 0 };
    int r;

    err = err ? err : &local;
    if (*text == '\0' && c->empty == EMPTY_IS_VALUE) {
        set_empty(c, ret);
        r = 0;
    } else if (c->decode) {
        r = c->decode(text, a, ret, err);
    } else {
        r = decode_json(c, text, a, ret, err);
    }
    if (r == 0 && c->check)
        r = c->check(ret, a, err);
    if (r < 0)
        set_empty(c, ret);
    return r;
}

int annotation_read(const struct annotation_codec *c, const kstrmap *annotations, struct arena *a,
                    void *ret, struct kerr *err)
{
    const char *text = annotations ? kstrmap_get(annotations, c->key) : NULL;
    struct kerr local = { 0 };

    err = err ? err : &local;
    if (!text || (*text == '\0' && c->empty == EMPTY_IS_ABSENT)) {
        set_empty(c, ret);
        return 0;
    }
    int r = annotation_decode(c, text, a, ret, err);
    return r < 0 ? kerr_wrap(err, "annotation %s", c->key) : 1;
}

void annotation_encode(const struct annotation_codec *c, const void *value, struct strbuf *out)
{
    if (c->encode)
        c->encode(value, out);
    else
        kj_encode(c->schema, value, out);
}

static const struct kfield strlist_value_fields[] = {
    KF_LIST_OF(struct strlist_value, v, "", KF_STR),
};
const struct kschema strlist_value_schema =
    BARE_SCHEMA("StringList", struct strlist_value, strlist_value_fields);

static const struct kfield i64map_value_fields[] = {
    KF_MAP_OF(struct i64map_value, v, "", KF_I64),
};
const struct kschema i64map_value_schema =
    BARE_SCHEMA("IntegerMap", struct i64map_value, i64map_value_fields);

const int64_t *named_i64_find(const named_i64list *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].name, name))
            return &l->items[i].value;
    return NULL;
}
