/* protobuf.h - request bodies in protobuf.
 *
 * The server speaks JSON; but client-go's typed clients (kubectl create, drain, auth can-i) send
 * protobuf without asking. Their bodies are translated to documents by the field tables
 * (schema/types.h); a kind without a table is refused with 415, as is a field that no table knows
 * and that is not empty: nothing is dropped in silence.
 */
#ifndef KOORD_APISERVER_HTTP_PROTOBUF_H
#define KOORD_APISERVER_HTTP_PROTOBUF_H
#include "json/kj.h"

/* A whole body: "k8s\0" and a runtime.Unknown. kind, api_version: what is expected when the body
 * does not say. 400 when it cannot be read, 415 when there is no table. */
int protobuf_decode(const char *p, size_t n, const char *api_version, const char *kind,
                    struct kj_doc **ret, struct kerr *err);
#endif
