/* extender_int.h - what the files of extender/ share. */
#ifndef KOORD_SCHEDULER_EXTENDER_INT_H
#define KOORD_SCHEDULER_EXTENDER_INT_H
#include "api/kobj.h"
#include "net/pemfiles.h"
#include "scheduler/config/config.h"
#include "scheduler/extender/extender.h"
#include "scheduler/framework/attempt.h"

struct kjw;
struct tls_ctx;

struct extender {
    struct sched_extender c;
    const char *verbs[EXTENDER_VERBS]; /* "": does not serve it */
    const char *url, *path;            /* without a slash at the end; path: of the URL */
    struct http *http;
    struct tls_ctx *tls;       /* NULL: plain HTTP */
    struct pemfiles *files;    /* of its certificates */
    struct str pem[PEM_FILES]; /* those that the configuration has itself */
};
struct extenders {
    uint32_t refs;
    struct arena *arena;
    struct extender *items;
    uint32_t n;
};
/* Has the verb and is interested in the pod. */
bool extender_serves(const struct extender *e, enum extender_verb verb, const struct pod *p);

/* ---- call.c: one question -------------------------------------------------------------------- */

/* The answer is valid during the call. An answer that names an error is an error. */
typedef void (*extender_fn)(void *arg, const struct kj_val *answer, const struct kerr *err);
struct extender_call *extender_post(struct extender *e, enum extender_verb verb,
                                    const struct strbuf *body, extender_fn fn, void *arg);

/* ---- codec.c: what is written and read ------------------------------------------------------- */

/* Fields that this program keeps; a real extender's struct has more, which stay empty. */
void extender_put_pod(struct kjw *w, const char *key, const struct kobj *pod);
void extender_put_uid(struct kjw *w, const char *key, struct kuid uid);

struct answer_name {
    const char *name;
};
struct answer_node {
    struct answer_name meta;
};
struct answer_nodes {
    KLIST(struct answer_node) items;
};
struct filter_result { /* the answer to a filter */
    struct answer_nodes *nodes;
    kstrlist names;
    kstrmap failed, unresolvable;
};
struct host_priority {
    const char *host;
    int64_t score;
};
struct host_priorities {
    KLIST(struct host_priority) items;
};
struct meta_pod {
    struct kuid uid;
};
struct meta_victims {
    KLIST(struct meta_pod) pods;
    int64_t violations;
};
struct preempt_result {
    KLIST(struct preempt_result_node {
        const char *node;
        struct meta_victims victims;
    })
    nodes;
};
struct error_result {
    const char *error;
};
extern const struct kschema filter_result_schema, host_priorities_schema, preempt_result_schema,
    error_result_schema;
/* As Go reads it: names of members in any case. */
int extender_decode(const struct kschema *s, const struct kj_val *answer, struct arena *a,
                    void *ret, struct kerr *err);
#endif
