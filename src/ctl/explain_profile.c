/* explain_profile.c - koordctl explain profile: what the webhooks would make of a pod in a file. */
#include "api/core.h"
#include "api/koord/profile.h"
#include "api/policy.h"
#include "base/vec.h"
#include "client/kube.h"
#include "ctl/ctl.h"
#include "ctl/explain.h"
#include "ctl/linediff.h"
#include "sys/file.h"
#include "json/kj.h"

enum { FILE_MAX = 3 << 20 };

typedef struct vec_of(struct kobj *) objects;

struct reading {
    struct ctl *c;
    struct kj_scratch *scratch;
    struct kj_doc *file, *ranges;
    objects profiles, classes;
    struct explain_profile_objects o;
};

/* ---- reading --------------------------------------------------------------------------------- */

static int read_file(struct reading *x, const char *path)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kerr err = { 0 };

    if (file_read_all(AT_FDCWD, streq(path, "-") ? "/dev/stdin" : path, FILE_MAX, &text, &err) < 0)
        return ctl_fail(x->c, "%s", err.text);
    if (kj_parse_yaml(strbuf_str(&text), text.len, 0, &x->file, &err) < 0)
        return ctl_fail(x->c, "%s: %s", path, err.text);
    x->o.pod = kj_root(x->file);
    if (kj_type(x->o.pod) != KJ_OBJ || !streq(kj_str_or(kj_get(x->o.pod, "kind"), "Pod"), "Pod"))
        return ctl_fail(x->c, "%s: the first document is no Pod", path);
    x->o.ns = kj_str_or(kj_path(x->o.pod, "metadata.namespace"), ctl_namespace(x->c));
    return CTL_OK;
}

/* The answer, parsed; *ret stays NULL when the server has no such thing. */
static int call(struct reading *x, const struct kube_req *r, struct kj_doc **ret)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kerr err = { 0 };

    if (ctl_call(x->c, r, &body, &err) < 0)
        return err.reason == KR_NOT_FOUND ? CTL_OK : ctl_complain(x->c, &err);
    if (kj_parse(strbuf_str(&body), body.len, 0, ret, &err) < 0)
        return ctl_fail(x->c, "the server's answer: %s", err.text);
    return CTL_OK;
}

static struct kobj *decode(struct reading *x, const struct kind *k, const struct kj_val *v)
{
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (kobj_decode(k, v, x->scratch, &o, &err) < 0)
        (void)ctl_fail(x->c, "left out %s %s: %s", k->kind,
                       kj_str_or(kj_path(v, "metadata.name"), "without name"), err.text);
    return o;
}

static int read_list(struct reading *x, const struct kind *k, objects *to)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *item;
    int code = call(x, &(struct kube_req){ .verb = KUBE_LIST, .kind = k }, &doc);

    for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items")); kj_next(&it, NULL, &item);) {
        struct kobj *o = decode(x, k, item);
        if (o)
            vec_push(to, o);
    }
    return code;
}

static int read_cluster(struct reading *x)
{
    CLEANUP(kj_doc_free) struct kj_doc *ns = NULL;
    CLEANUP(mem_free) char *ranges = xasprintf("/api/v1/namespaces/%s/limitranges", x->o.ns);
    struct kube_req get = { .verb = KUBE_GET, .kind = &kind_namespace, .name = x->o.ns };

    int code = read_list(x, &kind_colocation_profile, &x->profiles);
    if (code == CTL_OK)
        code = read_list(x, &kind_priority_class, &x->classes);
    if (code == CTL_OK)
        code = call(x, &get, &ns);
    if (code == CTL_OK && ns)
        x->o.ns_object = decode(x, &kind_namespace, kj_root(ns));
    if (code == CTL_OK)
        code = call(x, &(struct kube_req){ .verb = KUBE_GET, .raw_path = ranges }, &x->ranges);
    x->o.limit_ranges = kj_get(kj_root(x->ranges), "items");
    x->o.profiles = x->profiles.items;
    x->o.nprofiles = x->profiles.n;
    x->o.classes = x->classes.items;
    x->o.nclasses = x->classes.n;
    return code;
}

static void reading_fini(struct reading *x)
{
    vec_foreach(&x->profiles, i)
        kobj_unref(x->profiles.items[i]);
    vec_foreach(&x->classes, i)
        kobj_unref(x->classes.items[i]);
    vec_fini(&x->profiles);
    vec_fini(&x->classes);
    kobj_unref(x->o.ns_object);
    kj_doc_free(x->file);
    kj_doc_free(x->ranges);
    kj_scratch_free(x->scratch);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_change(const struct kj_val *c, struct strbuf *out)
{
    const char *from = kj_str(kj_get(c, "from")), *to = kj_str(kj_get(c, "to"));
    const char *other = kj_str(kj_get(c, "overrides"));

    strbuf_appendf(out, "    %s: ", kj_str_or(kj_get(c, "field"), ""));
    if (from && (!to || !streq(from, to)))
        strbuf_appendf(out, "%s -> ", *from ? from : "\"\"");
    strbuf_appendf(out, "%s", !to ? "removed" : *to ? to : "\"\"");
    if (other)
        strbuf_appendf(out, "   overrides profile %s", other);
    strbuf_appendc(out, '\n');
}

static void put_profile(const struct kj_val *p, struct strbuf *out)
{
    const char *why = kj_str(kj_get(p, "why")), *problem = kj_str(kj_get(p, "problem"));
    int64_t percent = kj_i64_or(kj_get(p, "percent"), 100);
    bool matches = kj_bool(kj_get(p, "matches"), false);
    const struct kj_val *c;

    strbuf_appendf(out, "  %s: %s", kj_str_or(kj_get(p, "name"), ""),
                   matches ? "matches" : "does not match");
    if (why)
        strbuf_appendf(out, "%s %s", matches ? ", but" : ":", why);
    if (matches && percent > 0 && percent < 100)
        strbuf_appendf(out, "; applied to %d%% of such pods", (int)percent);
    if (matches && kj_bool(kj_get(p, "skipsResources"), false))
        strbuf_append(out, "; resources are left as they are");
    strbuf_appendc(out, '\n');
    if (problem)
        strbuf_appendf(out, "    problem: %s\n", problem);
    for (struct kj_iter it = kj_iter(kj_get(p, "changes")); kj_next(&it, NULL, &c);)
        put_change(c, out);
}

static void put_refusal(const struct kj_val *a, const char *who, struct strbuf *out)
{
    if (!kj_bool(kj_get(a, "allowed"), true))
        strbuf_appendf(out, "\nRefused by %s (%d): %s\n", who, (int)kj_i64_or(kj_get(a, "code"), 0),
                       kj_str_or(kj_get(a, "message"), ""));
}

static void put_diff(const struct kj_val *answer, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf diff = STRBUF_INIT;

    kj_write_yaml(kj_get(answer, "before"), &before);
    kj_write_yaml(kj_get(answer, "after"), &after);
    linediff(strbuf_str(&before), strbuf_str(&after), &diff);
    strbuf_append(out, diff.len ? "\n" : "\nThe pod stays as it is.\n");
    strbuf_append(out, strbuf_str(&diff));
}

static void put_text(const struct kj_val *answer, struct strbuf *out)
{
    const struct kj_val *profiles = kj_get(answer, "profiles"), *v;

    strbuf_appendf(out, "Pod %s in namespace %s%s\n", kj_str_or(kj_get(answer, "pod"), ""),
                   kj_str_or(kj_get(answer, "namespace"), ""),
                   kj_bool(kj_get(answer, "namespaceFound"), false)
                       ? ":"
                       : " (which does not exist: namespace selectors match it):");
    for (struct kj_iter it = kj_iter(profiles); kj_next(&it, NULL, &v);)
        put_profile(v, out);
    if (kj_len(profiles) == 0)
        strbuf_append(out, "  there is no ClusterColocationProfile\n");
    for (struct kj_iter it = kj_iter(kj_get(answer, "warnings")); kj_next(&it, NULL, &v);)
        strbuf_appendf(out, "\nWarning: %s\n", kj_str_or(v, ""));
    put_refusal(kj_get(answer, "mutation"), "mpod-create.koordinator.sh", out);
    put_refusal(kj_get(answer, "validation"), "vpod.koordinator.sh", out);
    if (kj_bool(kj_path(answer, "mutation.allowed"), false))
        put_diff(answer, out);
}

/* ---- the command ----------------------------------------------------------------------------- */

int explain_profile_run(struct ctl *c, const char *file)
{
    const struct explain_manager *m = c->parts ? c->parts->explain_manager : NULL;
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct reading x = { .c = c };

    if (!m)
        return ctl_fail(c, "this program has no manager to explain with");
    if (str_empty(file))
        return ctl_usage(c, "explain profile takes the file of a pod: -f pod.yaml");
    int code = ctl_connect(c);
    if (code != CTL_OK)
        return code;
    x.scratch = kj_scratch_new(c->strings);
    code = read_file(&x, file);
    if (code == CTL_OK)
        code = read_cluster(&x);
    if (code == CTL_OK) {
        m->profile(&x.o, &json);
        code = explain_show(c, &json, put_text);
    }
    reading_fini(&x);
    return code;
}
