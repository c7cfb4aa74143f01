-- The tables of the index. After a change raise SCHEMA_VERSION in index/file.py.
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE notes(
  note INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, id TEXT, title TEXT NOT NULL,
  created TEXT NOT NULL, modified TEXT NOT NULL,
  keywords TEXT NOT NULL, tags TEXT NOT NULL, context TEXT NOT NULL, aliases TEXT NOT NULL,
  private INTEGER NOT NULL, refused TEXT NOT NULL, text_hash TEXT NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
  inode INTEGER NOT NULL, scanned_ns INTEGER NOT NULL, sha TEXT NOT NULL, folder TEXT NOT NULL,
  language TEXT NOT NULL, is_clear INTEGER NOT NULL, possible TEXT NOT NULL);
CREATE TABLE languages(
  language TEXT NOT NULL, is_clear INTEGER NOT NULL, notes INTEGER NOT NULL,
  PRIMARY KEY(language, is_clear)) WITHOUT ROWID;
CREATE INDEX notes_by_id ON notes(id);
CREATE INDEX notes_by_text ON notes(text_hash);
CREATE INDEX notes_in_time ON notes(folder, created, path)
  WHERE created <> '' AND NOT created GLOB '*T*[Zz+-]*';
CREATE INDEX notes_with_zone ON notes(folder, created, path)
  WHERE created <> '' AND created GLOB '*T*[Zz+-]*';
CREATE TABLE names(key TEXT NOT NULL, note INTEGER NOT NULL, alias INTEGER NOT NULL);
CREATE INDEX names_by_key ON names(key, alias);
CREATE INDEX names_by_note ON names(note);
CREATE TABLE links(
  note INTEGER NOT NULL, position INTEGER NOT NULL, target TEXT NOT NULL, key TEXT NOT NULL,
  kind TEXT NOT NULL, listed INTEGER NOT NULL, PRIMARY KEY(note, position)) WITHOUT ROWID;
CREATE INDEX links_by_key ON links(key);
CREATE TABLE passages(
  passage INTEGER PRIMARY KEY, note INTEGER NOT NULL, position INTEGER NOT NULL,
  text TEXT NOT NULL, embed_key BLOB NOT NULL, embedded INTEGER NOT NULL DEFAULT 0);
CREATE INDEX passages_by_note ON passages(note, position);
CREATE INDEX passages_waiting ON passages(passage) WHERE embedded = 0;
CREATE VIRTUAL TABLE words USING fts5(
  title, body, keywords, tags, context, date, content='', contentless_delete=1,
  tokenize='porter unicode61 remove_diacritics 2');
CREATE TABLE vectors(passage INTEGER PRIMARY KEY, embedding BLOB NOT NULL);
-- A bit for each number of the vector of each token of a passage.
CREATE TABLE tokens(passage INTEGER PRIMARY KEY, signs BLOB NOT NULL);
CREATE TABLE codes(block INTEGER PRIMARY KEY, held BLOB NOT NULL, bits BLOB NOT NULL);
CREATE TABLE centre(mean BLOB NOT NULL);
CREATE TABLE problems(note INTEGER NOT NULL, line INTEGER NOT NULL, message TEXT NOT NULL,
  hint TEXT NOT NULL);
CREATE INDEX problems_by_note ON problems(note);
CREATE TABLE events(
  event TEXT PRIMARY KEY, note TEXT NOT NULL, kind TEXT NOT NULL, record TEXT NOT NULL,
  calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, answer_tokens INTEGER NOT NULL,
  seconds REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX events_by_note ON events(note, event);
CREATE TABLE superseded(owner TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
  relation TEXT NOT NULL, event TEXT NOT NULL,
  PRIMARY KEY(owner, source, target)) WITHOUT ROWID;
CREATE INDEX superseded_by_target ON superseded(target);
CREATE TABLE decisions(source TEXT NOT NULL, path TEXT NOT NULL, target TEXT NOT NULL,
  kept INTEGER NOT NULL, PRIMARY KEY(source, target)) WITHOUT ROWID;
CREATE INDEX decisions_by_path ON decisions(path);
CREATE INDEX decisions_by_target ON decisions(target);
CREATE TABLE suggestions(source TEXT NOT NULL, target TEXT NOT NULL, source_text TEXT NOT NULL,
  target_text TEXT NOT NULL, relation TEXT NOT NULL, strength REAL NOT NULL,
  reason TEXT NOT NULL, event TEXT NOT NULL,
  PRIMARY KEY(source, target)) WITHOUT ROWID;
CREATE INDEX suggestions_by_target ON suggestions(target);
CREATE INDEX suggestions_by_source_text ON suggestions(source_text);
CREATE INDEX suggestions_by_target_text ON suggestions(target_text);
CREATE TABLE processed(text_hash TEXT NOT NULL, note TEXT NOT NULL,
  PRIMARY KEY(text_hash, note)) WITHOUT ROWID;
CREATE TABLE stand_ins(text_hash TEXT NOT NULL, note TEXT NOT NULL,
  PRIMARY KEY(text_hash, note)) WITHOUT ROWID;
CREATE TABLE journals(name TEXT PRIMARY KEY, position TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE attempts(path TEXT PRIMARY KEY, count INTEGER NOT NULL, error TEXT NOT NULL)
  WITHOUT ROWID;
CREATE TABLE usage(note TEXT PRIMARY KEY, count INTEGER NOT NULL, last TEXT NOT NULL)
  WITHOUT ROWID;
