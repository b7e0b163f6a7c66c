#pragma once
/* The table of /metrics, for `vtddl help metrics`; the page itself is in serve.h. */
#include <stdio.h>

void metrics_list(FILE *to);
