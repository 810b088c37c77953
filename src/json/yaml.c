/* yaml.c - YAML by libyaml's events into the flat form of a parsed document.
 *
 * Values are appended in reading order, as yyjson lays them out; distances inside are relative, so
 * an alias is a copy of its anchor's range. What aliases and merges may add is capped: a few lines
 * of YAML can otherwise stand for gigabytes.
 */
#include <yaml.h>

#include "base/arena.h"
#include "base/b64.h"
#include "base/map.h"
#include "base/num.h"
#include "json/kj_int.h"
#include "json/yaml_scalar.h"

enum { EXPAND_MAX_VALUES = 1000000, EXPAND_MAX_BYTES = 64 << 20 };

struct anchor {
    size_t start, end; /* of the values; end 0: still being read */
    yyjson_val *saved; /* a copy of them, once a merge has moved things around */
};

struct frame {
    size_t at; /* the container's value */
    size_t n;  /* keys and values so far, or items */
    bool is_map, has_merge;
    struct anchor *anchor;
    size_t anchors; /* defined before this container */
};

struct builder {
    unsigned flags;
    yyjson_val *v;
    uint32_t *line; /* of each value */
    size_t n, cap;
    struct arena *strings;
    struct map anchors;      /* by name, the last of it */
    struct anchor **defined; /* all, in order */
    size_t ndefined, defined_cap;
    size_t expanded, expanded_bytes;
    struct frame stack[KJ_DEPTH_MAX];
    int depth;
    struct kerr *err;
};

/* Marks the key of a merge until its mapping ends. */
#define MERGE_KEY (UINT64_C(1) << YYJSON_TAG_BIT | YYJSON_TYPE_NONE)

static int fail_at(struct builder *b, const yaml_mark_t *at, const char *what)
{
    return kerr_set(b->err, -EINVAL, "line %zu, column %zu: %s", at->line + 1, at->column + 1,
                    what);
}

static void builder_fini(struct builder *b)
{
    arena_free(b->strings);
    map_fini(&b->anchors);
    free(b->defined);
    free(b->v);
    free(b->line);
}

static yyjson_val *append(struct builder *b, size_t line)
{
    if (b->n == b->cap) {
        b->cap = b->cap ? b->cap * 2 : 64;
        b->v = xreallocarray(b->v, b->cap, sizeof *b->v);
        b->line = xreallocarray(b->line, b->cap, sizeof *b->line);
    }
    b->line[b->n] = (uint32_t)line;
    b->v[b->n] = (yyjson_val){ .tag = YYJSON_TYPE_NULL };
    return &b->v[b->n++];
}

/* ---- scalars --------------------------------------------------------------------------------- */

static void set_text(yyjson_val *v, uint8_t type, const char *s, size_t n)
{
    v->tag = (uint64_t)n << YYJSON_TAG_BIT | type;
    v->uni.str = s;
}

static void set_str(struct builder *b, yyjson_val *v, const char *s, size_t n)
{
    set_text(v, YYJSON_TYPE_STR, arena_strndup(b->strings, s, n), n);
}

/* Does the text follow JSON's grammar for numbers, so that it can be kept as written? */
static bool is_json_number(const char *s, size_t n)
{
    size_t i = n > 0 && s[0] == '-', start = i;

    while (i < n && s[i] >= '0' && s[i] <= '9')
        i++;
    if (i == start || (i - start > 1 && s[start] == '0'))
        return false;
    if (i < n && s[i] == '.') {
        for (start = ++i; i < n && s[i] >= '0' && s[i] <= '9';)
            i++;
        if (i == start)
            return false;
    }
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        i += i < n && (s[i] == '+' || s[i] == '-');
        for (start = i; i < n && s[i] >= '0' && s[i] <= '9';)
            i++;
        if (i == start)
            return false;
    }
    return i == n;
}

static void set_number(struct builder *b, yyjson_val *v, struct yaml_value y, const char *s,
                       size_t n, bool raw)
{
    char text[48];

    if (y.kind == YK_F64) {
        v->tag = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL;
        v->uni.f64 = y.f;
    } else if (y.kind == YK_I64) {
        v->tag = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT;
        v->uni.i64 = y.i;
    } else {
        v->tag = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT;
        v->uni.u64 = y.u;
    }
    if (!raw)
        return;
    if (!is_json_number(s, n)) {
        n = kj_num_text(kj_from(v), text, sizeof text);
        s = text;
    }
    set_text(v, YYJSON_TYPE_RAW, arena_strndup(b->strings, s, n), n);
}

static int set_binary(struct builder *b, const yaml_event_t *e, yyjson_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf bytes = STRBUF_INIT, clean = STRBUF_INIT;

    if (b64_decode((const char *)e->data.scalar.value, e->data.scalar.length, &bytes) < 0)
        return fail_at(b, &e->start_mark, "!!binary value contains invalid base64 data");
    utf8_sanitise(strbuf_str(&bytes), bytes.len, &clean);
    set_str(b, v, strbuf_str(&clean), clean.len);
    return 0;
}

static const char *short_tag(const yaml_event_t *e)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    const char *tag = (const char *)e->data.scalar.tag;

    if (!tag)
        return "";
    return str_starts(tag, prefix) ? tag + sizeof prefix - 1 : "?";
}

/* What the scalar means, its tag considered. -EINVAL when tag and text disagree. */
static int resolve(struct builder *b, const yaml_event_t *e, struct yaml_value *ret)
{
    const char *tag = short_tag(e), *s = (const char *)e->data.scalar.value;
    size_t n = e->data.scalar.length;
    bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

    *ret = (struct yaml_value){ .kind = YK_STR };
    if (*tag ? streq(tag, "str") || streq(tag, "?") : !plain)
        return 0;
    if (*tag && !streq(tag, "int") && !streq(tag, "float") && !streq(tag, "bool") &&
        !streq(tag, "null"))
        return 0;
    *ret = yaml_resolve(s, n);
    if (ret->kind == YK_NOT_FINITE)
        return fail_at(b, &e->start_mark, "infinities and NaN have no JSON form");
    bool is_int = ret->kind == YK_U64 || ret->kind == YK_I64;
    if (!*tag || (is_int && (streq(tag, "int") || streq(tag, "float"))) ||
        (ret->kind == YK_F64 && streq(tag, "float")) ||
        (ret->kind == YK_BOOL && streq(tag, "bool")) ||
        (ret->kind == YK_NULL && streq(tag, "null")))
        return 0;
    return fail_at(b, &e->start_mark, "the value does not fit its tag");
}

static int put_scalar(struct builder *b, const yaml_event_t *e, bool raw)
{
    const char *s = (const char *)e->data.scalar.value;
    size_t n = e->data.scalar.length;
    yyjson_val *v = append(b, e->start_mark.line + 1);
    struct yaml_value y;

    if (streq(short_tag(e), "binary"))
        return set_binary(b, e, v);
    int r = resolve(b, e, &y);
    if (r < 0)
        return r;
    switch (y.kind) {
    case YK_NULL: break;
    case YK_BOOL: v->tag = YYJSON_TYPE_BOOL | (y.b ? YYJSON_SUBTYPE_TRUE : 0); break;
    case YK_U64:
    case YK_I64:
    case YK_F64: set_number(b, v, y, s, n, raw); break;
    default: set_str(b, v, s, n); break;
    }
    return 0;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static bool expects_key(const struct builder *b)
{
    const struct frame *f = b->depth ? &b->stack[b->depth - 1] : NULL;
    return f && f->is_map && f->n % 2 == 0;
}

/* The value just appended becomes a key: JSON has only strings there. */
static int make_key(struct builder *b, const yaml_mark_t *at)
{
    yyjson_val *v = &b->v[b->n - 1];
    char text[64];

    switch (kj_type(kj_from(v))) {
    case KJ_STR: return 0;
    case KJ_BOOL:
        if (unsafe_yyjson_get_bool(v))
            set_str(b, v, "true", 4);
        else
            set_str(b, v, "false", 5);
        return 0;
    case KJ_NUM: {
        size_t n = kj_num_text(kj_from(v), text, sizeof text);
        set_str(b, v, text, MIN(n, sizeof text - 1));
        return 0;
    }
    case KJ_NULL: return fail_at(b, at, "a mapping key must not be null");
    default: return fail_at(b, at, "a mapping key must be a scalar");
    }
}

static bool is_merge_key(const yaml_event_t *e)
{
    return e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !e->data.scalar.tag &&
           e->data.scalar.length == 2 && memcmp(e->data.scalar.value, "<<", 2) == 0;
}

/* ---- anchors and aliases --------------------------------------------------------------------- */

static struct anchor *define_anchor(struct builder *b, const unsigned char *name)
{
    if (!name)
        return NULL;
    struct anchor *a = arena_new0(b->strings, struct anchor);
    a->start = b->n;
    const char *key = arena_strdup(b->strings, (const char *)name);
    map_put(&b->anchors, key, strlen(key), a);
    if (b->ndefined == b->defined_cap) {
        b->defined_cap = b->defined_cap ? b->defined_cap * 2 : 16;
        b->defined = xreallocarray(b->defined, b->defined_cap, sizeof *b->defined);
    }
    b->defined[b->ndefined++] = a;
    return a;
}

static void close_anchor(struct builder *b, struct anchor *a)
{
    if (a)
        a->end = b->n;
}

static const yyjson_val *anchor_values(const struct builder *b, const struct anchor *a)
{
    return a->saved ? a->saved : &b->v[a->start];
}

/* Before copying n values: may the document grow by them? */
static int count_expansion(struct builder *b, const yyjson_val *v, size_t n, const yaml_mark_t *at)
{
    b->expanded += n;
    for (size_t i = 0; i < n && b->expanded <= EXPAND_MAX_VALUES; i++)
        if (!kj_is_ctn(&v[i]))
            b->expanded_bytes += kj_ylen(&v[i]);
    if (b->expanded > EXPAND_MAX_VALUES || b->expanded_bytes > EXPAND_MAX_BYTES)
        return fail_at(b, at, "aliases expand to too much");
    return 0;
}

/* Merging moves the values of a mapping, so anchors inside get a copy of theirs. */
static int save_anchors(struct builder *b, const struct frame *f, const yaml_mark_t *at)
{
    int r = 0;

    for (size_t i = f->anchors; i < b->ndefined && r == 0; i++) {
        struct anchor *a = b->defined[i];
        size_t n = a->end - a->start;
        if (a->saved || a->start <= f->at)
            continue;
        r = count_expansion(b, &b->v[a->start], n, at);
        if (r == 0) {
            a->saved = arena_newn0(b->strings, n, yyjson_val);
            memcpy(a->saved, &b->v[a->start], n * sizeof *a->saved);
        }
    }
    return r;
}

static int put_alias(struct builder *b, const yaml_event_t *e)
{
    const char *name = (const char *)e->data.alias.anchor;
    const struct anchor *a = map_getz(&b->anchors, name);

    if (!a)
        return fail_at(b, &e->start_mark, "unknown anchor referenced");
    if (a->end == 0)
        return fail_at(b, &e->start_mark, "an anchor's value contains itself");
    size_t n = a->end - a->start;
    int r = count_expansion(b, anchor_values(b, a), n, &e->start_mark);
    for (size_t i = 0; i < n && r == 0; i++) {
        yyjson_val copy = anchor_values(b, a)[i]; /* appending may move what is not saved */
        *append(b, e->start_mark.line + 1) = copy;
    }
    return r;
}

/* ---- merge keys ------------------------------------------------------------------------------ */

/* Members to keep, by index of their key. */
struct members {
    struct kj_member *m;
    size_t n, cap;
};

static void add_member(struct members *ms, const yyjson_val *key)
{
    if (ms->n == ms->cap) {
        ms->cap = ms->cap ? ms->cap * 2 : 16;
        ms->m = xreallocarray(ms->m, ms->cap, sizeof *ms->m);
    }
    ms->m[ms->n] = (struct kj_member){ key->uni.str, kj_ylen(key), key + 1, ms->n };
    ms->n++;
}

static void add_object(struct members *ms, const yyjson_val *obj)
{
    const yyjson_val *k = obj + 1;
    for (size_t left = kj_ylen(obj); left > 0; left--, k = kj_sibling(k + 1, false))
        add_member(ms, k);
}

static int merge_source(struct builder *b, struct members *ms, const yyjson_val *v,
                        const yaml_mark_t *at)
{
    static const char what[] = "map merge requires map or sequence of maps as the value";

    if (kj_type(kj_from(v)) == KJ_OBJ) {
        add_object(ms, v);
        return 0;
    }
    if (kj_type(kj_from(v)) != KJ_ARR)
        return fail_at(b, at, what);
    const yyjson_val *c = v + 1;
    for (size_t left = kj_ylen(v); left > 0; left--, c = kj_sibling(c, false)) {
        if (kj_type(kj_from(c)) != KJ_OBJ)
            return fail_at(b, at, what);
        add_object(ms, c);
    }
    return 0;
}

static int by_key_then_pos(const void *pa, const void *pb)
{
    const struct kj_member *a = pa, *b = pb;
    int c = memcmp(a->key, b->key, MIN(a->key_len, b->key_len));
    if (c == 0)
        c = (a->key_len > b->key_len) - (a->key_len < b->key_len);
    return c ? c : (a->pos > b->pos) - (a->pos < b->pos);
}

static int by_pos(const void *a, const void *b)
{
    size_t x = ((const struct kj_member *)a)->pos, y = ((const struct kj_member *)b)->pos;
    return (x > y) - (x < y);
}

static bool same_key(const struct kj_member *a, const struct kj_member *b)
{
    return a->key_len == b->key_len && memcmp(a->key, b->key, a->key_len) == 0;
}

/* Explicit members stand before merged ones, earlier sources before later: the first wins. */
static void keep_first(struct members *ms)
{
    size_t kept = 0;

    if (ms->n == 0)
        return;
    qsort(ms->m, ms->n, sizeof *ms->m, by_key_then_pos);
    for (size_t i = 0; i < ms->n; i++)
        if (i == 0 || !same_key(&ms->m[kept - 1], &ms->m[i]))
            ms->m[kept++] = ms->m[i];
    ms->n = kept;
    qsort(ms->m, ms->n, sizeof *ms->m, by_pos);
}

/* Replaces the members of the mapping at `at` (to the end of the values) by these. */
static void rebuild(struct builder *b, size_t at, const struct members *ms)
{
    struct builder to = { 0 };

    for (size_t i = 0; i < ms->n; i++) {
        const yyjson_val *key = ms->m[i].val - 1, *end = kj_sibling(ms->m[i].val, false);
        for (const yyjson_val *v = key; v < end; v++) {
            yyjson_val copy = *v;
            *append(&to, b->line[v - b->v]) = copy;
        }
    }
    b->n = at + 1;
    for (size_t i = 0; i < to.n; i++)
        *append(b, to.line[i]) = to.v[i];
    free(to.v);
    free(to.line);
}

static int apply_merges(struct builder *b, struct frame *f, const yaml_mark_t *at)
{
    struct members ms = { 0 };
    const yyjson_val *first = &b->v[f->at + 1], *end = b->v + b->n;
    int r = save_anchors(b, f, at);

    for (const yyjson_val *k = first; k < end; k = kj_sibling(k + 1, false))
        if (k->tag != MERGE_KEY)
            add_member(&ms, k);
    for (const yyjson_val *k = first; k < end && r == 0; k = kj_sibling(k + 1, false))
        if (k->tag == MERGE_KEY)
            r = merge_source(b, &ms, k + 1, at);
    if (r == 0) {
        keep_first(&ms);
        rebuild(b, f->at, &ms);
        f->n = ms.n * 2;
    }
    free(ms.m);
    return r;
}

/* ---- containers ------------------------------------------------------------------------------ */

static int open_container(struct builder *b, const yaml_event_t *e, bool is_map,
                          const unsigned char *anchor)
{
    if (b->depth == KJ_DEPTH_MAX)
        return fail_at(b, &e->start_mark, "nested too deep");
    size_t anchors = b->ndefined;
    struct anchor *a = define_anchor(b, anchor);
    b->stack[b->depth++] =
        (struct frame){ .at = b->n, .is_map = is_map, .anchor = a, .anchors = anchors };
    append(b, e->start_mark.line + 1);
    return 0;
}

/* Explicit duplicates are errors, unlike in JSON: nobody writes them on purpose. */
static int check_duplicates(struct builder *b, const struct frame *f)
{
    const yyjson_val *first = &b->v[f->at + 1], *end = b->v + b->n;
    struct members ms = { 0 };
    int r = 0;

    for (const yyjson_val *k = first; k < end; k = kj_sibling(k + 1, false))
        if (k->tag != MERGE_KEY)
            add_member(&ms, k);
    if (ms.n > 1)
        qsort(ms.m, ms.n, sizeof *ms.m, by_key_then_pos);
    for (size_t i = 1; i < ms.n && r == 0; i++)
        if (same_key(&ms.m[i - 1], &ms.m[i]))
            r = kerr_set(b->err, -EINVAL, "line %u: key \"%.*s\" already set in map",
                         b->line[ms.m[i].val - 1 - b->v], (int)MIN(ms.m[i].key_len, (size_t)100),
                         ms.m[i].key);
    free(ms.m);
    return r;
}

static int close_container(struct builder *b, const yaml_event_t *e)
{
    struct frame *f = &b->stack[b->depth - 1];

    if (f->is_map) {
        int r = check_duplicates(b, f);
        if (r == 0 && f->has_merge)
            r = apply_merges(b, f, &e->start_mark);
        if (r < 0)
            return r;
    }
    yyjson_val *v = &b->v[f->at];
    size_t n = f->is_map ? f->n / 2 : f->n;
    v->tag = (uint64_t)n << YYJSON_TAG_BIT | (f->is_map ? YYJSON_TYPE_OBJ : YYJSON_TYPE_ARR);
    v->uni.ofs = (b->n - f->at) * sizeof *v;
    close_anchor(b, f->anchor);
    b->depth--;
    return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void value_done(struct builder *b)
{
    if (b->depth)
        b->stack[b->depth - 1].n++;
}

static int on_scalar(struct builder *b, const yaml_event_t *e)
{
    bool key = expects_key(b);

    if (key && is_merge_key(e)) {
        append(b, e->start_mark.line + 1)->tag = MERGE_KEY;
        b->stack[b->depth - 1].has_merge = true;
        value_done(b);
        return 0;
    }
    struct anchor *a = define_anchor(b, e->data.scalar.anchor);
    int r = put_scalar(b, e, b->flags & KJ_RAW_NUMBERS && !key);
    close_anchor(b, a);
    if (r == 0 && key)
        r = make_key(b, &e->start_mark);
    value_done(b);
    return r;
}

static int on_alias(struct builder *b, const yaml_event_t *e)
{
    bool key = expects_key(b);
    size_t before = b->n;
    int r = put_alias(b, e);

    if (r == 0 && key)
        r = b->n == before + 1 ? make_key(b, &e->start_mark)
                               : fail_at(b, &e->start_mark, "a mapping key must be a scalar");
    value_done(b);
    return r;
}

static int on_event(struct builder *b, const yaml_event_t *e)
{
    int r;

    switch (e->type) {
    case YAML_SCALAR_EVENT: return on_scalar(b, e);
    case YAML_ALIAS_EVENT: return on_alias(b, e);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        if (expects_key(b))
            return fail_at(b, &e->start_mark, "a mapping key must be a scalar");
        return e->type == YAML_MAPPING_START_EVENT
                   ? open_container(b, e, true, e->data.mapping_start.anchor)
                   : open_container(b, e, false, e->data.sequence_start.anchor);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        r = close_container(b, e);
        value_done(b);
        return r;
    default: return 0;
    }
}

static int parser_failed(const yaml_parser_t *p, struct kerr *err)
{
    const char *what = p->problem ? p->problem : "not YAML";

    if (p->error == YAML_MEMORY_ERROR)
        return kerr_set(err, -ENOMEM, "parse YAML: out of memory");
    if (p->error == YAML_READER_ERROR)
        return kerr_set(err, -EINVAL, "offset %zu: %s", p->problem_offset, what);
    return kerr_set(err, -EINVAL, "line %zu, column %zu: %s%s%s", p->problem_mark.line + 1,
                    p->problem_mark.column + 1, p->context ? p->context : "",
                    p->context ? ", " : "", what);
}

static int next_event(yaml_parser_t *p, yaml_event_t *e, struct kerr *err)
{
    return yaml_parser_parse(p, e) ? 0 : parser_failed(p, err);
}

/* Reads up to the end of the document whose start event was just seen. */
static int read_document(yaml_parser_t *p, unsigned flags, struct kj_doc **ret, struct kerr *err)
{
    struct builder *b = xnew0(struct builder); /* large for a stack: one frame a level */
    bool done = false;
    int r = 0;

    b->flags = flags;
    b->strings = arena_new();
    b->err = err;
    while (r == 0 && !done) {
        yaml_event_t e;
        r = next_event(p, &e, err);
        if (r < 0)
            break;
        done = e.type == YAML_DOCUMENT_END_EVENT;
        r = on_event(b, &e);
        yaml_event_delete(&e);
    }
    if (r == 0) {
        struct kj_doc *doc = xnew0(struct kj_doc);
        doc->vals = doc->root = take(b->v);
        doc->strings = take(b->strings);
        *ret = doc;
    }
    builder_fini(b);
    free(b);
    if (r == 0 && !kj_depth_ok((*ret)->root)) {
        *ret = kj_doc_free(*ret);
        r = kerr_set(err, -EINVAL, "nested too deep: more than %d levels", KJ_DEPTH_MAX);
    }
    return r;
}

static int walk_stream(yaml_parser_t *p, unsigned flags, kj_yaml_fn fn, void *arg, struct kerr *err)
{
    for (;;) {
        struct kj_doc *doc;
        yaml_event_t e;
        int r = next_event(p, &e, err);
        if (r < 0)
            return r;
        yaml_event_type_t type = e.type;
        int line = (int)e.start_mark.line + 1;
        yaml_event_delete(&e);
        if (type == YAML_STREAM_END_EVENT)
            return 0;
        if (type != YAML_DOCUMENT_START_EVENT)
            continue;
        r = read_document(p, flags, &doc, err);
        if (r == 0)
            r = fn(arg, doc, line, err);
        if (r < 0)
            return r;
    }
}

static int walk_yaml(const char *text, size_t n, unsigned flags, kj_yaml_fn fn, void *arg,
                     struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf clean = STRBUF_INIT;
    yaml_parser_t p;

    if (!utf8_valid(text, n)) {
        utf8_sanitise(text, n, &clean);
        text = clean.data;
        n = clean.len;
    }
    if (!yaml_parser_initialize(&p))
        return kerr_set(err, -ENOMEM, "parse YAML: out of memory");
    yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p, (const unsigned char *)(n ? text : ""), n);
    int r = walk_stream(&p, flags, fn, arg, err);
    yaml_parser_delete(&p);
    return r;
}

/* JSON is YAML, but libyaml is ten times slower at it and knows no escape of a slash. */
static bool looks_like_json(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r'))
        i++;
    return i < n && text[i] == '{';
}

struct first {
    struct kj_doc *doc;
};

static int keep_first_doc(void *arg, struct kj_doc *doc, int line, struct kerr *err)
{
    struct first *f = arg;

    (void)line, (void)err;
    f->doc = doc;
    return -ECANCELED; /* enough */
}

int kj_parse_yaml(const char *text, size_t n, unsigned flags, struct kj_doc **ret, struct kerr *err)
{
    struct first first = { NULL };

    if (looks_like_json(text, n) && kj_parse(text, n, flags, ret, NULL) == 0)
        return 0;
    int r = walk_yaml(text, n, flags, keep_first_doc, &first, err);
    if (first.doc) {
        *ret = first.doc;
        return 0;
    }
    return r < 0 ? r : kj_parse("null", 4, flags, ret, err);
}

struct each {
    kj_yaml_fn fn;
    void *arg;
};

static int pass_on(void *arg, struct kj_doc *doc, int line, struct kerr *err)
{
    const struct each *each = arg;

    if (kj_type(kj_root(doc)) == KJ_NULL) {
        kj_doc_free(doc);
        return 0;
    }
    return each->fn(each->arg, doc, line, err);
}

int kj_parse_yaml_all(const char *text, size_t n, unsigned flags, kj_yaml_fn fn, void *arg,
                      struct kerr *err)
{
    struct each each = { fn, arg };
    struct kj_doc *doc;

    if (looks_like_json(text, n) && kj_parse(text, n, flags, &doc, NULL) == 0)
        return fn(arg, doc, 1, err);
    return walk_yaml(text, n, flags, pass_on, &each, err);
}
