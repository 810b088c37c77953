/* wire_probe.c - reads and writes messages by the tables of api/wire, for tests/system/runtimepeer.
 *
 * usage: wire_probe TABLE      stdin and stdout: messages, each behind its length (4 bytes, little
 * endian)
 */
#include <stdio.h>

#include "api/wire/hook.h"
#include "api/wire/nri.h"

#define TABLE(name)          \
    {                        \
#name, &name##_table \
    }
static const struct {
    const char *name;
    const struct wire_table *table;
} tables[] = {
    TABLE(cri_run_pod_request),     TABLE(cri_create_request),
    TABLE(cri_update_request),      TABLE(cri_pod_list),
    TABLE(cri_container_list),      TABLE(cri_container_status_response),
    TABLE(nri_register_request),    TABLE(nri_configure_request),
    TABLE(nri_synchronize_request), TABLE(nri_synchronize_response),
    TABLE(nri_container_request),   TABLE(nri_create_response),
    TABLE(nri_update_response),     TABLE(nri_state_change),
};

static const struct wire_table *table_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        if (streq(tables[i].name, name))
            return tables[i].table;
    return NULL;
}

/* false: at the end. */
static bool one(const struct wire_table *t)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kerr err;
    uint32_t n;

    if (fread(&n, sizeof n, 1, stdin) != 1 || n > WIRE_MESSAGE_MAX)
        return false;
    char *in = arena_alloc(a, n + 1, 1);
    if (fread(in, 1, n, stdin) != n)
        return false;
    void *message = arena_zalloc(a, t->size);
    if (wire_decode(t, (struct str){ in, n }, a, message, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    wire_encode(t, message, &out);
    n = (uint32_t)out.len;
    fwrite(&n, sizeof n, 1, stdout);
    fwrite(strbuf_str(&out), 1, out.len, stdout);
    return fflush(stdout) == 0;
}

int main(int argc, char **argv)
{
    const struct wire_table *t = argc == 2 ? table_of(argv[1]) : NULL;

    if (!t)
        return 2;
    while (one(t))
        ;
    return 0;
}
