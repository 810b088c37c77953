/* crdgen.c - koord-crdgen DIR: writes the manifests DIR/crds/NAME.yaml and
 * DIR/priorityclasses.yaml.
 *
 * Run after a table of this folder changed: build/.../koord-crdgen packaging
 */
#include "api/koord/crds.h"

#include <stdio.h>

static int write_file(const char *path, const struct strbuf *text)
{
    FILE *f = fopen(path, "we");

    if (!f || fwrite(text->data, 1, text->len, f) != text->len || fclose(f) != 0) {
        (void)fprintf(stderr, "koord-crdgen: %s: %s\n", path, strerror(errno));
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, path = STRBUF_INIT;
    char name[160];

    if (argc != 2) {
        (void)fprintf(stderr, "usage: koord-crdgen DIR\n");
        return 2;
    }
    for (size_t i = 0; crd_at(i); i++) {
        crd_file_name(crd_at(i), name, sizeof name);
        strbuf_reset(&path);
        strbuf_appendf(&path, "%s/crds/%s", argv[1], name);
        strbuf_reset(&text);
        crd_manifest(crd_at(i), &text);
        if (write_file(path.data, &text) < 0)
            return 1;
    }
    strbuf_reset(&path);
    strbuf_appendf(&path, "%s/priorityclasses.yaml", argv[1]);
    strbuf_reset(&text);
    priority_class_manifests(&text);
    return write_file(path.data, &text) < 0;
}
