/* resource.c - finding kinds, by table and by discovery. */
#include "ctl/resource.h"

#include <strings.h>

#include "base/vec.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "json/kj.h"

struct finding {
    struct ctl *c;
    struct arena *arena;
    struct str noun;   /* before the first dot */
    const char *group; /* behind it; NULL: any */
    struct kind *found;
    struct vec_of(const char *) names; /* for "did you mean" */
};

static bool word_is(struct str word, const char *name)
{
    return name && strlen(name) == word.n && strncasecmp(name, word.p, word.n) == 0;
}

static bool matches(const struct finding *f, const struct kj_val *res)
{
    struct kj_iter it = kj_iter(kj_get(res, "shortNames"));
    const struct kj_val *v;
    struct str key;

    if (word_is(f->noun, kj_str(kj_get(res, "name"))) ||
        word_is(f->noun, kj_str(kj_get(res, "singularName"))) ||
        word_is(f->noun, kj_str(kj_get(res, "kind"))))
        return true;
    while (kj_next(&it, &key, &v))
        if (word_is(f->noun, kj_str(v)))
            return true;
    return false;
}

static void take_resource(struct finding *f, const struct kj_val *res, struct str group,
                          struct str version)
{
    struct kind *k = arena_new0(f->arena, struct kind);

    k->group = arena_strndup(f->arena, group.p, group.n);
    k->version = arena_strndup(f->arena, version.p, version.n);
    k->kind = arena_strdup(f->arena, kj_str_or(kj_get(res, "kind"), ""));
    k->plural = arena_strdup(f->arena, kj_str_or(kj_get(res, "name"), ""));
    k->namespaced = kj_bool(kj_get(res, "namespaced"), false);
    f->found = k;
}

/* One group version: "v1" at /api/v1, "apps/v1" at /apis/apps/v1. */
static int look_into(struct finding *f, const char *gv, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT, body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *slash = strchr(gv, '/');
    struct str group = { gv, slash ? (size_t)(slash - gv) : 0 };
    const struct kj_val *res;
    struct str key;

    if (f->group && !str_eqz(group, f->group))
        return 0;
    strbuf_appendf(&path, "%s/%s", slash ? "/apis" : "/api", gv);
    int r = ctl_call(f->c, &(struct kube_req){ .verb = KUBE_GET, .raw_path = strbuf_str(&path) },
                     &body, err);
    if (r < 0)
        return r;
    r = kj_parse(body.data, body.len, 0, &doc, err);
    if (r < 0)
        return kerr_wrap(err, "answer to GET %s", strbuf_str(&path));
    struct kj_iter it = kj_iter(kj_get(kj_root(doc), "resources"));
    while (!f->found && kj_next(&it, &key, &res)) {
        const char *name = kj_str_or(kj_get(res, "name"), "/");
        if (strchr(name, '/')) /* a subresource */
            continue;
        vec_push(&f->names, arena_strdup(f->arena, name));
        if (matches(f, res))
            take_resource(f, res, group, str_of(slash ? slash + 1 : gv));
    }
    return 0;
}

static int look_into_groups(struct finding *f, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *group;
    struct str key;

    int r = ctl_call(f->c, &(struct kube_req){ .verb = KUBE_GET, .raw_path = "/apis" }, &body, err);
    if (r < 0)
        return r;
    r = kj_parse(body.data, body.len, 0, &doc, err);
    if (r < 0)
        return kerr_wrap(err, "answer to GET /apis");
    struct kj_iter it = kj_iter(kj_get(kj_root(doc), "groups"));
    while (!f->found && kj_next(&it, &key, &group)) {
        const char *gv = kj_str(kj_path(group, "preferredVersion.groupVersion"));
        struct kerr one = { 0 };
        /* One extension server that is down must not hide the groups of the others. */
        if (gv && look_into(f, gv, &one) < 0 && one.reason == KR_NONE) {
            *err = one;
            return one.code;
        }
    }
    return 0;
}

int resource_find(struct ctl *c, const char *word, struct arena *a, const struct kind **ret)
{
    const char *dot = strchr(word, '.');
    struct finding f = { .c = c,
                         .arena = a,
                         .noun = { word, dot ? (size_t)(dot - word) : strlen(word) },
                         .group = dot ? dot + 1 : NULL };
    struct kerr err = { 0 };
    int code;

    *ret = kind_find(word);
    if (*ret)
        return CTL_OK;
    int r = look_into(&f, "v1", &err);
    if (r == 0 && !f.found)
        r = look_into_groups(&f, &err);
    const char *near = word_nearest(word, f.names.items, f.names.n);
    if (r < 0)
        code = ctl_complain(c, &err);
    else if (f.found)
        code = CTL_OK;
    else if (near)
        code =
            ctl_fail(c, "the server has no resource type '%.60s' (did you mean %s?)", word, near);
    else
        code = ctl_fail(c,
                        "the server has no resource type '%.60s'; kubectl api-resources lists "
                        "what it has",
                        word);
    vec_fini(&f.names);
    *ret = f.found;
    return code;
}
