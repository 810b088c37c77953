/* served.c - the table of resources as discovery and OpenAPI look at it. */
#include "apiserver/http/served.h"

#include <ctype.h>

/* ---- versions -----------------------------------------------------------------------------------
 */

struct kube_version {
    long major, minor;
    int stage; /* 3: v1, 2: v1beta1, 1: v1alpha1, 0: something else */
};

static struct kube_version version_read(const char *s)
{
    struct kube_version v = { 0 };
    char *p;

    if (s[0] != 'v' || !isdigit((unsigned char)s[1]))
        return v;
    long major = strtol(s + 1, &p, 10);
    int stage = !*p ? 3 : str_starts(p, "beta") ? 2 : str_starts(p, "alpha") ? 1 : 0;
    if (stage == 0)
        return v;
    v.major = major;
    if (stage < 3) {
        p += stage == 2 ? 4 : 5;
        if (!isdigit((unsigned char)*p))
            return v;
        v.minor = strtol(p, &p, 10);
        if (*p)
            return v;
    }
    v.stage = stage;
    return v;
}

int version_compare(const char *a, const char *b)
{
    struct kube_version x = version_read(a), y = version_read(b);

    if (x.stage != y.stage)
        return y.stage - x.stage;
    if (x.stage == 0)
        return strcmp(a, b);
    if (x.major != y.major)
        return x.major < y.major ? 1 : -1;
    return x.minor == y.minor ? 0 : x.minor < y.minor ? 1 : -1;
}

/* ---- what there is ------------------------------------------------------------------------------
 */

static void names_add(struct names *list, const char *name)
{
    vec_foreach(list, i)
        if (streq(list->items[i], name))
            return;
    vec_push(list, name);
}

static int by_version(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return version_compare(*x, *y);
}

/* Groups in the order of the table: built-in ones come first, as their priority has it. */
void served_groups(const struct res_table *t, struct names *groups)
{
    const struct resource *r;
    for (size_t i = 0; (r = res_table_at(t, i)); i++)
        if (*r->group)
            names_add(groups, r->group);
}

void served_versions(const struct res_table *t, const char *group, struct names *versions)
{
    const struct resource *r;
    for (size_t i = 0; (r = res_table_at(t, i)); i++)
        if (streq(r->group, group))
            names_add(versions, r->version);
    if (versions->n)
        qsort(versions->items, versions->n, sizeof versions->items[0], by_version);
}

static int by_plural(const void *a, const void *b)
{
    const struct resource *const *x = a, *const *y = b;
    return strcmp((*x)->plural, (*y)->plural);
}

void served_list(const struct res_table *t, const char *group, const char *version,
                 struct res_list *list)
{
    const struct resource *r;
    for (size_t i = 0; (r = res_table_at(t, i)); i++)
        if (streq(r->group, group) && streq(r->version, version))
            vec_push(list, r);
    if (list->n)
        qsort(list->items, list->n, sizeof list->items[0], by_plural);
}

/* ---- verbs, subresources ------------------------------------------------------------------------
 */

/* Answered, never stored. */
static bool is_create_only(const struct resource *r)
{
    return streq(r->group, "authorization.k8s.io") || streq(r->group, "authentication.k8s.io");
}

bool served_has_verb(const struct resource *r, const char *verb)
{
    bool changes = streq(verb, "patch") || streq(verb, "update");
    if (is_create_only(r))
        return streq(verb, "create");
    if (!resource_has_verb(r, verb))
        return false;
    if (streq(verb, "deletecollection") && !*r->group && streq(r->plural, "namespaces"))
        return false;
    return !(changes && r->no_update);
}

const struct subresource served_subs[] = {
    { "approval", "", "", NULL, "get,patch,update" },
    { "attach", "", "", "PodAttachOptions", "create,get" },
    { "binding", "", "", "Binding", "create" },
    { "ephemeralcontainers", "", "", NULL, "get,patch,update" },
    { "eviction", "policy", "v1", "Eviction", "create" },
    { "exec", "", "", "PodExecOptions", "create,get" },
    { "finalize", "", "", NULL, "update" },
    { "log", "", "", NULL, "get" },
    { "portforward", "", "", "PodPortForwardOptions", "create,get" },
    { "proxy", "", "", "PodProxyOptions", "create,delete,get,patch,update" },
    { "resize", "", "", NULL, "get,patch,update" },
    { "scale", "autoscaling", "v1", "Scale", "get,patch,update" },
    { "status", "", "", NULL, "get,patch,update" },
    { "token", "authentication.k8s.io", "v1", "TokenRequest", "create" },
};
const size_t served_nsubs = ARRAY_LEN(served_subs);
