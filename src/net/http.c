/* http.c - small helpers around headers. */
#include "net/http.h"

struct str http_header_get(const struct http_headers *h, const char *name)
{
    struct str want = str_of(name);

    for (size_t i = 0; i < h->n; i++)
        if (str_eq(h->items[i].name, want))
            return h->items[i].value;
    return (struct str){ NULL, 0 };
}
