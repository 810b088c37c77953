/* compare.h - does a new state of an object say anything new to the scheduler?
 *
 * Kubelets, koordlets and controllers write all the time, and most of it is about times, conditions
 * and counters. Pure; objects are borrowed for the call.
 */
#ifndef KOORD_SCHEDULER_MODEL_COMPARE_H
#define KOORD_SCHEDULER_MODEL_COMPARE_H
#include "api/kobj.h"

struct node;

/* Do both states make the same row? What counts are labels, taints, spec.unschedulable, the
 * allocatable resources, the images, and the annotations with the keys given. */
bool compare_nodes(const struct node *a, const struct node *b, const char *const *annotations,
                   size_t n);
/* Are two states of an object equal in all that is decoded, apart from versions? status false: the
 * status does not count. An object that was made anew under the same name is another one. */
bool compare_objects(const struct kobj *a, const struct kobj *b, bool status);
#endif
