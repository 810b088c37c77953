/* job_indexes.h - sets of indexes of a Job, as ranges: "0-3,5".
 *
 * A Job may have 2^31 completions, so nothing here is as large as they are, only as the number of
 * ranges. A set is filled first, in any order; after jranges_settle() it can be asked.
 */
#ifndef KOORD_CLUSTER_JOB_INDEXES_H
#define KOORD_CLUSTER_JOB_INDEXES_H
#include "base/arena.h"
#include "base/vec.h"

struct job_range {
    int64_t first, last;
};
typedef struct vec_of(struct job_range) jrangevec; /* vec_fini() when done */

void jranges_add(jrangevec *r, int64_t first, int64_t last);
void jranges_add_all(jrangevec *r, const jrangevec *more);
/* What the text names from 0 to below the limit. What cannot be read is left out. */
void jranges_parse(jrangevec *r, const char *text, int64_t limit);
/* Sorted, and no two ranges overlap or touch. */
void jranges_settle(jrangevec *r);

/* Of settled sets. */
int64_t jranges_count(const jrangevec *r);
int64_t jranges_count_common(const jrangevec *a, const jrangevec *b);
const char *jranges_text(const jrangevec *r, struct arena *a);
#endif
