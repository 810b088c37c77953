/* reservation.c - reservation annotations and labels (api 5.5). */
#include "api/protocol/reservation.h"

#include "base/num.h"

#define OMIT_ ANNO_OMIT

static const struct kfield allocated_fields[] = {
    KF(struct reservation_allocated, name, "name", KF_STR, OMIT_),
    KF(struct reservation_allocated, uid, "uid", KF_STR, OMIT_),
};
static const struct kschema allocated_schema =
    KSCHEMA("ReservationAllocated", struct reservation_allocated, allocated_fields);
const struct annotation_codec reservation_allocated_codec = {
    .key = ANNO_RESERVATION_ALLOCATED,
    .schema = &allocated_schema,
};

static const struct kfield required_fields[] = {
    KF_LIST_OF(struct reservation_required, terms, "reservationSelectorTerms", KF_OBJ,
               .sub = &node_selector_term_schema),
};
static const struct kschema required_schema =
    KSCHEMA("ReservationAffinitySelector", struct reservation_required, required_fields);
static const struct kfield affinity_fields[] = {
    KF(struct reservation_affinity, name, "name", KF_STR, OMIT_),
    KF(struct reservation_affinity, required, "requiredDuringSchedulingIgnoredDuringExecution",
       KF_OBJ, .flags = KF_OMITEMPTY | KF_PTR, .sub = &required_schema),
    KF_MAP_OF(struct reservation_affinity, selector, "reservationSelector", KF_STR, OMIT_),
    KF_LIST_OF(struct reservation_affinity, tolerations, "tolerations", KF_OBJ, OMIT_,
               .sub = &toleration_schema),
};
static const struct kschema affinity_schema_ =
    KSCHEMA("ReservationAffinity", struct reservation_affinity, affinity_fields);
const struct annotation_codec reservation_affinity_codec = {
    .key = ANNO_RESERVATION_AFFINITY,
    .schema = &affinity_schema_,
    .empty = EMPTY_IS_VALUE,
};

static const struct kfield restricted_fields[] = {
    KF_LIST_OF(struct reservation_restricted_options, resources, "resources", KF_STR, OMIT_),
};
static const struct kschema restricted_schema = KSCHEMA(
    "ReservationRestrictedOptions", struct reservation_restricted_options, restricted_fields);
const struct annotation_codec reservation_restricted_options_codec = {
    .key = ANNO_RESERVATION_RESTRICTED,
    .schema = &restricted_schema,
};

static const struct kfield exact_match_fields[] = {
    KF_LIST_OF(struct exact_match_spec, resource_names, "resourceNames", KF_STR, OMIT_),
};
static const struct kschema exact_match_schema =
    KSCHEMA("ExactMatchReservationSpec", struct exact_match_spec, exact_match_fields);
const struct annotation_codec exact_match_spec_codec = {
    .key = ANNO_EXACT_MATCH_RESERVATION,
    .schema = &exact_match_schema,
};

bool exact_match(const struct exact_match_spec *spec, const reslist *pod, const reslist *reserved)
{
    for (uint32_t i = 0; i < spec->resource_names.n; i++) {
        const char *name = spec->resource_names.items[i];
        const struct qty *want = reslist_find(pod, name), *have = reslist_find(reserved, name);

        if (!want != !have || (want && qty_cmp(*want, *have) != 0))
            return false;
    }
    return true;
}

static const struct kfield resize_fields[] = {
    KF_MAP_OF(struct reservation_resize, resources, "resources", KF_QTY, OMIT_),
};
static const struct kschema resize_schema =
    KSCHEMA("ReservationResizeAllocatable", struct reservation_resize, resize_fields);
const struct annotation_codec reservation_resize_codec = {
    .key = ANNO_RESERVATION_RESIZE,
    .schema = &resize_schema,
};

static const struct kfield owners_fields[] = {
    KF_LIST_OF(struct reservation_owners_value, v, "", KF_OBJ, .sub = &reservation_owner_schema),
};
static const struct kschema owners_schema =
    BARE_SCHEMA("ReservationOwners", struct reservation_owners_value, owners_fields);
const struct annotation_codec reservation_owners_codec = {
    .key = ANNO_RESERVATION_OWNERS,
    .schema = &owners_schema,
};
const struct annotation_codec reservation_current_owner_codec = {
    .key = ANNO_RESERVATION_CURRENT_OWNER,
    .schema = &object_ref_schema,
};

/* ---- labels ---------------------------------------------------------------------------------- */

static int64_t int_or_zero(const kstrmap *m, const char *key)
{
    const char *text = kstrmap_get(m, key);
    int64_t v;

    return text && i64_parse(text, strlen(text), &v) == 0 ? v : 0;
}

int64_t reservation_order(const kstrmap *labels)
{
    return int_or_zero(labels, LABEL_RESERVATION_ORDER);
}

enum operating_mode pod_operating_mode(const kstrmap *labels)
{
    const char *mode = kstrmap_get(labels, LABEL_OPERATING_MODE);

    return mode && streq(mode, "Reservation") ? OPERATING_RESERVATION : OPERATING_RUNNABLE;
}

enum preemption_policy pod_preemption_policy(const kstrmap *labels)
{
    const char *policy = kstrmap_get(labels, LABEL_PREEMPTION_POLICY);

    if (!policy)
        return PREEMPT_NONE;
    return streq(policy, "PreemptLowerPriority") ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER;
}

int64_t pre_allocatable_priority(const kstrmap *annotations, const char *key)
{
    return int_or_zero(annotations, key);
}
