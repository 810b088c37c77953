/* monitor.h - finds pods whose attempt or binding takes too long (scheduler-core 11.3). Internal to
 * the room.
 *
 * It keeps no list of its own: pods in flight are those that the queue says are, so none can be
 * forgotten here. Runs only while there are some.
 */
#ifndef KOORD_SCHEDULER_OBSERVE_MONITOR_H
#define KOORD_SCHEDULER_OBSERVE_MONITOR_H
#include "json/schema.h" /* struct kuid */

struct monitor;
struct scheduler;

/* timeout 0: nobody is ever late. */
struct monitor *monitor_new(struct scheduler *s, nsec_t period, nsec_t timeout);
struct monitor *monitor_free(struct monitor *m);
/* A pod was popped. */
void monitor_began(struct monitor *m);
/* Its attempt is over, or its binding; it is in flight still. */
void monitor_ended(struct monitor *m, struct kuid uid);
#endif
