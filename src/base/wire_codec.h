/* wire_codec.h - protobuf messages to structs and back, by table.
 *
 * For protocols of which we read and change some fields (CRI, NRI, ttrpc, hooks): a table has
 * those; all others, and known ones of an unexpected wire type, are kept as bytes in `unknown` and
 * written back. Reading borrows: strings point into the message, lists and inner messages are in
 * the arena. What a message may cost is bounded (wire.h), whoever sent it. No state; safe on any
 * thread.
 *
 *     struct cri_env { struct str key, value, unknown; };
 *     static const struct wire_member env_members[] = {
 *         WIRE_MEMBER(struct cri_env, key, 1, WK_STR),
 *         WIRE_MEMBER(struct cri_env, value, 2, WK_STR),
 *     };
 *     static const struct wire_table env_table = WIRE_TABLE("KeyValue", struct cri_env,
 * env_members);
 */
#ifndef KOORD_BASE_WIRE_CODEC_H
#define KOORD_BASE_WIRE_CODEC_H
#include "base/arena.h"
#include "base/wire.h"

#define WIRE_LIST(type) \
    struct {            \
        type *items;    \
        uint32_t n;     \
    }
struct wire_pair {
    struct str key, value;
};
typedef WIRE_LIST(struct str) wire_strings;
/* map<string, string> or map<string, bytes>. Of equal keys the last one counts. */
typedef WIRE_LIST(struct wire_pair) wire_map;

enum wire_kind {
    WK_STR,  /* string, bytes: struct str */
    WK_BOOL, /* bool */
    WK_INT,  /* int32, int64, enum: int64_t */
    WK_UINT, /* uint32, uint64: uint64_t */
    WK_MSG,  /* pointer to the struct of .sub; NULL: absent. An empty message is not absent */
    WK_STRS, /* wire_strings */
    WK_MSGS, /* WIRE_LIST of the struct of .sub */
    WK_MAP   /* wire_map */
};
enum { WIRE_MEMBERS_MAX = 32 };

struct wire_table;
struct wire_member {
    uint32_t num;
    uint16_t off;
    uint8_t kind;
    const struct wire_table *sub;
};
struct wire_table {
    const char *name; /* of the message, for errors */
    uint16_t size, off_unknown, n;
    const struct wire_member *members; /* at most WIRE_MEMBERS_MAX, in the order of their numbers */
};
#define WIRE_MEMBER(type, member, number, knd, ...)                                  \
    {                                                                                \
        .num = (number), .off = offsetof(type, member), .kind = (knd), ##__VA_ARGS__ \
    }
/* The struct keeps what the table does not know in a member `struct str unknown`. */
#define WIRE_TABLE(text, type, list)                                                  \
    {                                                                                 \
        .name = (text), .size = sizeof(type), .off_unknown = offsetof(type, unknown), \
        .n = ARRAY_LEN(list), .members = (list)                                       \
    }

/* *out is the struct of the table; absent members become zero. Fields that repeat without being
 * lists follow protobuf's rules: the last scalar counts, messages are merged. -EBADMSG when the
 * message is malformed or nested too deep, -E2BIG when it or what it unfolds to is too large; *out
 * is undefined then. */
int wire_decode(const struct wire_table *t, struct str message, struct arena *a, void *out,
                struct kerr *err);
/* Appends the message: members that are not zero in the order of the table, then what is unknown.
 */
void wire_encode(const struct wire_table *t, const void *in, struct strbuf *out);
#endif
