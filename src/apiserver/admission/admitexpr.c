/* admitexpr.c - the environment of admission's expressions. */
#include "apiserver/admission/admitexpr.h"

#include "apiserver/admission/admithook_int.h"
#include "apiserver/admission/admithook_patch.h"
#include "apiserver/authn/user.h"
#include "apiserver/authz/authorizer.h"

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
};

int admitexpr_compile(bool params, const char *text, size_t n, const struct cel_type *want,
                      struct cel_expr **ret, struct strbuf *why)
{
    const struct cel_env env = { .vars = vars, .n_vars = ADMITEXPR_VARS - !params };
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    CLEANUP(strbuf_fini) struct strbuf text_why = STRBUF_INIT;

    enum cel_failure f = cel_compile(&env, text, n, &e, &text_why);
    bool program = f != CEL_OK && str_starts(strbuf_str(&text_why), "program ");
    if (f != CEL_OK && !program) {
        strbuf_appendf(why, "compilation failed: %s", strbuf_str(&text_why));
        return -EINVAL;
    }
    if (e && !cel_type_eq(cel_expr_type(e), want)) {
        strbuf_append(why, "must evaluate to ");
        cel_type_print(want, false, why);
        strbuf_append(why, " but got ");
        cel_type_print(cel_expr_type(e), false, why);
        return -EINVAL;
    }
    if (program) {
        strbuf_append(why, strbuf_str(&text_why));
        return -EIO;
    }
    *ret = take(e);
    return 0;
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

void admitexpr_input_init(struct admitexpr_input *in, const struct admission_req *r,
                          const struct resource *as, const struct kj_val *obj)
{
    *in = (struct admitexpr_input){ .a = arena_new(), .r = r };
    in->authorizer = (struct cel_authorizer){ on_check, (void *)(uintptr_t)r };
    in->vars[ADMITEXPR_OBJECT] = shown(in, as, obj, &in->obj);
    in->vars[ADMITEXPR_OLD] = shown(in, as, r->old, &in->old);
    in->vars[ADMITEXPR_NAMESPACE] = cel_v_null();
    in->request = request_of(r, as, obj);
    in->vars[ADMITEXPR_REQUEST] = cel_v_json(in->a, kj_root(in->request), &request_type);
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

void admitexpr_input_fini(struct admitexpr_input *in)
{
    kj_doc_free(in->request);
    kj_doc_free(in->obj);
    kj_doc_free(in->old);
    arena_free(in->a);
    *in = (struct admitexpr_input){ 0 };
}
