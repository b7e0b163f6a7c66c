#pragma once
/*
 * serve: the daemon. One thread runs the loop and owns the engine; HTTP is answered on threads of its own,
 * which ask the loop's thread for what only the engine knows, and a store handle of their own for the past.
 *
 *	cmd_serve.c	opening, turning, signals, ending
 *	serve_board.c	questions of HTTP threads, answered between two steps of the loop
 *	serve_http.c	which path is answered by whom
 *	serve_api.c	/api/v1/...: what the dashboard reads
 *	serve_health.c	/healthz, /readyz, /debug/...
 *	serve_metrics.c	/metrics; also docs/metrics.md
 *	serve_news.c	one log line and one event for each piece of news
 *	serve_past.c	records and history, read beside the loop
 */
#include <jansson.h>

#include "session.h"
#include "vtddl/change.h"
#include "vtddl/http.h"
#include "vtddl/strbuf.h"

#define SEARCH_MAX 128

struct board;
struct past;

struct serve {
	struct session session;
	struct board *board;
	struct past *past;
	struct http *http;     /* NULL: --http off */
	int64_t started_at_ms; /* wall clock */
};

/* ---- What is asked, and the answer ---- */

struct question {
	char uuid[UUID_LENGTH + 1];  /* of one change */
	enum phase phase;	     /* _PHASE_INVALID: any */
	char search[SEARCH_MAX + 1]; /* in names and reasons; "": all */
	size_t limit, offset;
};

struct answer {
	int status;
	json_t *json;	    /* or */
	struct strbuf text; /* of a text page */
};

/** answers on the loop's thread, between two steps */
typedef void page_fn(const struct serve *serve, const struct question *question, struct answer *ret);

page_fn api_changes; /* the list */
page_fn api_change;  /* one that is live; status 404 where it is not */
page_fn health_ready, health_vars, metrics_page;

/* ---- serve_board.c ---- */

struct board *board_new(struct loop *loop);

/**
 * board_ask() - from any thread: have @page answer on the loop's thread
 *
 * Return: true; false, it did not come to it in two seconds, or the program is ending: @ret is untouched.
 */
bool board_ask(struct board *board, page_fn *page, const struct question *question, struct answer *ret);

/** board_serve() - on the loop's thread: answer what was asked; a few at a time, so that many readers do not
 * hold up the work */
void board_serve(struct board *board, const struct serve *serve);

/** board_close() - from now on nothing is answered; who waits is sent away */
void board_close(struct board *board);
struct board *board_free(struct board *board); /* nobody asks any more. NULL is fine */

/* ---- serve_past.c: a read-only handle of the store, for HTTP threads ---- */

/** past_new() - @config is kept, its texts too; nothing is opened yet */
struct past *past_new(const struct store_config *config, const char *cluster);
struct past *past_free(struct past *past);

/**
 * past_change() - a record and its history, into @arena
 *
 * Return: 0; STORE_NOT_FOUND; negative, also where another reader holds the handle for too long.
 */
int must_check past_change(struct past *past, const char *uuid, struct arena *arena, struct change *ret,
			   struct history_entry **ret_history, size_t *ret_count, struct error *reterr);

/** past_ended() - changes that are not live any more, newest first */
int must_check past_ended(struct past *past, unsigned limit, struct arena *arena, struct change **ret,
			  size_t *ret_count, struct error *reterr);

/* ---- The others ---- */

/** serve_answer() - of struct http_config; @user is the serve */
bool serve_answer(void *user, const struct http_request *request, struct http_response *response);

/** api_error() - {"kind": "error"} */
json_t *api_error(const char *code, const char *text);

/** api_record() - fills @object, made by api_change() or new, from the store's record and its history */
json_t *api_record(json_t *object, const struct change *change, const struct history_entry *history,
		   size_t count);
json_t *api_history(const struct change *changes, size_t count);

/** health_reasons() - why it is not ready, [{"code", "text"}]; on the loop's thread */
json_t *health_reasons(const struct serve *serve);

/** news_tell() - everything new, to the log and to the readers of events */
void news_tell(const struct serve *serve);
