/* backedresources.h - extended resources that a DeviceClass backs (sched-dra 6.5): a pod that asks
 * for one gets devices of the class where no device plugin offers the resource. Used by
 * DynamicResources, which allocates them, and by NodeResourcesFit, which leaves them alone. Pure.
 */
#ifndef KOORD_SCHEDULER_PLUGINS_BACKEDRESOURCES_H
#define KOORD_SCHEDULER_PLUGINS_BACKEDRESOURCES_H
#include "api/dra.h"

struct objects;

/* The class that backs the resource: by its extendedResourceName (of several the youngest, then the
 * first by name), or by the name deviceclass.resource.kubernetes.io/CLASS. NULL: none does. */
const struct device_class *backing_class(const struct objects *objects, const char *resource);
#endif
