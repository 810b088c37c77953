/* authn_user.c - users, as a SubjectAccessReview wants them. */
#include "base/arena.h"
#include "component/auth/authn_int.h"
#include "component/auth/review.h"
#include "net/httpd.h"
#include "net/url.h"
#include "json/kj.h"

#define AUTHENTICATED   "system:authenticated"
#define UNAUTHENTICATED "system:unauthenticated"

void user_parts_fini(struct user_parts *p)
{
    vec_fini(&p->groups);
    strbuf_fini(&p->extra);
}

static bool has_group(const struct user_parts *p, const char *group)
{
    vec_foreach(&p->groups, i)
        if (streq(p->groups.items[i], group))
            return true;
    return false;
}

bool user_is_master(const struct user_parts *p)
{
    return has_group(p, "system:masters");
}

void user_write(const struct user_parts *p, struct strbuf *spec)
{
    CLEANUP(strbuf_fini) struct strbuf all = STRBUF_INIT;
    struct kjw w = kjw_to(&all);

    kjw_obj(&w, NULL);
    kjw_str(&w, "user", p->name);
    kjw_arr(&w, "groups");
    vec_foreach(&p->groups, i)
        kjw_str(&w, NULL, p->groups.items[i]);
    if (!has_group(p, AUTHENTICATED) && !has_group(p, UNAUTHENTICATED))
        kjw_str(&w, NULL, AUTHENTICATED);
    kjw_end(&w);
    if (!str_empty(p->uid))
        kjw_str(&w, "uid", p->uid);
    if (p->extra.len)
        kjw_raw(&w, "extra", p->extra.data, p->extra.len);
    kjw_end(&w);
    strbuf_appendn(spec, all.data + 1, all.len - 2); /* its members, without the braces */
}

void user_read(const struct kj_val *status, struct review *ret)
{
    const struct kj_val *info = kj_get(status, "user"), *group;
    struct user_parts p = { .name = kj_str(kj_get(info, "username")),
                            .uid = kj_str(kj_get(info, "uid")) };
    CLEANUP(strbuf_fini) struct strbuf spec = STRBUF_INIT;
    struct kj_iter it = kj_iter(kj_get(info, "groups"));
    struct str key;

    if (!kj_bool(kj_get(status, "authenticated"), false) || str_empty(p.name))
        return;
    while (kj_next(&it, &key, &group))
        if (kj_str(group))
            vec_push(&p.groups, kj_str(group));
    if (kj_len(kj_get(info, "extra")))
        kj_write(kj_get(info, "extra"), 0, &p.extra);
    user_write(&p, &spec);
    *ret = (struct review){ .good = true,
                            .masters = user_is_master(&p),
                            .name = xstrdup(p.name),
                            .text = strbuf_take(&spec) };
    user_parts_fini(&p);
}

/* ---- headers of a proxy ---------------------------------------------------------------------- */

static const char *first_value(const struct flag_list *names, const struct httpd_req *r,
                               struct arena *a)
{
    for (size_t i = 0; i < names->n; i++) {
        struct str v = httpd_header(r, names->items[i]);
        if (v.n)
            return arena_strndup(a, v.p, v.n);
    }
    return NULL;
}

static void all_values(const struct flag_list *names, const struct httpd_req *r, struct arena *a,
                       struct user_parts *ret)
{
    struct http_header h;

    for (size_t i = 0; i < names->n; i++)
        for (size_t k = 0; httpd_header_at(r, k, &h); k++)
            if (h.value.n && str_eqz(h.name, names->items[i]))
                vec_push(&ret->groups, arena_strndup(a, h.value.p, h.value.n));
}

/* The key behind one of the prefixes, unescaped; NULL: the header is no such thing. */
static const char *extra_key(const struct flag_list *prefixes, struct str name, struct arena *a)
{
    for (size_t i = 0; i < prefixes->n; i++) {
        size_t n = strlen(prefixes->items[i]);
        if (name.n <= n || memcmp(name.p, prefixes->items[i], n) != 0)
            continue;
        const char *key = url_unescape(name.p + n, name.n - n, false, a);
        return key ? key : arena_strndup(a, name.p + n, name.n - n);
    }
    return NULL;
}

static void put_extra(const struct flag_list *prefixes, const struct httpd_req *r, struct arena *a,
                      struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *doc = kj_mdoc_new();
    struct kj_mval *all = kj_mobj(doc);
    struct http_header h;

    for (size_t i = 0; httpd_header_at(r, i, &h); i++) {
        const char *key = extra_key(prefixes, h.name, a);
        struct kj_mval *values = key ? kj_mget(all, key) : NULL;
        if (!key)
            continue;
        if (!values) {
            values = kj_marr(doc);
            kj_mset(doc, all, key, values);
        }
        kj_mpush(values, kj_mstrn(doc, h.value.p, h.value.n));
    }
    if (kj_mlen(all))
        kj_mwrite(all, KJ_SORTED, out);
}

bool user_of_headers(const struct proxy_rules *rules, const struct httpd_req *r, struct arena *a,
                     struct user_parts *ret)
{
    const char *name = first_value(&rules->users, r, a);

    if (!name)
        return false;
    ret->name = name;
    ret->uid = first_value(&rules->uids, r, a);
    all_values(&rules->groups, r, a, ret);
    put_extra(&rules->extras, r, a, &ret->extra);
    return true;
}
