-- For doctor: how much there is, and whether the settings are the safe ones.
SELECT
	(SELECT count(*) FROM ddl_pipeline),
	(SELECT count(*) FROM ddl_pipeline INDEXED BY ddl_pipeline_holds_table WHERE holds_table = 1),
	(SELECT journal_mode FROM pragma_journal_mode),
	(SELECT synchronous FROM pragma_synchronous),
	(SELECT foreign_keys FROM pragma_foreign_keys)
