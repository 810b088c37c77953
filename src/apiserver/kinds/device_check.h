/* device_check.h - the rules that claims, classes and slices of resource.k8s.io share.
 *
 * Each function adds to c->errors what kube-apiserver 1.35 would say of the value at `path`. Fields
 * of gates that are off by default upstream (taints, counters, consumable capacity, binding
 * conditions) are kept and judged as if the gates were on.
 */
#ifndef KOORD_APISERVER_KINDS_DEVICE_CHECK_H
#define KOORD_APISERVER_KINDS_DEVICE_CHECK_H
#include "apiserver/kinds/internal.h"

void check_length(struct check *c, const char *path, size_t n, size_t max);

void check_driver(struct check *c, const char *path, const char *s);
void check_pool(struct check *c, const char *path, const char *s);
/* The name of an attribute or a capacity: "model", or "example.com/model". */
void check_device_name(struct check *c, const char *path, const char *s);
void check_full_name(struct check *c, const char *path, const char *s); /* with its domain */

/* CEL selectors: compiled, and priced. */
void check_selectors(struct check *c, const char *path, const struct kj_val *list);
/* Parameters for a driver: a JSON object, at most 10 KiB of it. */
void check_raw_object(struct check *c, const char *path, const struct kj_val *v);
void check_opaque(struct check *c, const char *path, const struct kj_val *config);
void check_tolerations(struct check *c, const char *path, const struct kj_val *list);
void check_binding_conditions(struct check *c, const char *path, const struct kj_val *device);
extern const char *const device_taint_effects[];
/* A taint that does not say since when is there since now. */
void device_taint_default(struct kj_mdoc *d, struct kj_mval *taint, nsec_t now);
/* A share of a device: a UUID as the server writes them. */
void check_share(struct check *c, const char *path, const char *s);
/* metav1.Conditions. */
void check_conditions(struct check *c, const char *path, const struct kj_val *list);

/* claim.c. devices: spec.devices of the claim. "r" is a request of it, "r/s" an alternative. */
void check_request_ref(struct check *c, const char *path, const char *name,
                       const struct kj_val *devices);
/* Configurations of a claim, or of an allocation, which also name their source. */
void check_device_configs(struct check *c, const char *path, const struct kj_val *list, size_t max,
                          const struct kj_val *devices, bool allocated);
/* claim_admin.c: adminAccess needs a label of the namespace. */
void claim_validate_in(struct apiserver *s, enum res_verb verb, const struct kj_val *obj,
                       const struct kj_val *old, struct field_errors *errors);
void claim_template_validate_in(struct apiserver *s, enum res_verb verb, const struct kj_val *obj,
                                const struct kj_val *old, struct field_errors *errors);
/* claim_status.c */
void check_claim_status(struct check *c, const struct kj_val *obj, const struct kj_val *old);
/* Devices that lose their allocation lose their status too: who takes the allocation away need not
 * know of it. */
void claim_drop_deallocated(struct kj_mdoc *d, struct kj_mval *obj, const struct kj_val *old);
#endif
