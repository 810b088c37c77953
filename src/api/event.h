/* event.h - Event, in both of its forms. core/v1 and events.k8s.io/v1 store the same object under
 * different names of fields; one struct serves both, each kind has its own table. */
#ifndef KOORD_API_EVENT_H
#define KOORD_API_EVENT_H
#include "api/types.h"

struct event_series {
    int32_t count;
    nsec_t last_observed_time;
};
struct event_source {
    const char *component, *host;
};
struct event {
    struct kobj obj;
    struct object_ref regarding;        /* core: involvedObject */
    struct object_ref *related;         /* NULL when absent */
    const char *type, *reason, *action; /* type: "Normal", "Warning" */
    const char *note;                   /* core: message */
    const char *reporting_controller;   /* core: reportingComponent */
    const char *reporting_instance;
    nsec_t event_time;                      /* micro seconds */
    struct event_series *series;            /* NULL: seen once */
    struct event_source source;             /* events.k8s.io: deprecatedSource */
    nsec_t first_timestamp, last_timestamp; /* events.k8s.io: deprecated... */
    int32_t count;
};
extern const struct kschema event_schema, core_event_schema;
extern const struct kind kind_event;      /* events.k8s.io/v1: what we write */
extern const struct kind kind_core_event; /* v1 */
#endif
