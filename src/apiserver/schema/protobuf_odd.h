/* protobuf_odd.h - what Go's generated code says of a field that cannot be read, and groups, which
 * it passes over where nobody knows their number. For the rare case: wire_next() has refused the
 * field, or it is of another type than it should be.
 */
#ifndef KOORD_APISERVER_SCHEMA_PROTOBUF_ODD_H
#define KOORD_APISERVER_SCHEMA_PROTOBUF_ODD_H
#include "base/strbuf.h"
#include "base/wire.h"

/* The number of the field in front; 0: it cannot be read. */
uint32_t protobuf_odd_number(struct str rest);
/* message: Go's name of the type. field: JSON name of the field, NULL: nobody knows its number.
 * 0: *rest is behind a group that nobody knows. -EBADMSG: why says so. */
int protobuf_odd(struct str *rest, const char *message, const char *field, struct strbuf *why);
void protobuf_wrong_type(unsigned type, const char *field, struct strbuf *why);
/* An entry of a map: its key and value, as Go reads them: whatever their types are said to be. */
int protobuf_entry(struct str entry, struct str *key, struct str *value, struct strbuf *why);
#endif
