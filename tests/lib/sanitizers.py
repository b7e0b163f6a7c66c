"""A program that was built with sanitizers ends at the first finding, with a code that no test expects. Import is enough.

By default undefined behaviour is only a line on standard error, and a leak is exit code 1, which is one of vtddl's own.
"""

import os

FOUND = 99
os.environ.setdefault("ASAN_OPTIONS", f"halt_on_error=1:abort_on_error=1:print_summary=1:exitcode={FOUND}")
os.environ.setdefault("UBSAN_OPTIONS", "halt_on_error=1:abort_on_error=1:print_summary=1:print_stacktrace=1")
os.environ.setdefault("LSAN_OPTIONS", f"exitcode={FOUND}")
ENVIRONMENT = {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")}
