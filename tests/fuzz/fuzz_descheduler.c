/* fuzz_descheduler.c - configuration files of the descheduler.
 *
 * A file is refused with a reason, or it is completed; what is written of it then is read again,
 * and gives the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "descheduler/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(config_unref) struct config *c = NULL, *again = NULL;
    CLEANUP(strbuf_fini) struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
    CLEANUP(mem_free) char *text = xstrndup((const char *)data, size);
    struct kerr err = { 0 };

    if (config_parse(&desched_config_spec, text, strlen(text), "fuzz", &c, &err) < 0) {
        check(err.code < 0 && *err.text);
        return 0;
    }
    desched_config_write(c->value, &once);
    check(config_parse(&desched_config_spec, once.data, once.len, "again", &again, &err) == 0);
    desched_config_write(again->value, &twice);
    check(streq(strbuf_str(&once), strbuf_str(&twice)));
    return 0;
}
