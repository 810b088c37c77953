/* expect.h - what a controller asked for and its cache does not show yet.
 *
 * Creates and deletes of children, by owner: a controller that counts children waits until they
 * show, or it would make too many. Names of new children are chosen by the controller, so that a
 * create whose answer was lost can be repeated without making a second child. For writes to the
 * synced object itself the controller sees to it (controller.h).
 */
#ifndef KOORD_CONTROLLERS_EXPECT_H
#define KOORD_CONTROLLERS_EXPECT_H
#include "base/base.h"

struct expect;
struct loop;

struct expect *expect_new(struct loop *l);
struct expect *expect_free(struct expect *e); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(expect_free, struct expect *)
void expect_forget(struct expect *e, const char *key); /* the owner is gone */
void expect_forget_all(struct expect *e);
/* Nothing is outstanding, or it has been so for five minutes. */
bool expect_settled(struct expect *e, const char *key);
void expect_create(struct expect *e, const char *key, const char *name);
void expect_delete(struct expect *e, const char *key, const char *name);
/* The answer to a create was lost. */
void expect_doubt(struct expect *e, const char *key, const char *name);
/* A name with this beginning whose create is in doubt, to be used first; false: there is none. */
bool expect_take_doubt(struct expect *e, const char *key, const char *prefix, char *name,
                       size_t size);
void expect_created(struct expect *e, const char *key, const char *name); /* seen, or refused */
void expect_deleted(struct expect *e, const char *key, const char *name);
#endif
