/* identity.c - QoS and priority classes, and the webhook's checks on them (api 2, 3). */
#include "api/protocol/protocol.h"
#include "base/num.h"

static const struct priority_band bands[PRIO_COUNT] = {
    [PRIO_PROD] = { "koord-prod", 9000, 9999, 9500, 9000 },
    [PRIO_MID] = { "koord-mid", 7000, 7999, 7500, 7000 },
    [PRIO_BATCH] = { "koord-batch", 5000, 5999, 5500, 5000 },
    [PRIO_FREE] = { "koord-free", 3000, 3999, 3500, 3000 },
};

/* ---- priority -------------------------------------------------------------------------------- */

const struct priority_band *priority_band(enum priority_class c)
{
    return c == PRIO_NONE ? NULL : &bands[c];
}

const char *priority_class_name(enum priority_class c)
{
    return c == PRIO_NONE ? "" : bands[c].name;
}

enum priority_class priority_class_parse(const char *name)
{
    for (unsigned c = PRIO_PROD; name && c < PRIO_COUNT; c++)
        if (streq(bands[c].name, name))
            return (enum priority_class)c;
    return PRIO_NONE;
}

enum priority_class priority_class_of_value(int32_t priority)
{
    for (unsigned c = PRIO_PROD; c < PRIO_COUNT; c++)
        if (priority >= bands[c].min && priority <= bands[c].max)
            return (enum priority_class)c;
    return PRIO_NONE;
}

enum priority_class priority_class_raw(const kstrmap *labels, struct opt_i32 priority)
{
    const char *label = labels ? kstrmap_get(labels, LABEL_PRIORITY_CLASS) : NULL;

    if (label)
        return priority_class_parse(label);
    return priority.set ? priority_class_of_value(priority.v) : PRIO_NONE;
}

enum priority_class priority_class_with_default(const struct pod_identity *id)
{
    enum priority_class raw;

    if (!id)
        return PRIO_NONE;
    raw = priority_class_raw(id->labels, id->priority);
    if (raw != PRIO_NONE)
        return raw;
    switch (qos_with_default(id->labels, id->kube_qos)) {
    case QOS_SYSTEM:
    case QOS_LSE:
    case QOS_LSR:
    case QOS_LS: return PRIO_PROD;
    case QOS_BE: return PRIO_BATCH;
    case QOS_NONE: break;
    }
    return PRIO_NONE;
}

int32_t priority_value_with_default(const struct pod_identity *id)
{
    const struct priority_band *band;

    if (!id)
        return 0;
    if (id->priority.set && id->priority.v != 0)
        return id->priority.v;
    band = priority_band(priority_class_with_default(id));
    return band ? band->default_value : 0;
}

int sub_priority(const kstrmap *labels, int32_t *ret, struct kerr *err)
{
    const char *text = labels ? kstrmap_get(labels, LABEL_PRIORITY) : NULL;

    if (str_empty(text)) {
        *ret = 0;
        return 0;
    }
    return int32_parse_any_base(text, ret, err);
}

int32_t sub_priority_decimal(const kstrmap *labels, int32_t otherwise)
{
    const char *text = labels ? kstrmap_get(labels, LABEL_PRIORITY) : NULL;
    int64_t v;

    if (!text || i64_parse(text, strlen(text), &v) < 0 || v < INT32_MIN || v > INT32_MAX)
        return otherwise;
    return (int32_t)v;
}

/* ---- checks ---------------------------------------------------------------------------------- */

bool qos_priority_legal(enum qos_class raw_qos, enum priority_class raw_class)
{
    switch (raw_qos) {
    case QOS_BE: return raw_class != PRIO_NONE && raw_class != PRIO_PROD;
    case QOS_LSR: return raw_class == PRIO_PROD;
    case QOS_LSE: /* not checked upstream either */
    case QOS_LS:
    case QOS_SYSTEM:
    case QOS_NONE: break;
    }
    return true;
}

int identity_check_combination(enum qos_class raw_qos, enum priority_class raw_class,
                               struct kerr *err)
{
    if (qos_priority_legal(raw_qos, raw_class))
        return 0;
    return kerr_set(err, -EINVAL,
                    "Pod: Forbidden: " LABEL_QOS_CLASS
                    "=%s and priorityClass=%s cannot be used in combination",
                    qos_class_name(raw_qos), priority_class_name(raw_class));
}

int identity_check_colocation(enum qos_class raw_qos, const reslist *requests, struct kerr *err)
{
    if (raw_qos == QOS_BE || (qty_sign(reslist_get(requests, RES_BATCH_CPU)) <= 0 &&
                              qty_sign(reslist_get(requests, RES_BATCH_MEMORY)) <= 0))
        return 0;
    return kerr_set(err, -EINVAL,
                    "labels." LABEL_QOS_CLASS ": Required value: must specify koordinator QoS BE "
                    "with koordinator colocation resources");
}

int identity_check_whole_cpus(enum qos_class raw_qos, const reslist *requests, struct kerr *err)
{
    struct qty cpu = reslist_get(requests, RES_CPU);
    char text[QTY_TEXT_MAX];

    if (raw_qos != QOS_LSR && raw_qos != QOS_LSE)
        return 0;
    if (qty_is_zero(cpu))
        return kerr_set(err, -EINVAL,
                        "pod.spec.containers[*].resources.requests: Required value: "
                        "LSR Pod must declare the requested CPUs");
    if (qty_cmp(cpu, qty_from_i64(qty_value(cpu), QTY_DECIMAL_SI)) == 0)
        return 0;
    qty_print(cpu, text);
    return kerr_set(err, -EINVAL,
                    "pod.spec.containers[*].resources.requests: Invalid value: \"%s\": "
                    "the requested CPUs of LSR Pod must be integer",
                    text);
}

int identity_check_user_annotations(const kstrmap *annotations, struct kerr *err)
{
    if (!kstrmap_get(annotations, ANNO_RESERVE_POD))
        return 0;
    return kerr_set(err, -EINVAL,
                    "annotations." ANNO_RESERVE_POD ": Forbidden: cannot set in annotations");
}

static int immutable(const char *path, const char *value, struct kerr *err)
{
    return kerr_set(err, -EINVAL, "%s: Invalid value: \"%s\": field is immutable", path, value);
}

int identity_check_immutable(enum identity_field field, const struct pod_identity *old_id,
                             const struct pod_identity *new_id, struct kerr *err)
{
    const char *old_text = NULL, *new_text = NULL;

    switch (field) {
    case IDENTITY_QOS: {
        enum qos_class q = qos_raw(new_id->labels);
        return q == qos_raw(old_id->labels)
                   ? 0
                   : immutable("labels." LABEL_QOS_CLASS, qos_class_name(q), err);
    }
    case IDENTITY_PRIORITY: {
        enum priority_class c = priority_class_raw(new_id->labels, new_id->priority);
        return c == priority_class_raw(old_id->labels, old_id->priority)
                   ? 0
                   : immutable("spec.priority", priority_class_name(c), err);
    }
    case IDENTITY_SUB_PRIORITY:
        /* An absent label and an empty one are the same to Go, and so to users. */
        old_text = str_or(kstrmap_get(old_id->labels, LABEL_PRIORITY), "");
        new_text = str_or(kstrmap_get(new_id->labels, LABEL_PRIORITY), "");
        return streq(old_text, new_text) ? 0 : immutable("labels." LABEL_PRIORITY, new_text, err);
    }
    return 0;
}
