/* policy.c - the NodeMetric object: its collect policy (koordlet-metrics 6.1), and that it exists.
 *
 * The status is our own last report, tens of kilobytes on a full node: it is not kept.
 */
#include "base/klog.h"
#include "base/ktime.h"
#include "client/informer.h"
#include "component/metrics.h"
#include "koordlet/states/states_int.h"
#include "json/kj.h"

struct nodemetric_text {
    struct nodemetric nm; /* metadata only */
    const char *spec;     /* JSON; NULL: none */
};
static const struct kfield nodemetric_text_fields[] = {
    KF(struct nodemetric_text, nm.obj.meta, "metadata", KF_OBJ, .flags = KF_OMITEMPTY,
       .sub = &objmeta_schema),
    KF(struct nodemetric_text, spec, "spec", KF_RAW, .flags = KF_OMITEMPTY),
};
static const struct kschema nodemetric_text_schema =
    KSCHEMA("NodeMetric", struct nodemetric_text, nodemetric_text_fields);
static const struct kind kind_nodemetric_text = {
    .group = "slo.koordinator.sh",
    .version = "v1alpha1",
    .kind = "NodeMetric",
    .plural = "nodemetrics",
    .has_status = true,
    .schema = &nodemetric_text_schema,
};

#define AGGREGATE_MIN (60 * NSEC_PER_SEC)
#define REPORT_MIN    (30 * NSEC_PER_SEC)
#define SECONDS_MAX   (365 * 24 * 3600)

/* ---- decoding -------------------------------------------------------------------------------- */

static bool is_absent(const struct kj_val *v)
{
    return kj_type(v) == KJ_ABSENT || kj_type(v) == KJ_NULL;
}

/* Only the first complaint is kept. */
static void refuse(struct kerr *err, const char *field, const char *why)
{
    if (err->code == 0)
        kerr_set(err, -EINVAL, "spec.metricCollectPolicy.%s: %s", field, why);
}

static void take_seconds(const struct kj_val *policy, const char *field, nsec_t min, nsec_t *to,
                         struct kerr *err)
{
    const struct kj_val *v = kj_get(policy, field);
    int64_t seconds;

    if (is_absent(v))
        return;
    if (kj_i64(v, &seconds) < 0 || seconds < 0 || seconds > SECONDS_MAX)
        refuse(err, field, "expected a number of seconds");
    else
        *to = MAX(seconds * NSEC_PER_SEC, min);
}

static void take_durations(const struct kj_val *list, struct collect_policy *p, struct kerr *err)
{
    static const char field[] = "nodeAggregatePolicy.durations";
    nsec_t out[ARRAY_LEN(p->durations)];
    struct kerr bad = { 0 };

    if (is_absent(list) || (kj_type(list) == KJ_ARR && kj_len(list) == 0))
        return; /* upstream does not tell an empty list from none */
    if (kj_type(list) != KJ_ARR || kj_len(list) > ARRAY_LEN(out)) {
        refuse(err, field, "expected a list of at most 16 durations");
        return;
    }
    for (size_t i = 0; i < kj_len(list); i++) {
        const char *text = kj_str_or(kj_at(list, i), "");
        if (kdur_parse(text, strlen(text), &out[i], &bad) < 0 || out[i] <= 0) {
            refuse(err, field, "expected durations like \"5m\"");
            return;
        }
    }
    p->ndurations = (uint32_t)kj_len(list);
    memcpy(p->durations, out, p->ndurations * sizeof *out);
}

static void take_memory(const struct kj_val *v, struct collect_policy *p, struct kerr *err)
{
    static const char *const known[] = { [MEMORY_WITHOUT_PAGE_CACHE] = "usageWithoutPageCache",
                                         [MEMORY_WITH_HOT_PAGES] = "usageWithHotPageCache",
                                         [MEMORY_WITH_PAGE_CACHE] = "usageWithPageCache" };
    const char *text = kj_str_or(v, "");

    if (is_absent(v))
        return;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (streq(text, known[i])) {
            p->memory = (unsigned)i;
            return;
        }
    }
    refuse(err, "nodeMemoryCollectPolicy", "not known");
}

void policy_decode(const struct kj_val *spec, struct collect_policy *ret, struct kerr *err)
{
    const struct kj_val *policy = kj_get(spec, "metricCollectPolicy");

    *ret = collect_policy_default;
    if (!is_absent(policy) && kj_type(policy) != KJ_OBJ)
        kerr_set(err, -EINVAL, "spec.metricCollectPolicy: expected an object");
    take_seconds(policy, "aggregateDurationSeconds", AGGREGATE_MIN, &ret->aggregate, err);
    take_seconds(policy, "reportIntervalSeconds", REPORT_MIN, &ret->report_interval, err);
    take_durations(kj_path(policy, "nodeAggregatePolicy.durations"), ret, err);
    take_memory(kj_get(policy, "nodeMemoryCollectPolicy"), ret, err);
}

/* ---- the object ------------------------------------------------------------------------------ */

static bool policies_equal(const struct collect_policy *a, const struct collect_policy *b)
{
    return a->aggregate == b->aggregate && a->report_interval == b->report_interval &&
           a->memory == b->memory && a->ndurations == b->ndurations &&
           memcmp(a->durations, b->durations, a->ndurations * sizeof *a->durations) == 0;
}

static void take_spec(struct states *s, const char *text)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    struct collect_policy p = collect_policy_default;

    if (kj_parse(text, strlen(text), 0, &doc, &err) == 0)
        policy_decode(kj_root(doc), &p, &err);
    if (err.code < 0)
        KLOG_E(&err, "Invalid collect policy in NodeMetric, using the default in its place");
    if (policies_equal(&p, &states_now(s)->policy))
        return;
    snapshots_set_policy(s->env.snapshots, &p);
}

static void on_add(void *arg, struct kobj *obj)
{
    struct states *s = arg;
    const struct nodemetric_text *o = container_of(obj, const struct nodemetric_text, nm.obj);
    const char *text = str_or(o->spec, "{}");
    int64_t generation = obj->meta.generation;

    snapshots_set_nodemetric(s->env.snapshots, obj);
    /* Our own reports come back here: they change neither. */
    if ((generation != 0 && generation == s->policy_generation) ||
        (s->policy_text && streq(s->policy_text, text)))
        return;
    s->policy_generation = generation;
    free(s->policy_text);
    s->policy_text = xstrdup(text);
    take_spec(s, text);
}

static void on_update(void *arg, struct kobj *old, struct kobj *obj)
{
    (void)old;
    on_add(arg, obj);
}

static void on_delete(void *arg, struct kobj *obj)
{
    struct states *s = arg;

    (void)obj;
    snapshots_set_nodemetric(s->env.snapshots, NULL);
    s->policy_generation = 0; /* the next one counts from 1 again */
}

static const struct informer_handler handler = {
    .on_add = on_add,
    .on_update = on_update,
    .on_delete = on_delete,
};

void policy_init(struct states *s)
{
    struct informer_opts o = { .kind = &kind_nodemetric_text,
                               .field_selector = s->selector,
                               .page = 2 };

    if (!s->o.report_metric)
        return;
    s->nodemetrics = informer_new(s->env.kube, &o);
    informer_add_handler(s->nodemetrics, &handler, s);
}

void policy_fini(struct states *s)
{
    free(s->policy_text);
}
