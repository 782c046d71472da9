import { BASELINE, type Migrations } from '../statement.ts';

/**
 * `records` holds the records in the order of their writing, so that adding a record touches no index. `record_index` lists the records by
 * ID, and is filled later in batches. `record_indexing` stores the progress: `through` is the last indexed row of `records`. The column
 * `body` is a single text, see `body.ts`. Only the table `contents` has text of prompts and answers.
 */
export const recordsMigrations: Migrations = {
  room: 'records',
  versions: {
    [BASELINE]: `CREATE TABLE revisions (
      revision TEXT PRIMARY KEY,
      source TEXT NOT NULL,
      models TEXT NOT NULL,
      saved INTEGER NOT NULL,
      surroundings TEXT NOT NULL
    ) STRICT;
    CREATE TABLE contents (
      id INTEGER PRIMARY KEY,
      until INTEGER NOT NULL,
      prompt TEXT,
      answer TEXT,
      is_cut INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX contents_until ON contents (until);
    CREATE TABLE frames (
      number INTEGER PRIMARY KEY,
      figures BLOB NOT NULL
    ) STRICT;
    CREATE TABLE records (
      seq INTEGER PRIMARY KEY,
      id INTEGER NOT NULL,
      time INTEGER NOT NULL,
      key_id TEXT NOT NULL,
      kind TEXT NOT NULL,
      operation TEXT NOT NULL,
      status TEXT NOT NULL,
      model TEXT NOT NULL,
      task TEXT NOT NULL,
      labels TEXT NOT NULL,
      revision TEXT NOT NULL,
      frame INTEGER,
      body TEXT NOT NULL,
      session TEXT,
      -- IDs of the team and the user that the key belonged to.
      team_id TEXT,
      user_id TEXT,
      -- The error code of the answer, and the number of the request.
      code TEXT,
      request INTEGER
    ) STRICT;
    CREATE TABLE record_index (
      id INTEGER PRIMARY KEY,
      seq INTEGER NOT NULL,
      key_id TEXT NOT NULL,
      model TEXT NOT NULL,
      task TEXT NOT NULL,
      status TEXT NOT NULL,
      operation TEXT NOT NULL,
      session TEXT,
      team_id TEXT,
      user_id TEXT,
      -- What lists show of a record, see summary.ts.
      summary TEXT,
      code TEXT,
      request INTEGER
    ) STRICT;
    CREATE INDEX record_index_key ON record_index (key_id);
    CREATE INDEX record_index_model ON record_index (model);
    CREATE INDEX record_index_task ON record_index (task);
    CREATE INDEX record_index_status ON record_index (status) WHERE status <> 'completed';
    CREATE INDEX record_index_operation ON record_index (operation) WHERE operation <> 'chat';
    CREATE INDEX record_index_session ON record_index (session) WHERE session IS NOT NULL;
    CREATE INDEX record_index_team ON record_index (team_id) WHERE team_id IS NOT NULL;
    CREATE INDEX record_index_user ON record_index (user_id) WHERE user_id IS NOT NULL;
    CREATE INDEX record_index_code ON record_index (code, id) WHERE code IS NOT NULL;
    CREATE TABLE record_labels (
      name TEXT NOT NULL,
      value TEXT NOT NULL,
      id INTEGER NOT NULL,
      PRIMARY KEY (name, value, id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE record_indexing (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      through INTEGER NOT NULL
    ) STRICT;
    INSERT INTO record_indexing (id, through) VALUES (1, 0);`,
  },
};
