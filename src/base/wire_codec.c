/* wire_codec.c - two passes over a message: count, then fill. */
#include "base/wire_codec.h"

struct decoder {
    struct arena *arena;
    size_t left;    /* bytes that may still be allocated */
    unsigned depth; /* of the message in hand */
    struct kerr *err;
};
struct list { /* any WIRE_LIST */
    char *items;
    uint32_t n;
};

/* What the first pass finds out about one message. */
struct census {
    uint32_t count[WIRE_MEMBERS_MAX];
    size_t bytes[WIRE_MEMBERS_MAX]; /* of the values together */
    struct str unknown;             /* from the first unknown field to the last */
    size_t unknown_bytes;           /* without what is known between them */
    char *unknown_copy;             /* where they go when something is between them */
};

static bool kind_is_number(unsigned kind)
{
    return kind == WK_BOOL || kind == WK_INT || kind == WK_UINT;
}

static bool kind_is_list(unsigned kind)
{
    return kind >= WK_STRS;
}

/* -1: the table does not have it, or has it with another wire type. */
static int member_find(const struct wire_table *t, const struct wire_field *f)
{
    for (unsigned i = 0; i < t->n && t->members[i].num <= f->num; i++) {
        const struct wire_member *m = &t->members[i];

        if (m->num == f->num)
            return f->type == (kind_is_number(m->kind) ? WIRE_VARINT : WIRE_BYTES) ? (int)i : -1;
    }
    return -1;
}

static size_t item_size(const struct wire_member *m)
{
    switch (m->kind) {
    case WK_STRS: return sizeof(struct str);
    case WK_MAP: return sizeof(struct wire_pair);
    default: return m->sub->size;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static int malformed(struct decoder *d, const struct wire_table *t)
{
    return kerr_set(d->err, -EBADMSG, "%s: malformed protobuf field", t->name);
}

/* NULL with an error: the message unfolds to too much. */
static void *room_for(struct decoder *d, const struct wire_table *t, size_t n, size_t size)
{
    if (n > d->left / size) {
        kerr_set(d->err, -E2BIG, "%s: protobuf message unfolds to more than %d bytes", t->name,
                 WIRE_DECODED_MAX);
        return NULL;
    }
    d->left -= n * size;
    return arena_zalloc_n(d->arena, n, size);
}

static int take_census(struct decoder *d, const struct wire_table *t, struct str message,
                       struct census *ret)
{
    struct wire_field f;
    int r;

    while ((r = wire_next(&message, &f)) > 0) {
        int i = member_find(t, &f);

        if (i >= 0) {
            ret->count[i]++;
            ret->bytes[i] += f.bytes.n;
            continue;
        }
        if (ret->unknown_bytes == 0)
            ret->unknown.p = f.raw.p;
        ret->unknown.n = (size_t)(f.raw.p + f.raw.n - ret->unknown.p);
        ret->unknown_bytes += f.raw.n;
    }
    return r < 0 ? malformed(d, t) : 0;
}

/* Memory for lists, for unknown fields that do not lie side by side, and for messages in parts. */
static int make_room(struct decoder *d, const struct wire_table *t, struct census *c, void *out)
{
    for (unsigned i = 0; i < t->n; i++) {
        const struct wire_member *m = &t->members[i];
        struct list *l = (void *)((char *)out + m->off);

        if (!kind_is_list(m->kind) || c->count[i] == 0)
            continue;
        l->items = room_for(d, t, c->count[i], item_size(m));
        if (!l->items)
            return d->err->code;
    }
    struct str *unknown = (void *)((char *)out + t->off_unknown);
    if (c->unknown.n == c->unknown_bytes) {
        *unknown = c->unknown;
        return 0;
    }
    c->unknown_copy = room_for(d, t, c->unknown_bytes, 1);
    *unknown = (struct str){ c->unknown_copy, c->unknown_bytes };
    return c->unknown_copy ? 0 : d->err->code;
}

static int decode_message(struct decoder *d, const struct wire_table *t, struct str message,
                          void *out);

static int decode_pair(struct decoder *d, const struct wire_table *t, struct str entry,
                       struct wire_pair *out)
{
    struct wire_field f;
    int r;

    while ((r = wire_next(&entry, &f)) > 0) {
        if (f.type == WIRE_BYTES && f.num == 1)
            out->key = f.bytes;
        if (f.type == WIRE_BYTES && f.num == 2)
            out->value = f.bytes;
    }
    return r < 0 ? malformed(d, t) : 0;
}

static int fill_list(struct decoder *d, const struct wire_table *t, const struct wire_member *m,
                     struct list *l, struct str bytes)
{
    void *item = l->items + l->n++ * item_size(m);

    switch (m->kind) {
    case WK_STRS: *(struct str *)item = bytes; return 0;
    case WK_MAP: return decode_pair(d, t, bytes, item);
    default: return decode_message(d, m->sub, bytes, item);
    }
}

static int fill_message(struct decoder *d, const struct wire_member *m, struct census *c,
                        unsigned i, struct str bytes, void **at)
{
    if (!*at && !(*at = room_for(d, m->sub, 1, m->sub->size)))
        return d->err->code;
    if (c->count[i] == 1)
        return decode_message(d, m->sub, bytes, *at);
    return 0; /* in several parts: merge_messages() */
}

/* A message in several parts, which no encoder we know writes: put one behind the other they are
 * the encoding of the merged message. */
static int merge_messages(struct decoder *d, const struct wire_table *t, struct str message,
                          unsigned i, size_t bytes, void *inner)
{
    const struct wire_member *m = &t->members[i];
    char *all = bytes > 0 ? room_for(d, t, bytes, 1) : NULL;
    struct wire_field f;
    size_t n = 0;

    if (bytes > 0 && !all)
        return d->err->code;
    while (wire_next(&message, &f) > 0) {
        if (member_find(t, &f) != (int)i || f.bytes.n == 0)
            continue;
        if (!wire_valid(f.bytes)) /* a field must not start in one part and end in the next */
            return malformed(d, m->sub);
        memcpy(all + n, f.bytes.p, f.bytes.n);
        n += f.bytes.n;
    }
    return decode_message(d, m->sub, (struct str){ all, n }, inner);
}

static int fill_member(struct decoder *d, const struct wire_table *t, struct census *c, unsigned i,
                       const struct wire_field *f, void *out)
{
    const struct wire_member *m = &t->members[i];
    void *at = (char *)out + m->off;

    switch ((enum wire_kind)m->kind) {
    case WK_STR: *(struct str *)at = f->bytes; return 0;
    case WK_BOOL: *(bool *)at = f->value != 0; return 0;
    case WK_INT: *(int64_t *)at = (int64_t)f->value; return 0;
    case WK_UINT: *(uint64_t *)at = f->value; return 0;
    case WK_MSG: return fill_message(d, m, c, i, f->bytes, at);
    case WK_STRS:
    case WK_MSGS:
    case WK_MAP: return fill_list(d, t, m, at, f->bytes);
    }
    return 0;
}

static int fill(struct decoder *d, const struct wire_table *t, struct str message, struct census *c,
                void *out)
{
    struct str rest = message;
    char *copy = c->unknown_copy;
    struct wire_field f;
    int r = 0;

    while (r == 0 && wire_next(&rest, &f) > 0) {
        int i = member_find(t, &f);

        if (i >= 0) {
            r = fill_member(d, t, c, (unsigned)i, &f, out);
        } else if (copy) {
            memcpy(copy, f.raw.p, f.raw.n);
            copy += f.raw.n;
        }
    }
    for (unsigned i = 0; r == 0 && i < t->n; i++)
        if (t->members[i].kind == WK_MSG && c->count[i] > 1)
            r = merge_messages(d, t, message, i, c->bytes[i],
                               *(void **)((char *)out + t->members[i].off));
    return r;
}

static int decode_message(struct decoder *d, const struct wire_table *t, struct str message,
                          void *out)
{
    struct census c = { 0 };

    assert(t->n <= WIRE_MEMBERS_MAX);
    memset(out, 0, t->size);
    if (d->depth == WIRE_DEPTH_MAX)
        return kerr_set(d->err, -EBADMSG, "%s: protobuf messages nested deeper than %d", t->name,
                        WIRE_DEPTH_MAX);
    d->depth++;
    int r = take_census(d, t, message, &c);
    if (r == 0)
        r = make_room(d, t, &c, out);
    if (r == 0)
        r = fill(d, t, message, &c, out);
    d->depth--;
    return r;
}

int wire_decode(const struct wire_table *t, struct str message, struct arena *a, void *out,
                struct kerr *err)
{
    struct kerr own;
    struct decoder d = { .arena = a, .left = WIRE_DECODED_MAX, .err = err ? err : &own };

    if (message.n > WIRE_MESSAGE_MAX)
        return kerr_set(err, -E2BIG, "%s: protobuf message of %zu bytes, at most %d", t->name,
                        message.n, WIRE_MESSAGE_MAX);
    return decode_message(&d, t, message, out);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void encode_inner(const struct wire_member *m, const void *in, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf inner = STRBUF_INIT;

    wire_encode(m->sub, in, &inner);
    wire_put_bytes(out, m->num, (struct str){ inner.data, inner.len });
}

static void encode_pair(uint32_t num, const struct wire_pair *p, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf inner = STRBUF_INIT;

    wire_put_bytes(&inner, 1, p->key);
    wire_put_bytes(&inner, 2, p->value);
    wire_put_bytes(out, num, (struct str){ inner.data, inner.len });
}

static void encode_list(const struct wire_member *m, const struct list *l, struct strbuf *out)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const void *item = l->items + i * item_size(m);

        switch (m->kind) {
        case WK_STRS: wire_put_bytes(out, m->num, *(const struct str *)item); break;
        case WK_MAP: encode_pair(m->num, item, out); break;
        default: encode_inner(m, item, out);
        }
    }
}

static void encode_number(uint32_t num, uint64_t v, struct strbuf *out)
{
    if (v != 0)
        wire_put_varint(out, num, v);
}

static void encode_member(const struct wire_member *m, const void *in, struct strbuf *out)
{
    const void *at = (const char *)in + m->off;

    switch ((enum wire_kind)m->kind) {
    case WK_STR:
        if (((const struct str *)at)->n > 0)
            wire_put_bytes(out, m->num, *(const struct str *)at);
        break;
    case WK_BOOL: encode_number(m->num, *(const bool *)at, out); break;
    case WK_INT: encode_number(m->num, (uint64_t) * (const int64_t *)at, out); break;
    case WK_UINT: encode_number(m->num, *(const uint64_t *)at, out); break;
    case WK_MSG:
        if (*(void *const *)at)
            encode_inner(m, *(void *const *)at, out);
        break;
    case WK_STRS:
    case WK_MSGS:
    case WK_MAP: encode_list(m, at, out); break;
    }
}

void wire_encode(const struct wire_table *t, const void *in, struct strbuf *out)
{
    const struct str *unknown = (const void *)((const char *)in + t->off_unknown);

    for (unsigned i = 0; i < t->n; i++)
        encode_member(&t->members[i], in, out);
    if (unknown->n > 0)
        strbuf_appendn(out, unknown->p, unknown->n);
}
