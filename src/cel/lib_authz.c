/* lib_authz.c - the functions of the authorizer: builders of a question, the question, its answer.
 */
#include "cel/authz.h"
#include "cel/lib.h"

/* One struct for all: which of its parts are filled in follows from the type. */
struct authz_native {
    struct cel_native native;
    const struct cel_authorizer *auth;
    struct cel_access access;
    struct cel_access_answer answer;
};

static struct cel_val wrap(struct authz_native *n, const struct cel_type *type)
{
    n->native.type = type;
    return (struct cel_val){ .kind = CK_NATIVE, .native = &n->native };
}

static struct authz_native *copy_of(struct arena *a, const struct authz_native *from)
{
    struct authz_native *n = arena_new0(a, struct authz_native);
    if (from)
        *n = *from;
    return n;
}

struct cel_val cel_v_authorizer(struct arena *a, const struct cel_authorizer *auth)
{
    struct authz_native *n = copy_of(a, NULL);
    n->auth = auth;
    return wrap(n, &cel_authorizer);
}

struct cel_val cel_v_resource_check(struct arena *a, const struct cel_authorizer *auth,
                                    const struct cel_access *access)
{
    struct authz_native *n = copy_of(a, NULL);
    n->auth = auth;
    n->access = *access;
    return wrap(n, &cel_resource_check);
}

/* The native of this type; NULL: the value is something else. */
static const struct authz_native *native_of(struct cel_val v, const struct cel_type *type)
{
    return v.kind == CK_NATIVE && v.native->type == type ? (const struct authz_native *)v.native
                                                         : NULL;
}

/* ---- builders ------------------------------------------------------------------------------------ */

/* target.f(text) with the text put at an offset of the question. */
static struct cel_val build(struct cel_run *r, const struct cel_val *args,
                            const struct cel_type *from, const struct cel_type *to, size_t offset)
{
    const struct authz_native *n = native_of(args[0], from);

    if (!n || args[1].kind != CK_STRING)
        return cel_misfit();
    struct authz_native *out = copy_of(r->a, n);
    *(struct str *)((char *)&out->access + offset) = cel_str(args[1]);
    return wrap(out, to);
}

#define BUILDER(fn_, from_, to_, member_)                                                \
    static struct cel_val fn_(struct cel_run *r, const struct cel_val *args, unsigned n) \
    {                                                                                    \
        (void)n;                                                                         \
        return build(r, args, &(from_), &(to_), offsetof(struct cel_access, member_));   \
    }
BUILDER(build_group, cel_authorizer, cel_group_check, group)
BUILDER(build_subresource, cel_resource_check, cel_resource_check, subresource)
BUILDER(build_namespace, cel_resource_check, cel_resource_check, namespace)
BUILDER(build_name, cel_resource_check, cel_resource_check, name)
BUILDER(build_fields, cel_resource_check, cel_resource_check, field_selector)
BUILDER(build_labels, cel_resource_check, cel_resource_check, label_selector)

static struct cel_val build_path(struct cel_run *r, const struct cel_val *args, unsigned n)
{
    (void)n;
    if (args[1].kind == CK_STRING && !args[1].n)
        return cel_v_error(r->a, "path must not be empty");
    return build(r, args, &cel_authorizer, &cel_path_check, offsetof(struct cel_access, path));
}

static bool is_blank(struct str s)
{
    while (s.n && memchr(" \t\r\n\v\f", s.p[s.n - 1], 6))
        s.n--;
    return s.n == 0;
}

static struct cel_val build_resource(struct cel_run *r, const struct cel_val *args, unsigned n)
{
    (void)n;
    if (args[1].kind == CK_STRING && is_blank(cel_str(args[1])))
        return cel_v_error(r->a, "resource must not be empty");
    return build(r, args, &cel_group_check, &cel_resource_check,
                 offsetof(struct cel_access, resource));
}

/* A DNS label; `dots`: several of them. */
static bool is_dns(struct str s, bool dots)
{
    if (s.n == 0 || s.n > (dots ? 253U : 63U))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool edge = i == 0 || i + 1 == s.n || s.p[i - 1] == '.' || s.p[i + 1] == '.';
        bool inner = c == '-' || (dots && c == '.');
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (inner && !edge) ||
              (dots && c == '.' && i && i + 1 < s.n && s.p[i - 1] != '.' && s.p[i + 1] != '.')))
            return false;
    }
    return true;
}

static struct cel_val build_account(struct cel_run *r, const struct cel_val *args, unsigned n)
{
    const struct authz_native *from = native_of(args[0], &cel_authorizer);

    (void)n;
    if (!from || args[1].kind != CK_STRING || args[2].kind != CK_STRING)
        return cel_misfit();
    if (!is_dns(cel_str(args[2]), true))
        return cel_v_error(r->a, "Invalid service account name");
    if (!is_dns(cel_str(args[1]), false))
        return cel_v_error(r->a, "Invalid service account namespace");
    struct authz_native *out = copy_of(r->a, from);
    out->access.service_account = str_of(
        arena_printf(r->a, "%.*s:%.*s", (int)args[1].n, args[1].s, (int)args[2].n, args[2].s));
    return wrap(out, &cel_authorizer);
}

/* ---- the question and its answer ----------------------------------------------------------------- */

static struct cel_val check(struct cel_run *r, const struct cel_val *args, unsigned n)
{
    const struct authz_native *from = native_of(args[0], &cel_path_check);

    (void)n;
    if (!from)
        from = native_of(args[0], &cel_resource_check);
    if (!from || args[1].kind != CK_STRING)
        return cel_misfit();
    struct authz_native *out = copy_of(r->a, from);
    out->access.verb = cel_str(args[1]);
    out->auth->check(out->auth->arg, &out->access, r->a, &out->answer);
    return wrap(out, &cel_decision);
}

static struct cel_val text_value(struct str s)
{
    return cel_v_str(s.p ? s.p : "", s.p ? s.n : 0);
}

static struct cel_val allowed(struct cel_run *r, const struct cel_val *args, unsigned n)
{
    const struct authz_native *d = native_of(args[0], &cel_decision);
    (void)r, (void)n;
    return d ? cel_v_bool(d->answer.allowed) : cel_misfit();
}

static struct cel_val reason(struct cel_run *r, const struct cel_val *args, unsigned n)
{
    const struct authz_native *d = native_of(args[0], &cel_decision);
    (void)r, (void)n;
    return d ? text_value(d->answer.reason) : cel_misfit();
}

static struct cel_val errored(struct cel_run *r, const struct cel_val *args, unsigned n)
{
    const struct authz_native *d = native_of(args[0], &cel_decision);
    (void)r, (void)n;
    return d ? cel_v_bool(d->answer.error.n > 0) : cel_misfit();
}

static struct cel_val error(struct cel_run *r, const struct cel_val *args, unsigned n)
{
    const struct authz_native *d = native_of(args[0], &cel_decision);
    (void)r, (void)n;
    return d ? text_value(d->answer.error) : cel_misfit();
}

/* ---- the table ----------------------------------------------------------------------------------- */

#define TEXT_MEMBER(to_, from_) CEL_MEMBER(&(to_), &(from_), &cel_string)
static const struct cel_overload o_path[] = { TEXT_MEMBER(cel_path_check, cel_authorizer) },
                                 o_group[] = { TEXT_MEMBER(cel_group_check, cel_authorizer) },
                                 o_account[] = { CEL_MEMBER(&cel_authorizer, &cel_authorizer,
                                                            &cel_string, &cel_string) },
                                 o_resource[] = { TEXT_MEMBER(cel_resource_check,
                                                              cel_group_check) },
                                 o_more[] = { TEXT_MEMBER(cel_resource_check, cel_resource_check) },
                                 o_check[] = { TEXT_MEMBER(cel_decision, cel_path_check),
                                               TEXT_MEMBER(cel_decision, cel_resource_check) },
                                 o_is[] = { CEL_MEMBER(&cel_bool, &cel_decision) },
                                 o_says[] = { CEL_MEMBER(&cel_string, &cel_decision) };

static const struct cel_function functions[] = {
    CEL_FN("path", build_path, o_path),
    CEL_FN("group", build_group, o_group),
    CEL_FN("serviceAccount", build_account, o_account),
    CEL_FN("resource", build_resource, o_resource),
    CEL_FN("subresource", build_subresource, o_more),
    CEL_FN("namespace", build_namespace, o_more),
    CEL_FN("name", build_name, o_more),
    CEL_FN("fieldSelector", build_fields, o_more, .cost = CC_SELECTOR),
    CEL_FN("labelSelector", build_labels, o_more, .cost = CC_SELECTOR),
    CEL_FN("check", check, o_check, .cost = CC_CHECK),
    CEL_FN("allowed", allowed, o_is),
    CEL_FN("errored", errored, o_is),
    CEL_FN("reason", reason, o_says),
    CEL_FN("error", error, o_says),
};
const struct cel_library cel_lib_authz = { functions, ARRAY_LEN(functions) };
