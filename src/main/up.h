/* up.h - what the files of koordctl up share. */
#ifndef KOORD_MAIN_UP_H
#define KOORD_MAIN_UP_H

struct apiserver;
struct webhooks;

/* From now on what is written passes the webhooks, which must outlive the server's requests. */
void up_add_webhooks(struct apiserver *s, struct webhooks *w);
#endif
