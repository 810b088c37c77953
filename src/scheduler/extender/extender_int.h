/* extender_int.h - what the files of extender/ share. */
#ifndef KOORD_SCHEDULER_EXTENDER_INT_H
#define KOORD_SCHEDULER_EXTENDER_INT_H
#include "api/kobj.h"
#include "scheduler/config/config.h"
#include "scheduler/extender/extender.h"
#include "scheduler/framework/attempt.h"

struct kjw;

struct extender {
    struct sched_extender c;
    const char *verbs[EXTENDER_VERBS]; /* "": does not serve it */
    const char *url, *path;            /* without a slash at the end; path: of the URL */
    struct http *http;
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
void words_pod(struct kjw *w, const char *key, const struct kobj *pod);
void words_uid(struct kjw *w, const char *key, struct kuid uid);

struct words_name {
    const char *name;
};
struct words_node {
    struct words_name meta;
};
struct words_nodes {
    KLIST(struct words_node) items;
};
struct words_filtered { /* the answer to a filter */
    struct words_nodes *nodes;
    kstrlist names;
    kstrmap failed, unresolvable;
};
struct words_score {
    const char *host;
    int64_t score;
};
struct words_scores {
    KLIST(struct words_score) items;
};
struct words_victim {
    struct kuid uid;
};
struct words_victims {
    KLIST(struct words_victim) pods;
    int64_t violations;
};
struct words_culled {
    KLIST(struct words_culled_node {
        const char *node;
        struct words_victims victims;
    })
    nodes;
};
struct words_error {
    const char *error;
};
extern const struct kschema words_filtered_schema, words_scores_schema, words_culled_schema,
    words_error_schema;
/* As Go reads it: names of members in any case. */
int words_read(const struct kschema *s, const struct kj_val *answer, struct arena *a, void *ret,
               struct kerr *err);
#endif
