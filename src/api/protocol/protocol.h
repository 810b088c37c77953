/* protocol.h - who a pod is: QoS class, priority class, and what follows for its resources.
 *
 * The words of the protocol are in keys.h, the JSON annotations in
 * <capability>.h. Functions here look at labels, annotations and numbers only, so that
 * they serve pods, reserve pods and NodeMetric entries alike; struct pod has its own short cuts in
 * pod_protocol.h. Nothing here keeps state; everything is safe on any thread.
 */
#ifndef KOORD_API_PROTOCOL_H
#define KOORD_API_PROTOCOL_H
#include "api/protocol/keys.h"
#include "api/qos.h"
#include "api/types.h"

/* ---- priority (api 3) ------------------------------------------------------------------------ */

enum priority_class { PRIO_NONE, PRIO_PROD, PRIO_MID, PRIO_BATCH, PRIO_FREE };
enum { PRIO_COUNT = PRIO_FREE + 1 };

struct priority_band {
    const char *name;      /* "koord-prod" */
    int32_t min, max;      /* of spec.priority, inclusive */
    int32_t default_value; /* what a pod of the class without a priority counts as */
    int32_t shipped_value; /* of the PriorityClass object we install */
};
/* NULL for PRIO_NONE. */
const struct priority_band *priority_band(enum priority_class c);

const char *priority_class_name(enum priority_class c); /* "" for none */
enum priority_class priority_class_parse(const char *name);
/* By the band of a value; the gaps between the bands are none. */
enum priority_class priority_class_of_value(int32_t priority);

/* What the priority of a pod is derived from. */
struct pod_identity {
    const kstrmap *labels;
    struct opt_i32 priority; /* spec.priority */
    enum kube_qos kube_qos;
};
/* The label when it is present (a bad value is none), else the band of spec.priority. */
enum priority_class priority_class_raw(const kstrmap *labels, struct opt_i32 priority);
/* The same, but none is replaced by what the QoS suggests. NULL is none. */
enum priority_class priority_class_with_default(const struct pod_identity *id);
/* spec.priority unless absent or 0, then the default of the class. NULL is 0. */
int32_t priority_value_with_default(const struct pod_identity *id);

/* The sub-priority label: absent or empty is 0. Integer literals of Go: 10, 0x1f, 017, 0b11. */
int sub_priority(const kstrmap *labels, int32_t *ret, struct kerr *err);
/* As koordlet's evictors read it: decimal only, absent or bad gives `otherwise`. */
int32_t sub_priority_decimal(const kstrmap *labels, int32_t otherwise);

/* ---- checks of the pod webhook (api 3.3) ----------------------------------------------------- */

/* Each returns 0, or -EINVAL with the text users see. */
bool qos_priority_legal(enum qos_class raw_qos, enum priority_class raw_class);
int identity_check_combination(enum qos_class raw_qos, enum priority_class raw_class,
                               struct kerr *err);
/* requests: summed over the pod. */
int identity_check_colocation(enum qos_class raw_qos, const reslist *requests, struct kerr *err);
int identity_check_whole_cpus(enum qos_class raw_qos, const reslist *requests, struct kerr *err);
int identity_check_user_annotations(const kstrmap *annotations, struct kerr *err);

enum identity_field { IDENTITY_QOS, IDENTITY_PRIORITY, IDENTITY_SUB_PRIORITY };
/* On update: the field may not change. */
int identity_check_immutable(enum identity_field field, const struct pod_identity *old_id,
                             const struct pod_identity *new_id, struct kerr *err);

/* ---- resource names (api 4.1, 4.2) ----------------------------------------------------------- */

/* The name that pods of a class use for cpu and memory. "" when the class has none (koord-free,
 * or another resource of batch and mid). */
const char *resource_of_class(enum priority_class c, const char *name);
/* "kubernetes.io/gpu" -> "koordinator.sh/gpu"; NULL unless the name is a deprecated one. */
const char *resource_current_name(const char *name);
/* The list with deprecated names replaced, where the current name is absent. *ret may be *l itself.
 */
void reslist_rename_old(const reslist *l, struct arena *a, reslist *ret);

/* The colocation rewrite: cpu and memory become batch-* or mid-*, then a limit without request
 * gives the request. Untouched unless the class is batch or mid. */
void resources_rewrite(struct resources *r, enum priority_class c, struct arena *a);
/* The same for pod overhead. */
reslist reslist_rewrite(const reslist *l, enum priority_class c, struct arena *a);

/* One step of the pod.koordinator.sh/replace-resources annotation. */
struct resource_replacement {
    const char *from, *to; /* to "": erase */
};
typedef KLIST(struct resource_replacement) resource_replacements;
/* Entries without exactly one ':' are left out; never fails. */
void resource_replacements_parse(const char *text, struct arena *a, resource_replacements *ret);
reslist reslist_replace(const reslist *l, const resource_replacements *r, struct arena *a);

/* ---- small texts ----------------------------------------------------------------------------- */

/* "true" exactly: how every boolean label of the protocol is read. */
bool label_is_true(const kstrmap *labels, const char *key);
/* Go's strconv.ParseBool: 1 t T TRUE true True, 0 f F FALSE false False. -EINVAL otherwise. */
int bool_parse(const char *text, bool *ret, struct kerr *err);
/* Go's strconv.ParseInt(text, 0, 32). */
int int32_parse_any_base(const char *text, int32_t *ret, struct kerr *err);
#endif
