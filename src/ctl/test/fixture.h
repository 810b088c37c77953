/* fixture.h - koordctl against a scripted server, on the virtual loop. */
#ifndef KOORD_CTL_TEST_FIXTURE_H
#define KOORD_CTL_TEST_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/intern.h"
#include "client/kube.h"
#include "client/test/fakehttp.h"
#include "ctl/ctl.h"

struct fixture {
    struct loop *l;
    struct intern *strings;
    struct fake f;
    struct ctl c;
    const struct ctl_parts *parts;
    struct client_env env;
    bool connects; /* by its configuration, not to the scripted server */
    char *out, *err;
    size_t out_n, err_n;
};

static inline void fixture_init(struct fixture *x)
{
    *x = (struct fixture){ .l = loop_new_virtual(0, 5), .strings = intern_new() };
    fake_init(&x->f, x->l);
}

static inline void fixture_fini(struct fixture *x)
{
    free(x->out);
    free(x->err);
    strbuf_fini(&x->f.log);
    loop_free(x->l);
    intern_free(x->strings);
}

static inline UNUSED void fixture_fini_p(struct fixture *x)
{
    fixture_fini(x);
}

/* Runs one command line; its output is in x->out and x->err. */
static inline int fixture_run(struct fixture *x, char *const *argv)
{
    int argc = 0;

    free(x->out);
    free(x->err);
    x->out = x->err = NULL;
    strbuf_reset(&x->f.log);
    x->c = (struct ctl){
        .loop = x->l,
        .strings = x->strings,
        .kube = x->connects ? NULL : kube_http_over(x->l, x->strings, &x->f.http),
        .env = x->env,
        .parts = x->parts,
        .out = open_memstream(&x->out, &x->out_n),
        .err = open_memstream(&x->err, &x->err_n),
    };
    while (argv[argc])
        argc++;
    int code = ctl_main(&x->c, argc, argv);
    fclose(x->c.out);
    fclose(x->c.err);
    return code;
}
#define run(x, ...) fixture_run((x), (char *const[]){ "koordctl", __VA_ARGS__, NULL })
#endif
