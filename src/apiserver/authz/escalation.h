/* escalation.h - a step of admission: roles and bindings grant no more than their author has. */
#ifndef KOORD_APISERVER_AUTHZ_ESCALATION_H
#define KOORD_APISERVER_AUTHZ_ESCALATION_H

struct apiserver;

void escalation_add(struct apiserver *s);
#endif
