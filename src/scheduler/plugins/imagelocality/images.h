/* images.h - which nodes have which images, kept up to date between attempts.
 *
 * Follows the rows of the columns: images_sync() looks only at rows whose node object is another
 * one than last time, of which it holds a reference. The size of an image is that of the first
 * report, as long as some node has it. Loop thread.
 */
#ifndef KOORD_SCHEDULER_IMAGES_H
#define KOORD_SCHEDULER_IMAGES_H
#include "base/base.h"

struct images;
struct ks_nodes;

struct image {
    int64_t size;
    const uint32_t *rows; /* that have it; each once, in no order */
    uint32_t n;
};

struct images *images_new(void);
struct images *images_free(struct images *s);
void images_sync(struct images *s, const struct ks_nodes *nodes);
/* By its full name, tag included. NULL when no node has it. */
const struct image *images_find(const struct images *s, const char *name);
#endif
