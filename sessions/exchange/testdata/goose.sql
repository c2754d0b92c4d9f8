CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
INSERT INTO schema_version (version) VALUES (9);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL, created_at TIMESTAMP, updated_at TIMESTAMP, total_tokens INTEGER, accumulated_total_tokens INTEGER, provider_name TEXT, model_config_json TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT);
INSERT INTO sessions (id, name, working_dir, created_at, updated_at, total_tokens) VALUES
 ('20260211_1', 'Weather', '/home/ann', '2026-02-11 10:00:00', '2026-02-11 10:01:00', 42),
 ('20260211_2', '', '/home/ann', '2026-02-11 11:00:00', '2026-02-11 11:05:00', 7),
 ('20260211_3', 'Nothing', '/home/ann', '2026-02-11 12:00:00', '2026-02-11 12:00:00', NULL);
INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, tokens) VALUES
 ('m1', '20260211_1', 'user', '[{"type":"text","text":"Weather in Rome?"}]', 1770804000, 7),
 (NULL, '20260211_1', 'assistant', '[{"type":"text","text":"Let me see."},{"type":"toolRequest","id":"t1","toolCall":{"status":"success","value":{"name":"weather","arguments":{"city":"Rome"}}}},{"type":"toolRequest","id":"t2","toolCall":{"status":"success","value":{"name":"clock"}}}]', 1770804005, NULL),
 (NULL, '20260211_1', 'user', '[{"type":"toolResponse","id":"t1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"21 °C"},{"type":"image","data":"AAAA","mimeType":"image/png"}],"isError":false}}},{"type":"toolResponse","id":"t2","toolResult":{"status":"error","error":"no clock"}},{"type":"text","text":"And?"}]', 1770804001, NULL);
INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json) VALUES
 ('20260211_2', 'user', '[{"type":"text","text":"Hello"}]', 1770807600, '{"userVisible":true,"agentVisible":false}'),
 ('20260211_2', 'assistant', '[{"type":"text","text":"Hi"}]', 1770807601, '{"userVisible":true,"agentVisible":false}'),
 ('20260211_2', 'user', '[{"type":"text","text":"They greeted."}]', 1770807602, '{"userVisible":false,"agentVisible":true}'),
 ('20260211_2', 'assistant', '[{"type":"text","text":"Go on without a word about the summary."}]', 1770807602, '{"userVisible":false,"agentVisible":true}'),
 ('20260211_2', 'user', '[{"type":"text","text":"How are you?"}]', 1770807603, '{"userVisible":true,"agentVisible":true}');
