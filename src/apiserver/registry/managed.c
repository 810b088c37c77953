/* managed.c - who wrote which fields: managedFields through creates, updates, patches and applies.
 *
 * The rules are apply/managed.h's; here is when they are asked, in whose name, and server-side
 * apply as a request. Fields count as they are after defaults and before the server's own steps:
 * what admission and strategies fill in belongs to nobody.
 */
#include <ctype.h>

#include "apiserver/apply/managed.h"
#include "apiserver/registry/internal.h"
#include "apiserver/schema/tables.h"
#include "apiserver/schema/types.h"
#include "base/ktime.h"

enum { MANAGER_NAME_MAX = 128 };
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* ---- in whose name ------------------------------------------------------------------------------
 */

/* fieldManager, else the program's name at the head of the User-Agent. */
static const char *manager_of(const struct api_call *c)
{
    const char *agent = str_or(c->user_agent, "");
    size_t n = 0;

    if (!str_empty(c->field_manager))
        return c->field_manager;
    char *name = arena_strndup(c->arena, agent, strcspn(agent, "/"));
    for (const char *p = name; *p && n < MANAGER_NAME_MAX; p++)
        if ((unsigned char)*p >= 0x80 || isprint((unsigned char)*p))
            name[n++] = *p;
    name[n] = '\0';
    return n ? name : "unknown";
}

static const char *now_of(const struct api_call *c)
{
    char text[KTIME_TEXT_MAX];

    ktime_format(loop_wall(c->s->loop), text);
    return arena_strdup(c->arena, text);
}

/* What this way of writing never changes. */
static const struct fields *ignored_of(const struct api_call *c, const struct resource *r)
{
    struct fields *s = fields_new(c->arena);
    const char *field = streq(c->sub, "status")     ? "f:spec"
                        : !*c->sub && r->has_status ? "f:status"
                                                    : NULL;

    if (field)
        fields_insert(c->arena, s, &(struct field_at){ .element = str_of(field) });
    return s;
}

static struct managed_op op_of(const struct api_call *c, const struct resource *r,
                               const struct shape *shape)
{
    return (struct managed_op){ .shape = shape,
                                .manager = manager_of(c),
                                .api_version = resource_api_version(r, c->arena),
                                .subresource = c->sub,
                                .now = now_of(c),
                                .ignored = ignored_of(c, r),
                                .force = c->force };
}

/* An object of this type that says nothing, as Go prints one: what a create starts from. */
static struct kj_doc *nothing_of(const struct t_type *t)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *v = kj_mobj(d);

    if (t)
        types_prune(t, d, v);
    return kj_freeze(v);
}

static bool is_apply(const struct api_call *c)
{
    return c->verb == API_PATCH && c->patch == API_PATCH_APPLY;
}

/* ---- creates and updates ------------------------------------------------------------------------
 */

/* [] and [{}]: forget who owns what. */
static bool is_reset(const struct kj_val *list)
{
    return kj_type(list) == KJ_ARR && (kj_len(list) == 0 || (kj_type(kj_at(list, 0)) == KJ_OBJ &&
                                                             kj_len(kj_at(list, 0)) == 0));
}

/* Those of the request where it names some, else those of the object. */
static void read_managers(struct managed *m, const struct api_call *c, const struct kj_val *obj,
                          const struct kj_val *old)
{
    const struct kj_val *given = kj_path(obj, "metadata.managedFields");

    *m = (struct managed){ .arena = c->arena };
    if (!*c->sub && is_reset(given))
        return;
    if (!*c->sub && managed_read(m, c->arena, given, false, NULL) == 0 && m->list.n > 0)
        return;
    managed_fini(m);
    (void)managed_read(m, c->arena, kj_path(old, "metadata.managedFields"), true, NULL);
}

void managed_set(struct kj_mdoc *d, struct kj_mval *obj, struct kj_mval *list)
{
    if (list)
        kj_mset(d, object_meta(d, obj), "managedFields", list);
    else
        kj_mdel(object_meta(d, obj), "managedFields", strlen("managedFields"));
}

void managed_note(struct api_call *c, const struct resource *r, struct kj_mdoc *d,
                  struct kj_mval *obj, const struct kj_val *old)
{
    CLEANUP(kj_doc_free) struct kj_doc *after = NULL, *nothing = NULL;
    struct shape shape = shape_of(r);
    struct managed m;

    if (is_apply(c) || streq(c->sub, "scale"))
        return; /* said so itself */
    bool tracked = old ? kj_len(kj_path(old, "metadata.managedFields")) > 0 : !c->in_process;
    if (!tracked && !kj_mget(object_meta(d, obj), "managedFields"))
        return;
    after = kj_view(obj);
    read_managers(&m, c, kj_root(after), old);
    /* Of an object that nobody owned anything of so far, an update does not begin to. */
    if (m.broken) {
        vec_clear(&m.list); /* nobody owns anything of it any more, as there */
    } else if (m.list.n > 0 || (!old && tracked)) {
        struct managed_op op = op_of(c, r, &shape);
        nothing = old ? NULL : nothing_of(r->type);
        managed_update(&m, &op, old ? old : kj_root(nothing), kj_root(after));
    }
    managed_set(d, obj, managed_write(&m, d));
    managed_fini(&m);
}

void managed_mend(struct api_call *c, struct kj_mdoc *d, struct kj_mval *obj,
                  const struct kj_val *before, const struct kj_val *after)
{
    const struct kj_val *was = kj_path(before, "metadata.managedFields");
    const struct kj_val *is = kj_path(after, "metadata.managedFields");
    struct managed m;
    struct kerr why = { 0 };

    if (kj_type(is) != KJ_ARR || (was && kj_equal(was, is)))
        return;
    if (managed_read(&m, c->arena, is, false, &why) < 0) {
        managed_set(d, obj, was ? kj_mcopy(d, was) : NULL);
        api_warn(c,
                 ".metadata.managedFields was in an invalid state after admission; this could be "
                 "caused by an outdated mutating admission controller; please fix your requests: "
                 "%s",
                 why.text);
    }
    managed_fini(&m);
}

/* ---- writes that change only times --------------------------------------------------------------
 */

static bool equal_but(const struct kj_val *x, const struct kj_val *y, const char *key)
{
    size_t extra = (kj_get(x, key) != NULL) - (size_t)(kj_get(y, key) != NULL);
    struct kj_iter it = kj_iter(x);
    const struct kj_val *v;
    struct str k;

    if (kj_len(x) - kj_len(y) != extra)
        return false;
    while (kj_next(&it, &k, &v))
        if (!str_eqz(k, key) && !kj_equal(v, kj_getn(y, k.p, k.n)))
            return false;
    return true;
}

bool managed_only_times(const struct kj_val *obj, const struct kj_val *old)
{
    const struct kj_val *x = kj_path(obj, "metadata.managedFields"),
                        *y = kj_path(old, "metadata.managedFields");

    /* Most writes change something else, which shows early; who owns what is the longest part. */
    if (!x || !y || kj_len(x) != kj_len(y) ||
        !equal_but(kj_get(obj, "metadata"), kj_get(old, "metadata"), "managedFields") ||
        !equal_but(obj, old, "metadata") || kj_equal(x, y))
        return false;
    for (size_t i = 0; i < kj_len(x); i++)
        if (!equal_but(kj_at(x, i), kj_at(y, i), "time"))
            return false;
    return true;
}

/* ---- apply --------------------------------------------------------------------------------------
 */

/* Names the document as it names itself. */
static int typed_error(const struct kj_val *document, const char *why, struct kerr *err)
{
    const struct kj_val *meta = kj_get(document, "metadata");
    const char *version = kj_str_or(kj_get(document, "apiVersion"), "");

    return kerr_set(
        err, -EINVAL, "failed to create typed patch object (%.60s/%.60s; %s%.60s, Kind=%.60s): %s",
        kj_str_or(kj_get(meta, "namespace"), ""), kj_str_or(kj_get(meta, "name"), ""),
        strchr(version, '/') ? "" : "/", version, kj_str_or(kj_get(document, "kind"), ""), why);
}

/* An applier says nothing about owners; nulls in the list are nothing. */
static int check_no_owners(struct api_call *c, const struct kj_val *document, struct kerr *err)
{
    const struct kj_val *list = kj_path(document, "metadata.managedFields");
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;
    size_t i = 0;

    if (kj_type(list) <= KJ_NULL)
        return 0;
    bool odd = kj_type(list) != KJ_ARR, null = false;
    for (; !odd && kj_next(&it, NULL, &v); i++) {
        odd = kj_type(v) > KJ_NULL && kj_type(v) != KJ_OBJ;
        null = null || kj_type(v) == KJ_NULL;
    }
    if (odd)
        return typed_error(document,
                           arena_printf(c->arena,
                                        ".metadata.managedFields%s: expected %s, got &{%.60s}",
                                        i ? arena_printf(c->arena, "[%zu]", i - 1) : "",
                                        i ? "map" : "list", kj_str_or(i ? v : list, "...")),
                           err);
    if (null)
        return 0;
    return kerr_api(err, -EINVAL, KR_BAD_REQUEST, "metadata.managedFields must be nil");
}

static int read_document(struct api_call *c, const char *want_version, const char *want_kind,
                         struct kj_doc **ret, struct kerr *err)
{
    struct kerr why = { 0 };
    int e = kj_parse_yaml(c->body ? c->body : "", c->body_len, KJ_RAW_NUMBERS, ret, &why);
    const struct kj_val *v = e == 0 ? kj_root(*ret) : NULL;

    if (e == 0 && kj_type(v) != KJ_OBJ)
        e = kerr_set(&why, -EINVAL, "the document is not an object");
    if (e < 0)
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST, "error decoding YAML: %s", why.text);
    const char *version = kj_str_or(kj_get(v, "apiVersion"), "");
    const char *kind = kj_str_or(kj_get(v, "kind"), "");
    if (!streq(kind, want_kind) || !streq(version, want_version)) {
        const char *slash = strchr(version, '/');
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST, "invalid object type: %.*s/%s, Kind=%.80s",
                        slash ? (int)(slash - version) : 0, version, slash ? slash + 1 : version,
                        kind);
    }
    return check_no_owners(c, v, err);
}

static void fail_conflicts(struct api_call *c, const struct managed_conflicts *list)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, details = STRBUF_INIT;
    struct kjw w = kjw_to(&details);
    const char *last = "";

    strbuf_appendf(&text, "Apply failed with %zu conflict%s: ", list->n, list->n == 1 ? "" : "s");
    if (list->n == 1)
        strbuf_appendf(&text, "conflict with %s: %s", list->items[0].manager, list->items[0].path);
    kjw_obj(&w, NULL);
    kjw_arr(&w, "causes");
    vec_foreach(list, i) {
        const struct managed_conflict *k = &list->items[i];
        if (list->n > 1 && !streq(last, k->manager))
            strbuf_appendf(&text, "%sconflicts with %s:", i ? "\n" : "", k->manager);
        if (list->n > 1)
            strbuf_appendf(&text, "\n- %s", k->path);
        last = k->manager;
        kjw_obj(&w, NULL);
        kjw_str(&w, "reason", "FieldManagerConflict");
        kjw_str(&w, "message", arena_printf(c->arena, "conflict with %s", k->manager));
        kjw_str(&w, "field", k->path);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    fail_raw(c, 409, "Conflict", strbuf_str(&text), strbuf_str(&details));
}

/* What kubectl applied from its own side, and still is so: it may take that over. */
static const struct fields *from_last_applied(struct api_call *c, const struct shape *shape,
                                              const struct kj_val *live)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *text = kj_get(kj_path(live, "metadata.annotations"), LAST_APPLIED);
    struct arena *a = c->arena;

    if (!streq(manager_of(c), "kubectl") || kj_len(text) == 0 ||
        kj_parse(kj_str_or(text, ""), kj_len(text), KJ_RAW_NUMBERS, &doc, NULL) < 0 ||
        typed_check(shape, kj_root(doc), NULL) < 0)
        return NULL;
    const struct fields *set = typed_fields(a, shape, kj_root(doc));
    struct typed_diff diff = typed_compare(a, shape, kj_root(doc), live);
    set = fields_minus(a, set, fields_union(a, diff.modified, diff.added));
    return fields_minus(a, set, diff.removed);
}

/* kubectl's annotation follows what it applies by the server. */
static void renew_last_applied(struct api_call *c, struct kj_mdoc *d, struct kj_mval *obj,
                               const struct kj_val *document)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *scratch = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_mval *annotations = kj_mget(object_meta(d, obj), "annotations");

    if (!streq(manager_of(c), "kubectl") ||
        str_empty(kj_mstr_get(kj_mget(annotations, LAST_APPLIED))))
        return;
    struct kj_mval *copy = kj_mcopy(scratch, document);
    kj_mdel(kj_mget(kj_mget(copy, "metadata"), "annotations"), LAST_APPLIED, strlen(LAST_APPLIED));
    kj_mwrite(copy, KJ_SORTED, &text);
    strbuf_appendc(&text, '\n');
    kj_mset(d, annotations, LAST_APPLIED, kj_mstrn(d, strbuf_str(&text), text.len));
}

/* Who applies to an object of this type that nobody was noted for shares it with all that were
 * before. */
static void note_before(struct managed *m, const struct managed_op *apply, const char *subresource,
                        const struct kj_val *live, const struct t_type *type)
{
    CLEANUP(kj_doc_free) struct kj_doc *nothing = NULL;
    struct managed_op op = *apply;

    if (m->list.n > 0)
        return;
    nothing = nothing_of(type);
    op.manager = "before-first-apply";
    op.subresource = subresource;
    managed_update(m, &op, kj_root(nothing), live);
}

/* The document applied to `live`, with its managers, into *ret. Positive: answered. */
static int apply(struct api_call *c, const struct kj_val *document, const struct kj_val *live,
                 struct kj_mdoc *d, struct kj_mval **ret, struct kerr *err)
{
    struct managed_conflicts conflicts = { 0 };
    struct shape shape = shape_of(c->res);
    struct managed_op op = op_of(c, c->res, &shape);
    struct managed m;
    struct kerr why = { 0 };

    (void)managed_read(&m, c->arena, kj_path(live, "metadata.managedFields"), true, NULL);
    note_before(&m, &op, "", live, c->res->type);
    op.allowed = from_last_applied(c, &shape, live);
    int e = managed_apply(&m, &op, live, document, d, ret, &conflicts, &why);
    if (e == 0) {
        if (!*ret)
            *ret = kj_mcopy(d, live);
        renew_last_applied(c, d, *ret, document);
        managed_set(d, *ret, managed_write(&m, d));
    } else if (e == -EBUSY) {
        fail_conflicts(c, &conflicts);
        e = 1;
    } else {
        typed_error(document, why.text, err);
    }
    vec_fini(&conflicts);
    managed_fini(&m);
    return e;
}

static int from_apply(void *arg, struct api_call *c, const struct kj_val *old, struct kj_mdoc *d,
                      struct kj_mval **ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *document = NULL, *patched = NULL;
    struct kerr why = { 0 };
    int e = read_document(c, resource_api_version(c->res, c->arena), c->res->kind, &document, err);

    (void)arg;
    if (e == 0)
        e = apply(c, call_keep(c, take(document)), old, d, ret, err);
    if (e != 0)
        return e;
    warn_anew(c);
    patched = kj_view(*ret);
    if (object_check_fields(c, kj_root(patched), true, &why) < 0)
        return fail_patched(c, kj_root(patched), &why);
    return 0;
}

static int check_no_uid(struct api_call *c, const struct kj_val *document, struct kerr *err)
{
    const char *uid = kj_str_or(kj_path(document, "metadata.uid"), "");

    if (!*uid)
        return 0;
    return api_err(c, err, -ESTALE, KR_CONFLICT,
                   "Operation cannot be fulfilled on %s \"%s\": uid mismatch: the provided "
                   "object specified uid %s, and no existing object was found",
                   resource_group_resource(c->res, c->arena), c->name, uid);
}

static void create_applied(struct api_call *c)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *document = NULL, *body = NULL, *nothing = nothing_of(c->res->type);
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *obj = NULL;
    struct kerr err = { 0 };
    int e = read_document(c, resource_api_version(c->res, c->arena), c->res->kind, &document, &err);

    if (e == 0)
        e = check_no_uid(c, kj_root(document), &err);
    if (e == 0)
        e = apply(c, kj_root(document), kj_root(nothing), d, &obj, &err);
    if (e > 0)
        return;
    if (e == 0) {
        struct kj_mval *meta = object_meta(d, obj);
        if (str_empty(kj_mstr_get(kj_mget(meta, "name"))))
            kj_mset(d, meta, "name", kj_mstr(d, c->name));
        kj_mset(d, obj, "kind", kj_mstr(d, c->res->kind));
        body = kj_freeze(obj);
        e = object_check_fields(c, kj_root(body), false, &err);
    }
    if (e < 0)
        api_fail(c, &err);
    else
        create_object(c, kj_root(body));
}

void verb_apply(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf there = STRBUF_INIT;
    struct store_key k = { c->res->store_res, c->res->namespaced ? c->ns : "", c->name };

    if (!*c->sub && store_get_latest(c->s->store, &k, &there, NULL, NULL) == -ENOENT)
        create_applied(c);
    else
        api_change(c, &(struct api_change){ .verb = call_res_verb(c), .make = from_apply });
}

/* ---- scale --------------------------------------------------------------------------------------
 */

/* The field at a dotted path. */
static const struct fields *field_of(struct arena *a, const char *path)
{
    struct fields *s = fields_new(a);
    struct field_at *last = NULL;

    path += *path == '.';
    for (size_t n; (n = strcspn(path, ".")) > 0; path += n + (path[n] == '.')) {
        struct field_at *at = arena_new0(a, struct field_at);
        *at = (struct field_at){ .up = last, .element = field_member(a, (struct str){ path, n }) };
        last = at;
    }
    fields_insert(a, s, last);
    return s;
}

static int read_scale(struct api_call *c, struct kj_doc **ret, struct kerr *err)
{
    int e = read_document(c, MANAGED_SCALE_VERSION, "Scale", ret, err);
    const struct kj_val *v = e == 0 ? kj_path(kj_root(*ret), "spec.replicas") : NULL;

    if (kj_str(v))
        return typed_error(kj_root(*ret),
                           ".spec.replicas: expected numeric (int or float), got string", err);
    return e;
}

static int apply_scale(struct api_call *c, struct managed *m, const struct managed_op *op,
                       const struct kj_val *live, struct kj_doc **ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *document = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct managed_conflicts conflicts = { 0 };
    struct kj_mval *scale = NULL;
    struct kerr why = { 0 };
    int e = read_scale(c, &document, err);

    if (e < 0)
        return e;
    note_before(m, op, c->sub, live, &autoscaling_scale);
    e = managed_apply(m, op, live, kj_root(document), d, &scale, &conflicts, &why);
    if (e == 0) {
        *ret = kj_freeze(scale ? scale : kj_mcopy(d, live));
    } else if (e == -EBUSY) {
        fail_conflicts(c, &conflicts);
        e = 1;
    } else {
        typed_error(kj_root(document), why.text, err);
    }
    vec_fini(&conflicts);
    return e;
}

int managed_scale(struct api_call *c, const char *path, const struct kj_val *before,
                  struct kj_doc **after, struct kj_mdoc *d, struct kj_mval *obj, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *old = kj_freeze(obj);
    const struct fields *replicas = field_of(c->arena, path);
    struct shape shape = { .of = SHAPE_TYPE, .type = &autoscaling_scale };
    struct managed_op op = op_of(c, c->res, &shape);
    struct managed m, scale;
    int e = 0;

    op.api_version = MANAGED_SCALE_VERSION;
    (void)managed_read(&m, c->arena, kj_path(kj_root(old), "metadata.managedFields"), true, NULL);
    managed_to_scale(&m, replicas, &scale);
    if (is_apply(c))
        e = apply_scale(c, &scale, &op, before, after, err);
    else if (scale.list.n > 0) /* else nobody owns it, and an update does not begin to */
        managed_update(&scale, &op, before, kj_root(*after));
    if (e == 0) {
        managed_from_scale(&m, replicas, resource_api_version(c->res, c->arena), &scale);
        managed_set(d, obj, managed_write(&m, d));
    }
    managed_fini(&m);
    managed_fini(&scale);
    return e;
}
