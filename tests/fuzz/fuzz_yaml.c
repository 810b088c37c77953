/* fuzz_yaml.c - YAML streams: every document read is written as YAML and read again the same. */
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_document(void *arg, struct kj_doc *doc, int line, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *mine = doc, *again = NULL;
    CLEANUP(strbuf_fini) struct strbuf yaml = STRBUF_INIT, json = STRBUF_INIT;

    (void)err;
    ++*(int *)arg;
    assert(line > 0);
    kj_write(kj_root(mine), 0, &json);
    int r = kj_parse(json.data, json.len, 0, &again, NULL);
    assert(r == 0);
    assert(kj_equal(kj_root(mine), kj_root(again)));
    again = kj_doc_free(again);
    kj_write_yaml(kj_root(mine), &yaml);
    r = kj_parse_yaml(yaml.data, yaml.len, 0, &again, NULL);
    assert(r == 0);
    assert(kj_equal(kj_root(mine), kj_root(again)));
    (void)r;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(kj_doc_free) struct kj_doc *first = NULL, *raw = NULL;
    const char *text = (const char *)data;
    struct kerr err = { 0 };
    int documents = 0;

    if (kj_parse_yaml_all(text, size, 0, check_document, &documents, &err) < 0)
        assert(err.code < 0 && err.text[0] != '\0');
    memset(&err, 0, sizeof err);
    if (kj_parse_yaml(text, size, 0, &first, &err) < 0) {
        assert(err.code < 0 && err.text[0] != '\0');
        assert(documents == 0);
        return 0;
    }
    if (kj_parse_yaml(text, size, KJ_RAW_NUMBERS, &raw, NULL) == 0)
        assert(kj_equal(kj_root(first), kj_root(raw)));
    return 0;
}
