/* review.c - questions and the answers that are kept. */
#include "component/auth/review.h"

#include <sys/queue.h>

#include "base/map.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "net/digest.h"
#include "json/kj.h"

#define REVIEW_TIMEOUT (10 * NSEC_PER_SEC)

struct review_wait {
    struct question *question;
    review_fn fn;
    void *arg;
    TAILQ_ENTRY(review_wait) link;
};
TAILQ_HEAD(waits, review_wait);

struct question {
    char key[DIGEST_SIZE];
    struct reviews *reviews;
    struct kube_call *call; /* NULL: answered */
    bool telling;           /* who waits is being told: it must not go meanwhile */
    struct waits waits;
    struct review answer;
    nsec_t until;
    TAILQ_ENTRY(question) link; /* kept: the oldest first */
};

struct reviews {
    struct kube *kube;
    struct review_opts o;
    char *path;
    struct map questions;
    TAILQ_HEAD(, question) kept;
    size_t nkept;
};

static void question_free(struct question *q)
{
    struct review_wait *w;

    kube_cancel(q->call);
    while ((w = TAILQ_FIRST(&q->waits))) {
        TAILQ_REMOVE(&q->waits, w, link);
        free(w);
    }
    free(q->answer.name);
    free(q->answer.text);
    free(q);
}

static void forget(struct question *q)
{
    struct reviews *rv = q->reviews;

    map_remove(&rv->questions, q->key, sizeof q->key);
    if (!q->call) {
        TAILQ_REMOVE(&rv->kept, q, link);
        rv->nkept--;
    }
    question_free(q);
}

struct reviews *reviews_new(struct kube *k, const struct review_opts *o)
{
    struct reviews *rv = xnew0(struct reviews);

    rv->kube = k;
    rv->o = *o;
    rv->o.max = o->max ? o->max : 4096;
    rv->path = xstrdup(o->path);
    TAILQ_INIT(&rv->kept);
    return rv;
}

struct reviews *reviews_free(struct reviews *rv)
{
    if (!rv)
        return NULL;
    map_foreach(&rv->questions, e)
        question_free(e->value);
    map_fini(&rv->questions);
    free(rv->path);
    free(rv);
    return NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void tell(struct question *q, const struct review *answer, const struct kerr *err)
{
    struct review_wait *w;

    while ((w = TAILQ_FIRST(&q->waits))) {
        review_fn fn = w->fn;
        void *arg = w->arg;

        TAILQ_REMOVE(&q->waits, w, link);
        free(w);
        fn(arg, answer, err);
    }
}

static int read_answer(struct question *q, struct kube_resp *r, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    int e = kj_parse(r->body, r->n, 0, &doc, err);

    if (e < 0)
        return e;
    const struct kj_val *status = kj_get(kj_root(doc), "status");
    if (kj_type(status) != KJ_OBJ)
        return kerr_set(err, -EPROTO, "the answer has no status");
    q->reviews->o.read(status, &q->answer);
    return 0;
}

static void on_answer(void *arg, struct kube_resp *r, const struct kerr *failed)
{
    struct question *q = arg;
    struct reviews *rv = q->reviews;
    struct kerr err = { 0 };

    if (failed)
        err = *failed;
    else
        (void)read_answer(q, r, &err);
    if (err.code < 0) {
        kerr_wrap(&err, "%s", rv->path);
        map_remove(&rv->questions, q->key, sizeof q->key); /* who asks again asks anew */
        q->call = NULL;
        tell(q, NULL, &err);
        question_free(q);
        return;
    }
    q->call = NULL;
    q->until = loop_mono(rv->kube->loop) + (q->answer.good ? rv->o.good_ttl : rv->o.bad_ttl);
    TAILQ_INSERT_TAIL(&rv->kept, q, link);
    rv->nkept++;
    q->telling = true;
    tell(q, &q->answer, NULL);
    q->telling = false;
    while (rv->nkept > rv->o.max)
        forget(TAILQ_FIRST(&rv->kept));
}

/* ---- questions ------------------------------------------------------------------------------- */

static struct question *ask(struct reviews *rv, const char *key, const void *body, size_t n)
{
    struct question *q = xnew0(struct question);

    memcpy(q->key, key, sizeof q->key);
    q->reviews = rv;
    TAILQ_INIT(&q->waits);
    map_put(&rv->questions, q->key, sizeof q->key, q);
    q->call = kube_do(rv->kube,
                      &(struct kube_req){ .verb = KUBE_CREATE,
                                          .raw_path = rv->path,
                                          .body = body,
                                          .body_len = n,
                                          .timeout = REVIEW_TIMEOUT },
                      on_answer, q);
    return q;
}

struct review_wait *reviews_ask(struct reviews *rv, const void *body, size_t n, review_fn fn,
                                void *arg)
{
    uint8_t key[DIGEST_SIZE];

    digest_sha256(body, n, key);
    struct question *q = map_get(&rv->questions, (const char *)key, sizeof key);
    if (q && !q->call && !q->telling && q->until <= loop_mono(rv->kube->loop)) {
        forget(q);
        q = NULL;
    }
    if (q && !q->call) {
        fn(arg, &q->answer, NULL);
        return NULL;
    }
    if (!q && rv->questions.n - rv->nkept >= rv->o.max) {
        struct kerr err = { 0 };
        kerr_set(&err, -EBUSY, "%s: too many questions are open", rv->path);
        fn(arg, NULL, &err);
        return NULL;
    }
    if (!q)
        q = ask(rv, (const char *)key, body, n);
    struct review_wait *w = xnew0(struct review_wait);
    *w = (struct review_wait){ .question = q, .fn = fn, .arg = arg };
    TAILQ_INSERT_TAIL(&q->waits, w, link);
    return w;
}

struct review_wait *review_cancel(struct review_wait *w)
{
    if (!w)
        return NULL;
    TAILQ_REMOVE(&w->question->waits, w, link);
    free(w);
    return NULL;
}
