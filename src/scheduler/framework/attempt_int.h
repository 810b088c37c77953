/* attempt_int.h - what attempt.c, score.c and overlay.c share. */
#ifndef KOORD_SCHEDULER_ATTEMPT_INT_H
#define KOORD_SCHEDULER_ATTEMPT_INT_H
#include "scheduler/framework/attempt.h"

/* All filters on one row; by[row] and why[row] are written. said: room for the row. */
void attempt_filter_row(struct attempt *a, uint32_t row, uint8_t *said, uint8_t *by, uint8_t *why);
/* The texts of a plugin's verdict about a row, which is as it was when it was judged. */
void attempt_verdict_texts(struct attempt *a, uint32_t row, uint8_t by, uint8_t why,
                           struct ks_texts *out);
/* Does the room nominated for this pod count for ours? */
bool attempt_nominated_counts(const struct attempt *a, const struct kobj *pod);
/* overlay.c: the states are there, and follow all changes of rows; until they do no more. */
void attempt_follow(struct attempt *a);
void attempt_unfollow(struct attempt *a);
/* The pods nominated on the row that count are there, until a rollback. */
void attempt_with_nominated(struct attempt *a, uint32_t row);
/* `by` and `why` become the attempt's own, so that they can be changed. */
void attempt_own_verdicts(struct attempt *a);
/* rows.c: the row data that plugins of the profile read is current; it is read no more. */
void attempt_begin_rows(struct attempt *a);
void attempt_end_rows(struct attempt *a);
/* advice.c: candidates that extenders rejected are none; their scores are added. */
void attempt_advise(struct attempt *a);
void attempt_add_advice(struct attempt *a);
bool attempt_advised_against(const struct attempt *a, const char *node);
/* reuse.c: what of the shapes still holds; a->fresh ..., a->dirty ... are set. */
void attempt_reuse(struct attempt *a);
/* The shape that keeps what the plugin prepares; NULL: nothing is kept. */
struct shape *attempt_keeper(const struct attempt *a, uint32_t slot);
/* a->state: what was kept; once all plugins have prepared themselves, it is kept for the next. */
void attempt_recall(struct attempt *a);
void attempt_keep(const struct attempt *a);
/* Scores of LOCAL plugins are kept with the shape: all of them, or those of dirty rows. */
void attempt_note_score(struct attempt *a);
/* Before something is added to the sum that was kept with the shape: the attempt gets a copy. */
void attempt_own_total(struct attempt *a);
#endif
