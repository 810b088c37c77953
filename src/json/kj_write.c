/* kj_write.c - trees to JSON text. */
#include "json/kj_int.h"

/* ---- strings --------------------------------------------------------------------------------- */

/* Bytes that do not stand for themselves between quotes, or need a look (not ASCII). */
static const bool special[256] = {
    [0 ... 31] = true,
    ['"'] = true,
    ['\\'] = true,
    [128 ... 255] = true,
};

/* A byte; here, since a document is little else than these and texts. */
static inline void put(struct strbuf *out, char c)
{
    char *at = strbuf_reserve(out, 1);

    at[0] = c;
    at[1] = '\0';
    out->len++;
}

static void append_escaped(struct strbuf *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char letters[128] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n',  ['\r'] = 'r',
        ['\t'] = 't', ['"'] = '"',  ['\\'] = '\\',
    };

    if (letters[c])
        strbuf_appendn(out, (char[]){ '\\', letters[c] }, 2);
    else
        strbuf_appendn(out, (char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, 6);
}

/* Whether one of eight bytes is special: a byte that is zero after the XOR, or below 32, borrows
 * into its highest bit. True in vain at times, behind a byte that is special; never false in vain.
 */
static inline bool any_special(const unsigned char *s)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    uint64_t w;

    memcpy(&w, s, 8);
    uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\';
    return (w | (w - ones * 32) | (quote - ones) | (slash - ones)) & high;
}

static size_t plain_run(const unsigned char *s, size_t n)
{
    size_t i = 0;

    while (n - i >= 8 && !any_special(s + i))
        i += 8;
    while (i < n && !special[s[i]])
        i++;
    return i;
}

/* The rest of a text from its first special byte on. */
static void append_special(struct strbuf *out, const unsigned char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t run = plain_run(s + i, n - i);
        strbuf_appendn(out, s + i, run);
        i += run;
        if (i == n)
            break;
        unsigned char c = s[i];
        size_t len = c < 0x80 ? 1 : utf8_seq(s + i, n - i);
        if (c >= 0x80) {
            if (len)
                strbuf_appendn(out, s + i, len);
            else
                strbuf_append(out, "\xEF\xBF\xBD");
        } else {
            append_escaped(out, c);
        }
        i += len ? len : 1;
    }
}

void kj_append_string(struct strbuf *out, const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t run = plain_run(s, n);
    char *at = strbuf_reserve(out, n + 2); /* enough for most: nothing is special */

    *at = '"';
    if (run)
        memcpy(at + 1, text, run);
    out->len += run + 1;
    if (run < n)
        append_special(out, s + run, n - run);
    put(out, '"');
}

/* ---- trees ----------------------------------------------------------------------------------- */

struct writer {
    struct strbuf *out;
    unsigned flags;
    int depth;
};

static void write_value(struct writer *w, const yyjson_val *v, bool mut);

static void new_line(struct writer *w)
{
    if (!(w->flags & KJ_PRETTY))
        return;
    size_t n = (size_t)w->depth * 2;
    char *at = strbuf_reserve(w->out, n + 1);
    *at = '\n';
    memset(at + 1, ' ', n);
    w->out->len += n + 1;
    w->out->data[w->out->len] = '\0';
}

static void write_member(struct writer *w, const char *key, size_t n, const yyjson_val *v, bool mut)
{
    kj_append_string(w->out, key, n);
    if (w->flags & KJ_PRETTY)
        strbuf_appendn(w->out, ": ", 2);
    else
        put(w->out, ':');
    write_value(w, v, mut);
}

static void write_sorted(struct writer *w, const yyjson_val *obj, bool mut)
{
    CLEANUP(kj_index_fini) struct kj_index ix = kj_index_of(obj, mut);
    for (size_t i = 0; i < ix.n; i++) {
        if (i)
            put(w->out, ',');
        new_line(w);
        write_member(w, ix.m[i].key, ix.m[i].key_len, ix.m[i].val, mut);
    }
}

static void write_members(struct writer *w, const yyjson_val *ctn, bool mut)
{
    bool is_obj = kj_is_obj(ctn);
    size_t n = kj_ylen(ctn);
    const yyjson_val *c = kj_first(ctn, mut);

    for (size_t i = 0; i < n; i++) {
        if (i)
            put(w->out, ',');
        new_line(w);
        if (is_obj) {
            const yyjson_val *v = kj_val_of_key(c, mut);
            write_member(w, c->uni.str, kj_ylen(c), v, mut);
            c = v;
        } else {
            write_value(w, c, mut);
        }
        c = kj_sibling(c, mut);
    }
}

static void write_container(struct writer *w, const yyjson_val *v, bool mut)
{
    bool is_obj = kj_is_obj(v);

    put(w->out, is_obj ? '{' : '[');
    if (kj_ylen(v) > 0) {
        w->depth++;
        if (is_obj && w->flags & KJ_SORTED)
            write_sorted(w, v, mut);
        else
            write_members(w, v, mut);
        w->depth--;
        new_line(w);
    }
    put(w->out, is_obj ? '}' : ']');
}

static void write_number(struct writer *w, const yyjson_val *v)
{
    if ((v->tag & YYJSON_TYPE_MASK) == YYJSON_TYPE_RAW) {
        strbuf_appendn(w->out, v->uni.str, kj_ylen(v));
        return;
    }
    char text[48];
    size_t n = kj_num_text(kj_from(v), text, sizeof text);
    strbuf_appendn(w->out, text, n);
}

static void write_value(struct writer *w, const yyjson_val *v, bool mut)
{
    switch (v->tag & YYJSON_TYPE_MASK) {
    case YYJSON_TYPE_BOOL:
        strbuf_append(w->out, unsafe_yyjson_get_bool((void *)(uintptr_t)v) ? "true" : "false");
        break;
    case YYJSON_TYPE_RAW:
    case YYJSON_TYPE_NUM: write_number(w, v); break;
    case YYJSON_TYPE_STR: kj_append_string(w->out, v->uni.str, kj_ylen(v)); break;
    case YYJSON_TYPE_ARR:
    case YYJSON_TYPE_OBJ: write_container(w, v, mut); break;
    default: strbuf_appendn(w->out, "null", 4); break;
    }
}

void kj_write(const struct kj_val *v, unsigned flags, struct strbuf *out)
{
    struct writer w = { .out = out, .flags = flags };
    if (!v)
        strbuf_append(out, "null");
    else
        write_value(&w, kj_y(v), false);
}

void kj_mwrite(const struct kj_mval *v, unsigned flags, struct strbuf *out)
{
    struct writer w = { .out = out, .flags = flags };
    if (!v)
        strbuf_append(out, "null");
    else
        write_value(&w, kj_my_scalar(v), true);
}
