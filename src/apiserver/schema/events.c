/* events.c - events.k8s.io/v1. */
#include "apiserver/schema/tables.h"

static const struct t_field events_event_series_fields[] = {
    F(1, "count", T_I32, T_REQ | T_EMIT),
    F(2, "lastObservedTime", T_MICRO, T_REQ | T_EMIT),
    END,
};
static TYPE(events_event_series, "io.k8s.api.events.v1.EventSeries");

static const struct t_field events_event_fields[] = {
    F(0, "kind", T_STR, 0),
    F(0, "apiVersion", T_STR, 0),
    OBJ(1, "metadata", meta_object_meta, T_EMIT),
    F(2, "eventTime", T_MICRO, T_REQ | T_EMIT),
    OBJ(3, "series", events_event_series, T_PTR),
    F(4, "reportingController", T_STR, 0),
    F(5, "reportingInstance", T_STR, 0),
    F(6, "action", T_STR, 0),
    F(7, "reason", T_STR, 0),
    OBJ(8, "regarding", core_object_reference, T_EMIT),
    OBJ(9, "related", core_object_reference, T_PTR),
    F(10, "note", T_STR, 0),
    F(11, "type", T_STR, 0),
    OBJ(12, "deprecatedSource", core_event_source, T_EMIT),
    F(13, "deprecatedFirstTimestamp", T_TIME, T_EMIT),
    F(14, "deprecatedLastTimestamp", T_TIME, T_EMIT),
    F(15, "deprecatedCount", T_I32, 0),
    END,
};
TYPE(events_event, "io.k8s.api.events.v1.Event");
