/* httpd_text.c - small text helpers of the HTTP server. */
#include "net/server/httpd_int.h"

const char *status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } table[] = {
        { 200, "OK" },
        { 201, "Created" },
        { 202, "Accepted" },
        { 204, "No Content" },
        { 206, "Partial Content" },
        { 301, "Moved Permanently" },
        { 302, "Found" },
        { 304, "Not Modified" },
        { 307, "Temporary Redirect" },
        { 308, "Permanent Redirect" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 406, "Not Acceptable" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 410, "Gone" },
        { 412, "Precondition Failed" },
        { 413, "Content Too Large" },
        { 415, "Unsupported Media Type" },
        { 417, "Expectation Failed" },
        { 422, "Unprocessable Content" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 502, "Bad Gateway" },
        { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].status == status)
            return table[i].text;
    return "Unknown";
}

bool req_sends_header(const struct httpd_req *r, struct str name)
{
    static const char *const ours[] = { "connection",       "transfer-encoding", "keep-alive",
                                        "proxy-connection", "upgrade",           "date" };

    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (str_eqz(name, ours[i]))
            return false;
    return !(r->skip_length && str_eqz(name, "content-length"));
}

void append_clean(struct strbuf *b, struct str s)
{
    size_t at = b->len;

    strbuf_appendn(b, s.p, s.n);
    for (size_t i = at; i < b->len; i++)
        if (((unsigned char)b->data[i] < ' ' && b->data[i] != '\t') || b->data[i] == 0x7f)
            b->data[i] = ' ';
}

bool req_next_trailer(const struct httpd_req *r, size_t *at, struct http_header *ret)
{
    if (*at >= r->trailers.len)
        return false;
    ret->name = str_of(r->trailers.data + *at);
    ret->value = str_of(ret->name.p + ret->name.n + 1);
    *at += ret->name.n + ret->value.n + 2;
    return true;
}
