/* cover.c - do rules that somebody holds cover rules that he wants to grant? Wanted rules are taken
 * apart to single rights, and those that are not held are put together again by verb. */
#include "apiserver/authz/rule.h"

/* Lists multiply: of one role no more rights than these are looked at, and no more are named. What
 * was not looked at is not held. */
enum { LOOKED_AT_MAX = 200000, MISSING_MAX = 1000 };

struct right { /* texts are those of the rule; name and url NULL: none */
    const char *group, *resource, *name, *url, *verb;
};

static bool all_or(const char *const *list, const char *text)
{
    for (; *list; list++)
        if (streq(*list, text) || streq(*list, "*"))
            return true;
    return false;
}

static bool resource_held(const char *const *list, const char *resource)
{
    const char *slash = strchr(resource, '/');

    if (all_or(list, resource))
        return true;
    for (; slash && *list; list++)
        if (str_starts(*list, "*/") && streq(*list + 1, slash))
            return true;
    return false;
}

static bool name_held(const char *const *names, const char *name)
{
    if (!*names)
        return true;
    for (; name && *names; names++)
        if (streq(*names, name))
            return true;
    return false;
}

/* A pattern is held when the same or a shorter one is. */
static bool url_held(const char *const *list, const char *url)
{
    for (; *list; list++) {
        size_t n = strlen(*list);
        if (streq(*list, url))
            return true;
        if (n && (*list)[n - 1] == '*' && strncmp(*list, url, n - 1) == 0)
            return true;
    }
    return false;
}

static bool is_held(const struct rbac_rules *held, const struct right *w)
{
    vec_foreach(held, i) {
        const struct rbac_rule *r = held->items[i];
        if (!all_or(r->verbs, w->verb))
            continue;
        if (w->url ? url_held(r->urls, w->url)
                   : all_or(r->groups, w->group) && resource_held(r->resources, w->resource) &&
                         name_held(r->names, w->name))
            return true;
    }
    return false;
}

/* ---- what is missing ---------------------------------------------------------------------------- */

struct rights vec_of(struct right);
struct search {
    const struct rbac_rules *held;
    struct rights missing;
    size_t looked_at;
};

/* false: that is enough. */
static bool look_at(struct search *s, const struct right *w)
{
    if (++s->looked_at > LOOKED_AT_MAX || !is_held(s->held, w))
        vec_push(&s->missing, *w);
    return s->looked_at <= LOOKED_AT_MAX && s->missing.n < MISSING_MAX;
}

static bool look_at_names(struct search *s, const struct rbac_rule *r, struct right w)
{
    if (!*r->names)
        return look_at(s, &w);
    for (const char *const *name = r->names; *name; name++) {
        w.name = *name;
        if (!look_at(s, &w))
            return false;
    }
    return true;
}

static bool take_apart(struct search *s, const struct rbac_rule *r)
{
    for (const char *const *g = r->groups; *g; g++)
        for (const char *const *res = r->resources; *res; res++)
            for (const char *const *v = r->verbs; *v; v++)
                if (!look_at_names(s, r, (struct right){ *g, *res, NULL, NULL, *v }))
                    return false;
    for (const char *const *u = r->urls; *u; u++)
        for (const char *const *v = r->verbs; *v; v++)
            if (!look_at(s, &(struct right){ NULL, NULL, NULL, *u, *v }))
                return false;
    return true;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? streq(a, b) : a == b;
}

static bool same_object(const struct right *a, const struct right *b)
{
    return same_text(a->group, b->group) && same_text(a->resource, b->resource) &&
           same_text(a->name, b->name) && same_text(a->url, b->url);
}

static const char *const *one(const char *text, struct arena *a)
{
    const char **list = arena_newn0(a, 2, const char *);

    list[0] = text;
    return list;
}

static const struct rbac_rule *together(const struct rights *all, size_t first, struct arena *a)
{
    struct rbac_rule *r = arena_new0(a, struct rbac_rule);
    const struct right *w = &all->items[first];
    const char **verbs = arena_newn0(a, all->n - first + 1, const char *);
    size_t n = 0;

    for (size_t i = first; i < all->n; i++) {
        if (!same_object(&all->items[i], w))
            continue;
        bool known = false;
        for (size_t k = 0; k < n && !known; k++)
            known = streq(verbs[k], all->items[i].verb);
        if (!known)
            verbs[n++] = all->items[i].verb;
    }
    *r = (struct rbac_rule){ verbs, one(w->group, a), one(w->resource, a), one(w->name, a),
                             one(w->url, a) };
    return r;
}

static int by_text(const void *a, const void *b)
{
    CLEANUP(strbuf_fini) struct strbuf x = STRBUF_INIT, y = STRBUF_INIT;

    rbac_rule_describe(*(const struct rbac_rule *const *)a, &x);
    rbac_rule_describe(*(const struct rbac_rule *const *)b, &y);
    return strcmp(x.data, y.data);
}

void rbac_rules_missing(const struct rbac_rules *held, const struct rbac_rules *wanted,
                        struct arena *a, struct rbac_rules *ret)
{
    struct search s = { .held = held };
    struct rights *all = &s.missing;

    for (size_t i = 0; i < wanted->n && take_apart(&s, wanted->items[i]);)
        i++;
    vec_foreach(all, i) {
        bool done = false;
        for (size_t k = 0; k < i && !done; k++)
            done = same_object(&all->items[k], &all->items[i]);
        if (!done)
            vec_push(ret, together(all, i, a));
    }
    vec_fini(all);
    if (ret->n > 1)
        qsort(ret->items, ret->n, sizeof ret->items[0], by_text);
}
