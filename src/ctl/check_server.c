/* check_server.c - the API server: its version, the CRDs, who may do what. */
#include "api/koord/crds.h"
#include "base/num.h"
#include "client/kube.h"
#include "component/version.h"
#include "ctl/check.h"

/* What matchConditions, EndpointSlices and the CEL of our CRDs need. The chart says the same. */
enum { MAJOR = 1, MINOR_MIN = 30 };

/* "30" of "30+" */
static int64_t leading_number(const char *s)
{
    int64_t v = -1;
    return i64_parse(s, strspn(s, "0123456789"), &v) < 0 ? -1 : v;
}

bool check_version(struct check *k, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (ctl_ask(k->c, &(struct kube_req){ .verb = KUBE_GET, .raw_path = "/version" }, &doc, err) <
        0)
        return false;
    const char *text = kj_str_or(kj_get(kj_root(doc), "gitVersion"), "unknown");
    int64_t major = leading_number(kj_str_or(kj_get(kj_root(doc), "major"), ""));
    int64_t minor = leading_number(kj_str_or(kj_get(kj_root(doc), "minor"), ""));
    check_add(k, "Versions", FINDING_OK, "koordctl v%s", KOORD_VERSION);
    if (major < 0 || minor < 0)
        check_add(k, "Versions", FINDING_NOTE, "API server: version %s cannot be read", text);
    else if (major == MAJOR && minor < MINOR_MIN)
        check_add(k, "Versions", FINDING_FAIL,
                  "API server %s is too old: koord needs Kubernetes %d.%d or newer", text, MAJOR,
                  MINOR_MIN);
    else
        check_add(k, "Versions", FINDING_OK, "API server %s", text);
    return true;
}

/* ---- CRDs ------------------------------------------------------------------------------------ */

struct schema_gap {
    struct strbuf path, first; /* first: the first field that is missing */
    unsigned missing;
};

/* Fields of ours that theirs would drop. */
static void compare_schema(const struct kj_val *ours, const struct kj_val *theirs,
                           struct schema_gap *g)
{
    struct kj_iter it = kj_iter(kj_get(ours, "properties"));
    const struct kj_val *value;
    struct str key;

    if (kj_bool(kj_get(theirs, "x-kubernetes-preserve-unknown-fields"), false))
        return;
    while (kj_next(&it, &key, &value)) {
        const struct kj_val *there = kj_getn(kj_get(theirs, "properties"), key.p, key.n);
        size_t len = g->path.len;
        strbuf_appendf(&g->path, "%s%.*s", len ? "." : "", (int)key.n, key.p);
        if (there)
            compare_schema(value, there, g);
        else if (g->missing++ == 0)
            strbuf_append(&g->first, strbuf_str(&g->path));
        strbuf_truncate(&g->path, len);
    }
    if (kj_get(ours, "items"))
        compare_schema(kj_get(ours, "items"), kj_get(theirs, "items"), g);
    if (kj_type(kj_get(ours, "additionalProperties")) == KJ_OBJ)
        compare_schema(kj_get(ours, "additionalProperties"), kj_get(theirs, "additionalProperties"),
                       g);
}

static const struct kj_val *served_version(const struct kj_val *crd, const char *name)
{
    struct kj_iter it = kj_iter(kj_path(crd, "spec.versions"));
    const struct kj_val *v;

    while (kj_next(&it, NULL, &v))
        if (streq(kj_str_or(kj_get(v, "name"), ""), name))
            return kj_bool(kj_get(v, "served"), false) ? v : NULL;
    return NULL;
}

/* Whether it can serve what we read and write; what is wrong has been told. */
static bool check_crd(struct check *k, const char *name, const struct kj_val *ours,
                      const struct kj_val *theirs)
{
    struct kj_iter it = kj_iter(kj_path(ours, "spec.versions"));
    struct schema_gap g = { 0 };
    const struct kj_val *v;
    bool good = true;

    if (!condition_is(theirs, "Established", "True")) {
        check_add(k, "CRDs", FINDING_FAIL, "%s is not established: %s describe crd %s", name,
                  "kubectl", name);
        return false;
    }
    while (good && kj_next(&it, NULL, &v)) {
        const char *version = kj_str_or(kj_get(v, "name"), "");
        const struct kj_val *there = served_version(theirs, version);
        good = there || !kj_bool(kj_get(v, "served"), false);
        if (!good)
            check_add(k, "CRDs", FINDING_FAIL, "%s does not serve version %s", name, version);
        else if (there)
            compare_schema(kj_path(v, "schema.openAPIV3Schema"),
                           kj_path(there, "schema.openAPIV3Schema"), &g);
    }
    if (g.missing) {
        CLEANUP(strbuf_fini) struct strbuf more = STRBUF_INIT;
        if (g.missing > 1)
            strbuf_appendf(&more, " and %u more", g.missing - 1);
        check_add(k, "CRDs", k->installed ? FINDING_WARN : FINDING_NOTE,
                  "%s is of another version: it has no %s%s; an upgrade of the chart brings it",
                  name, strbuf_str(&g.first), strbuf_str(&more));
    }
    strbuf_fini(&g.path);
    strbuf_fini(&g.first);
    return good;
}

static void missing_crds(struct check *k, const struct strbuf *missing, unsigned n)
{
    if (!k->installed)
        check_add(k, "CRDs", FINDING_NOTE, "%u are still to be installed: %s", n,
                  strbuf_str(missing));
    else if (k->release) /* by hand they would not be of the release, which then refuses them */
        check_add(k, "CRDs", FINDING_FAIL,
                  "%u missing: %s; helm upgrade of release %s brings them back", n,
                  strbuf_str(missing), k->release);
    else
        check_add(k, "CRDs", FINDING_FAIL,
                  "%u missing: %s; %s crds | kubectl apply --server-side -f -", n,
                  strbuf_str(missing), k->c->program);
}

static int ask_crd(struct check *k, const struct kind_crd *crd, const char *name, bool *ret_there)
{
    CLEANUP(kj_doc_free) struct kj_doc *theirs = NULL, *ours = NULL;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const struct kube_req r = { .verb = KUBE_GET, .kind = &kind_crd_object, .name = name };
    struct kerr err = { 0 };

    *ret_there = false;
    if (ctl_ask(k->c, &r, &theirs, &err) < 0) {
        if (err.reason == KR_NOT_FOUND)
            return 0;
        check_add(k, "CRDs", FINDING_NOTE, "they cannot be looked at: %s", check_cause(k, &err));
        return err.code;
    }
    crd_manifest_json(crd, &text);
    int r2 = kj_parse(strbuf_str(&text), text.len, 0, &ours, &err);
    assert(r2 == 0); /* we wrote it ourselves */
    *ret_there = check_crd(k, name, kj_root(ours), kj_root(theirs));
    return *ret_there ? 0 : 1;
}

void check_crds(struct check *k)
{
    CLEANUP(strbuf_fini) struct strbuf missing = STRBUF_INIT;
    unsigned absent = 0, there = 0;
    char name[160];

    for (size_t i = 0; crd_at(i); i++) {
        bool good;
        crd_name(crd_at(i), name, sizeof name);
        int r = ask_crd(k, crd_at(i), name, &good);
        if (r < 0)
            return; /* all the others would get the same answer */
        there += good;
        if (r == 0 && !good && absent++ < 3)
            strbuf_appendf(&missing, "%s%s", missing.len ? ", " : "", name);
    }
    if (absent > 3)
        strbuf_append(&missing, ", ...");
    if (there)
        check_add(k, "CRDs", FINDING_OK, "%u are there", there);
    if (absent)
        missing_crds(k, &missing, absent);
    k->crds_complete = !crd_at(there);
}
