/* adopt_release.c - Helm's record of a release: a Secret with gzipped JSON, twice in base64. */
#include "api/core.h"
#include "base/b64.h"
#include "client/kube.h"
#include "ctl/adopt.h"
#include "net/gzip.h"

#define CHART       "koordinator"
#define SECRET_TYPE "helm.sh/release.v1"
enum { RELEASE_MAX = 64 << 20, STEP = 64 << 10 };

static int unzip(const struct strbuf *in, struct strbuf *out, struct kerr *err)
{
    CLEANUP(gunzip_free) struct gunzip *g = gunzip_new(RELEASE_MAX);
    CLEANUP(mem_free) char *buf = xmalloc(STEP);
    const char *p = in->data;
    size_t n = in->len;
    ssize_t got;

    do {
        got = gunzip_step(g, &p, &n, buf, STEP, err);
        if (got > 0)
            strbuf_appendn(out, buf, (size_t)got);
    } while (got == STEP);
    if (got < 0)
        return (int)got;
    return gunzip_complete(g) ? 0 : kerr_set(err, -EPROTO, "gzip: the text was cut off");
}

static int decode(const char *text, struct kj_doc **ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf outer = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf inner = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    if (b64_decode(text, strlen(text), &outer) < 0 ||
        b64_decode(strbuf_str(&outer), outer.len, &inner) < 0)
        return kerr_set(err, -EINVAL, "not base64");
    if (inner.len > 2 && memcmp(inner.data, "\x1f\x8b", 2) == 0) {
        if (unzip(&inner, &json, err) < 0)
            return err->code;
    } else {
        strbuf_appendn(&json, inner.data, inner.len);
    }
    return kj_parse(strbuf_str(&json), json.len, 0, ret, err);
}

/* The deployed release of the chart, of which there may be but one. */
struct search {
    struct adoption *x;
    const char *other; /* the name of a second one */
};

static bool look_at_secret(void *arg, const struct kj_val *secret)
{
    struct search *s = arg;
    struct adoption *x = s->x;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (!streq(kj_str_or(kj_get(secret, "type"), ""), SECRET_TYPE) ||
        !streq(kj_str_or(kj_path(secret, "metadata.labels.status"), ""), "deployed") ||
        decode(kj_str_or(kj_path(secret, "data.release"), ""), &doc, &err) < 0)
        return true;
    const char *name = kj_str_or(kj_get(kj_root(doc), "name"), "");
    const char *chart = kj_str_or(kj_path(kj_root(doc), "chart.metadata.name"), "");
    if (!streq(chart, CHART) || (!str_empty(x->o->release) && !streq(name, x->o->release)))
        return true;
    if (x->release) {
        s->other = arena_strdup(x->arena, name);
        return false;
    }
    x->release = take(doc);
    x->release_ns =
        arena_strdup(x->arena, kj_str_or(kj_path(secret, "metadata.namespace"), "default"));
    return true;
}

int adopt_read_release(struct adoption *x)
{
    struct search s = { .x = x };
    const struct kube_req r = { .kind = &kind_secret,
                                .label_selector = "owner=helm,status=deployed" };
    struct kerr err = { 0 };

    if (ctl_each(x->c, &r, look_at_secret, &s, &err) < 0) {
        if (err.reason != KR_FORBIDDEN || !str_empty(x->o->release))
            return ctl_complain(x->c, &err);
        adopt_add(x, ADOPT_MISSING, "you may not list Secrets: values are read from what runs",
                  "Helm's record of the release");
    }
    if (s.other)
        return ctl_fail(x->c, "there are two releases of the chart: %s and %s; --release chooses",
                        kj_str_or(kj_get(kj_root(x->release), "name"), ""), s.other);
    if (!x->release && !str_empty(x->o->release))
        return ctl_fail(x->c, "no release %s of the chart " CHART " is deployed", x->o->release);
    /* A value that Koordinator's chart does not have. */
    if (kj_path(kj_root(x->release), "chart.values.uninstallHook"))
        return ctl_fail(x->c, "release %s is of koord's own chart: there is nothing to adopt",
                        kj_str_or(kj_get(kj_root(x->release), "name"), ""));
    return CTL_OK;
}

const struct kj_val *adopt_release_value(const struct adoption *x, const char *path)
{
    const struct kj_val *v = kj_path(kj_get(kj_root(x->release), "config"), path);

    if (kj_type(v) != KJ_ABSENT && kj_type(v) != KJ_NULL)
        return v;
    v = kj_path(kj_path(kj_root(x->release), "chart.values"), path);
    return kj_type(v) == KJ_ABSENT || kj_type(v) == KJ_NULL ? NULL : v;
}

/* ---- what it has installed ------------------------------------------------------------------- */

struct manifest_search {
    const char *name;
    struct kj_doc *found;
};

static int look_at_document(void *arg, struct kj_doc *doc, int line, struct kerr *err)
{
    struct manifest_search *s = arg;
    const struct kj_val *root = kj_root(doc);

    (void)line, (void)err;
    if (!s->found && streq(kj_str_or(kj_get(root, "kind"), ""), "ConfigMap") &&
        streq(kj_str_or(kj_path(root, "metadata.name"), ""), s->name))
        s->found = doc;
    else
        kj_doc_free(doc);
    return 0;
}

struct kj_doc *adopt_installed_configmap(const struct adoption *x, const char *name)
{
    const char *manifest = kj_str_or(kj_get(kj_root(x->release), "manifest"), "");
    struct manifest_search s = { .name = name };

    (void)kj_parse_yaml_all(manifest, strlen(manifest), 0, look_at_document, &s, NULL);
    return s.found;
}
