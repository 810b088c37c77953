/* events.c - events.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field events_event_series_fields[] = {
    F("count", T_I32, T_REQ | T_EMIT),
    F("lastObservedTime", T_MICRO, T_REQ | T_EMIT),
    END,
};
static TYPE(events_event_series, "io.k8s.api.events.v1.EventSeries");

static const struct t_field events_event_fields[] = {
    F("kind", T_STR, 0),
    F("apiVersion", T_STR, 0),
    OBJ("metadata", meta_object_meta, T_EMIT),
    F("eventTime", T_MICRO, T_REQ | T_EMIT),
    OBJ("series", events_event_series, T_PTR),
    F("reportingController", T_STR, 0),
    F("reportingInstance", T_STR, 0),
    F("action", T_STR, 0),
    F("reason", T_STR, 0),
    OBJ("regarding", core_object_reference, T_EMIT),
    OBJ("related", core_object_reference, T_PTR),
    F("note", T_STR, 0),
    F("type", T_STR, 0),
    OBJ("deprecatedSource", core_event_source, T_EMIT),
    F("deprecatedFirstTimestamp", T_TIME, T_EMIT),
    F("deprecatedLastTimestamp", T_TIME, T_EMIT),
    F("deprecatedCount", T_I32, 0),
    END,
};
TYPE(events_event, "io.k8s.api.events.v1.Event");
