/* rule.c - what a rule allows. */
#include "apiserver/authz/rule.h"

#include "apiserver/authz/authorizer.h"
#include "json/kj.h"

static const char *const *list_of(const struct kj_val *v, struct arena *a)
{
    const char **list = arena_newn0(a, kj_len(v) + 1, const char *);
    struct kj_iter it = kj_iter(v);
    const struct kj_val *item;
    struct str key;
    size_t n = 0;

    while (kj_type(v) == KJ_ARR && kj_next(&it, &key, &item))
        if (kj_str(item))
            list[n++] = arena_strdup(a, kj_str(item));
    return list;
}

void rbac_rule_compile(const struct kj_val *rule, struct arena *a, struct rbac_rule *ret)
{
    ret->verbs = list_of(kj_get(rule, "verbs"), a);
    ret->groups = list_of(kj_get(rule, "apiGroups"), a);
    ret->resources = list_of(kj_get(rule, "resources"), a);
    ret->names = list_of(kj_get(rule, "resourceNames"), a);
    ret->urls = list_of(kj_get(rule, "nonResourceURLs"), a);
}

static bool has(const char *const *list, const char *text)
{
    for (; *list; list++)
        if (streq(*list, text))
            return true;
    return false;
}

static bool has_or_all(const char *const *list, const char *text)
{
    for (; *list; list++)
        if (streq(*list, text) || streq(*list, "*"))
            return true;
    return false;
}

/* "pods", "pods/log", "*" (with all subresources) or "*" "/scale". */
static bool resource_matches(const char *rule, const char *resource, const char *sub)
{
    size_t n = strlen(resource);

    if (streq(rule, "*"))
        return true;
    if (!*sub)
        return streq(rule, resource);
    if (str_starts(rule, "*/"))
        return streq(rule + 2, sub);
    return strncmp(rule, resource, n) == 0 && rule[n] == '/' && streq(rule + n + 1, sub);
}

static bool url_matches(const char *rule, const char *path)
{
    size_t n = strlen(rule);

    if (streq(rule, path))
        return true;
    if (!n || rule[n - 1] != '*')
        return false;
    while (n && rule[n - 1] == '*')
        n--;
    return strncmp(rule, path, n) == 0;
}

static bool allows_resource(const struct rbac_rule *r, const struct authz_attributes *a)
{
    if (!has_or_all(r->groups, a->group))
        return false;
    for (const char *const *res = r->resources; *res; res++)
        if (resource_matches(*res, a->resource, a->subresource))
            return !*r->names || has(r->names, a->name);
    return false;
}

bool rbac_rule_allows(const struct rbac_rule *r, const struct authz_attributes *a)
{
    if (!has_or_all(r->verbs, a->verb))
        return false;
    if (!a->is_path)
        return allows_resource(r, a);
    for (const char *const *url = r->urls; *url; url++)
        if (url_matches(*url, a->path))
            return true;
    return false;
}

static void write_list(struct kjw *w, const char *key, const char *const *list)
{
    if (!*list)
        return;
    kjw_arr(w, key);
    for (; *list; list++)
        kjw_str(w, NULL, *list);
    kjw_end(w);
}

void rbac_rule_write(const struct rbac_rule *r, bool paths, struct kjw *w)
{
    kjw_obj(w, NULL);
    write_list(w, "verbs", r->verbs);
    if (paths) {
        write_list(w, "nonResourceURLs", r->urls);
    } else {
        write_list(w, "apiGroups", r->groups);
        write_list(w, "resources", r->resources);
        write_list(w, "resourceNames", r->names);
    }
    kjw_end(w);
}

static void describe_list(const char *key, const char *const *list, const char **separator,
                          struct strbuf *out)
{
    if (!*list)
        return;
    strbuf_appendf(out, "%s%s:[", *separator, key);
    for (size_t i = 0; list[i]; i++) {
        if (i)
            strbuf_appendc(out, ' ');
        strbuf_append_quoted(out, list[i], strlen(list[i]));
    }
    strbuf_appendc(out, ']');
    *separator = ", ";
}

void rbac_rule_describe(const struct rbac_rule *r, struct strbuf *out)
{
    const char *separator = "";

    strbuf_appendc(out, '{');
    describe_list("APIGroups", r->groups, &separator, out);
    describe_list("Resources", r->resources, &separator, out);
    describe_list("NonResourceURLs", r->urls, &separator, out);
    describe_list("ResourceNames", r->names, &separator, out);
    describe_list("Verbs", r->verbs, &separator, out);
    strbuf_appendc(out, '}');
}
