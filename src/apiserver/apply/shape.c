/* shape.c - field tables and structural schemas, as structured merge sees them. */
#include "apiserver/apply/shape.h"
#include "apiserver/crd/internal.h"
#include "apiserver/registry/resource.h"
#include "apiserver/schema/tables.h"

static const struct shape atomic = { .of = SHAPE_ATOMIC };

static struct shape of_type(const struct t_type *t)
{
    return (struct shape){ .of = SHAPE_TYPE, .type = t };
}

static struct shape of_node(const struct snode *n)
{
    return n ? (struct shape){ .of = SHAPE_NODE, .node = n, .is_root = n->embedded }
             : (struct shape){ .of = SHAPE_DEDUCED };
}

struct shape shape_of(const struct resource *r)
{
    if (r->type)
        return of_type(r->type);
    if (!r->crd || !r->crd->root)
        return (struct shape){ .of = SHAPE_DEDUCED };
    struct shape s = of_node(r->crd->root);
    s.is_root = true;
    return s;
}

/* ---- forms --------------------------------------------------------------------------------------
 */

static enum shape_form form_of_field(const struct t_field *f)
{
    if (f->flags & T_ATOMIC)
        return SHAPE_LEAF;
    if (f->shape == T_MAP)
        return SHAPE_MAP;
    return f->flags & T_KEY ? SHAPE_LIST : f->flags & T_SET ? SHAPE_SET : SHAPE_LEAF;
}

static enum shape_form form_of_node(const struct snode *n, const struct kj_val *v)
{
    if (n->type == S_OBJECT || (n->type == S_ANY && n->preserve && kj_type(v) == KJ_OBJ))
        return n->atomic_map ? SHAPE_LEAF : SHAPE_MAP;
    if (n->type == S_ARRAY)
        return n->list == S_LIST_MAP ? SHAPE_LIST : n->list == S_LIST_SET ? SHAPE_SET : SHAPE_LEAF;
    return SHAPE_LEAF;
}

enum shape_form shape_form(const struct shape *s, const struct kj_val *v)
{
    switch (s->of) {
    case SHAPE_TYPE: return SHAPE_MAP;
    case SHAPE_FIELD: return form_of_field(s->field);
    case SHAPE_NODE: return form_of_node(s->node, v);
    case SHAPE_DEDUCED: return kj_type(v) == KJ_OBJ ? SHAPE_MAP : SHAPE_LEAF;
    default: return SHAPE_LEAF;
    }
}

/* ---- what is inside -----------------------------------------------------------------------------
 */

/* One value of a field: itself, or an item or member of its list or map. */
static struct shape value_of(const struct t_field *f, bool granular)
{
    if (f->kind != T_OBJ || f->type->either || (f->type->atomic && !granular))
        return atomic;
    return of_type(f->type);
}

static struct shape of_field(const struct t_field *f)
{
    if (f->shape != T_ONE)
        return (struct shape){ .of = SHAPE_FIELD, .field = f };
    if (f->flags & T_ATOMIC)
        return atomic;
    return value_of(f, f->flags & T_GRANULAR);
}

static struct shape node_member(const struct shape *s, struct str key, bool *declared, bool *known)
{
    const struct snode *n = s->node;

    *declared = true;
    *known = true;
    if (s->is_root && str_eqz(key, "metadata"))
        return of_type(&meta_object_meta);
    if (s->is_root && (str_eqz(key, "kind") || str_eqz(key, "apiVersion")))
        return atomic;
    const struct snode *m = snode_member(n, key.p, key.n, known);
    *declared = m && m != n->additional;
    *known = !n->additional_none && (*known || n->preserve || s->node->type == S_ANY);
    return of_node(m);
}

struct shape shape_member(const struct shape *s, struct str key, bool *declared, bool *known)
{
    if (s->of == SHAPE_NODE)
        return node_member(s, key, declared, known);
    *declared = false;
    *known = true;
    if (s->of == SHAPE_FIELD) /* a map */
        return value_of(s->field, false);
    if (s->of != SHAPE_TYPE)
        return *s;
    const struct t_field *f = types_field(s->type, key.p, key.n);
    *declared = *known = f != NULL;
    return f ? of_field(f) : atomic;
}

struct shape shape_item(const struct shape *s)
{
    if (s->of == SHAPE_FIELD)
        return value_of(s->field, false);
    return s->of == SHAPE_NODE ? of_node(s->node->items) : atomic;
}

/* ---- items --------------------------------------------------------------------------------------
 */

/* What a key is when the item does not say it: the schema's default as JSON, or NULL. */
static const char *table_default(const struct t_type *t, struct str key)
{
    const struct t_field *f = types_field(t, key.p, key.n);

    if (!f || f->def)
        return f ? f->def : NULL;
    if (!(f->flags & (T_EMIT | T_REQ)))
        return NULL;
    return f->kind == T_I32 || f->kind == T_I64 ? "0" : "\"\"";
}

static void append_default(const struct shape *s, struct str key, struct strbuf *out)
{
    bool known;

    if (s->of == SHAPE_FIELD) {
        strbuf_append(out, str_or(table_default(s->field->type, key), ""));
        return;
    }
    const struct snode *n =
        s->node->items ? snode_member(s->node->items, key.p, key.n, &known) : NULL;
    if (n && n->def)
        kj_write(n->def, KJ_SORTED, out);
}

/* false: the item does not say it, nor has it a default, so it takes no part in the item's name. */
static bool append_key(const struct shape *s, const struct kj_val *item, struct str key, bool first,
                       struct strbuf *out)
{
    const struct kj_val *v = kj_getn(item, key.p, key.n);
    size_t start = out->len;

    if (!first)
        strbuf_appendc(out, ',');
    kj_append_string(out, key.p, key.n);
    strbuf_appendc(out, ':');
    size_t before = out->len;
    if (kj_type(v) > KJ_NULL)
        kj_write(v, KJ_SORTED, out);
    else
        append_default(s, key, out);
    if (out->len > before)
        return true;
    strbuf_truncate(out, start);
    return false;
}

enum { KEYS_MAX = 16 };

static bool is_before(struct str x, struct str y)
{
    int d = memcmp(x.p, y.p, MIN(x.n, y.n));

    return d < 0 || (d == 0 && x.n < y.n);
}

/* In the order of the schema. */
static size_t keys_of(const struct shape *s, struct str *keys)
{
    size_t n = 0;

    if (s->of == SHAPE_FIELD) {
        for (const char *p = s->field->merge_key; *p && n < KEYS_MAX;) {
            keys[n++] = (struct str){ p, strcspn(p, ",") };
            p += keys[n - 1].n;
            p += *p == ',';
        }
    } else {
        for (; n < KEYS_MAX && n < kj_len(s->node->list_keys); n++) {
            const struct kj_val *k = kj_at(s->node->list_keys, n);
            keys[n] = (struct str){ kj_str_or(k, ""), kj_len(k) };
        }
    }
    return n;
}

static void sort_by_name(struct str *keys, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && is_before(keys[j], keys[j - 1]); j--) {
            struct str t = keys[j];
            keys[j] = keys[j - 1];
            keys[j - 1] = t;
        }
}

static int no_key(const struct shape *s, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct str keys[KEYS_MAX];
    size_t n = keys_of(s, keys);

    for (size_t i = 0; i < n; i++) {
        strbuf_append(&text, i ? " " : "");
        strbuf_append_quoted(&text, keys[i].p, keys[i].n);
    }
    return kerr_set(err, -EINVAL,
                    "associative list with keys has an element that omits all key fields [%s] (and "
                    "doesn't have default values for any key fields)",
                    strbuf_str(&text));
}

int shape_element(const struct shape *s, const struct kj_val *item, struct strbuf *out,
                  struct kerr *err)
{
    struct str keys[KEYS_MAX];
    bool any = false;

    if (shape_form(s, NULL) == SHAPE_SET) {
        strbuf_append(out, "v:");
        kj_write(item, KJ_SORTED, out);
        return 0;
    }
    if (kj_type(item) != KJ_OBJ)
        return kerr_set(err, -EINVAL, "associative list with keys may not have non-map elements");
    strbuf_append(out, "k:{");
    size_t n = keys_of(s, keys);
    sort_by_name(keys, n);
    for (size_t i = 0; i < n; i++)
        any |= append_key(s, item, keys[i], !any, out);
    strbuf_appendc(out, '}');
    return any || n == 0 ? 0 : no_key(s, err);
}
