/* vendor.h - what the device plugins of vendors want to read of a pod (sched-device 9), with the
 * feature gate DevicePluginAdaption.
 *
 * Annotations travel with the binding. Some device plugins take one pod at a time and want the node
 * locked: by an annotation of the node, which is written before the pod is bound, and only if the
 * node is as it was read. Loop thread.
 */
#ifndef KOORD_SCHEDULER_DEVICESHARE_VENDOR_H
#define KOORD_SCHEDULER_DEVICESHARE_VENDOR_H
#include "scheduler/plugins/deviceshare/deviceshare.h"

/* KS_WAIT: the node is being locked. */
enum ks_code vendor_adapt(struct device_plugin *d, struct ks_bind *b, const struct holding *x,
                          struct arena *a, struct ks_texts *why);
void vendor_cancel(void *self, struct ks_bind *b);
void vendor_fini(struct device_plugin *d);
#endif
