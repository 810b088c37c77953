/* wire.h - protobuf on the wire: the fields of a message in turn, and fields to append.
 *
 * The only reader of protobuf: structs by table (wire_codec.h), the API server's documents and
 * edits in place stand on it, and share its limits. No schema, no allocation while reading. Pieces
 * that are returned are borrowed from the message.
 */
#ifndef KOORD_BASE_WIRE_H
#define KOORD_BASE_WIRE_H
#include "base/base.h"
#include "base/strbuf.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
enum {
    WIRE_NUM_MAX = (1 << 29) - 1,
    WIRE_DEPTH_MAX = 32,         /* messages inside messages */
    WIRE_MESSAGE_MAX = 16 << 20, /* bytes; what a kubelet takes from a runtime */
    WIRE_DECODED_MAX = 64 << 20  /* bytes of structs that a message may unfold to */
};

struct wire_field {
    uint32_t num;
    enum wire_type type;
    uint64_t value;   /* of all but WIRE_BYTES */
    struct str bytes; /* of WIRE_BYTES: a string, bytes, a message or packed numbers */
    struct str raw;   /* the field as it stands, with its key */
};

/* The field in front of *rest, which moves behind it. 1; 0 at the end; -EBADMSG when it is cut off,
 * its number is 0 or too large, or it is of a type we do not know (groups are refused). */
int wire_next(struct str *rest, struct wire_field *ret);
/* Are these whole fields, up to the end? Messages inside are not looked into. */
bool wire_valid(struct str message);

/* The next number of a packed list; the same answers. */
int wire_next_packed(struct str *rest, uint64_t *ret);

void wire_put_varint(struct strbuf *out, uint32_t num, uint64_t v);
void wire_put_fixed64(struct strbuf *out, uint32_t num, uint64_t v);
void wire_put_bytes(struct strbuf *out, uint32_t num, struct str bytes);
/* Only what stands before n bytes that the caller sends himself. */
void wire_put_length(struct strbuf *out, uint32_t num, size_t n);
/* What was appended since out->len was `start` becomes field num: a message inside. */
void wire_wrap(struct strbuf *out, uint32_t num, size_t start);
#endif
