-- Everything that schema.sql made, to compare a file with what it must be.
SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema
WHERE name NOT GLOB 'sqlite_stat*' ORDER BY type, name
