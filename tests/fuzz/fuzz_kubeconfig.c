/* fuzz_kubeconfig.c - any bytes as a kubeconfig: a refusal says why, an acceptance is complete. */
#include "client/kubeconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(kube_config_fini) struct kube_config c = { 0 };
    struct kerr err = { 0 };

    /* No directory: files it names are not read. */
    if (kube_config_parse((const char *)data, size, NULL, NULL, &c, &err) < 0) {
        assert(err.code < 0 && err.text[0] != '\0');
        assert(!c.arena);
        return 0;
    }
    assert(c.server && *c.server);
    assert(c.ns && *c.ns);
    assert(c.context && *c.context);
    assert(!c.exec.command || *c.exec.command);
    return 0;
}
