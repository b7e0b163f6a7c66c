-- The change, locked, and of its shards what tells whether they differ: a definition is compared by the
-- digest of its length and its bytes (digest_sha256() of one part), not sent.
SELECT p.id, s.name, s.primary_cell, s.primary_uid,
	SHA2(CONCAT(UNHEX(LPAD(HEX(LENGTH(s.definition_before)), 16, '0')), s.definition_before), 256),
	SHA2(CONCAT(UNHEX(LPAD(HEX(LENGTH(s.definition_after)), 16, '0')), s.definition_after), 256)
FROM ddl_pipeline p LEFT JOIN ddl_pipeline_shard s ON s.change_id = p.id
WHERE p.cluster = :cluster AND p.uuid = :uuid AND p.context = :context AND p.ddl_sha256 = :ddl_sha256
ORDER BY s.name FOR UPDATE
