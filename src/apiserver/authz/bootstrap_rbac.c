/* bootstrap_rbac.c - the first roles and bindings, from their tables into the store. */
#include <stdio.h>

#include "apiserver/authz/bootstrap_policy.h"
#include "apiserver/authz/rbac.h"
#include "apiserver/server_int.h"

#define AGGREGATE_LABEL RBAC_GROUP "/aggregate-to-"

/* "a,b" as a JSON list; "core" is "". */
static void write_list(struct kjw *w, const char *key, const char *p, size_t n)
{
    const char *end = p + n;

    kjw_arr(w, key);
    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        size_t k = (size_t)((comma ? comma : end) - p);
        bool core = k == 4 && memcmp(p, "core", 4) == 0;
        kjw_strn(w, NULL, p, core ? 0 : k);
        p += k + (comma != NULL);
    }
    kjw_end(w);
}

static void write_rule(struct kjw *w, const char *p, size_t n)
{
    struct str words[4] = { 0 };
    size_t count = 0;

    for (size_t i = 0; i < n && count < ARRAY_LEN(words); count++) {
        const char *space = memchr(p + i, ' ', n - i);
        words[count] = (struct str){ p + i, space ? (size_t)(space - p) - i : n - i };
        i += words[count].n + 1;
    }
    kjw_obj(w, NULL);
    write_list(w, "verbs", words[0].p, words[0].n);
    if (count == 2) {
        write_list(w, "nonResourceURLs", words[1].p, words[1].n);
    } else {
        write_list(w, "apiGroups", words[1].p, words[1].n);
        write_list(w, "resources", words[2].p, words[2].n);
    }
    if (count == 4)
        write_list(w, "resourceNames", words[3].p, words[3].n);
    kjw_end(w);
}

static void write_meta(struct kjw *w, const char *aggregate)
{
    char label[80];

    kjw_obj(w, "metadata");
    kjw_obj(w, "labels");
    kjw_str(w, "kubernetes.io/bootstrapping", "rbac-defaults");
    if (aggregate) {
        (void)snprintf(label, sizeof label, AGGREGATE_LABEL "%s", aggregate);
        kjw_str(w, label, "true");
    }
    kjw_end(w);
    kjw_obj(w, "annotations");
    kjw_str(w, "rbac.authorization.kubernetes.io/autoupdate", "true");
    kjw_end(w);
    kjw_end(w);
}

static void write_aggregation(struct kjw *w, const char *made_of)
{
    char label[80];

    (void)snprintf(label, sizeof label, AGGREGATE_LABEL "%s", made_of);
    kjw_obj(w, "aggregationRule");
    kjw_arr(w, "clusterRoleSelectors");
    kjw_obj(w, NULL);
    kjw_obj(w, "matchLabels");
    kjw_str(w, label, "true");
    kjw_end(w);
    kjw_end(w);
    kjw_end(w);
    kjw_end(w);
}

static void write_role(const struct first_role *f, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    write_meta(&w, f->aggregate);
    if (f->made_of)
        write_aggregation(&w, f->made_of);
    kjw_arr(&w, "rules");
    for (const char *p = f->rules; *p;) {
        size_t n = strcspn(p, ";");
        write_rule(&w, p, n);
        p += n + (p[n] == ';');
    }
    kjw_end(&w);
    kjw_end(&w);
}

/* "Group system:masters" or "ServiceAccount kube-system/x". */
static void write_subject(struct kjw *w, const char *p, size_t n)
{
    size_t kind = strcspn(p, " ");
    const char *name = p + kind + 1, *end = p + n;
    const char *slash = memchr(p, '/', n);

    kjw_obj(w, NULL);
    kjw_strn(w, "kind", p, kind);
    if (slash) {
        kjw_strn(w, "name", slash + 1, (size_t)(end - slash - 1));
        kjw_strn(w, "namespace", name, (size_t)(slash - name));
    } else {
        kjw_str(w, "apiGroup", RBAC_GROUP);
        kjw_strn(w, "name", name, (size_t)(end - name));
    }
    kjw_end(w);
}

static void write_binding(const struct first_binding *f, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    write_meta(&w, NULL);
    if (*f->subjects)
        kjw_arr(&w, "subjects");
    for (const char *p = f->subjects; *p;) {
        size_t n = strcspn(p, ";");
        write_subject(&w, p, n);
        p += n + (p[n] == ';');
    }
    if (*f->subjects)
        kjw_end(&w);
    kjw_obj(&w, "roleRef");
    kjw_str(&w, "apiGroup", RBAC_GROUP);
    kjw_str(&w, "kind", *f->ns ? "Role" : "ClusterRole");
    kjw_str(&w, "name", f->role);
    kjw_end(&w);
    kjw_end(&w);
}

int bootstrap_rbac(struct apiserver *s, struct kerr *err)
{
    for (const struct first_role *f = first_roles; f->name; f++) {
        CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
        write_role(f, &body);
        const struct first_object o = { RBAC_GROUP, *f->ns ? "roles" : "clusterroles", f->ns,
                                        f->name, body.data };
        if (bootstrap_put(s, &o, err) < 0)
            return kerr_wrap(err, "create role %s", f->name);
    }
    for (const struct first_binding *f = first_bindings; f->name; f++) {
        CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
        write_binding(f, &body);
        const struct first_object o = { RBAC_GROUP, *f->ns ? "rolebindings" : "clusterrolebindings",
                                        f->ns, f->name, body.data };
        if (bootstrap_put(s, &o, err) < 0)
            return kerr_wrap(err, "create role binding %s", f->name);
    }
    return 0;
}
