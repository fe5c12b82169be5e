-- What version 7 made: the tables of version 6, and a project with settings, documents, and a model.
CREATE TABLE folder (id TEXT PRIMARY KEY, name TEXT NOT NULL, created REAL NOT NULL) STRICT;
CREATE TABLE chat (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    folder TEXT REFERENCES folder (id) ON DELETE SET NULL,
    pinned INTEGER NOT NULL DEFAULT 0,
    created REAL NOT NULL,
    changed REAL NOT NULL,
    deleted REAL,
    settings TEXT NOT NULL
) STRICT;
CREATE TABLE message (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    chat TEXT NOT NULL REFERENCES chat (id) ON DELETE CASCADE,
    parent TEXT REFERENCES message (id) ON DELETE CASCADE,
    chosen INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    text TEXT NOT NULL,
    thinking TEXT NOT NULL,
    created REAL NOT NULL,
    running INTEGER NOT NULL,
    details TEXT NOT NULL
, suppliers TEXT NOT NULL DEFAULT '', calls TEXT NOT NULL DEFAULT '', summary TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX message_of_chat ON message (chat, number);
CREATE INDEX message_of_parent ON message (parent);
CREATE TABLE preset (name TEXT PRIMARY KEY, settings TEXT NOT NULL) STRICT;
CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE VIEW ended AS SELECT number, text || calls || summary AS text FROM message WHERE NOT running;
CREATE VIRTUAL TABLE found USING fts5 (text, content='ended', content_rowid='number', tokenize='trigram');
CREATE TRIGGER message_added AFTER INSERT ON message WHEN NOT new.running BEGIN
    INSERT INTO found (rowid, text) VALUES (new.number, new.text || new.calls || new.summary);
END;
CREATE TRIGGER message_removed AFTER DELETE ON message WHEN NOT old.running BEGIN
    INSERT INTO found (found, rowid, text) VALUES ('delete', old.number, old.text || old.calls || old.summary);
END;
CREATE TRIGGER message_changed AFTER UPDATE OF text, calls, summary, running ON message
WHEN old.text IS NOT new.text OR old.calls IS NOT new.calls OR old.summary IS NOT new.summary OR old.running IS NOT new.running
BEGIN
    INSERT INTO found (found, rowid, text) SELECT 'delete', old.number, old.text || old.calls || old.summary WHERE NOT old.running;
    INSERT INTO found (rowid, text) SELECT new.number, new.text || new.calls || new.summary WHERE NOT new.running;
END;
CREATE TABLE comparison (
    id TEXT PRIMARY KEY,
    pair TEXT NOT NULL,
    created REAL NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX comparison_of_pair ON comparison (pair, created);

INSERT INTO folder VALUES('folder-1','Sums',1790000000.0);
INSERT INTO chat VALUES('chat-1','What is 7 times 8?','folder-1',1,1790000000.0,1790000100.0,NULL,'{"system": "Be brief.", "sampling": null, "seed": null, "max_tokens": 1024, "thinking": false, "dflash": true}');
INSERT INTO message (number, id, chat, parent, chosen, role, text, thinking, created, running, details, suppliers, calls) VALUES(1,'message-1','chat-1',NULL,1,'user','What is 7 times 8?','',1790000000.0,0,'{}','','');
INSERT INTO message (number, id, chat, parent, chosen, role, text, thinking, created, running, details, suppliers, calls) VALUES(2,'message-2','chat-1','message-1',0,'assistant','54.','',1790000001.0,0,'{"mode": "dflash", "reason": "eos", "error": "", "origin": "", "tokens": 1, "rounds": 0, "tested": 0, "accepted": 0, "stats": {"mode": "dflash", "prompt_tokens": 9, "reused_tokens": 0, "tokens": 3, "ttft_s": 0.038, "prompt_tok_s": 240.0, "decode_tok_s": 512.3, "rounds": 2, "drafted": 30, "tested": 11, "accepted": 10, "accepted_per_round": [6, 4], "widths": [16, 16], "plain_steps": 0, "why_plain": "", "peak_memory_bytes": 64000000, "seed": 7}, "request": {"system": "Be brief.", "mode": "dflash", "width": null, "sampling": {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}, "seed": null, "max_tokens": 1024, "thinking": false, "effort": null, "stop": []}}','','');
INSERT INTO message (number, id, chat, parent, chosen, role, text, thinking, created, running, details, suppliers, calls) VALUES(3,'message-3','chat-1','message-1',1,'assistant','56.','7 times 8',1790000002.0,0,'{"mode": "plain", "reason": "eos", "error": "", "origin": "", "thinking_s": 1.5, "tokens": 1, "rounds": 0, "tested": 0, "accepted": 0, "calls": [{"call": {"id": "call_1", "name": "calculator", "arguments": "{\"expression\": \"7 * 8\"}"}, "server": "Calculator", "tool": "calculator", "step": 0, "answer_end": 0, "thinking_end": 9, "state": "done", "result": "56", "seconds": 0.25}], "step_stats": [], "stats": {"mode": "plain", "prompt_tokens": 9, "reused_tokens": 0, "tokens": 3, "ttft_s": 0.038, "prompt_tok_s": 240.0, "decode_tok_s": 512.3, "rounds": 0, "drafted": 0, "tested": 0, "accepted": 0, "accepted_per_round": [], "widths": [], "plain_steps": 2, "why_plain": "", "peak_memory_bytes": 64000000, "seed": 7, "lookup_rounds": 0, "trials": 0, "plain_because": []}, "request": {"system": "Be brief.", "mode": "plain", "width": null, "sampling": {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}, "seed": null, "max_tokens": 1024, "thinking": false, "effort": null, "stop": []}}','p1d2/t9','
Calculator calculator {"expression": "7 * 8"}
56');
INSERT INTO message (number, id, chat, parent, chosen, role, text, thinking, created, running, details, suppliers, calls) VALUES(4,'message-4','chat-1','message-3',1,'user','And 7 times 9?','',1790000003.0,0,'{}','','');
INSERT INTO message (number, id, chat, parent, chosen, role, text, thinking, created, running, details, suppliers, calls) VALUES(5,'message-5','chat-1','message-4',1,'assistant','It is 63, of cou','',1790000004.0,1,'{"mode": "dflash", "reason": null, "error": "", "origin": "", "thinking_s": null, "tokens": 5, "rounds": 0, "tested": 0, "accepted": 0, "stats": null, "request": {"system": "Be brief.", "mode": "dflash", "width": null, "sampling": {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}, "seed": null, "max_tokens": 1024, "thinking": false, "effort": null, "stop": []}}','p2d9l3t2/','');
INSERT INTO preset VALUES('Short','{"system": "In one word.", "sampling": null, "seed": null, "max_tokens": 64, "thinking": false, "dflash": true}');
INSERT INTO note VALUES('open_chat','chat-1');
CREATE TABLE file (digest TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE message_file (
    message TEXT NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    digest TEXT NOT NULL REFERENCES file (digest),
    PRIMARY KEY (message, digest)
) STRICT;
CREATE INDEX message_of_file ON message_file (digest);
CREATE TABLE draft (
    number INTEGER PRIMARY KEY,
    chat TEXT NOT NULL,
    edits TEXT NOT NULL,
    text TEXT NOT NULL,
    attachments TEXT NOT NULL,
    open INTEGER NOT NULL,
    UNIQUE (chat, edits)
) STRICT;
CREATE TABLE draft_file (
    draft INTEGER NOT NULL REFERENCES draft (number) ON DELETE CASCADE,
    digest TEXT NOT NULL REFERENCES file (digest),
    PRIMARY KEY (draft, digest)
) STRICT;
CREATE INDEX draft_of_file ON draft_file (digest);
CREATE TRIGGER file_unused AFTER DELETE ON message_file
WHEN NOT EXISTS (SELECT 1 FROM message_file WHERE digest = old.digest)
AND NOT EXISTS (SELECT 1 FROM draft_file WHERE digest = old.digest) BEGIN
    DELETE FROM file WHERE digest = old.digest;
END;
CREATE TRIGGER draft_file_unused AFTER DELETE ON draft_file
WHEN NOT EXISTS (SELECT 1 FROM message_file WHERE digest = old.digest)
AND NOT EXISTS (SELECT 1 FROM draft_file WHERE digest = old.digest) BEGIN
    DELETE FROM file WHERE digest = old.digest;
END;
INSERT INTO file VALUES('3220fc7838ccdab0a3a21b5d8498275c7abe6930abbb059e9fdb4939bba8c2fd',X'89504E470D0A1A0A0000000D4948445200000001000000010802000000907753DE0000000C4944415408D763F8CFC000000301010018DD8DB00000000049454E44AE426082');
UPDATE message SET details = '{"attachments": [{"name": "dot.png", "size": 69, "pages": 0, "text": "", "picture": {"width": 1, "height": 1, "format": "PNG", "frames": 1, "file": {"digest": "3220fc7838ccdab0a3a21b5d8498275c7abe6930abbb059e9fdb4939bba8c2fd"}}}]}' WHERE id = 'message-4';
INSERT INTO message_file VALUES('message-4','3220fc7838ccdab0a3a21b5d8498275c7abe6930abbb059e9fdb4939bba8c2fd');
INSERT INTO draft VALUES(1,'chat-1','','And 7 times 10?','[{"name": "dot.png", "size": 69, "pages": 0, "text": "", "picture": {"width": 1, "height": 1, "format": "PNG", "frames": 1, "file": {"digest": "3220fc7838ccdab0a3a21b5d8498275c7abe6930abbb059e9fdb4939bba8c2fd"}}}]',0);
INSERT INTO draft VALUES(2,'chat-1','message-1','What is 7 times 80?','[]',1);
INSERT INTO draft VALUES(3,'','','Something else','[]',0);
INSERT INTO draft_file VALUES(1,'3220fc7838ccdab0a3a21b5d8498275c7abe6930abbb059e9fdb4939bba8c2fd');
UPDATE message SET summary = char(10) || 'The product is known.' WHERE id = 'message-3';
ALTER TABLE folder ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
UPDATE folder SET settings = '{"new_chats": {"system": "Count.", "tool_servers": ["Documents"]}, "documents": ["/sums"], "model": {"name": "Pair", "target": "/models/target", "drafter": "", "auto": true, "connection": "", "pinned": false}}';
ALTER TABLE chat ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
UPDATE chat SET archived = 1 WHERE id = 'chat-1';
PRAGMA user_version = 8;
