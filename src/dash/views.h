/* views.h - what the page shows, as JSON: one function for each message of a stream.
 *
 * Texts of the cluster are data: the page puts them into text nodes. Lists are bounded; a total
 * says what was left out. Internal to the room.
 */
#ifndef KOORD_DASH_VIEWS_H
#define KOORD_DASH_VIEWS_H
#include "base/strbuf.h"
#include "dash/dash_int.h"

struct kjw;
struct nodeview;

enum {
    VIEW_CHUNK = 500, /* nodes of one message, so that no task of the page is long */
    VIEW_PODS = 110,  /* rows of a list: as many as a kubelet runs by default */
    VIEW_REASONS = 12,
    VIEW_MOVES = 200,
    VIEW_EVENTS = 100,
};

/* Problems of the sources, and the sums of now. */
void view_state(struct dash *d, struct strbuf *out);
/* Minutes after this wall time: [[minute, ...], ...]. false: there are none. */
bool view_minutes(struct dash *d, nsec_t after, nsec_t *ret_last, struct strbuf *out);
/* Rows by name, natural order (node-2 before node-10); free() the result. */
struct row **view_rows(struct dash *d, size_t *ret_n);
/* One message of rows; is_first: the page forgets those it has. */
void view_nodes(struct row *const *rows, size_t n, bool is_first, struct strbuf *out);
void view_node(struct dash *d, const char *name, const struct nodeview *nv, struct strbuf *out);
void view_pending(struct dash *d, struct strbuf *out);
void view_moves(struct dash *d, struct strbuf *out);

/* [milli-CPU, MiB] */
void view_amount(struct kjw *w, const char *key, struct dash_amount a);

/* ---- of one node, for as long as somebody looks at it ---------------------------------------- */

/* Informers of the node's NodeSLO and of its events. */
struct nodeview *nodeview_new(struct dash *d, const char *node);
struct nodeview *nodeview_free(struct nodeview *v); /* NULL is fine; always returns NULL */
const struct informer *nodeview_slo(const struct nodeview *v);
const struct informer *nodeview_events(const struct nodeview *v);
#endif
