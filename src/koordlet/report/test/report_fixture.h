/* report_fixture.h - what the tests of reports share: pods from JSON, answers compared as JSON. */
#ifndef KOORD_KOORDLET_REPORT_TEST_REPORT_FIXTURE_H
#define KOORD_KOORDLET_REPORT_TEST_REPORT_FIXTURE_H
#include "api/test/object_fixture.h"

#include "koordlet/states/podset.h"

#define NOW  (INT64_C(1763200000) * NSEC_PER_SEC)
#define GI   (INT64_C(1) << 30)
#define NODE "{'metadata':{'name':'n','uid':'node-uid','annotations':{'other':'x'}}}"

/* Pods from a JSON list. */
static inline UNUSED struct podset *pods_of(struct object_fixture *b, const char *quoted)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(quoted);
    size_t n = kj_len(kj_root(doc));
    struct npod **pods = xnewn0(n + 1, struct npod *);
    struct kerr err = { 0 };

    for (size_t i = 0; i < n; i++)
        if (npod_decode(kj_at(kj_root(doc), i), i, CGROUP_SYSTEMD, b->scratch, &pods[i], &err) < 0)
            fail_msg("%s", err.text);
    return podset_new(pods, n);
}

static inline UNUSED struct kj_doc *parse(const struct strbuf *text)
{
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    if (kj_parse(strbuf_str(text), text->len, 0, &doc, &err) < 0)
        fail_msg("%s: %s", err.text, strbuf_str(text));
    return doc;
}

static inline UNUSED void assert_json(const struct kj_val *v, const char *quoted)
{
    CLEANUP(kj_doc_free) struct kj_doc *want = fixture_doc(quoted);
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (!kj_equal(v, kj_root(want))) {
        kj_write(v, 0, &text);
        fail_msg("%s\n  instead of %s", strbuf_str(&text), quoted);
    }
}
#endif
