/* images.h - which nodes have which images, kept up to date between attempts.
 *
 * images_sync() looks only at rows whose node changed, and touches only images that came or went
 * there. The size of an image is that of the first report, as long as some node has it. Loop
 * thread.
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
    uint64_t changed; /* when it came to a row or left one: a value of images_generation() */
};

struct images *images_new(void);
struct images *images_free(struct images *s);
void images_sync(struct images *s, const struct ks_nodes *nodes);
/* Grows when any image comes to a row or leaves one. */
uint64_t images_generation(const struct images *s);
/* By its full name, tag included. NULL when no node has it. */
const struct image *images_find(const struct images *s, const char *name);
#endif
