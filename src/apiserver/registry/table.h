/* table.h - ages and cells of Tables, for whoever prints them. table_row() and table_wrap() are
 * declared in registry.h. */
#ifndef KOORD_APISERVER_REGISTRY_TABLE_H
#define KOORD_APISERVER_REGISTRY_TABLE_H
#include "base/base.h"
#include "base/strbuf.h"

/* duration.HumanDuration: "10s", "3m25s", "3h25m", "5d", "2y30d"; "<invalid>" when negative. */
void table_duration(nsec_t d, struct strbuf *out);
/* How long ago a time was: "<unknown>" when empty, "<invalid>" when it cannot be read. */
void table_age(const char *timestamp, nsec_t now, struct strbuf *out);
#endif
