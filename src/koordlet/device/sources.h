/* sources.h - the kinds of devices this agent knows, and what the reporters make of them. */
#ifndef KOORD_KOORDLET_DEVICE_SOURCES_H
#define KOORD_KOORDLET_DEVICE_SOURCES_H
#include "koordlet/collect/device.h"
#include "koordlet/report/device_report.h"
#include "koordlet/report/nodemetric.h"

extern const struct device_source *const device_sources[]; /* ends with NULL */

/* For struct report_devices; arg is the struct collect_env. */
uint32_t device_report_gpus(void *arg, struct arena *a, struct nodemetric_gpu **ret);
int device_report_all(void *arg, struct arena *a, struct device_report_in *ret, struct kerr *err);
#endif
