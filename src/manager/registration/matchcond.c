/* matchcond.c - selectors and rules as CEL. */
#include "manager/registration/matchcond.h"

#include "api/protocol/keys.h"
#include "api/reslist.h"
#include "api/selector/selector.h"
#include "manager/profile/profiles.h"
#include "manager/webhook/webhook.h"

#define OR "\n|| "

static bool gate_on(unsigned gates, enum webhook_gate g)
{
    return gates >> g & 1;
}

/* ---- words ----------------------------------------------------------------------------------- */

static void append_text(struct strbuf *out, const char *s)
{
    strbuf_appendc(out, '\'');
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\')
            strbuf_appendc(out, '\\');
        strbuf_appendc(out, *s);
    }
    strbuf_appendc(out, '\'');
}

static void append_list(struct strbuf *out, const char *const *items, size_t n)
{
    strbuf_appendc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_append(out, ", ");
        append_text(out, items[i]);
    }
    strbuf_appendc(out, ']');
}

/* The map, "labels" or "annotations" of an object, is there and has the key. */
static void append_has(struct strbuf *out, const char *object, const char *map, const char *key)
{
    strbuf_appendf(out, "has(%s.metadata.%s) && ", object, map);
    append_text(out, key);
    strbuf_appendf(out, " in %s.metadata.%s", object, map);
}

/* ---- selectors ------------------------------------------------------------------------------- */

static void append_one_of(struct strbuf *out, const char *key, const char *const *values, size_t n)
{
    append_has(out, "object", "labels", key);
    strbuf_append(out, " && object.metadata.labels[");
    append_text(out, key);
    strbuf_append(out, "] in ");
    append_list(out, values, n);
}

static void append_requirement(struct strbuf *out, const struct selreq *r)
{
    const bool negated = r->op == SELOP_NOT_IN || r->op == SELOP_DOES_NOT_EXIST;

    strbuf_append(out, negated ? "!(" : "(");
    if (r->op == SELOP_IN || r->op == SELOP_NOT_IN)
        append_one_of(out, r->key, r->values.items, r->values.n);
    else
        append_has(out, "object", "labels", r->key);
    strbuf_appendc(out, ')');
}

static void append_selector(struct strbuf *out, const struct label_selector *s)
{
    const char *and = "";

    for (uint32_t i = 0; i < s->match_labels.n; i++, and = " && ") {
        const struct kstrpair *p = &s->match_labels.items[i];
        strbuf_append(out, and);
        strbuf_appendc(out, '(');
        append_one_of(out, p->key, &p->value, 1);
        strbuf_appendc(out, ')');
    }
    for (uint32_t i = 0; i < s->match_expressions.n; i++, and = " && ") {
        strbuf_append(out, and);
        append_requirement(out, &s->match_expressions.items[i]);
    }
}

/* false: no condition is possible. */
static bool append_profiles(struct strbuf *out, const struct profile_set *profiles)
{
    size_t n = profiles ? profile_set_count(profiles) : 0;

    if (n > MATCHCOND_PROFILES_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct profile *p = profile_set_at(profiles, i);
        if (p->unreadable)
            continue;
        if (p->namespaces || !p->labels || labelsel_is_everything(p->labels))
            return false;
        strbuf_append(out, OR "(");
        append_selector(out, p->obj->spec.selector);
        strbuf_appendc(out, ')');
    }
    return true;
}

/* ---- resources ------------------------------------------------------------------------------- */

static const char *const batch[] = { RES_BATCH_CPU, RES_BATCH_MEMORY };
static const char *const gpus[] = { RES_GPU, RES_GPU_CORE, RES_GPU_MEMORY, RES_GPU_MEMORY_RATIO,
                                    RES_GPU_SHARED };

/* Requests or limits of a container (or of the pod itself) name one of these resources. */
static void append_resources(struct strbuf *out, const char *of, const char *const *names, size_t n)
{
    strbuf_appendf(out, "has(%s.resources) && ", of);
    append_list(out, names, n);
    strbuf_appendf(out,
                   ".exists(r, (has(%s.resources.requests) && r in %s.resources.requests) || "
                   "(has(%s.resources.limits) && r in %s.resources.limits))",
                   of, of, of, of);
}

static void append_containers(struct strbuf *out, const char *list, const char *const *names,
                              size_t n)
{
    strbuf_appendf(out, OR "(has(object.spec.%s) && object.spec.%s.exists(c, ", list, list);
    append_resources(out, "c", names, n);
    strbuf_append(out, "))");
}

static void append_annotation(struct strbuf *out, const char *key)
{
    strbuf_append(out, OR "(");
    append_has(out, "object", "annotations", key);
    strbuf_appendc(out, ')');
}

/* ---- the two webhooks of pods ---------------------------------------------------------------- */

void matchcond_mutate_pod(const struct profile_set *profiles, unsigned gates, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    if (gate_on(gates, GATE_QUOTA_TREES))
        return; /* a pod may belong to a tree by its namespace */
    strbuf_append(&b, "request.operation == 'CREATE' && (false");
    if (!append_profiles(&b, profiles))
        return;
    if (!gate_on(gates, GATE_NO_EXTENDED_SPEC)) {
        append_annotation(&b, ANNO_EXTENDED_RESOURCES);
        append_containers(&b, "containers", batch, ARRAY_LEN(batch));
    }
    if (!gate_on(gates, GATE_NO_DEVICE_SPEC))
        append_containers(&b, "containers", gpus, ARRAY_LEN(gpus));
    strbuf_appendc(&b, ')');
    if (b.len <= MATCHCOND_BYTES_MAX)
        strbuf_appendn(out, b.data, b.len);
}

/* What a pod is must not change: a label that is there before or after, a changed priority. */
static void append_identity(struct strbuf *out)
{
    static const char *const labels[] = { LABEL_QOS_CLASS, LABEL_PRIORITY_CLASS, LABEL_PRIORITY };

    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        strbuf_append(out, OR "(");
        append_has(out, "object", "labels", labels[i]);
        strbuf_append(out, ")" OR "(oldObject != null && ");
        append_has(out, "oldObject", "labels", labels[i]);
        strbuf_appendc(out, ')');
    }
    strbuf_append(out, OR "(oldObject != null && "
                          "(has(object.spec.priority) ? int(object.spec.priority) : 0) != "
                          "(has(oldObject.spec.priority) ? int(oldObject.spec.priority) : 0))");
}

/* Pods that name a quota, and those whose label preemptible comes, goes or stays. Pods that belong
 * to a quota by their namespace are not sent: that would be every pod. */
static void append_quota(unsigned gates, struct strbuf *out)
{
    if (!gate_on(gates, GATE_PARENT_QUOTA_PODS)) {
        strbuf_append(out, OR "(");
        append_has(out, "object", "labels", LABEL_QUOTA_NAME);
        strbuf_appendc(out, ')');
    }
    strbuf_append(out, OR "(oldObject != null && ");
    append_has(out, "oldObject", "labels", LABEL_QUOTA_PREEMPTIBLE);
    strbuf_append(out, ")" OR "(");
    append_has(out, "object", "labels", LABEL_QUOTA_PREEMPTIBLE);
    strbuf_appendc(out, ')');
}

static void append_colocation(struct strbuf *out)
{
    append_containers(out, "containers", batch, ARRAY_LEN(batch));
    append_containers(out, "initContainers", batch, ARRAY_LEN(batch));
    strbuf_append(out, OR "(");
    append_resources(out, "object.spec", batch, ARRAY_LEN(batch));
    strbuf_append(out, ")" OR "(has(object.spec.overhead) && ");
    append_list(out, batch, ARRAY_LEN(batch));
    strbuf_append(out, ".exists(r, r in object.spec.overhead))");
}

void matchcond_validate_pod(unsigned gates, struct strbuf *out)
{
    if (gate_on(gates, GATE_ENHANCED_VALIDATOR) || gate_on(gates, GATE_QUOTA_ADMISSION))
        return;
    strbuf_append(out, "object != null && (false");
    append_annotation(out, ANNO_RESERVE_POD);
    append_identity(out);
    append_quota(gates, out);
    append_colocation(out);
    if (gate_on(gates, GATE_VALIDATE_DEVICES))
        append_containers(out, "containers", gpus, ARRAY_LEN(gpus));
    strbuf_appendc(out, ')');
}
