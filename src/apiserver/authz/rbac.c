/* rbac.c - the index of roles and bindings, and the walk over what applies to a user. */
#include "apiserver/authz/rbac.h"

#include <stdio.h>

#include "apiserver/authn/user.h"
#include "apiserver/authz/authorizer.h"
#include "apiserver/store/store.h"
#include "base/klog.h"
#include "base/map.h"
#include "json/kj.h"

enum { ROLES, CLUSTER_ROLES, BINDINGS, CLUSTER_BINDINGS, NKINDS };
static const char *const store_res[NKINDS] = {
    [ROLES] = "roles." RBAC_GROUP,
    [CLUSTER_ROLES] = "clusterroles." RBAC_GROUP,
    [BINDINGS] = "rolebindings." RBAC_GROUP,
    [CLUSTER_BINDINGS] = "clusterrolebindings." RBAC_GROUP,
};

struct role {
    struct arena *arena;
    const char *key; /* "namespace/name" */
    const struct rbac_rule *rules;
    size_t n;
};

struct subject {
    const char *kind, *ns, *name;
    const char *user; /* of a service account: the name of its user */
};

struct binding {
    struct arena *arena;
    const char *key, *ns, *name;
    const char *role_kind, *role_name, *role_key;
    const struct subject *subjects;
    size_t n;
};
struct bindings vec_of(struct binding *);

struct followed { /* one kind */
    struct rbac *r;
    struct store_watch *watch;
};

struct rbac {
    struct store *store;
    struct map roles;    /* key -> struct role */
    struct map bindings; /* key -> struct binding */
    struct map by_ns;    /* namespace ("": the cluster) -> struct ns_bindings */
    struct followed kinds[NKINDS];
    bool loaded;
};

struct ns_bindings {
    char *ns;
    struct bindings list;
};

/* ---- compiling ---------------------------------------------------------------------------------- */

static void role_free(struct role *r)
{
    if (r)
        arena_free(r->arena);
}

static struct role *role_compile(const struct store_key *k, const struct kj_val *obj)
{
    struct arena *a = arena_new_sized(512);
    struct role *r = arena_new0(a, struct role);
    const struct kj_val *rules = kj_get(obj, "rules"), *v;
    struct rbac_rule *out = arena_newn0(a, kj_len(rules) + 1, struct rbac_rule);
    struct kj_iter it = kj_iter(rules);
    struct str key;

    r->arena = a;
    r->key = arena_printf(a, "%s/%s", k->ns, k->name);
    r->rules = out;
    while (kj_type(rules) == KJ_ARR && kj_next(&it, &key, &v))
        rbac_rule_compile(v, a, &out[r->n++]);
    return r;
}

static const char *text_of(const struct kj_val *v, const char *key, struct arena *a)
{
    return arena_strdup(a, kj_str_or(kj_get(v, key), ""));
}

static void subject_compile(const struct kj_val *v, const char *ns, struct arena *a,
                            struct subject *s)
{
    s->kind = text_of(v, "kind", a);
    s->name = text_of(v, "name", a);
    s->ns = text_of(v, "namespace", a);
    if (!*s->ns)
        s->ns = ns;
    if (streq(s->kind, "ServiceAccount") && *s->ns)
        s->user = arena_printf(a, USER_ACCOUNT_PREFIX "%s:%s", s->ns, s->name);
}

static struct binding *binding_compile(const struct store_key *k, const struct kj_val *obj)
{
    struct arena *a = arena_new_sized(512);
    struct binding *b = arena_new0(a, struct binding);
    const struct kj_val *ref = kj_get(obj, "roleRef"), *list = kj_get(obj, "subjects"), *v;
    struct subject *out = arena_newn0(a, kj_len(list) + 1, struct subject);
    struct kj_iter it = kj_iter(list);
    struct str key;

    b->arena = a;
    b->key = arena_printf(a, "%s/%s", k->ns, k->name);
    b->ns = arena_strdup(a, k->ns);
    b->name = arena_strdup(a, k->name);
    b->role_kind = text_of(ref, "kind", a);
    b->role_name = text_of(ref, "name", a);
    b->role_key =
        arena_printf(a, "%s/%s", streq(b->role_kind, "ClusterRole") ? "" : b->ns, b->role_name);
    b->subjects = out;
    while (kj_type(list) == KJ_ARR && kj_next(&it, &key, &v))
        subject_compile(v, b->ns, a, &out[b->n++]);
    return b;
}

/* ---- following ---------------------------------------------------------------------------------- */

static struct ns_bindings *bindings_in(struct rbac *r, const char *ns, bool make)
{
    struct ns_bindings *in = map_getz(&r->by_ns, ns);

    if (!in && make) {
        in = xnew0(struct ns_bindings);
        in->ns = xstrdup(ns);
        map_putz(&r->by_ns, in->ns, in);
    }
    return in;
}

static void binding_drop(struct rbac *r, const char *key)
{
    struct binding *b = map_removez(&r->bindings, key);

    if (!b)
        return;
    struct ns_bindings *in = bindings_in(r, b->ns, false);
    for (size_t i = 0; i < in->list.n; i++)
        if (in->list.items[i] == b) {
            vec_remove(&in->list, i);
            break;
        }
    if (!in->list.n) {
        map_removez(&r->by_ns, in->ns);
        vec_fini(&in->list);
        free(in->ns);
        free(in);
    }
    arena_free(b->arena);
}

static void change(struct rbac *r, bool is_role, const struct store_key *k, const char *doc,
                   size_t n, bool gone)
{
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    strbuf_appendf(&key, "%s/%s", k->ns, k->name);
    if (is_role)
        role_free(map_removez(&r->roles, key.data));
    else
        binding_drop(r, key.data);
    if (gone || kj_parse(doc, n, 0, &parsed, NULL) < 0)
        return;
    if (is_role) {
        struct role *role = role_compile(k, kj_root(parsed));
        map_putz(&r->roles, role->key, role);
    } else {
        struct binding *b = binding_compile(k, kj_root(parsed));
        map_putz(&r->bindings, b->key, b);
        vec_push(&bindings_in(r, b->ns, true)->list, b);
    }
}

static bool is_role_kind(const struct followed *f)
{
    return f - f->r->kinds <= CLUSTER_ROLES;
}

static bool on_event(void *arg, const struct store_event *e)
{
    struct followed *f = arg;

    change(f->r, is_role_kind(f), &e->key, e->doc, e->n, e->type == STORE_DELETED);
    return true;
}

static void on_end(void *arg, const struct kerr *err)
{
    struct followed *f = arg;

    (void)err; /* behind history or the store ends: the next question reads everything anew */
    f->watch = NULL;
    f->r->loaded = false;
}

static bool on_item(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    struct followed *f = arg;

    (void)rev;
    change(f->r, is_role_kind(f), k, doc, n, false);
    return true;
}

static void forget_all(struct rbac *r)
{
    for (size_t i = 0; i < NKINDS; i++)
        r->kinds[i].watch = store_unwatch(r->kinds[i].watch);
    map_foreach(&r->roles, e)
        role_free(e->value);
    map_fini(&r->roles);
    map_foreach(&r->bindings, e)
        arena_free(((struct binding *)e->value)->arena);
    map_fini(&r->bindings);
    map_foreach(&r->by_ns, e) {
        struct ns_bindings *in = e->value;
        vec_fini(&in->list);
        free(in->ns);
        free(in);
    }
    map_fini(&r->by_ns);
}

static void load(struct rbac *r)
{
    static const struct store_watch_handler h = { on_event, NULL, on_end };
    struct kerr err = { 0 };

    if (r->loaded)
        return;
    forget_all(r);
    r->loaded = true;
    uint64_t at = store_revision(r->store);
    for (size_t i = 0; i < NKINDS; i++) {
        struct followed *f = &r->kinds[i];
        f->r = r;
        if (store_list(r->store, store_res[i], NULL, 0, NULL, on_item, f, &err) < 0 ||
            store_watch(r->store, store_res[i], NULL, at, &h, f, &f->watch, &err) < 0) {
            KLOG_E(&err, "Failed to read roles and bindings", KV_S("resource", store_res[i]));
            r->loaded = false;
        }
    }
}

struct rbac *rbac_new(struct store *store)
{
    struct rbac *r = xnew0(struct rbac);

    r->store = store;
    return r;
}

struct rbac *rbac_free(struct rbac *r)
{
    if (!r)
        return NULL;
    forget_all(r);
    free(r);
    return NULL;
}

/* ---- asking ------------------------------------------------------------------------------------- */

static bool is_subject(const struct subject *s, const struct api_user *u)
{
    if (streq(s->kind, "User"))
        return streq(s->name, u->name);
    if (streq(s->kind, "Group"))
        return user_in_group(u, s->name);
    return s->user && streq(s->user, u->name);
}

/* Why a user has a rule. */
struct grant {
    const struct binding *binding;
    const struct subject *subject;
};
struct walk {
    bool (*on_rule)(void *arg, const struct rbac_rule *rule, const struct grant *why);
    void *arg;
    struct strbuf *problems; /* NULL: not asked for */
    size_t nproblems;
};

static void add_problem(struct walk *w, const struct binding *b)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (!w->problems)
        return;
    strbuf_appendf(&text, "%s." RBAC_GROUP " ",
                   streq(b->role_kind, "ClusterRole") ? "clusterrole" : "role");
    strbuf_append_quoted(&text, b->role_name, strlen(b->role_name));
    strbuf_append(&text, " not found");
    if (strstr(strbuf_str(w->problems), text.data)) /* two bindings to one role: said once */
        return;
    strbuf_appendf(w->problems, "%s%s", w->nproblems++ ? ", " : "", text.data);
}

/* false: on_rule has seen enough. */
static bool walk_bindings(struct rbac *r, const struct api_user *u, const char *ns, struct walk *w)
{
    const struct ns_bindings *in = map_getz(&r->by_ns, ns);

    for (size_t i = 0; in && i < in->list.n; i++) {
        const struct binding *b = in->list.items[i];
        struct grant why = { .binding = b };
        for (size_t k = 0; k < b->n && !why.subject; k++)
            if (is_subject(&b->subjects[k], u))
                why.subject = &b->subjects[k];
        if (!why.subject)
            continue;
        const struct role *role = map_getz(&r->roles, b->role_key);
        if (!role)
            add_problem(w, b);
        for (size_t k = 0; role && k < role->n; k++)
            if (!w->on_rule(w->arg, &role->rules[k], &why))
                return false;
    }
    return true;
}

static void walk(struct rbac *r, const struct api_user *u, const char *ns, struct walk *w)
{
    load(r);
    if (walk_bindings(r, u, "", w) && *ns)
        walk_bindings(r, u, ns, w);
}

struct checking {
    const struct authz_attributes *asked;
    struct grant why;
    bool allowed;
};

static bool check_rule(void *arg, const struct rbac_rule *rule, const struct grant *why)
{
    struct checking *c = arg;

    if (!rbac_rule_allows(rule, c->asked))
        return true;
    c->allowed = true;
    c->why = *why;
    return false;
}

static void describe(const struct grant *g, struct strbuf *out)
{
    const struct binding *b = g->binding;
    const struct subject *s = g->subject;

    if (*b->ns)
        strbuf_appendf(out, "RBAC: allowed by RoleBinding \"%s/%s\"", b->name, b->ns);
    else
        strbuf_appendf(out, "RBAC: allowed by ClusterRoleBinding \"%s\"", b->name);
    strbuf_appendf(out, " of %s \"%s\" to %s \"%s", b->role_kind, b->role_name, s->kind, s->name);
    if (streq(s->kind, "ServiceAccount"))
        strbuf_appendf(out, "/%s", s->ns);
    strbuf_appendc(out, '"');
}

bool rbac_check(struct rbac *r, const struct api_user *u, const struct authz_attributes *a,
                struct strbuf *reason)
{
    CLEANUP(strbuf_fini) struct strbuf problems = STRBUF_INIT;
    struct checking c = { .asked = a };
    struct walk w = { check_rule, &c, reason ? &problems : NULL, 0 };

    walk(r, u, a->is_path ? "" : a->ns, &w);
    if (!reason)
        return c.allowed;
    if (c.allowed)
        describe(&c.why, reason);
    else if (w.nproblems)
        strbuf_appendf(reason, w.nproblems > 1 ? "RBAC: [%s]" : "RBAC: %s", problems.data);
    return c.allowed;
}

static bool keep_rule(void *arg, const struct rbac_rule *rule, const struct grant *why)
{
    struct rbac_rules *rules = arg;

    (void)why;
    vec_push(rules, rule);
    return true;
}

void rbac_rules_of(struct rbac *r, const struct api_user *u, const char *ns, struct rbac_rules *ret,
                   struct strbuf *problems)
{
    struct walk w = { keep_rule, ret, problems, 0 };

    walk(r, u, ns, &w);
}

bool rbac_role_rules(struct rbac *r, const char *ns, const char *name, struct rbac_rules *ret)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    load(r);
    strbuf_appendf(&key, "%s/%s", ns, name);
    const struct role *role = map_getz(&r->roles, key.data);
    for (size_t i = 0; role && i < role->n; i++)
        vec_push(ret, &role->rules[i]);
    return role != NULL;
}
