/* yaml_write.c - YAML as `kubectl -o yaml` prints it.
 *
 * libyaml's emitter does the layout (it is the origin of the one kubectl uses); the choices here
 * are the order of the keys and the style of each string.
 */
#include <yaml.h>

#include "base/num.h"
#include "json/kj_int.h"
#include "json/yaml_scalar.h"

/* ---- the order of keys ----------------------------------------------------------------------- */

static uint32_t next_rune(const char **p, const char *end)
{
    const unsigned char *s = (const unsigned char *)*p;
    size_t len = utf8_seq(s, (size_t)(end - *p));

    *p += len ? len : 1;
    switch (len) {
    case 1: return s[0];
    case 2: return (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
    case 3: return (s[0] & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
    case 4:
        return (s[0] & 0x07u) << 18 | (s[1] & 0x3Fu) << 12 | (s[2] & 0x3Fu) << 6 | (s[3] & 0x3Fu);
    default: return 0xFFFD;
    }
}

static bool is_digit(uint32_t r)
{
    return r >= '0' && r <= '9';
}

static bool is_letter(uint32_t r)
{
    return (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || r >= 0xAA;
}

/* The number that starts at p, and how many digits it has. */
static uint64_t read_number(const char *p, const char *end, size_t *ret_digits)
{
    uint64_t v = 0;
    const char *start = p;

    while (p < end && is_digit((unsigned char)*p))
        v = v * 10 + (uint64_t)(*p++ - '0');
    *ret_digits = (size_t)(p - start);
    return v;
}

/* a and b differ first at pa and pb, where at least one has a digit or neither has a letter. */
static int cmp_numbers(const char *start, const char *pa, const char *ea, const char *pb,
                       const char *eb)
{
    size_t da, db;
    uint64_t na = read_number(pa, ea, &da), nb = read_number(pb, eb, &db);

    /* "10" against "1x": the digits before belong to the number when one of the two goes on with
     * a zero, which by itself would weigh nothing. */
    if (*pa == '0' || *pb == '0')
        for (const char *q = pa; q > start && is_digit((unsigned char)q[-1]); q--)
            if (q[-1] != '0') {
                uint64_t pow_a = 1, pow_b = 1;
                for (size_t i = 0; i < da; i++)
                    pow_a *= 10;
                for (size_t i = 0; i < db; i++)
                    pow_b *= 10;
                na += pow_a;
                nb += pow_b;
                break;
            }
    if (na != nb)
        return na < nb ? -1 : 1;
    return (da > db) - (da < db);
}

/* Natural order: item2 before item10, letters after other characters unless a number just ended. */
static int key_order(const void *x, const void *y)
{
    const struct kj_member *a = x, *b = y;
    const char *pa = a->key, *ea = pa + a->key_len, *pb = b->key, *eb = pb + b->key_len;
    bool after_digit = false;

    while (pa < ea && pb < eb) {
        const char *at_a = pa, *at_b = pb;
        uint32_t ra = next_rune(&pa, ea), rb = next_rune(&pb, eb);
        if (ra == rb) {
            after_digit = is_digit(ra);
            continue;
        }
        bool la = is_letter(ra), lb = is_letter(rb);
        if (la && lb)
            return ra < rb ? -1 : 1;
        if (la || lb)
            return la == after_digit ? -1 : 1;
        int c = cmp_numbers(a->key, at_a, ea, at_b, eb);
        return c ? c : ra < rb ? -1 : 1;
    }
    return (pa < ea) - (pb < eb);
}

/* ---- scalars --------------------------------------------------------------------------------- */

static int emit_scalar(yaml_emitter_t *em, const char *s, size_t n, yaml_scalar_style_t style)
{
    yaml_event_t e;
    return yaml_scalar_event_initialize(&e, NULL, NULL, (const unsigned char *)s, (int)n, 1, 1,
                                        style) &&
           yaml_emitter_emit(em, &e);
}

/* NEL, LS and PS are line breaks to YAML 1.1 and would come back as something else. */
static bool has_odd_break(const char *s, size_t n)
{
    return memmem(s, n, "\xC2\x85", 2) || memmem(s, n, "\xE2\x80\xA8", 3) ||
           memmem(s, n, "\xE2\x80\xA9", 3);
}

static int emit_string(yaml_emitter_t *em, const char *s, size_t n)
{
    yaml_scalar_style_t style = YAML_PLAIN_SCALAR_STYLE;

    if (has_odd_break(s, n))
        style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    else if (memchr(s, '\n', n))
        style = YAML_LITERAL_SCALAR_STYLE;
    else if (yaml_is_ambiguous(s, n))
        style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return emit_scalar(em, s, n, style);
}

/* Go's %g of the shortest digits: the exponent form below 1e-4 and from 1e6 on. */
static size_t format_g(double f, char *buf, size_t size)
{
    char text[40], digits[40];
    size_t n = f64_format(f, text, sizeof text), nd = 0, at = 0;
    int point = 0; /* digits before the point */
    bool seen_point = false, leading = true;

    text[n] = '\0';
    const char *p = text, *e = strchr(text, 'e');
    if (*p == '-')
        buf[at++] = *p++;
    for (; *p && p != e; p++) {
        if (*p == '.') {
            seen_point = true;
            continue;
        }
        if (leading && *p == '0') {
            point -= seen_point;
            continue;
        }
        leading = false;
        digits[nd++] = *p;
        point += !seen_point;
    }
    if (e)
        point += atoi(e + 1);
    while (nd > 1 && digits[nd - 1] == '0')
        nd--;
    int exp = point - 1;
    if (nd == 0 || (exp >= -4 && exp < 6)) { /* as f64_format writes it */
        memcpy(buf, text, n);
        return n;
    }
    buf[at++] = digits[0];
    if (nd > 1) {
        buf[at++] = '.';
        memcpy(buf + at, digits + 1, nd - 1);
        at += nd - 1;
    }
    return at + (size_t)snprintf(buf + at, size - at, "e%c%02d", exp < 0 ? '-' : '+',
                                 exp < 0 ? -exp : exp);
}

static int emit_number(yaml_emitter_t *em, const yyjson_val *v)
{
    struct kj_number num;
    char text[80];
    size_t n;

    if (kj_number_of(v, &num) && num.kind == KJ_NUM_F64)
        n = format_g(num.f, text, sizeof text);
    else
        n = MIN(kj_num_text(kj_from(v), text, sizeof text), sizeof text - 1);
    return emit_scalar(em, text, n, YAML_PLAIN_SCALAR_STYLE);
}

/* ---- trees ----------------------------------------------------------------------------------- */

static int emit_value(yaml_emitter_t *em, const yyjson_val *v);

static int emit_mapping(yaml_emitter_t *em, const yyjson_val *v)
{
    CLEANUP(kj_index_fini) struct kj_index ix = kj_index_of(v, false);
    yaml_event_t e;

    if (!yaml_mapping_start_event_initialize(&e, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE) ||
        !yaml_emitter_emit(em, &e))
        return 0;
    if (ix.n > 1)
        qsort(ix.m, ix.n, sizeof ix.m[0], key_order);
    for (size_t i = 0; i < ix.n; i++)
        if (!emit_string(em, ix.m[i].key, ix.m[i].key_len) || !emit_value(em, ix.m[i].val))
            return 0;
    return yaml_mapping_end_event_initialize(&e) && yaml_emitter_emit(em, &e);
}

static int emit_sequence(yaml_emitter_t *em, const yyjson_val *v)
{
    const yyjson_val *c = v + 1;
    yaml_event_t e;

    if (!yaml_sequence_start_event_initialize(&e, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE) ||
        !yaml_emitter_emit(em, &e))
        return 0;
    for (size_t left = kj_ylen(v); left > 0; left--, c = kj_sibling(c, false))
        if (!emit_value(em, c))
            return 0;
    return yaml_sequence_end_event_initialize(&e) && yaml_emitter_emit(em, &e);
}

static int emit_value(yaml_emitter_t *em, const yyjson_val *v)
{
    switch (kj_type(kj_from(v))) {
    case KJ_BOOL:
        return kj_bool(kj_from(v), false) ? emit_scalar(em, "true", 4, YAML_PLAIN_SCALAR_STYLE)
                                          : emit_scalar(em, "false", 5, YAML_PLAIN_SCALAR_STYLE);
    case KJ_NUM: return emit_number(em, v);
    case KJ_STR: return emit_string(em, v->uni.str, kj_ylen(v));
    case KJ_ARR: return emit_sequence(em, v);
    case KJ_OBJ: return emit_mapping(em, v);
    default: return emit_scalar(em, "null", 4, YAML_PLAIN_SCALAR_STYLE);
    }
}

static int append_bytes(void *out, unsigned char *bytes, size_t n)
{
    strbuf_appendn(out, bytes, n);
    return 1;
}

static int emit_document(yaml_emitter_t *em, const yyjson_val *v)
{
    yaml_event_t e;

    if (!yaml_stream_start_event_initialize(&e, YAML_UTF8_ENCODING) || !yaml_emitter_emit(em, &e) ||
        !yaml_document_start_event_initialize(&e, NULL, NULL, NULL, 1) ||
        !yaml_emitter_emit(em, &e) || !emit_value(em, v) ||
        !yaml_document_end_event_initialize(&e, 1) || !yaml_emitter_emit(em, &e))
        return 0;
    return yaml_stream_end_event_initialize(&e) && yaml_emitter_emit(em, &e) &&
           yaml_emitter_flush(em);
}

void kj_write_yaml(const struct kj_val *v, struct strbuf *out)
{
    yaml_emitter_t em;
    yyjson_val null = { .tag = YYJSON_TYPE_NULL };
    static const char dots[] = "\n...\n";

    if (!yaml_emitter_initialize(&em))
        abort(); /* no memory */
    yaml_emitter_set_output(&em, append_bytes, out);
    yaml_emitter_set_unicode(&em, 1);
    int ok = emit_document(&em, v ? kj_y(v) : &null);
    assert(ok); /* every tree has a YAML form; only memory can fail */
    (void)ok;
    yaml_emitter_delete(&em);
    /* After a text that ends in blank lines libyaml closes the document; kubectl does not. No
     * scalar of ours can look like this at the left margin. */
    size_t n = sizeof dots - 1;
    if (out->len >= n && memcmp(out->data + out->len - n, dots, n) == 0)
        strbuf_truncate(out, out->len - n + 1);
}
