/* aggregate.h - keeps the rules of ClusterRoles with an aggregationRule what they are made of.
 *
 * A controller's work, done by the server itself: with RBAC on, "view", "edit" and "admin" must
 * mean something also where no controllers run.
 */
#ifndef KOORD_APISERVER_AUTHZ_AGGREGATE_H
#define KOORD_APISERVER_AUTHZ_AGGREGATE_H

struct aggregate;
struct apiserver;

struct aggregate *aggregate_start(struct apiserver *s);
struct aggregate *aggregate_stop(struct aggregate *a); /* NULL is fine; returns NULL */
#endif
