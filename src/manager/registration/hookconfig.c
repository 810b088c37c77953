/* hookconfig.c - from the template to the webhooks of a configuration. */
#include "manager/registration/hookconfig.h"

#include "base/b64.h"
#include "net/certauth.h"

#define BUNDLE "caBundle"

/* ---- one entry ------------------------------------------------------------------------------- */

/* The path that the API server would call, with its '/'; "" when there is none. */
static void path_of(const struct kj_mval *client, struct strbuf *out)
{
    const char *path = kj_mstr_get(kj_mget(kj_mget(client, "service"), "path"));
    const char *url = kj_mstr_get(kj_mget(client, "url"));

    if (path) {
        strbuf_append(out, path);
    } else if (url) {
        const char *host = strstr(url, "://");
        const char *slash = host ? strchr(host + 3, '/') : NULL;
        if (slash)
            strbuf_appendn(out, slash, strcspn(slash, "?#"));
    }
}

static void set_address(const struct hookconfig_env *env, struct kj_mdoc *d, struct kj_mval *client,
                        const char *path)
{
    struct kj_mval *service = kj_mget(client, "service");
    CLEANUP(strbuf_fini) struct strbuf url = STRBUF_INIT;

    if (str_empty(env->host)) {
        if (kj_mtype(service) != KJ_OBJ)
            return;
        kj_mset(d, service, "namespace", kj_mstr(d, env->ns));
        kj_mset(d, service, "name", kj_mstr(d, env->service));
        return;
    }
    const char *const brackets[2] = { strchr(env->host, ':') ? "[" : "",
                                      strchr(env->host, ':') ? "]" : "" };
    strbuf_appendf(&url, "https://%s%s%s:%u%s", brackets[0], env->host, brackets[1],
                   (unsigned)env->port, path);
    kj_mdel(client, "service", strlen("service"));
    kj_mset(d, client, "url", kj_mstrn(d, url.data, url.len));
}

static void set_bundle(struct kj_mdoc *d, struct kj_mval *client, struct str pem)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    b64_encode(pem.p, pem.n, &text);
    kj_mset(d, client, BUNDLE, kj_mstrn(d, strbuf_str(&text), text.len));
}

static bool is_our_condition(const struct kj_mval *c)
{
    return streq(str_or(kj_mstr_get(kj_mget(c, "name")), ""), HOOKCONFIG_CONDITION);
}

static void drop_condition(struct kj_mval *entry)
{
    struct kj_mval *list = kj_mget(entry, "matchConditions");

    for (size_t i = kj_mlen(list); i-- > 0;)
        if (is_our_condition(kj_mat(list, i)))
            kj_mdel_at(list, i);
    if (list && kj_mlen(list) == 0)
        kj_mdel(entry, "matchConditions", strlen("matchConditions"));
}

static void set_condition(const struct hookconfig_env *env, struct kj_mdoc *d,
                          struct kj_mval *entry, const char *path)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_mval *list, *c;

    drop_condition(entry);
    if (env->condition)
        env->condition(env->arg, path, &text);
    if (text.len == 0)
        return;
    list = kj_mget(entry, "matchConditions");
    if (kj_mtype(list) != KJ_ARR) {
        list = kj_marr(d);
        kj_mset(d, entry, "matchConditions", list);
    }
    c = kj_mobj(d);
    kj_mset(d, c, "name", kj_mstr(d, HOOKCONFIG_CONDITION));
    kj_mset(d, c, "expression", kj_mstrn(d, text.data, text.len));
    kj_mpush(list, c);
}

/* ---- what the API server fills in ------------------------------------------------------------ */

static void default_text(struct kj_mdoc *d, struct kj_mval *obj, const char *key, const char *value)
{
    if (!kj_mget(obj, key))
        kj_mset(d, obj, key, kj_mstr(d, value));
}

static void default_number(struct kj_mdoc *d, struct kj_mval *obj, const char *key, int64_t value)
{
    if (!kj_mget(obj, key))
        kj_mset(d, obj, key, kj_mi64(d, value));
}

static void default_object(struct kj_mdoc *d, struct kj_mval *obj, const char *key)
{
    if (!kj_mget(obj, key))
        kj_mset(d, obj, key, kj_mobj(d));
}

/* A template may have been written by hand; without these an entry would never look as it should.
 */
static void fill_defaults(struct kj_mdoc *d, struct kj_mval *entry, bool mutates)
{
    struct kj_mval *service = kj_mget(kj_mget(entry, "clientConfig"), "service");
    struct kj_mval *rules = kj_mget(entry, "rules");

    default_text(d, entry, "failurePolicy", "Fail");
    default_text(d, entry, "matchPolicy", "Equivalent");
    default_object(d, entry, "namespaceSelector");
    default_object(d, entry, "objectSelector");
    default_number(d, entry, "timeoutSeconds", 10);
    if (mutates)
        default_text(d, entry, "reinvocationPolicy", "Never");
    for (size_t i = 0; i < kj_mlen(rules); i++)
        default_text(d, kj_mat(rules, i), "scope", "*");
    if (kj_mtype(service) == KJ_OBJ)
        default_number(d, service, "port", 443);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool plan_entry(const struct hookconfig_env *env, struct kj_mdoc *d, struct kj_mval *entry,
                       struct str ca_bundle)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT;
    struct kj_mval *client = kj_mget(entry, "clientConfig");

    path_of(client, &path);
    if (!env->serves(env->arg, strbuf_str(&path)))
        return false;
    set_address(env, d, client, strbuf_str(&path));
    set_bundle(d, client, ca_bundle);
    set_condition(env, d, entry, strbuf_str(&path));
    fill_defaults(d, entry, str_starts(strbuf_str(&path), "/mutate"));
    return true;
}

/* What is ours and not the author's stays out of it. */
static void write_template(const struct kj_val *webhooks, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *list = kj_mcopy(d, webhooks);

    for (size_t i = 0; i < kj_mlen(list); i++) {
        struct kj_mval *client = kj_mget(kj_mat(list, i), "clientConfig");
        if (client)
            kj_mdel(client, BUNDLE, strlen(BUNDLE));
        drop_condition(kj_mat(list, i));
    }
    kj_mwrite(list, 0, out);
}

int hookconfig_plan(const struct hookconfig_env *env, const struct kj_val *webhooks,
                    const char *tmpl, struct str ca_bundle, struct kj_mdoc *d, struct kj_mval **ret,
                    struct strbuf *ret_template, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kj_mval *all = kj_marr(d);

    if (str_empty(tmpl)) {
        if (kj_type(webhooks) == KJ_ARR)
            write_template(webhooks, ret_template);
        else
            strbuf_append(ret_template, "[]");
        tmpl = strbuf_str(ret_template);
    }
    if (kj_parse(tmpl, strlen(tmpl), 0, &doc, err) < 0)
        return kerr_wrap(err, "annotation " HOOKCONFIG_TEMPLATE);
    if (kj_type(kj_root(doc)) != KJ_ARR)
        return kerr_set(err, -EINVAL, "annotation " HOOKCONFIG_TEMPLATE ": not a list of webhooks");
    for (size_t i = 0; i < kj_len(kj_root(doc)); i++) {
        struct kj_mval *entry = kj_mcopy(d, kj_at(kj_root(doc), i));
        if (kj_mtype(kj_mget(entry, "clientConfig")) == KJ_OBJ &&
            plan_entry(env, d, entry, ca_bundle))
            kj_mpush(all, entry);
    }
    *ret = all;
    return 0;
}

/* The entries with the conditions of others; NULL: they do not stand for the same webhooks. */
static struct kj_mval *with_conditions_of(struct kj_mdoc *d, const struct kj_val *webhooks,
                                          const struct kj_val *want)
{
    struct kj_mval *all = kj_mcopy(d, want);

    if (kj_len(webhooks) != kj_len(want))
        return NULL;
    for (size_t i = 0; i < kj_len(want); i++) {
        const struct kj_val *theirs = kj_get(kj_at(webhooks, i), "matchConditions");
        kj_mdel(kj_mat(all, i), "matchConditions", strlen("matchConditions"));
        if (theirs)
            kj_mset(d, kj_mat(all, i), "matchConditions", kj_mcopy(d, theirs));
    }
    return all;
}

enum hookconfig_diff hookconfig_compare(const struct kj_val *webhooks, const struct kj_mval *want)
{
    CLEANUP(kj_doc_free) struct kj_doc *wanted = kj_freeze(want);
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *mixed = NULL;

    if (kj_len(webhooks) == 0 && kj_len(kj_root(wanted)) == 0)
        return HOOKCONFIG_SAME;
    if (kj_equal(webhooks, kj_root(wanted)))
        return HOOKCONFIG_SAME;
    struct kj_mval *m = with_conditions_of(d, webhooks, kj_root(wanted));
    if (m)
        mixed = kj_freeze(m);
    return mixed && kj_equal(webhooks, kj_root(mixed)) ? HOOKCONFIG_CONDITIONS : HOOKCONFIG_OTHER;
}

/* ---- trust ----------------------------------------------------------------------------------- */

static void bundle_of(const struct kj_val *entry, struct strbuf *out)
{
    const char *text = kj_str_or(kj_path(entry, "clientConfig." BUNDLE), "");
    size_t before = out->len;

    if (b64_decode(text, strlen(text), out) < 0)
        strbuf_truncate(out, before);
}

void hookconfig_trusted(const struct kj_val *webhooks, struct strbuf *out)
{
    for (size_t i = 0; i < kj_len(webhooks); i++) {
        bundle_of(kj_at(webhooks, i), out);
        strbuf_appendc(out, '\n');
    }
}

bool hookconfig_all_trust(const struct kj_val *webhooks, struct str ca)
{
    CLEANUP(strbuf_fini) struct strbuf bundle = STRBUF_INIT;

    for (size_t i = 0; i < kj_len(webhooks); i++) {
        strbuf_reset(&bundle);
        bundle_of(kj_at(webhooks, i), &bundle);
        if (!certauth_contains((struct str){ bundle.data, bundle.len }, ca))
            return false;
    }
    return true;
}
