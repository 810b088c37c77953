/* table.h - rows and columns as kubectl prints them, from a server's meta.k8s.io/v1 Table.
 *
 * Columns are as wide as their longest cell so far, at least 6, with 3 blanks between them; widths
 * never shrink, so rows of a watch stay in line with those before.
 */
#ifndef KOORD_CTL_TABLE_H
#define KOORD_CTL_TABLE_H
#include "base/base.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct kj_val;

struct ctl_table_opts {
    bool wide, with_ns, with_event, no_headers;
};
struct ctl_table_row { /* one block; free() it */
    size_t n;
    const char *cells[];
};
struct table {
    struct ctl_table_opts o;
    struct vec_of(char *) names; /* in capitals */
    struct vec_of(size_t) widths;
    struct vec_of(size_t) from; /* which of the server's cells */
    bool is_plain, headed;
};

void ctl_table_init(struct table *t, const struct ctl_table_opts *o);
void ctl_table_fini(struct table *t);
/* Learns the columns from the first answer that has some. A list or object that is no Table (a
 * server that makes none) gets the columns NAME and CREATED AT. */
int ctl_table_learn(struct table *t, const struct kj_val *answer, struct kerr *err);
/* A new row of a Table's rows[] entry (or, without a Table, of an object); event may be NULL. */
struct ctl_table_row *ctl_table_row(struct table *t, const struct kj_val *row, const char *event);
/* Writes the row; the first is preceded by the header. Make all rows of a list before the first. */
void ctl_table_put(struct table *t, const struct ctl_table_row *row, struct strbuf *out);

/* metadata of a row's object, or of the object itself. */
const struct kj_val *ctl_table_row_meta(const struct kj_val *row);
#endif
