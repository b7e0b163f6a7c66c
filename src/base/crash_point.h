#pragma once
/*
 * crash_point: places where the program can be told to die, for the tests of restart.
 *
 *	VTDDL_CRASH_AT=NAME:N	dies at the N-th passing of the point NAME
 *	VTDDL_CRASH_AT=#N	dies at the N-th point passed, whatever its name
 *	VTDDL_CRASH_COUNT=FILE	writes at exit how many points were passed, to enumerate them
 *
 * Dying is _exit(137): nothing is flushed, closed or released, as after kill -9. The names
 * are those of crash_points.def. Without -Dcrash_points=true the macro is nothing at all
 * and this code is not in the program.
 */
#ifdef CRASH_POINTS
void crash_point(const char *name);
#define CRASH_POINT(name) crash_point(name)
#else
#define CRASH_POINT(name) ((void)0)
#endif
