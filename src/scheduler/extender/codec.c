/* codec.c - what is written to extenders and read from them. */
#include "api/pod.h"
#include "base/strbuf.h"
#include "scheduler/extender/extender_int.h"
#include "json/kj.h"

/* ---- written --------------------------------------------------------------------------------- */

static const struct kschema *part_of(const struct kschema *s, const char *json)
{
    for (uint32_t i = 0; i < s->nfields; i++)
        if (streq(s->fields[i].json, json))
            return s->fields[i].sub;
    return NULL;
}

static void write_part(struct kjw *w, const char *key, const struct kschema *s, const void *part)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    kj_encode(s, part, &text);
    kjw_raw(w, key, text.data, text.len);
}

/* A cached pod lies in parts; a template has its metadata and its spec in one. */
void extender_put_pod(struct kjw *w, const char *key, const struct kobj *pod)
{
    const struct pod *p = pod_of(pod);
    const struct pod_template_spec spec = { p->node_name, p->volumes, *p->spec };

    kjw_obj(w, key);
    write_part(w, "metadata", part_of(&pod_template_schema, "metadata"), &pod->meta);
    write_part(w, "spec", part_of(&pod_template_schema, "spec"), &spec);
    write_part(w, "status", part_of(kind_pod.schema, "status"), &p->status);
    kjw_end(w);
}

void extender_put_uid(struct kjw *w, const char *key, struct kuid uid)
{
    char text[KUID_TEXT_MAX];

    kuid_format(uid, text, sizeof text);
    kjw_str(w, key, text);
}

/* ---- read ------------------------------------------------------------------------------------ */

static const struct kfield name_fields[] = {
    KF(struct answer_name, name, "name", KF_STR),
};
static const struct kschema name_schema = KSCHEMA("ObjectMeta", struct answer_name, name_fields);
static const struct kfield node_fields[] = {
    KF(struct answer_node, meta, "metadata", KF_OBJ, .sub = &name_schema),
};
static const struct kschema node_name_schema = KSCHEMA("Node", struct answer_node, node_fields);
static const struct kfield nodes_fields[] = {
    KF_LIST_OF(struct answer_nodes, items, "items", KF_OBJ, .sub = &node_name_schema),
};
static const struct kschema nodes_schema = KSCHEMA("NodeList", struct answer_nodes, nodes_fields);
static const struct kfield filtered_fields[] = {
    KF(struct filter_result, nodes, "Nodes", KF_OBJ, .flags = KF_PTR, .sub = &nodes_schema),
    KF_LIST_OF(struct filter_result, names, "NodeNames", KF_STR),
    KF_MAP_OF(struct filter_result, failed, "FailedNodes", KF_STR),
    KF_MAP_OF(struct filter_result, unresolvable, "FailedAndUnresolvableNodes", KF_STR),
};
const struct kschema filter_result_schema =
    KSCHEMA("ExtenderFilterResult", struct filter_result, filtered_fields);

static const struct kfield score_fields[] = {
    KF(struct host_priority, host, "Host", KF_STR),
    KF(struct host_priority, score, "Score", KF_I64),
};
static const struct kschema score_schema =
    KSCHEMA("HostPriority", struct host_priority, score_fields);
static const struct kfield scores_fields[] = {
    KF_LIST_OF(struct host_priorities, items, "", KF_OBJ, .sub = &score_schema),
};
const struct kschema host_priorities_schema = {
    .name = "HostPriorityList",
    .size = sizeof(struct host_priorities),
    .nfields = ARRAY_LEN(scores_fields),
    .fields = scores_fields,
    .bare = true,
};

static const struct kfield victim_fields[] = {
    KF(struct meta_pod, uid, "UID", KF_UID),
};
static const struct kschema victim_schema = KSCHEMA("MetaPod", struct meta_pod, victim_fields);
static const struct kfield victims_fields[] = {
    KF_LIST_OF(struct meta_victims, pods, "Pods", KF_OBJ, .sub = &victim_schema),
    KF(struct meta_victims, violations, "NumPDBViolations", KF_I64),
};
static const struct kschema victims_schema =
    KSCHEMA("MetaVictims", struct meta_victims, victims_fields);
static const struct kfield preempt_result_fields[] = {
    KF_MAP_OF(struct preempt_result, nodes, "NodeNameToMetaVictims", KF_OBJ,
              .sub = &victims_schema),
};
const struct kschema preempt_result_schema =
    KSCHEMA("ExtenderPreemptionResult", struct preempt_result, preempt_result_fields);

static const struct kfield error_fields[] = {
    KF(struct error_result, error, "Error", KF_STR),
};
const struct kschema error_result_schema = KSCHEMA("Error", struct error_result, error_fields);

int extender_decode(const struct kschema *s, const struct kj_val *answer, struct arena *a,
                    void *ret, struct kerr *err)
{
    return kj_decode(s, answer, KJ_ANY_CASE, a, ret, err);
}
