/* rest.h - the REST paths of a scheduler: nodes, and what services of plugins declare
 * (scheduler-core 11.4). GET and HEAD, JSON, only where the scheduler leads. Loop thread.
 */
#ifndef KOORD_SCHEDULER_OBSERVE_REST_H
#define KOORD_SCHEDULER_OBSERVE_REST_H

struct scheduler;
struct serve;

void rest_serve(struct scheduler *s, struct serve *serve);
#endif
