/* podmix.h - which kinds of GPU pods a cluster is asked for, and how often.
 *
 * A count by kind in which old pods count less: half after a day. Restarted, it is filled again
 * from the pods that there are. The table is bounded: the rarest kind makes room. Who scores by it
 * gets a picture that changes in steps (a quarter more pods, or an hour), so that scores can be
 * kept between. All time is given. One owner, one thread.
 */
#ifndef KOORD_SCHEDULER_DEVICESHARE_PODMIX_H
#define KOORD_SCHEDULER_DEVICESHARE_PODMIX_H
#include "scheduler/plugins/deviceshare/fragmentation.h"

enum { PODMIX_KINDS_MAX = 256 };

struct podmix;

struct podmix *podmix_new(void);
struct podmix *podmix_free(struct podmix *x); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(podmix_free, struct podmix *)
/* A pod was asked for. What has no cards or an impossible share is left out. */
void podmix_note(struct podmix *x, const struct frag_kind *kind, nsec_t now);
/* The picture to score by; borrowed, until the next call of podmix_note() or podmix_look(). */
const struct frag_mix *podmix_look(struct podmix *x, nsec_t now);
/* Another number for every picture: scores of another one are out of date. */
uint64_t podmix_version(const struct podmix *x);
#endif
