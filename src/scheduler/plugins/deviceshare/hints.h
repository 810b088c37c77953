/* hints.h - events that may help a pod that asks for devices. */
#ifndef KOORD_SCHEDULER_DEVICESHARE_HINTS_H
#define KOORD_SCHEDULER_DEVICESHARE_HINTS_H
#include "scheduler/framework/plugin.h"

enum { DEVICE_HINTS = 4 };
extern const struct ks_hint device_hints[DEVICE_HINTS];
#endif
