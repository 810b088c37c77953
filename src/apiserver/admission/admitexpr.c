/* admitexpr.c - the environment of admission's expressions. */
#include "apiserver/admission/admitexpr.h"

#include "apiserver/admission/admithook_int.h"
#include "apiserver/admission/admithook_patch.h"
#include "apiserver/authn/user.h"
#include "apiserver/authz/authorizer.h"
#include "sys/tzone.h"

/* ---- types ----------------------------------------------------------------------------------- */

#define FIELD(name_, type_)                                                 \
    {                                                                       \
        { name_, sizeof(name_) - 1 }, { name_, sizeof(name_) - 1 }, (type_) \
    }
#define OBJECT(name_, fields_)                                               \
    {                                                                        \
        .kind = CT_OBJECT, .name = "kubernetes." name_, .fields = (fields_), \
        .n_fields = ARRAY_LEN(fields_), .size_max = CEL_SIZE_UNKNOWN         \
    }
#define LIST_OF(elem_)                                                                 \
    {                                                                                  \
        .kind = CT_LIST, .name = "list", .elem = (elem_), .size_max = CEL_SIZE_UNKNOWN \
    }
#define MAP_OF(elem_)                                                       \
    {                                                                       \
        .kind = CT_MAP, .name = "map", .key = &cel_string, .elem = (elem_), \
        .size_max = CEL_SIZE_UNKNOWN                                        \
    }
/* Fields are found by halving: sorted by name, capitals first. */
static const struct cel_type strings = LIST_OF(&cel_string), texts = MAP_OF(&cel_string),
                             string_lists = MAP_OF(&strings);
static const struct cel_field kind_fields[] = {
    FIELD("group", &cel_string),
    FIELD("kind", &cel_string),
    FIELD("version", &cel_string),
};
static const struct cel_field resource_fields[] = {
    FIELD("group", &cel_string),
    FIELD("resource", &cel_string),
    FIELD("version", &cel_string),
};
static const struct cel_field user_fields[] = {
    FIELD("extra", &string_lists),
    FIELD("groups", &strings),
    FIELD("uid", &cel_string),
    FIELD("username", &cel_string),
};
static const struct cel_type kind_type = OBJECT("GroupVersionKind", kind_fields),
                             resource_type = OBJECT("GroupVersionResource", resource_fields),
                             user_type = OBJECT("UserInfo", user_fields);
static const struct cel_field request_fields[] = {
    FIELD("dryRun", &cel_bool),
    FIELD("kind", &kind_type),
    FIELD("name", &cel_string),
    FIELD("namespace", &cel_string),
    FIELD("operation", &cel_string),
    FIELD("options", &cel_dyn),
    FIELD("requestKind", &kind_type),
    FIELD("requestResource", &resource_type),
    FIELD("requestSubResource", &cel_string),
    FIELD("resource", &resource_type),
    FIELD("subResource", &cel_string),
    FIELD("userInfo", &user_type),
};
static const struct cel_type request_type = OBJECT("AdmissionRequest", request_fields);

static const struct cel_field ns_meta_fields[] = {
    FIELD("UID", &cel_string),
    FIELD("annotations", &texts),
    FIELD("creationTimestamp", &cel_timestamp),
    FIELD("deletionGracePeriodSeconds", &cel_int),
    FIELD("deletionTimestamp", &cel_timestamp),
    FIELD("finalizers", &strings),
    FIELD("generateName", &cel_string),
    FIELD("generation", &cel_int),
    FIELD("labels", &texts),
    FIELD("name", &cel_string),
    FIELD("namespace", &cel_string),
    FIELD("resourceVersion", &cel_string),
};
static const struct cel_field ns_spec_fields[] = { FIELD("finalizers", &strings) };
static const struct cel_field ns_condition_fields[] = {
    FIELD("lastTransitionTime", &cel_timestamp),
    FIELD("message", &cel_string),
    FIELD("reason", &cel_string),
    FIELD("status", &cel_string),
    FIELD("type", &cel_string),
};
static const struct cel_type ns_meta = OBJECT("NamespaceMetadata", ns_meta_fields),
                             ns_spec = OBJECT("NamespaceSpec", ns_spec_fields),
                             ns_condition = OBJECT("NamespaceCondition", ns_condition_fields),
                             ns_conditions = LIST_OF(&ns_condition);
static const struct cel_field ns_status_fields[] = {
    FIELD("conditions", &ns_conditions),
    FIELD("phase", &cel_string),
};
static const struct cel_type ns_status = OBJECT("NamespaceStatus", ns_status_fields);
static const struct cel_field namespace_fields[] = {
    FIELD("metadata", &ns_meta),
    FIELD("spec", &ns_spec),
    FIELD("status", &ns_status),
};
static const struct cel_type namespace_type = OBJECT("Namespace", namespace_fields);

static const struct cel_var vars[ADMITEXPR_VARS] = {
    [ADMITEXPR_OBJECT] = { "object", &cel_dyn },
    [ADMITEXPR_OLD] = { "oldObject", &cel_dyn },
    [ADMITEXPR_NAMESPACE] = { "namespaceObject", &namespace_type },
    [ADMITEXPR_REQUEST] = { "request", &request_type },
    [ADMITEXPR_AUTHORIZER] = { "authorizer", &cel_authorizer },
    [ADMITEXPR_RESOURCE] = { "authorizer.requestResource", &cel_resource_check },
    [ADMITEXPR_PARAMS] = { "params", &cel_dyn },
    [ADMITEXPR_VARIABLES] = { "variables", NULL },
};
const struct cel_type *const admitexpr_bool[] = { &cel_bool, NULL },
                             *const admitexpr_text[] = { &cel_string, NULL },
                             *const admitexpr_note[] = { &cel_string, &cel_null, NULL };

static bool is_wanted(const struct cel_type *t, const struct cel_type *const *want)
{
    bool found = !want;
    for (size_t i = 0; want && want[i]; i++)
        found |= cel_type_eq(t, want[i]);
    return found;
}

static void tell_misfit(const struct cel_type *t, const struct cel_type *const *want,
                        struct strbuf *why)
{
    strbuf_append(why, want[1] ? "must evaluate to one of [" : "must evaluate to ");
    for (size_t i = 0; want[i]; i++) {
        if (i)
            strbuf_appendc(why, ' ');
        cel_type_print(want[i], false, why);
    }
    strbuf_append(why, want[1] ? "] but got " : " but got ");
    cel_type_print(t, false, why);
}

/* A variable that is not there keeps its place, under a name that nobody can write. */
static void env_vars(const struct admitexpr_env *env, struct cel_var *ret)
{
    memcpy(ret, vars, sizeof vars);
    if (!env->authorizer)
        ret[ADMITEXPR_AUTHORIZER].name = ret[ADMITEXPR_RESOURCE].name = "";
    if (!env->params)
        ret[ADMITEXPR_PARAMS].name = "";
    if (env->object) {
        ret[ADMITEXPR_OBJECT].type = ret[ADMITEXPR_OLD].type = env->object;
        ret[ADMITEXPR_RESOURCE].name = ""; /* upstream's check does not know it */
    }
    if (env->params_type)
        ret[ADMITEXPR_PARAMS].type = env->params_type;
    ret[ADMITEXPR_VARIABLES] = (struct cel_var){ env->variables ? "variables" : "",
                                                 env->variables ? env->variables : &cel_dyn };
}

int admitexpr_compile(const struct admitexpr_env *env, struct str text,
                      const struct cel_type *const *want, struct cel_expr **ret, struct strbuf *why)
{
    struct cel_var own[ADMITEXPR_VARS];
    const struct cel_env cel = { .vars = own, .n_vars = ADMITEXPR_VARS, .zone = tzone_offset_of };
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    CLEANUP(strbuf_fini) struct strbuf text_why = STRBUF_INIT;

    env_vars(env, own);
    enum cel_failure f = cel_compile(&cel, text.p, text.n, &e, &text_why);
    bool program = f != CEL_OK && str_starts(strbuf_str(&text_why), "program ");
    if (f != CEL_OK && !program) {
        strbuf_appendf(why, "compilation failed: %s", strbuf_str(&text_why));
        return -EINVAL;
    }
    if (e && !is_wanted(cel_expr_type(e), want)) {
        tell_misfit(cel_expr_type(e), want, why);
        return -EINVAL;
    }
    if (program) {
        strbuf_append(why, strbuf_str(&text_why));
        return -EIO;
    }
    *ret = take(e);
    return 0;
}

/* ---- variables ------------------------------------------------------------------------------- */

enum { TYPE_DEPTH = 32 }; /* of lists in lists, which variables could nest without end */

/* What later expressions know of a variable's type: structures of Kubernetes' own are dyn. */
static const struct cel_type *known_type(struct arena *a, const struct cel_type *t, unsigned depth)
{
    if (depth == TYPE_DEPTH)
        return &cel_dyn;
    switch ((enum cel_type_kind)t->kind) {
    case CT_NULL:
    case CT_BOOL:
    case CT_INT:
    case CT_UINT:
    case CT_DOUBLE:
    case CT_STRING:
    case CT_BYTES:
    case CT_TIMESTAMP:
    case CT_DURATION: return cel_type_keep(a, t);
    case CT_LIST: return cel_type_list(a, known_type(a, t->elem, depth + 1));
    case CT_MAP:
        return cel_type_map(a, known_type(a, t->key, depth + 1), known_type(a, t->elem, depth + 1));
    default: return &cel_dyn;
    }
}

void admitexpr_variables_init(struct admitexpr_variables *v, struct arena *a, size_t n_max)
{
    v->a = a;
    v->fields = arena_newn0(a, n_max + 1, struct cel_field);
    v->type = (struct cel_type){ .kind = CT_OBJECT,
                                 .name = "kubernetes.variables",
                                 .fields = v->fields,
                                 .size_max = CEL_SIZE_UNKNOWN };
}

void admitexpr_variables_add(struct admitexpr_variables *v, struct str name,
                             const struct cel_expr *expr)
{
    const struct cel_type *t = expr ? known_type(v->a, cel_expr_type(expr), 0) : &cel_dyn;
    struct cel_field *known = (struct cel_field *)(uintptr_t)cel_type_field(&v->type, name);
    uint32_t i = v->type.n_fields;

    if (known) {
        known->type = t;
        return;
    }
    for (; i > 0; i--) {
        struct str before = v->fields[i - 1].name;
        int c = memcmp(before.p, name.p, MIN(before.n, name.n));
        if (c < 0 || (c == 0 && before.n < name.n))
            break;
        v->fields[i] = v->fields[i - 1];
    }
    v->fields[i] = (struct cel_field){ name, name, t };
    v->type.n_fields++;
}

/* ---- the authorizer -------------------------------------------------------------------------- */

static const char *text_of(struct arena *a, struct str s)
{
    return s.n ? arena_strndup(a, s.p, s.n) : "";
}

static const struct api_user *who_asks(const struct admission_req *r, struct str account,
                                       struct arena *a)
{
    const char *colon = account.n ? memchr(account.p, ':', account.n) : NULL;

    if (!colon)
        return r->call->user;
    size_t n = (size_t)(colon - account.p);
    return user_of_account(arena_strndup(a, account.p, n),
                           arena_strndup(a, colon + 1, account.n - n - 1), "", a);
}

/* What selectors narrow a request to is of no account where rules know none. */
static void on_check(void *arg, const struct cel_access *access, struct arena *a,
                     struct cel_access_answer *ret)
{
    const struct admission_req *r = arg;
    CLEANUP(strbuf_fini) struct strbuf reason = STRBUF_INIT;
    struct authz_attributes what = AUTHZ_ATTRIBUTES_INIT;

    what.verb = text_of(a, access->verb);
    what.is_path = access->path.n > 0;
    what.path = text_of(a, access->path);
    what.group = text_of(a, access->group);
    what.version = "*";
    what.resource = text_of(a, access->resource);
    what.subresource = text_of(a, access->subresource);
    what.ns = text_of(a, access->namespace);
    what.name = text_of(a, access->name);
    ret->allowed =
        authorizer_check(r->call->s, who_asks(r, access->service_account, a), &what, &reason);
    ret->reason = str_of(arena_strdup(a, strbuf_str(&reason)));
}

/* ---- one request ----------------------------------------------------------------------------- */

/* An object as `as` has it; null where there is none. */
static struct cel_val shown(struct admitexpr_input *in, const struct resource *as,
                            const struct kj_val *obj, struct kj_doc **ret)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = NULL;

    if (!obj)
        return cel_v_null();
    d = kj_mdoc_new();
    *ret = kj_freeze(admithook_show(in->r, as, d, obj));
    return cel_v_json(in->a, kj_root(*ret), &cel_dyn);
}

static struct kj_doc *request_of(const struct admission_req *r, const struct resource *as,
                                 const struct kj_val *obj)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kjw w = kjw_to(&text);
    struct kj_doc *doc = NULL;

    kjw_obj(&w, NULL);
    admithook_request_write(&w, as, r, obj, NULL);
    kjw_end(&w);
    (void)kj_parse(text.data, text.len, 0, &doc, NULL);
    return doc;
}

struct cel_val admitexpr_request(struct arena *a, const struct kj_val *request)
{
    return cel_v_json(a, request, &request_type);
}

void admitexpr_input_init(struct admitexpr_input *in, const struct admission_req *r,
                          const struct resource *as, const struct kj_val *obj)
{
    *in = (struct admitexpr_input){ .a = arena_new(), .r = r };
    in->authorizer = (struct cel_authorizer){ on_check, (void *)(uintptr_t)r };
    in->vars[ADMITEXPR_OBJECT] = shown(in, as, obj, &in->obj);
    in->vars[ADMITEXPR_OLD] = shown(in, as, r->old, &in->old);
    in->vars[ADMITEXPR_NAMESPACE] = cel_v_null();
    in->request = request_of(r, as, obj);
    in->vars[ADMITEXPR_REQUEST] = admitexpr_request(in->a, kj_root(in->request));
    in->vars[ADMITEXPR_AUTHORIZER] = cel_v_authorizer(in->a, &in->authorizer);
    const struct cel_access access = {
        .group = str_of(r->res->group),
        .resource = str_of(r->res->plural),
        .subresource = str_of(r->subresource),
        .namespace = str_of(r->ns),
        .name = str_of(kj_str_or(kj_get(kj_root(in->request), "name"), "")),
    };
    in->vars[ADMITEXPR_RESOURCE] = cel_v_resource_check(in->a, &in->authorizer, &access);
    in->vars[ADMITEXPR_PARAMS] = cel_v_null();
}

void admitexpr_input_namespace(struct admitexpr_input *in, const struct kj_val *ns)
{
    in->vars[ADMITEXPR_NAMESPACE] = ns ? cel_v_json(in->a, ns, &namespace_type) : cel_v_null();
}

void admitexpr_input_fini(struct admitexpr_input *in)
{
    kj_doc_free(in->request);
    kj_doc_free(in->obj);
    kj_doc_free(in->old);
    arena_free(in->a);
    *in = (struct admitexpr_input){ 0 };
}
