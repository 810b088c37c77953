/* web_int.h - what the page's server and its streams share. Internal to the room. */
#ifndef KOORD_DASH_WEB_INT_H
#define KOORD_DASH_WEB_INT_H
#include "base/vec.h"
#include "dash/session.h"
#include "dash/views.h"
#include "dash/web.h"
#include "net/http.h"

struct httpd;
struct httpd_req;
struct viewer;

struct web {
    struct dash *dash;
    struct httpd *httpd;
    struct session session;
    struct vec_of(struct viewer *) viewers;
    struct timer *tick;
    bool is_v6;
};

/* Headers that every answer has; returns how many. */
enum { WEB_HEADERS = 8 };
size_t web_headers(struct http_header out[WEB_HEADERS], const char *content_type);
/* Begins a stream; the request is taken over. */
void viewer_start(struct web *w, struct httpd_req *r);

/* The files of the page, made at build time from page/. */
struct page_file {
    const char *path, *type;
    const unsigned char *data;
    size_t n;
};
extern const struct page_file page_files[]; /* ends with a NULL path */
#endif
