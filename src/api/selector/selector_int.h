/* selector_int.h - compiled requirements, shared by the selector files. Internal to api/. */
#ifndef KOORD_API_SELECTOR_INT_H
#define KOORD_API_SELECTOR_INT_H
#include "api/selector/selector.h"

enum labelop { /* as written: "=" and "==" mean the same but print differently */
               LABELOP_EQ,
               LABELOP_EQ2,
               LABELOP_NE,
               LABELOP_IN,
               LABELOP_NOT_IN,
               LABELOP_EXISTS,
               LABELOP_NOT_EXISTS,
               LABELOP_GT,
               LABELOP_LT
};
struct labelreq {
    const char *key;
    const char *const *values; /* sorted */
    uint32_t n;
    uint8_t op;     /* enum labelop */
    int64_t number; /* of Gt and Lt */
};
struct labelsel {
    struct labelreq *reqs; /* sorted by key */
    uint32_t n;
    bool nothing;
};

/* Checks key, operator and values as the API server does, and completes the requirement: values
 * are copied in order, the number parsed. key_path is what a complaint about the key starts with.
 */
int labelreq_init(struct labelreq *r, const char *key_path, struct arena *a, struct kerr *err);
bool labelreq_matches(const struct labelreq *r, const kstrmap *labels);
/* In place; requirements of one key keep their order. */
void labelreq_sort(struct labelreq *reqs, uint32_t n);
#endif
