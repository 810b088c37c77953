/* fuzz_crd_jsonpath.c - simple JSON paths. The first line is the path, the rest a document.
 *
 * What a path leads to is a value of the document; a path that is not valid leads nowhere; and the
 * path that we write to any value of the document, with every name quoted, leads there.
 */
#include "apiserver/crd/jsonpath.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS_MAX = 60, PATHS_MAX = 200 }; /* a path may have 64 steps */

static bool contains(const struct kj_val *in, const struct kj_val *v)
{
    struct kj_iter it = kj_iter(in);
    const struct kj_val *c;

    if (in == v)
        return true;
    while (kj_next(&it, NULL, &c))
        if (contains(c, v))
            return true;
    return false;
}

static void append_name(struct strbuf *path, struct str key)
{
    strbuf_append(path, path->len ? "['" : ".['");
    for (size_t i = 0; i < key.n; i++)
        strbuf_appendf(path, "%s%c", key.p[i] == '\'' || key.p[i] == '\\' ? "\\" : "", key.p[i]);
    strbuf_append(path, "']");
}

/* The path so far leads to v in root; then so do the paths to what is in v. */
static void check_paths(const struct kj_val *root, const struct kj_val *v, struct strbuf *path,
                        int steps, int *left)
{
    struct kj_iter it = kj_iter(v);
    size_t len = path->len;
    const struct kj_val *c;
    struct str key;

    if (len) {
        assert(jsonpath_is_valid(path->data));
        assert(jsonpath_first(path->data, root) == v);
    }
    for (size_t i = 0; kj_next(&it, &key, &c) && steps<STEPS_MAX && * left> 0; i++) {
        /* Names are texts of limited length; the last of equal ones is the one that counts. */
        if (key.p && (key.n > 300 || memchr(key.p, '\0', key.n) || kj_getn(v, key.p, key.n) != c))
            continue;
        if (key.p)
            append_name(path, key);
        else
            strbuf_appendf(path, "%s[%zu]", len ? "" : ".", i);
        --*left;
        check_paths(root, c, path, steps + 1, left);
        path->len = len;
        path->data[len] = '\0';
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf to = STRBUF_INIT;
    const char *text = (const char *)data, *line = size ? memchr(text, '\n', size) : NULL;
    int left = PATHS_MAX;

    if (!line || memchr(text, '\0', (size_t)(line - text)))
        return 0;
    CLEANUP(mem_free) char *path = xstrndup(text, (size_t)(line - text));
    bool valid = jsonpath_is_valid(path);
    if (kj_parse(line + 1, size - (size_t)(line + 1 - text), 0, &doc, NULL) < 0)
        return 0;
    const struct kj_val *found = jsonpath_first(path, kj_root(doc));
    assert(!found || (valid && contains(kj_root(doc), found)));
    check_paths(kj_root(doc), kj_root(doc), &to, 0, &left);
    return 0;
}
