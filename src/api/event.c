/* event.c - tables of both forms of Event. */
#include "api/event.h"

#include "api/meta_fields.h"

#define OMIT        KF_OMITEMPTY
#define INTERN_OMIT (KF_INTERN | KF_OMITEMPTY)

static const struct kfield series_fields[] = {
    KF(struct event_series, count, "count", KF_I32),
    KF(struct event_series, last_observed_time, "lastObservedTime", KF_MICROTIME, .flags = OMIT),
};
static const struct kschema series_schema =
    KSCHEMA("EventSeries", struct event_series, series_fields);

static const struct kfield source_fields[] = {
    KF(struct event_source, component, "component", KF_STR, .flags = INTERN_OMIT),
    KF(struct event_source, host, "host", KF_STR, .flags = INTERN_OMIT),
};
static const struct kschema source_schema =
    KSCHEMA("EventSource", struct event_source, source_fields);

#define F(member, json, type, ...) KF(struct event, member, json, type, __VA_ARGS__)
#define PTR(member, json, schema) \
    F(member, json, KF_OBJ, .flags = KF_PTR | KF_OMITEMPTY, .sub = &(schema))
static const struct kfield event_fields[] = {
    KF_OBJMETA(struct event),
    F(event_time, "eventTime", KF_MICROTIME, .flags = OMIT),
    PTR(series, "series", series_schema),
    F(reporting_controller, "reportingController", KF_STR, .flags = INTERN_OMIT),
    F(reporting_instance, "reportingInstance", KF_STR, .flags = INTERN_OMIT),
    F(action, "action", KF_STR, .flags = INTERN_OMIT),
    F(reason, "reason", KF_STR, .flags = INTERN_OMIT),
    F(regarding, "regarding", KF_OBJ, .flags = OMIT, .sub = &object_ref_schema),
    PTR(related, "related", object_ref_schema),
    F(note, "note", KF_STR, .flags = OMIT),
    F(type, "type", KF_STR, .flags = INTERN_OMIT),
    F(source, "deprecatedSource", KF_OBJ, .flags = OMIT, .sub = &source_schema),
    F(first_timestamp, "deprecatedFirstTimestamp", KF_TIME, .flags = OMIT),
    F(last_timestamp, "deprecatedLastTimestamp", KF_TIME, .flags = OMIT),
    F(count, "deprecatedCount", KF_I32, .flags = OMIT),
};
const struct kschema event_schema = KSCHEMA("Event", struct event, event_fields);
const struct kind kind_event = {
    .group = "events.k8s.io",
    .version = "v1",
    .kind = "Event",
    .plural = "events",
    .short_names = "ev",
    .namespaced = true,
    .schema = &event_schema,
};

static const struct kfield core_event_fields[] = {
    KF_OBJMETA(struct event),
    F(regarding, "involvedObject", KF_OBJ, .sub = &object_ref_schema),
    F(reason, "reason", KF_STR, .flags = INTERN_OMIT),
    F(note, "message", KF_STR, .flags = OMIT),
    F(source, "source", KF_OBJ, .flags = OMIT, .sub = &source_schema),
    F(first_timestamp, "firstTimestamp", KF_TIME, .flags = OMIT),
    F(last_timestamp, "lastTimestamp", KF_TIME, .flags = OMIT),
    F(count, "count", KF_I32, .flags = OMIT),
    F(type, "type", KF_STR, .flags = INTERN_OMIT),
    F(event_time, "eventTime", KF_MICROTIME, .flags = OMIT),
    PTR(series, "series", series_schema),
    F(action, "action", KF_STR, .flags = INTERN_OMIT),
    PTR(related, "related", object_ref_schema),
    F(reporting_controller, "reportingComponent", KF_STR),
    F(reporting_instance, "reportingInstance", KF_STR),
};
#undef PTR
#undef F
const struct kschema core_event_schema = KSCHEMA("Event", struct event, core_event_fields);
const struct kind kind_core_event = {
    .group = "",
    .version = "v1",
    .kind = "Event",
    .plural = "events",
    .short_names = "ev",
    .namespaced = true,
    .schema = &core_event_schema,
};
