/* sim_cable.h - an HTTP/2 connection over memory that somebody may pull at any moment.
 *
 * Bytes pass as they come. It can break, in the middle of calls too; it can lose an answer that the
 * server gave; the server can be made to say that it goes (GOAWAY), or to reset its youngest call.
 * A cable is gone once either side has closed, and tells its owner of that. Loop thread only.
 */
#ifndef KOORD_TESTS_SIM_CABLE_H
#define KOORD_TESTS_SIM_CABLE_H
#include "net/stream.h"

struct cable;

typedef void (*cable_gone_fn)(void *arg, struct cable *c); /* freed after this */
/* The ends are their holders', the cable is its own. */
struct cable *cable_new(struct loop *l, const struct mem_opts *o, cable_gone_fn gone, void *arg,
                        struct stream **ret_client, struct stream **ret_server);
/* What is under way is lost, and both sides hear of a reset. The cable is gone. */
void cable_break(struct cable *c);
/* It breaks when the server says something next, and that is lost. */
void cable_lose_answer(struct cable *c);
/* With the largest number there is: calls under way go on. Sent before the server's next frame. */
void cable_goaway(struct cable *c);
/* RST_STREAM of the server for the call that began last; code: of HTTP/2. Nothing when there is
 * none. Sent before the server's next frame. */
void cable_reset_call(struct cable *c, uint32_t code);
#endif
