/* fuzz_migration.c - PodMigrationJobs that anybody may write, and the templates in them.
 *
 * The input is the JSON of a job. Whatever it says, its next step can be planned; a job that is
 * over is left alone, one that fails says why. A Reservation that is made of its template is for
 * one pod, names no node, and lets every term of its affinity exclude the node of the pod.
 */
#include "api/pod.h"
#include "base/arena.h"
#include "base/intern.h"
#include "descheduler/framework/plugin.h"
#include "descheduler/migration/jobplan.h"
#include "descheduler/migration/template.h"
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char pod_json[] =
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"00000000-0000-4000-8000-"
    "000000000001\",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","
    "\"name\":\"r\",\"uid\":\"u\",\"controller\":true}]},\"spec\":{\"nodeName\":\"here\","
    "\"containers\":[{\"name\":\"c\"}],\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{"
    "\"claimName\":\"c\"}}]},\"status\":{\"phase\":\"Running\"}}";

static struct kj_doc *parse(const char *json, size_t n)
{
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    return kj_parse(json, n, 0, &doc, &err) < 0 ? NULL : doc;
}

static struct kobj *object(struct kj_scratch *s, const struct kind *k, const struct kj_doc *doc)
{
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    return kobj_decode(k, kj_root(doc), s, &o, &err) < 0 ? NULL : o;
}

/* ---- the Reservation ------------------------------------------------------------------------- */

static bool excludes(const struct kj_val *term)
{
    const struct kj_val *fields = kj_get(term, "matchFields");
    const struct kj_val *last = kj_at(fields, kj_len(fields) - 1);

    return streq(kj_str_or(kj_get(last, "key"), ""), "metadata.name") &&
           streq(kj_str_or(kj_get(last, "operator"), ""), "NotIn") &&
           streq(kj_str_or(kj_at(kj_get(last, "values"), 0), ""), "here");
}

static void check_reservation(const struct strbuf *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse(json->data, json->len);
    const struct kj_val *r = kj_root(doc), *spec = kj_path(r, "spec.template.spec");
    const struct kj_val *terms = kj_get(
        kj_path(spec, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"),
        "nodeSelectorTerms");

    assert(doc);
    assert(*kj_str_or(kj_path(r, "metadata.name"), ""));
    assert(kj_bool(kj_path(r, "spec.allocateOnce"), false));
    assert(!kj_get(spec, "nodeName"));
    assert(kj_len(terms) > 0);
    for (size_t i = 0; i < kj_len(terms); i++)
        assert(excludes(kj_at(terms, i)));
}

static void check_template(const struct podmigrationjob *j, const struct kj_val *pod)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    const struct template_opts o = { .now = 1, .without_claims = true };
    struct kerr err = { 0 };

    if (kuid_is_empty(j->obj.meta.uid))
        return; /* the server gives every job one */
    if (template_render(j, pod, &o, &out, &err) < 0)
        assert(*err.text);
    else
        check_reservation(&out);
}

/* ---- the next step --------------------------------------------------------------------------- */

static struct migration_args *default_args(struct arena *a)
{
    struct migration_args *args = arena_new0(a, struct migration_args);
    struct kerr err = { 0 };
    int r = kj_decode_text(&migration_args_schema, "{}", 2, KJ_STRICT, a, args, &err);

    kj_default(&migration_args_schema, a, args);
    assert(r == 0 && migration_kd_args.check(args, a, &err) == 0);
    (void)r;
    return args;
}

static void check_plan(const struct podmigrationjob *j, const struct pod *pod, struct arena *a)
{
    const struct job_facts f = {
        .job = j, .pod = pod, .args = default_args(a), .now = NSEC_PER_SEC, .limit = "workload"
    };
    struct job_plan p;

    job_plan(&f, a, &p);
    if (j->status.phase >= MIGRATION_SUCCEEDED)
        assert(!p.writes && p.then == JOB_NOTHING);
    if (p.writes && p.to.phase == MIGRATION_FAILED)
        assert(*p.to.reason && *p.to.message && p.nevents > 0);
    if (p.writes)
        assert(p.then == JOB_NOTHING);
    if (p.then == JOB_EVICT) /* nobody goes without a place, unless asked so */
        assert(job_evicts_directly(j, f.args));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = parse((const char *)data, size);
    CLEANUP(kj_doc_free) struct kj_doc *pod_doc = parse(pod_json, sizeof pod_json - 1);
    CLEANUP(kobj_unref) struct kobj *o = doc ? object(scratch, &kind_podmigrationjob, doc) : NULL;
    CLEANUP(kobj_unref) struct kobj *pod = object(scratch, &kind_pod, pod_doc);

    if (!o)
        return 0;
    check_template(podmigrationjob_of(o), kj_root(pod_doc));
    check_plan(podmigrationjob_of(o), pod_of(pod), a);
    check_plan(podmigrationjob_of(o), NULL, a);
    return 0;
}
