# Makes one C header of the files named on the command line: NAME.sql becomes
# `static const char sql_NAME[]`, and mysql/NAME.sql sql_mysql_NAME. Empty lines and lines that are only a comment are left out.

function close_array()
{
	if (open_array)
		print "\t;\n"
	open_array = 0
}

BEGIN {
	print "#pragma once"
	print "/* Made by embed-sql.awk from sql/: edit those files. */\n"
}

FNR == 1 {
	close_array()
	name = FILENAME
	prefix = name ~ /\/mysql\/[^\/]*$/ ? "mysql_" : ""
	sub(/^.*\//, "", name)
	sub(/\.sql$/, "", name)
	print "static const char sql_" prefix name "[] ="
	open_array = 1
}

/^[ \t]*(--.*)?$/ { next }

{
	gsub(/\\/, "&&")
	gsub(/"/, "\\\\&")
	print "\t\"" $0 "\\n\""
}

END { close_array() }
