/* protobuf.h - request bodies in protobuf, for the kinds that kubectl and client-go programs write.
 *
 * The server speaks JSON; but client-go's typed clients (kubectl create, drain, auth can-i) send
 * protobuf without asking. Their bodies are translated to documents by tables of field numbers; a
 * kind without a table is refused with 415, as is a field that no table knows and that is not
 * empty: nothing is dropped in silence.
 */
#ifndef KOORD_APISERVER_HTTP_PROTOBUF_H
#define KOORD_APISERVER_HTTP_PROTOBUF_H
#include "json/kj.h"

enum pb_kind {
    PB_STR,
    PB_BOOL,
    PB_INT,
    PB_BYTES,     /* base64 in JSON */
    PB_MSG,       /* sub */
    PB_MAP_STR,   /* map<string, string> */
    PB_MAP_BYTES, /* map<string, bytes> */
    PB_MAP_QTY,   /* map<string, Quantity> */
    PB_TIME,      /* Time { seconds = 1; nanos = 2 } */
    PB_MICRO,     /* MicroTime */
    PB_IOS,       /* IntOrString { type = 1; intVal = 2; strVal = 3 } */
    PB_SKIP,      /* a status, which writers send along and the server drops */
};
enum { PB_REP = 1, PB_PTR = 2 }; /* repeated; optional: a zero that was sent means zero */
struct pb_field {
    uint8_t num, kind, flags;
    const char *name;
    const struct pb_field *sub; /* ends with num == 0 */
};

/* The fields of a kind; NULL when there is no table (protobuf_tables.c). */
const struct pb_field *protobuf_fields(const char *api_version, const char *kind);

/* A whole body: "k8s\0" and a runtime.Unknown. kind, api_version: what is expected when the body
 * does not say. 400 when it cannot be read, 415 when there is no table. */
int protobuf_decode(const char *p, size_t n, const char *api_version, const char *kind,
                    struct kj_doc **ret, struct kerr *err);
#endif
