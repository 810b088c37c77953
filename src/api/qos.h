/* qos.h - the QoS class of a pod: Kubernetes' three and Koordinator's five, each derived here only.
 *
 * Kubernetes' class follows from requests and limits of cpu and memory (scheduler-core 2.2);
 * Koordinator's from a label, else from Kubernetes' class (api 2). No state; safe on any thread.
 */
#ifndef KOORD_API_QOS_H
#define KOORD_API_QOS_H
#include "api/types.h"

struct pod;
struct pod_spec;

/* ---- Kubernetes ------------------------------------------------------------------------------ */

enum kube_qos { KUBE_QOS_NONE, KUBE_QOS_GUARANTEED, KUBE_QOS_BURSTABLE, KUBE_QOS_BEST_EFFORT };
extern const char *const kube_qos_names[]; /* by class, "" for none; ends with NULL */

const char *kube_qos_name(enum kube_qos q);

/* From the spec; status.qosClass is not looked at. */
enum kube_qos pod_compute_qos(const struct pod_spec *s);
/* The same of a spec that was not decoded: the API server's document. A quantity that cannot be
 * parsed counts as absent. */
enum kube_qos kube_qos_of_document(const struct kj_val *spec);
/* status.qosClass, or computed when the status has none yet. */
enum kube_qos pod_qos(const struct pod *p);

/* ---- Koordinator ----------------------------------------------------------------------------- */

enum qos_class { QOS_NONE, QOS_LSE, QOS_LSR, QOS_LS, QOS_BE, QOS_SYSTEM };
enum { QOS_COUNT = QOS_SYSTEM + 1 };
extern const char *const qos_class_names[]; /* by class, "" for none; ends with NULL */

/* What a Guaranteed pod without a label counts as; a distribution may prefer LSE. */
#ifndef KOORD_GUARANTEED_QOS
#define KOORD_GUARANTEED_QOS QOS_LSR
#endif

const char *qos_class_name(enum qos_class q); /* "" for none */
/* Case-sensitive; NULL, "" and unknown names are none. */
enum qos_class qos_class_parse(const char *name);

/* The label's class. A bad value is none, it does not fall back to anything. */
enum qos_class qos_raw(const kstrmap *labels);
enum qos_class qos_with_default(const kstrmap *labels, enum kube_qos q);

/* Of a pod; NULL is allowed and has no class. */
enum qos_class pod_qos_class_raw(const struct pod *p);
enum qos_class pod_qos_class(const struct pod *p); /* with default */
#endif
