/* user.c - users as values. */
#include "apiserver/authn/user.h"

#include "json/kj.h"

static const char *const admin_groups[] = { GROUP_MASTERS, GROUP_AUTHENTICATED };
static const char *const anonymous_groups[] = { GROUP_UNAUTHENTICATED };

const struct api_user api_user_admin = {
    .name = "admin", .uid = "", .groups = admin_groups, .ngroups = ARRAY_LEN(admin_groups)
};
const struct api_user api_user_server = { .name = "system:apiserver",
                                          .uid = "",
                                          .groups = admin_groups,
                                          .ngroups = ARRAY_LEN(admin_groups) };
const struct api_user api_user_anonymous = { .name = USER_ANONYMOUS,
                                             .uid = "",
                                             .groups = anonymous_groups,
                                             .ngroups = ARRAY_LEN(anonymous_groups) };

bool user_in_group(const struct api_user *u, const char *group)
{
    for (size_t i = 0; i < u->ngroups; i++)
        if (streq(u->groups[i], group))
            return true;
    return false;
}

static const char *const *texts_copy(const char *const *from, size_t n, size_t more,
                                     struct arena *a)
{
    const char **to = arena_newn0(a, n + more + 1, const char *);

    for (size_t i = 0; i < n; i++)
        to[i] = arena_strdup(a, from[i]);
    return to;
}

static struct api_user *copy(const struct api_user *u, size_t more_groups, struct arena *a)
{
    struct api_user *c = arena_new0(a, struct api_user);
    struct user_extra *extra = arena_newn0(a, u->nextra + 1, struct user_extra);

    c->name = arena_strdup(a, u->name);
    c->uid = arena_strdup(a, str_or(u->uid, ""));
    c->groups = texts_copy(u->groups, u->ngroups, more_groups, a);
    c->ngroups = u->ngroups;
    for (size_t i = 0; i < u->nextra; i++) {
        extra[i].key = arena_strdup(a, u->extra[i].key);
        extra[i].values = texts_copy(u->extra[i].values, u->extra[i].n, 0, a);
        extra[i].n = u->extra[i].n;
    }
    c->extra = extra;
    c->nextra = u->nextra;
    return c;
}

const struct api_user *user_copy(const struct api_user *u, struct arena *a)
{
    return copy(u, 0, a);
}

const struct api_user *user_with_group(const struct api_user *u, const char *group, struct arena *a)
{
    if (user_in_group(u, group))
        return u;
    struct api_user *c = copy(u, 1, a);
    ((const char **)c->groups)[c->ngroups++] = arena_strdup(a, group);
    return c;
}

const struct api_user *user_trusted(const char *name, struct arena *a)
{
    struct api_user *u = copy(&api_user_admin, 0, a);

    u->name = arena_strdup(a, name);
    return u;
}

bool user_account_of(const char *name, struct str *ret_ns, struct str *ret_name)
{
    if (!str_starts(name, USER_ACCOUNT_PREFIX))
        return false;
    const char *ns = name + strlen(USER_ACCOUNT_PREFIX), *colon = strchr(ns, ':');
    if (!colon || colon == ns || !colon[1] || strchr(colon + 1, ':'))
        return false;
    *ret_ns = (struct str){ ns, (size_t)(colon - ns) };
    *ret_name = str_of(colon + 1);
    return true;
}

const struct api_user *user_of_account(const char *ns, const char *name, const char *uid,
                                       struct arena *a)
{
    struct api_user *u = arena_new0(a, struct api_user);
    const char **groups = arena_newn0(a, 3, const char *);

    groups[0] = GROUP_ACCOUNTS;
    groups[1] = arena_printf(a, GROUP_ACCOUNTS ":%s", ns);
    groups[2] = GROUP_AUTHENTICATED;
    u->name = arena_printf(a, USER_ACCOUNT_PREFIX "%s:%s", ns, name);
    u->uid = arena_strdup(a, uid);
    u->groups = groups;
    u->ngroups = 3;
    return u;
}

void api_user_write(const struct api_user *u, struct kjw *w, const char *key)
{
    kjw_obj(w, key);
    kjw_str(w, "username", u->name);
    if (!str_empty(u->uid))
        kjw_str(w, "uid", u->uid);
    if (u->ngroups) {
        kjw_arr(w, "groups");
        for (size_t i = 0; i < u->ngroups; i++)
            kjw_str(w, NULL, u->groups[i]);
        kjw_end(w);
    }
    if (u->nextra) {
        kjw_obj(w, "extra");
        for (size_t i = 0; i < u->nextra; i++) {
            kjw_arr(w, u->extra[i].key);
            for (size_t k = 0; k < u->extra[i].n; k++)
                kjw_str(w, NULL, u->extra[i].values[k]);
            kjw_end(w);
        }
        kjw_end(w);
    }
    kjw_end(w);
}

static const char *const *texts_read(const struct kj_val *list, size_t *ret_n, struct arena *a)
{
    const char **texts = arena_newn0(a, kj_len(list) + 1, const char *);
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;
    struct str key;

    *ret_n = 0;
    while (kj_next(&it, &key, &v))
        if (kj_str(v))
            texts[(*ret_n)++] = kj_str(v);
    return texts;
}

const struct api_user *api_user_read(const struct kj_val *spec, struct arena *a)
{
    struct api_user *u = arena_new0(a, struct api_user);
    const struct kj_val *extra = kj_get(spec, "extra"), *v;
    struct user_extra *out = arena_newn0(a, kj_len(extra) + 1, struct user_extra);
    struct kj_iter it = kj_iter(extra);
    struct str key;

    u->name = kj_str_or(kj_get(spec, "user"), "");
    u->uid = kj_str_or(kj_get(spec, "uid"), "");
    u->groups = texts_read(kj_get(spec, "groups"), &u->ngroups, a);
    u->extra = out;
    while (kj_type(extra) == KJ_OBJ && kj_next(&it, &key, &v)) {
        out[u->nextra].key = arena_strndup(a, key.p, key.n);
        out[u->nextra].values = texts_read(v, &out[u->nextra].n, a);
        u->nextra++;
    }
    return u;
}
