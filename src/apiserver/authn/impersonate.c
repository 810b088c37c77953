/* impersonate.c - reads the headers, asks for each right in kube-apiserver's order, then swaps. */
#include "apiserver/authn/impersonate.h"

#include "apiserver/authz/authorizer.h"
#include "apiserver/registry/internal.h"
#include "net/http.h"
#include "net/url.h"

#define AUTHN_GROUP "authentication.k8s.io"

struct mask {               /* whom the headers name */
    const char *user, *uid; /* "": not given */
    struct vec_of(const char *) groups;
    struct vec_of(struct user_extra) extra; /* one value each, in the order of the headers */
};

static void mask_fini_p(struct mask *m)
{
    vec_fini(&m->groups);
    vec_fini(&m->extra);
}

/* Header names have no case; a key may escape what a header name cannot carry. */
static const char *extra_key(struct str name, struct arena *a)
{
    const char *key = url_unescape(name.p, name.n, false, a);

    return key ? key : arena_strndup(a, name.p, name.n);
}

static void read_headers(struct mask *m, struct arena *a, header_at_fn at, const void *arg)
{
    static const char extra[] = "impersonate-extra-";
    struct http_header h;

    for (size_t i = 0; at(arg, i, &h); i++) {
        const char *value = arena_strndup(a, h.value.p, h.value.n);
        if (str_eqz(h.name, "impersonate-user") && !*m->user) {
            m->user = value;
        } else if (str_eqz(h.name, "impersonate-uid") && !*m->uid) {
            m->uid = value;
        } else if (str_eqz(h.name, "impersonate-group")) {
            vec_push(&m->groups, value);
        } else if (h.name.n > sizeof extra - 1 && memcmp(h.name.p, extra, sizeof extra - 1) == 0) {
            const char **values = arena_newn0(a, 1, const char *);
            struct str key = { h.name.p + sizeof extra - 1, h.name.n - (sizeof extra - 1) };
            values[0] = value;
            vec_push(&m->extra, ((struct user_extra){ extra_key(key, a), values, 1 }));
        }
    }
}

static void fail_without_user(struct api_call *c, const struct mask *m)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_append(&b, "requested [");
    vec_foreach(&m->groups, i)
        strbuf_appendf(&b, "%s{Group  %s    }", i ? " " : "", m->groups.items[i]);
    vec_foreach(&m->extra, i)
        strbuf_appendf(&b, "%s{UserExtra  %s  " AUTHN_GROUP "/v1  %s}", i || m->groups.n ? " " : "",
                       m->extra.items[i].values[0], m->extra.items[i].key);
    if (*m->uid)
        strbuf_appendf(&b, "%s{UID  %s  " AUTHN_GROUP "/v1  }",
                       m->groups.n || m->extra.n ? " " : "", m->uid);
    strbuf_append(&b, "] without impersonating a user");
    fail_raw(c, 400, "BadRequest", b.data, NULL);
}

static bool may(struct api_call *c, const struct authz_attributes *what)
{
    CLEANUP(strbuf_fini) struct strbuf reason = STRBUF_INIT;

    if (authorizer_check(c->s, c->user, what, &reason))
        return true;
    authz_forbid(c, c->user, what, strbuf_str(&reason));
    return false;
}

static bool may_be_user(struct api_call *c, const char *user)
{
    struct authz_attributes a = AUTHZ_ATTRIBUTES_INIT;
    struct str ns, name;

    a.verb = "impersonate";
    a.version = "v1";
    a.resource = "users";
    a.name = user;
    if (user_account_of(user, &ns, &name)) {
        a.resource = "serviceaccounts";
        a.ns = arena_strndup(c->arena, ns.p, ns.n);
        a.name = name.p;
    }
    return may(c, &a);
}

static bool may_be_all(struct api_call *c, const struct mask *m)
{
    struct authz_attributes a = AUTHZ_ATTRIBUTES_INIT;

    if (!may_be_user(c, m->user))
        return false;
    a.verb = "impersonate";
    a.version = "v1";
    a.resource = "groups";
    vec_foreach(&m->groups, i) {
        a.name = m->groups.items[i];
        if (!may(c, &a))
            return false;
    }
    a.group = AUTHN_GROUP;
    a.resource = "userextras";
    vec_foreach(&m->extra, i) {
        a.subresource = m->extra.items[i].key;
        a.name = m->extra.items[i].values[0];
        if (!may(c, &a))
            return false;
    }
    a.resource = "uids";
    a.subresource = "";
    a.name = m->uid;
    return !*m->uid || may(c, &a);
}

/* Values of one key come together, at the place of its first. */
static void merge_extra(const struct mask *m, struct api_user *u, struct arena *a)
{
    struct user_extra *out = arena_newn0(a, m->extra.n + 1, struct user_extra);

    vec_foreach(&m->extra, i) {
        size_t k = 0;
        while (k < u->nextra && !streq(out[k].key, m->extra.items[i].key))
            k++;
        if (k == u->nextra) {
            out[k].key = m->extra.items[i].key;
            out[k].values = arena_newn0(a, m->extra.n, const char *);
            u->nextra++;
        }
        ((const char **)out[k].values)[out[k].n++] = m->extra.items[i].values[0];
    }
    u->extra = out;
}

static const struct api_user *masked(const struct mask *m, struct arena *a)
{
    struct api_user u = { .name = m->user, .uid = m->uid };
    struct str ns, name;

    u.groups = m->groups.items;
    u.ngroups = m->groups.n;
    if (!m->groups.n && user_account_of(m->user, &ns, &name)) {
        const struct api_user *account =
            user_of_account(arena_strndup(a, ns.p, ns.n), name.p, "", a);
        u.groups = account->groups;
        u.ngroups = account->ngroups;
    }
    merge_extra(m, &u, a);
    const struct api_user *copy = user_copy(&u, a);
    if (streq(m->user, USER_ANONYMOUS))
        return user_with_group(copy, GROUP_UNAUTHENTICATED, a);
    if (user_in_group(copy, GROUP_UNAUTHENTICATED))
        return copy;
    return user_with_group(copy, GROUP_AUTHENTICATED, a);
}

bool impersonate(struct api_call *c, header_at_fn at, const void *arg)
{
    __attribute__((cleanup(mask_fini_p))) struct mask m = { .user = "", .uid = "" };

    read_headers(&m, c->arena, at, arg);
    if (!*m.user && !*m.uid && !m.groups.n && !m.extra.n)
        return true;
    if (!*m.user) {
        fail_without_user(c, &m);
        return false;
    }
    if (!may_be_all(c, &m))
        return false;
    c->user = masked(&m, c->arena);
    return true;
}
