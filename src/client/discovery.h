/* discovery.h - the kinds that an API server serves, and what can be done with them.
 *
 * For those who deal with kinds that no table of ours has: garbage collection, deletion of
 * namespaces, owners of any kind, words that a person writes. One round asks for the preferred
 * version of every group. Kinds stay where they are as long as the discovery lives, since informers
 * use them; those that the server no longer serves are marked. Loop thread only.
 */
#ifndef KOORD_CLIENT_DISCOVERY_H
#define KOORD_CLIENT_DISCOVERY_H
#include "api/kobj.h"

struct discovery;
struct kube;

struct served_kind {
    struct kind kind; /* decodes nothing but metadata */
    const char *singular;
    bool served; /* by the last round */
    bool list, watch, delete_one, delete_collection;
};

struct discovery *discovery_new(struct kube *k);
/* NULL is fine; always returns NULL. Not from inside a callback of on_round. */
struct discovery *discovery_free(struct discovery *d);
DEFINE_CLEANUP(discovery_free, struct discovery *)

/* fn is called after each round. */
typedef void (*discovery_fn)(void *arg);
void discovery_on_round(struct discovery *d, discovery_fn fn, void *arg);
/* A round now, and then at every interval (0: half a minute); sooner when one failed. */
void discovery_start(struct discovery *d, nsec_t interval);
/* One round, for a tool; timeout: of each request, 0: the usual one. */
void discovery_ask(struct discovery *d, nsec_t timeout);
/* After discovery_start(): a round in a moment, since a kind came or went. */
void discovery_refresh(struct discovery *d);

bool discovery_complete(const struct discovery *d); /* the last round had no failure */
/* Why kinds may be missing after the last round: the server did not answer, or refused to list its
 * groups. One group that is out of order does not count. NULL: nothing. */
const struct kerr *discovery_problem(const struct discovery *d);
/* How many groups did not answer in the last round; *ret: "apps/v1: connection refused, ...". */
size_t discovery_failed_groups(const struct discovery *d, const char **ret);

/* In the order of the server: core, then its groups. */
size_t discovery_count(const struct discovery *d);
struct served_kind *discovery_at(const struct discovery *d, size_t i); /* stays where it is */
/* api_version as in an owner reference; any served version of the group counts. NULL: not known. */
struct served_kind *discovery_find(const struct discovery *d, const char *api_version,
                                   const char *kind);
/* By a word of a person, in any case: plural, singular, kind or short name; "widgets.example.com"
 * names the group as well. Only what is served. NULL: no such kind. */
struct served_kind *discovery_find_word(const struct discovery *d, const char *word);
#endif
