/* gzip.h - gzip as a stream: undoing it for the client, doing it for the server. No I/O. */
#ifndef KOORD_NET_GZIP_H
#define KOORD_NET_GZIP_H
#include "base/strbuf.h"

struct gunzip;
/* max_out: more output than this is an error (-EMSGSIZE), against bombs; 0: no limit. */
struct gunzip *gunzip_new(uint64_t max_out);
struct gunzip *gunzip_free(struct gunzip *g); /* NULL is fine; returns NULL */
/* Takes from *p, *n and fills out with at most cap bytes; returns how many, or the error. Done with
 * this input when it returns less than cap. */
ssize_t gunzip_step(struct gunzip *g, const char **p, size_t *n, char *out, size_t cap,
                    struct kerr *err);
/* False: the text was cut off. */
bool gunzip_complete(const struct gunzip *g);

enum gzip_flush {
    GZIP_MORE, /* keep what compresses better later */
    GZIP_SYNC, /* all of it can be read by the other side now (a watch event) */
    GZIP_END,
};
struct gzip;
struct gzip *gzip_new(void);
struct gzip *gzip_free(struct gzip *g); /* NULL is fine; returns NULL */
/* Appends what comes out to b. */
void gzip_write(struct gzip *g, const void *p, size_t n, enum gzip_flush flush, struct strbuf *b);

DEFINE_CLEANUP(gunzip_free, struct gunzip *)
DEFINE_CLEANUP(gzip_free, struct gzip *)
#endif
