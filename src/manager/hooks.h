/* hooks.h - the webhooks of a manager, and the profiles, over its caches (inside the room).
 *
 * A source (webhook/source.h) that reads informers: profiles are compiled when they change, not for
 * each pod. Runs on every replica from manager_watch() on; only the leader writes events about
 * profiles that cannot be used.
 */
#ifndef KOORD_MANAGER_HOOKS_H
#define KOORD_MANAGER_HOOKS_H
#include "api/kobj.h"

struct manager;
struct manager_hooks;
struct profile_set;
struct webhook_opts;
struct webhooks;

struct manager_hooks *hooks_new(struct manager *m, const struct webhook_opts *o);
struct manager_hooks *hooks_free(struct manager_hooks *h); /* NULL is fine; always returns NULL */
/* We lead: what is wrong with profiles is told once more. */
void hooks_lead(struct manager_hooks *h);
struct webhooks *hooks_webhooks(const struct manager_hooks *h);
const struct profile_set *hooks_profiles(const struct manager_hooks *h);
/* NULL: there is no such namespace. */
const kstrmap *hooks_namespace_labels(const struct manager_hooks *h, const char *ns);
#endif
