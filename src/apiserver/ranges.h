/* ranges.h - which cluster addresses and node ports the Services have.
 *
 * Addresses come from the ServiceCIDRs that are ready (the server makes the first, "kubernetes"),
 * node ports from 30000-32767. Each address that a Service has is an IPAddress object too, as with
 * kube-apiserver: it is made, and removed, in the turn in which its Service is handed to the store.
 * What is taken is what the newest versions of all Services have, committed or under way; so two
 * creates of one turn never get the same, and it is the same after a restart. When a commit failed
 * everything is counted anew before the next address is given.
 *
 * The search for a free address or port begins where a hash of the Service's name points: the same
 * objects get the same addresses on every run.
 *
 * Loop thread only.
 */
#ifndef KOORD_APISERVER_RANGES_H
#define KOORD_APISERVER_RANGES_H
#include "base/base.h"
#include "base/strbuf.h"
#include "json/kj.h"

struct apiserver;
struct ranges;
struct store_key;

#define RANGES_CIDR "10.96.0.0/16" /* of the ServiceCIDR "kubernetes" */
enum { RANGES_PORT_FIRST = 30000, RANGES_PORT_LAST = 32767 };

struct ranges *ranges_new(struct apiserver *s);
struct ranges *ranges_free(struct ranges *r); /* NULL is fine; returns NULL */

/* -EEXIST: somebody has it; -ERANGE: no ServiceCIDR that is ready has it. */
int ranges_ip_state(struct ranges *r, const char *ip);
/* A free address of IPv4; -ENOSPC. */
int ranges_next_ip(struct ranges *r, uint64_t hash, char *ret, size_t size);
bool ranges_port_taken(struct ranges *r, int64_t port);

/* Does a write under this key have to be accounted? */
bool ranges_concern(const struct store_key *k);
/* It was handed to the store in this turn. Empty texts: there was, or is, no object. */
void ranges_account(struct ranges *r, const struct store_key *k, const struct strbuf *before,
                    const char *doc, size_t n);
/* A write that was accounted has failed. */
void ranges_doubt(struct ranges *r);
#endif
