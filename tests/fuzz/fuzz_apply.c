/* fuzz_apply.c - applies and updates of anything to anything, and FieldsV1.
 *
 * Byte 0 picks a kind ('0' is the first); the rest are JSON documents, a line each: the object,
 * then what managers do with it. A line that starts with "+" is an apply, with "!" one that wins
 * its conflicts, else an update; managers take turns.
 *
 * Sets of fields are read back as they were written, also those of documents that fit no schema.
 * Who applied owns what the document names, nothing of it differs in the object, and the same apply
 * again changes nothing.
 */
#include "apiserver/apply/managed.h"
#include "apiserver/crd/internal.h"
#include "apiserver/registry/resource.h"
#include "apiserver/schema/types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const kinds[][3] = {
    { "apps", "v1", "Deployment" },   { "", "v1", "Service" }, { "", "v1", "ConfigMap" },
    { "", "v1", "PersistentVolume" }, { NULL, NULL, NULL }, /* of no schema */
    { NULL, NULL, "Custom" },                               /* of the structural schema below */
};

/* Every way in which lists and maps of a custom resource merge, also inside each other. Quotes are
 * single ones here. */
#define LIST(type, items) "{'type':'array','x-kubernetes-list-type':'" type "','items':" items "}"
#define LIST_MAP(keys, items)                                                                 \
    "{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':[" keys "]," \
    "'items':" items "}"
#define STRING "{'type':'string'}"
#define PART                                                                               \
    "{'type':'object','required':['name'],'properties':{'name':" STRING ",'port':{'type':" \
    "'integer','default':80},'tags':" LIST("set", STRING) "}}"
/* clang-format off */
static const char definition[] =
    "{'metadata':{'name':'customs.ex.io'},'spec':{'group':'ex.io','scope':'Namespaced','names':{"
    "'plural':'customs','kind':'Custom'},'versions':[{'name':'v1','served':true,'storage':true,"
    "'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':'object',"
    "'properties':{"
    "'set':" LIST("set", STRING) ","
    "'numbers':" LIST("set", "{'type':'number'}") ","
    "'parts':" LIST_MAP("'name'", PART) ","
    "'ports':" LIST_MAP("'name','port'", PART) ","
    "'atomic':" LIST("atomic", PART) ","
    "'plain':{'type':'array','items':" STRING "},"
    "'whole':{'type':'object','x-kubernetes-map-type':'atomic','properties':{'a':" STRING "}},"
    "'map':{'type':'object','additionalProperties':" PART "},"
    "'either':{'x-kubernetes-int-or-string':true},"
    "'maybe':{'type':'string','nullable':true},"
    "'free':{'type':'object','x-kubernetes-preserve-unknown-fields':true}"
    "}}}}}}]}}";
/* clang-format on */

struct run {
    struct shape shape;
    struct arena *arena;
    struct managed m;
    struct kj_doc *now;
};

static void check_written(struct arena *a, const struct fields *set)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct fields *again = NULL, *ours = NULL;
    struct kerr err;

    kj_mwrite(fields_value(set, d), 0, &text);
    if (kj_parse(strbuf_str(&text), text.len, KJ_RAW_NUMBERS, &doc, &err) < 0 ||
        fields_read(a, kj_root(doc), false, &again, &err) < 0)
        return; /* deeper than anybody writes */
    assert(fields_equal(set, again));
    assert(fields_read(a, kj_root(doc), true, &ours, &err) == 0 && fields_equal(set, ours));
}

static struct managed_op op_of(const struct run *r, unsigned turn, bool force)
{
    static const char *const names[] = { "one", "two", "three" };

    return (struct managed_op){ .shape = &r->shape,
                                .manager = names[turn % 3],
                                .api_version = "v1",
                                .subresource = "",
                                .now = "2026-01-01T00:00:00Z",
                                .force = force };
}

static int apply(struct run *r, struct managed *m, const struct managed_op *op,
                 const struct kj_val *doc, struct kj_doc **ret)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct managed_conflicts conflicts = { 0 };
    struct kj_mval *obj = NULL;
    struct kerr err = { 0 };
    int e = managed_apply(m, op, kj_root(r->now), doc, d, &obj, &conflicts, &err);

    assert(e == 0 || err.text[0]);
    assert((e == -EBUSY) == (conflicts.n > 0));
    vec_fini(&conflicts);
    *ret = e == 0 && obj ? kj_freeze(obj) : NULL;
    return e;
}

/* The same managers, as a server would read them again. */
static struct managed copy_of(const struct managed *m)
{
    struct managed copy = { .arena = m->arena };

    vec_foreach(&m->list, i)
        vec_push(&copy.list, m->list.items[i]);
    return copy;
}

static bool is_null(const struct kj_val *v)
{
    return kj_type(v) == KJ_NULL;
}

static bool is_empty(const struct kj_val *v)
{
    return (kj_type(v) == KJ_OBJ || kj_type(v) == KJ_ARR) && kj_len(v) == 0;
}

static bool is_nothing(const struct kj_val *v)
{
    return is_null(v) || is_empty(v);
}

static bool any(const struct kj_val *v, bool (*is)(const struct kj_val *v))
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;

    if (is(v))
        return true;
    while (kj_next(&it, NULL, &item))
        if (any(item, is))
            return true;
    return false;
}

/* NULL: nothing is left. */
static struct kj_mval *without_nothing(struct kj_mdoc *d, const struct kj_val *v)
{
    bool is_obj = kj_type(v) == KJ_OBJ;
    struct kj_mval *out = NULL, *kept;
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    struct str key;

    if (is_null(v))
        return NULL;
    if (!is_obj && kj_type(v) != KJ_ARR)
        return kj_mcopy(d, v);
    while (kj_next(&it, is_obj ? &key : NULL, &item)) {
        if (!(kept = without_nothing(d, item)))
            continue;
        if (!out)
            out = is_obj ? kj_mobj(d) : kj_marr(d);
        if (is_obj)
            kj_mappend(d, out, key.p, key.n, kept);
        else
            kj_mpush(out, kept);
    }
    return out;
}

static bool is_same_but_for_nothing(const struct kj_val *a, const struct kj_val *b)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *x = without_nothing(d, a), *y = without_nothing(d, b);

    return x && y ? kj_mequal(x, y) : x == y;
}

/* A map or list that loses its last entry goes or becomes null, as upstream has it, and what the
 * document says, {}, [] or null, when the same is applied again. */
static void check_applied(struct run *r, const struct managed_op *op, const struct kj_val *doc,
                          bool emptied)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *merged = NULL, *again = NULL;

    if ((emptied || any(kj_root(r->now), is_null)) && any(doc, is_nothing))
        return;
    merged = kj_freeze(typed_merge(d, &r->shape, kj_root(r->now), doc));
    struct typed_diff diff = typed_compare(r->arena, &r->shape, kj_root(r->now), kj_root(merged));
    if (any(doc, is_nothing) && !fields_empty(diff.added)) {
        assert(is_same_but_for_nothing(kj_root(r->now), kj_root(merged)));
        return;
    }
    assert(fields_empty(diff.modified) && fields_empty(diff.added));
    struct managed same = copy_of(&r->m);
    assert(apply(r, &same, op, doc, &again) == 0 && !again);
    managed_fini(&same);
}

static void step(struct run *r, unsigned turn, char how, const struct kj_val *doc)
{
    struct managed_op op = op_of(r, turn, how == '!');

    if (how != '+' && how != '!') {
        CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
        managed_update(&r->m, &op, kj_root(r->now), doc);
        kj_doc_free(r->now);
        r->now = kj_freeze(kj_mcopy(d, doc));
        return;
    }
    struct managed tried = copy_of(&r->m);
    struct kj_doc *obj = NULL;
    if (apply(r, &tried, &op, doc, &obj) < 0) {
        managed_fini(&tried);
        return;
    }
    managed_fini(&r->m);
    r->m = tried;
    if (obj) {
        kj_doc_free(r->now);
        r->now = obj;
    }
    /* An object that loses its last member becomes null as well; one that has metadata never does.
     */
    bool emptied = kj_type(kj_root(r->now)) != KJ_OBJ;
    if (emptied) {
        kj_doc_free(r->now);
        r->now = NULL;
        assert(kj_parse("{}", 2, 0, &r->now, NULL) == 0);
    }
    check_applied(r, &op, doc, emptied);
}

static void run_line(struct run *r, unsigned turn, const char *p, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char how = n ? *p : ' ';

    if (how == '+' || how == '!')
        p++, n--;
    if (kj_parse(p, n, KJ_RAW_NUMBERS, &doc, NULL) < 0)
        return;
    check_written(r->arena, typed_fields(r->arena, &r->shape, kj_root(doc)));
    if (kj_type(kj_root(doc)) != KJ_OBJ)
        return;
    if (!r->now)
        r->now = take(doc);
    else
        step(r, turn, how, kj_root(doc));
    vec_foreach(&r->m.list, i)
        check_written(r->arena, r->m.list.items[i].fields);
}

/* Made once, and kept. */
static const struct resource *custom(void)
{
    static struct crd_schema *s;
    CLEANUP(mem_free) char *text = xstrdup(definition);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    if (!s && kj_parse(text, strlen(text), 0, &doc, NULL) == 0)
        s = crd_version_new(kj_root(doc), kj_at(kj_path(kj_root(doc), "spec.versions"), 0));
    assert(s && s->root);
    return &s->res;
}

static struct shape shape_of_kind(const char *const *k)
{
    struct resource res = { .kind = k[2], .type = k[0] ? types_find(k[0], k[1], k[2]) : NULL };

    return shape_of(!k[0] && k[2] ? custom() : &res);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run r = { .arena = arena_new() };
    const char *p = (const char *)data + 1;
    unsigned turn = 0;

    if (size > 1) {
        r.shape = shape_of_kind(kinds[data[0] % ARRAY_LEN(kinds)]);
        r.m.arena = r.arena;
        for (size_t left = size - 1; left > 0 && turn < 16; turn++) {
            const char *end = memchr(p, '\n', left);
            size_t n = end ? (size_t)(end - p) : left;
            run_line(&r, turn, p, n);
            p += n + (end != NULL);
            left -= n + (end != NULL);
        }
    }
    managed_fini(&r.m);
    kj_doc_free(r.now);
    arena_free(r.arena);
    return 0;
}
