/* registry.h - which plugins exist. */
#ifndef KOORD_DESCHEDULER_REGISTRY_H
#define KOORD_DESCHEDULER_REGISTRY_H

struct kd_plugin;

extern const struct kd_plugin *const kd_registry[];      /* ends with NULL */
const struct kd_plugin *registry_find(const char *name); /* NULL: there is none */
#endif
