#!/usr/bin/env bash
# embed-page.sh PAGE.html: a C header with the page, its ETag and the policy that lets its own script and style
# run, named by their hashes, and nothing else.
set -euo pipefail

page=$1

# part TAG: the bytes between <TAG> and </TAG>, each alone on its line
part() {
	awk -v open="<$1>" -v close_="</$1>" '
		$0 == close_ { inside = 0; ended++ }
		inside { print }
		$0 == open { inside = 1; begun++; printf "\n" }
		END { if (begun != 1 || ended != 1) exit 1 }' "$page"
}

# source TAG: as a browser hashes it
source_of() {
	part "$1" | sha256sum | cut -c1-64 | tr a-f A-F | basenc --base16 --decode | base64 -w0
}

script=$(source_of script)
style=$(source_of style)
etag=$(sha256sum <"$page" | cut -c1-64)
policy="default-src 'none'; script-src 'sha256-$script'; style-src 'sha256-$style'; connect-src 'self';"
policy+=" img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
policy+=" require-trusted-types-for 'script'; trusted-types 'none'"

printf '#pragma once\n/* Made by embed-page.sh: edit dashboard.html. */\n\n'
printf '#define PAGE_ETAG "\\"%s\\""\n#define PAGE_POLICY "%s"\n\n' "$etag" "$policy"
printf 'static const char page_text[] =\n'
awk '{ gsub(/\\/, "&&"); gsub(/"/, "\\\\&"); print "\t\"" $0 "\\n\"" }' "$page"
printf '\t;\n'
