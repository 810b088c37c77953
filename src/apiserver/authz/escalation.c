/* escalation.c - nobody grants what he does not have: roles and bindings are stored only when their
 * author holds all that they grant, or has the right to "escalate" (roles) or "bind" (bindings). */
#include "apiserver/authz/escalation.h"

#include "apiserver/authz/authorizer.h"
#include "apiserver/authz/rbac.h"
#include "apiserver/registry/internal.h"

/* user "x" (groups=["a" "b"]) is attempting to grant RBAC permissions not currently held: ... */
static int forbid_missing(const struct admission_req *r, const struct rbac_rules *missing,
                          const char *problems, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct api_user *u = r->call->user;

    strbuf_append(&b, "user ");
    strbuf_append_quoted(&b, u->name, strlen(u->name));
    strbuf_append(&b, " (groups=[");
    for (size_t i = 0; i < u->ngroups; i++) {
        if (i)
            strbuf_appendc(&b, ' ');
        strbuf_append_quoted(&b, u->groups[i], strlen(u->groups[i]));
    }
    strbuf_append(&b, "]) is attempting to grant RBAC permissions not currently held:");
    vec_foreach(missing, i) {
        strbuf_appendc(&b, '\n');
        rbac_rule_describe(missing->items[i], &b);
    }
    if (*problems)
        strbuf_appendf(&b, "; resolution errors: [%s]", problems);
    return admission_forbid(r, err, "%s", b.data);
}

/* 0: the user holds all of them here. */
static int check_held(const struct admission_req *r, const struct rbac_rules *wanted,
                      struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf problems = STRBUF_INIT;
    struct rbac_rules held = { 0 }, missing = { 0 };

    rbac_rules_of(r->call->s->rbac, r->call->user, r->ns, &held, &problems);
    rbac_rules_missing(&held, wanted, r->call->arena, &missing);
    int e = missing.n ? forbid_missing(r, &missing, strbuf_str(&problems), err) : 0;
    vec_fini(&held);
    vec_fini(&missing);
    return e;
}

static bool may(const struct admission_req *r, const char *verb, const char *resource,
                const char *name)
{
    struct authz_attributes a = AUTHZ_ATTRIBUTES_INIT;

    a.verb = verb;
    a.group = RBAC_GROUP;
    a.version = "*";
    a.resource = resource;
    a.name = name;
    a.ns = r->ns;
    return authorizer_check(r->call->s, r->call->user, &a, NULL);
}

/* ---- roles ------------------------------------------------------------------------------------- */

static bool holds_everything(const struct admission_req *r)
{
    static const char *const all[] = { "*", NULL }, *const none[] = { NULL };
    static const struct rbac_rule resources = { all, all, all, none, none },
                                  paths = { all, none, none, none, all };
    const struct rbac_rule *both[] = { &resources, &paths };
    struct rbac_rules wanted = { both, 2, 2 }, held = { 0 }, missing = { 0 };

    rbac_rules_of(r->call->s->rbac, r->call->user, r->ns, &held, NULL);
    rbac_rules_missing(&held, &wanted, r->call->arena, &missing);
    bool yes = missing.n == 0;
    vec_fini(&held);
    vec_fini(&missing);
    return yes;
}

static bool is_aggregated(const struct kj_val *role)
{
    return kj_len(kj_path(role, "aggregationRule.clusterRoleSelectors")) > 0;
}

static int check_role(const struct admission_req *r, const struct kj_val *obj, struct kerr *err)
{
    const struct kj_val *rules = kj_get(obj, "rules");
    struct arena *a = r->call->arena;
    struct rbac_rule *compiled = arena_newn0(a, kj_len(rules) + 1, struct rbac_rule);
    struct rbac_rules wanted = { 0 };

    if (may(r, "escalate", r->res->plural, r->call->name))
        return 0;
    for (size_t i = 0; i < kj_len(rules); i++) {
        rbac_rule_compile(kj_at(rules, i), a, &compiled[i]);
        vec_push(&wanted, &compiled[i]);
    }
    int e = check_held(r, &wanted, err);
    vec_fini(&wanted);
    if (e == 0 && (is_aggregated(obj) || is_aggregated(r->old)) && !holds_everything(r))
        e = admission_forbid(r, err,
                             "must have cluster-admin privileges to use the aggregationRule");
    return e;
}

/* ---- bindings ---------------------------------------------------------------------------------- */

static int check_binding(const struct admission_req *r, const struct kj_val *obj, struct kerr *err)
{
    const struct kj_val *ref = kj_get(obj, "roleRef");
    const char *name = kj_str_or(kj_get(ref, "name"), "");
    bool of_cluster = streq(kj_str_or(kj_get(ref, "kind"), ""), "ClusterRole");
    struct rbac_rules wanted = { 0 };

    if (may(r, "bind", of_cluster ? "clusterroles" : "roles", name))
        return 0;
    bool found = rbac_role_rules(r->call->s->rbac, of_cluster ? "" : r->ns, name, &wanted);
    int e = found ? check_held(r, &wanted, err) : api_err_not_found(r->call, err, r->res, name);
    vec_fini(&wanted);
    return e;
}

/* ---- both --------------------------------------------------------------------------------------- */

/* Whoever takes a finalizer or an owner off grants nothing: the garbage collector must not stumble
 * over it. */
static bool only_lets_go(const struct kj_val *obj, const struct kj_val *old)
{
    static const char *const fields[] = { "finalizers", "ownerReferences", "managedFields",
                                          "resourceVersion", "generation" };
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *a = kj_mborrow(d, obj), *b = kj_mborrow(d, old);

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        kj_mdel(kj_mget(a, "metadata"), fields[i], strlen(fields[i]));
        kj_mdel(kj_mget(b, "metadata"), fields[i], strlen(fields[i]));
    }
    return kj_mequal(a, b);
}

static int validate(void *self, const struct admission_req *r, const struct kj_val *obj,
                    struct kerr *err)
{
    (void)self;
    if (!streq(r->res->group, RBAC_GROUP) || !obj || user_in_group(r->call->user, GROUP_MASTERS) ||
        (r->old && only_lets_go(obj, r->old)))
        return 0;
    return str_ends(r->res->plural, "bindings") ? check_binding(r, obj, err)
                                                : check_role(r, obj, err);
}

void escalation_add(struct apiserver *s)
{
    static const struct admission_step step = { "RBAC", NULL, validate };

    apiserver_add_admission(s, &step, NULL);
}
