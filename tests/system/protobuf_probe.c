/* protobuf_probe.c - bodies of Kubernetes' own encoder, through the field tables, for
 * tests/system/test_schema.
 *
 * usage: protobuf_probe NAME...     NAME.pb and NAME.json: one object in both forms, every field
 * set
 *
 * Reading the first gives the second; writing that and reading it again changes nothing. Says what
 * differs; exit status 1 when something does.
 */
#include <fcntl.h>
#include <stdio.h>

#include "apiserver/http/protobuf.h"
#include "sys/file.h"

static struct kj_doc *read_json(const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT, text = STRBUF_INIT;
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    strbuf_appendf(&path, "%s.json", name);
    if (file_read_all(AT_FDCWD, path.data, 16 << 20, &text, &err) < 0 ||
        kj_parse(text.data, text.len, 0, &doc, &err) < 0)
        fprintf(stderr, "%s: %s\n", path.data, err.text);
    return doc;
}

static struct kj_doc *decode(const char *name, const struct strbuf *body)
{
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (protobuf_decode(strbuf_str(body), body->len, "", "", &doc, &err) < 0)
        fprintf(stderr, "%s: %s\n", name, err.text);
    return doc;
}

static bool differs(const char *name, const char *what, const struct kj_doc *want,
                    const struct kj_doc *got)
{
    CLEANUP(strbuf_fini) struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;

    if (!want || !got || kj_equal(kj_root(want), kj_root(got)))
        return !want || !got;
    kj_write(kj_root(want), KJ_SORTED, &a);
    kj_write(kj_root(got), KJ_SORTED, &b);
    fprintf(stderr, "%s: %s\n- %s\n+ %s\n", name, what, a.data, b.data);
    return true;
}

static bool one(const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT, body = STRBUF_INIT, json = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *want = read_json(name), *got = NULL, *again = NULL;
    CLEANUP(strbuf_fini) struct strbuf written = STRBUF_INIT;
    struct kerr err = { 0 };

    strbuf_appendf(&path, "%s.pb", name);
    if (!want || file_read_all(AT_FDCWD, path.data, 16 << 20, &body, &err) < 0) {
        fprintf(stderr, "%s: %s\n", name, err.text);
        return false;
    }
    got = decode(name, &body);
    if (differs(name, "read", want, got))
        return false;
    kj_write(kj_root(want), 0, &json);
    if (!protobuf_encode(json.data, json.len, &written)) {
        fprintf(stderr, "%s: no table to write it by\n", name);
        return false;
    }
    again = decode(name, &written);
    return !differs(name, "written", want, again);
}

int main(int argc, char **argv)
{
    int failed = 0;

    for (int i = 1; i < argc; i++)
        failed += !one(argv[i]);
    return failed > 0;
}
