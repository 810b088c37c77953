/* protobuf.h - requests and answers in protobuf.
 *
 * The server keeps JSON; but client-go's typed clients (kubectl create, the controllers of
 * Kubernetes) send protobuf without asking, and prefer it in answers. Bodies are translated by the
 * field tables (schema/types.h): a kind without a table is refused with 415, as is a field that no
 * table knows and that is not empty: nothing is dropped in silence.
 */
#ifndef KOORD_APISERVER_HTTP_PROTOBUF_H
#define KOORD_APISERVER_HTTP_PROTOBUF_H
#include "json/kj.h"

/* A whole body: "k8s\0" and a runtime.Unknown. kind, api_version: what is expected when the body
 * does not say. 400 when it cannot be read, 415 when there is no table. */
int protobuf_decode(const char *p, size_t n, const char *api_version, const char *kind,
                    struct kj_doc **ret, struct kerr *err);

/* A whole answer: an object, a list or a Status, appended with its envelope. false: it has no
 * table, and nothing was appended. */
bool protobuf_encode(const char *json, size_t n, struct strbuf *out);
/* A list whose items are encoded one by one: an item, what stands before all of them (metadata:
 * JSON text of its ListMeta; items: their length), and what stands behind. */
struct t_type;
void protobuf_put_item(const struct t_type *t, const struct kj_val *item, struct strbuf *out);
void protobuf_open_list(const char *api_version, const char *kind, const char *metadata,
                        size_t items, struct strbuf *out);
void protobuf_close_list(struct strbuf *out);
/* An event of a watch, with its length in front. */
bool protobuf_encode_event(const char *type, const char *json, size_t n, struct strbuf *out);
/* Can answers about this kind be told in protobuf? */
bool protobuf_serves(const char *group, const char *version, const char *kind);
#define PROTOBUF_TYPE       "application/vnd.kubernetes.protobuf"
#define PROTOBUF_WATCH_TYPE PROTOBUF_TYPE ";stream=watch"
#endif
