/* client_h2.h - between client_h2.c (the connection) and client_h2_recv.c (nghttp2's callbacks). */
#ifndef KOORD_NET_CLIENT_H2_H
#define KOORD_NET_CLIENT_H2_H
#include <nghttp2/nghttp2.h>

#include "net/client/client_int.h"

struct h2 {
    nghttp2_session *ng;
    struct conn *c;
    struct headbuf head;
    int status; /* of the head being received */
    bool head_too_large;
    bool in_recv; /* inside nghttp2_session_mem_recv(): what is queued is sent afterwards */
    bool in_send; /* inside nghttp2_session_mem_send() */
    bool got_settings;
    bool pinging;
    bool lost; /* nobody there to say goodbye to */
    struct timer *flush_timer, *ping_timer;
    nsec_t last_recv;
    uint32_t goaway_code;
    char goaway_text[64];
    char fault[120]; /* what nghttp2 last found wrong with the peer */
};

void h2_set_callbacks(nghttp2_session_callbacks *cbs);
#endif
