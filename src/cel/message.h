/* message.h - messages of protobuf that an expression may write: the well-known types, each of
 * which is a value of the language. google.protobuf.Timestamp{seconds: 1} is a timestamp.
 */
#ifndef KOORD_CEL_MESSAGE_H
#define KOORD_CEL_MESSAGE_H
#include "cel/lib.h"

enum { CEL_MESSAGE_FIELDS_MAX = 6 };

struct cel_message_field {
    const char *name;
    uint8_t part; /* what its value is converted to */
    const struct cel_type *type;
};

struct cel_message {
    const char *name;
    const struct cel_type *type; /* of the value */
    bool wrapper;                /* its type may be null too */
    struct cel_message_field fields[CEL_MESSAGE_FIELDS_MAX + 1];
};

/* NULL: there is none of this name. */
const struct cel_message *cel_message_find(struct str name);
/* The number of a field; -1: it has none of this name. */
int cel_message_field(const struct cel_message *m, struct str name);
/* The value of a message whose fields have these values, by number; CK_ABSENT where not set. What
 * cannot be converted to the type of its field is an error. */
struct cel_val cel_message_make(struct cel_run *r, const struct cel_message *m,
                                const struct cel_val *fields);
#endif
