/* top.h - koordctl top: what is shown of nodes and pods, as a table with bars or as JSON. */
#ifndef KOORD_CTL_TOP_H
#define KOORD_CTL_TOP_H
#include "base/strbuf.h"
#include "base/vec.h"
#include "dash/dash.h"

enum top_order { TOP_BY_CPU, TOP_BY_MEMORY, TOP_BY_NAME };

struct top_view {
    struct dash *dash;
    enum top_order order;
    const char *const *names; /* only these; none: all */
    size_t nnames;
    bool with_ns, no_headers;
    size_t max_rows; /* 0: all; the rest is counted in a last line */
    bool colour;
};
/* Tables. The text is complete, with its header. */
void top_nodes(const struct top_view *v, struct strbuf *out);
void top_pods(const struct top_view *v, struct strbuf *out);
/* The same figures as one line of JSON. */
void top_nodes_json(const struct top_view *v, struct strbuf *out);
void top_pods_json(const struct top_view *v, struct strbuf *out);
#endif
