/* source_file.h - a file of the source tree, for tests. SOURCE_ROOT comes from the build. */
#ifndef KOORD_API_TEST_SOURCE_FILE_H
#define KOORD_API_TEST_SOURCE_FILE_H
#include "base/strbuf.h"

#include <stdio.h>

#ifndef SOURCE_ROOT
#define SOURCE_ROOT "."
#endif

/* The whole text; the caller frees it. Fails the test when the file is not there. */
static inline UNUSED char *source_file(const char *path)
{
    struct strbuf name = STRBUF_INIT, text = STRBUF_INIT;
    char chunk[4096];
    size_t n;

    strbuf_appendf(&name, "%s/%s", SOURCE_ROOT, path);
    FILE *f = fopen(name.data, "re");
    if (!f)
        fail_msg("%s: %s", name.data, strerror(errno));
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        strbuf_appendn(&text, chunk, n);
    (void)fclose(f);
    strbuf_fini(&name);
    return strbuf_take(&text);
}
#endif
