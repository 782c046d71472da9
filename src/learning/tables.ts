import type { Migrations, SqlValue, Statement, Write } from '../store/store.ts';

/** Where outcomes come from: a caller, a check of the answer, or a retry of the request. */
export const OUTCOME_SOURCES = ['caller', 'checks', 'retry'] as const;
export type OutcomeSource = (typeof OUTCOME_SOURCES)[number];

/**
 * `until` is milliseconds since 1970; IDs contain their time. `learnt` holds the parts of the estimators' memories,
 * `learnt_through` the last outcome and reset in each. `applied` is the last outcome when a server applied a reset.
 */
export const learningMigrations: Migrations = {
  room: 'learning',
  versions: [
    `CREATE TABLE learning_secret (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      secret BLOB NOT NULL CHECK (length(secret) = 8)
    ) STRICT;
    CREATE TABLE examples (
      decision INTEGER PRIMARY KEY,
      until INTEGER NOT NULL,
      key_id TEXT NOT NULL,
      estimator TEXT NOT NULL,
      model TEXT NOT NULL,
      task TEXT NOT NULL,
      declared REAL NOT NULL,
      probability REAL NOT NULL CHECK (probability > 0 AND probability <= 1),
      among INTEGER NOT NULL CHECK (among > 0),
      features BLOB
    ) STRICT;
    CREATE INDEX examples_until ON examples (until);
    CREATE TABLE outcomes (
      id INTEGER PRIMARY KEY,
      decision INTEGER NOT NULL,
      source TEXT NOT NULL CHECK (source IN ('caller', 'checks', 'retry')),
      estimator TEXT NOT NULL,
      key_id TEXT NOT NULL,
      model TEXT NOT NULL,
      task TEXT NOT NULL,
      score REAL NOT NULL CHECK (score >= 0 AND score <= 1),
      offered REAL NOT NULL CHECK (offered >= 0 AND offered <= 1),
      weight REAL NOT NULL CHECK (weight >= 0 AND weight <= offered),
      declared REAL NOT NULL,
      estimated REAL NOT NULL,
      probability REAL NOT NULL,
      among INTEGER NOT NULL,
      looked INTEGER NOT NULL,
      label TEXT,
      UNIQUE (decision, source)
    ) STRICT;
    CREATE TABLE learnt (
      estimator TEXT NOT NULL,
      part TEXT NOT NULL,
      bytes BLOB NOT NULL,
      PRIMARY KEY (estimator, part)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE learnt_through (
      estimator TEXT PRIMARY KEY,
      outcome INTEGER NOT NULL,
      reset INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE learning_standing (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      outcome INTEGER NOT NULL,
      body TEXT NOT NULL
    ) STRICT;
    CREATE TABLE learning_resets (
      id INTEGER PRIMARY KEY,
      model TEXT,
      at INTEGER NOT NULL,
      applied INTEGER
    ) STRICT;`,
  ],
};

/** The stored part of a decision that a score needs. */
export interface ExampleRow {
  readonly decision: number;
  /** When the feedback window ends, ms since 1970. */
  readonly until: number;
  readonly keyId: string;
  /** Name of the estimator plugin that made the features. */
  readonly estimator: string;
  readonly model: string;
  readonly task: string;
  readonly declared: number;
  readonly probability: number;
  readonly among: number;
  readonly features: Uint8Array | null;
}

/** An outcome in the log. */
export interface OutcomeRow {
  readonly id: number;
  readonly decision: number;
  readonly source: OutcomeSource;
  /** Name of the estimator plugin that learned it. */
  readonly estimator: string;
  readonly keyId: string;
  readonly model: string;
  readonly task: string;
  /** 0..1 */
  readonly score: number;
  /** The weight under the policy, and the weight that counted, in outcomes; 0: it was not learned. */
  readonly offered: number;
  readonly weight: number;
  /** Q as declared, and as estimated before the outcome. */
  readonly declared: number;
  readonly estimated: number;
  readonly probability: number;
  readonly among: number;
  /** The signals that were checked, as bits by `SIGNALS`; 0 for callers and retries. */
  readonly looked: number;
  /** The caller's label, or the signal that the answer showed. */
  readonly label: string | null;
}

export interface ResetRow {
  readonly id: number;
  /** Null for everything. */
  readonly model: string | null;
  /** ID of the last outcome when a server applied it; null before. */
  readonly applied: number | null;
}

const INSERT_EXAMPLE: Statement = {
  sql: `INSERT INTO examples (decision, until, key_id, estimator, model, task, declared, probability, among, features)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
};
/** A settlement must not fail because of it. */
const INSERT_OUTCOME: Statement = {
  sql: `INSERT INTO outcomes (id, decision, source, estimator, key_id, model, task, score, offered, weight, declared,
    estimated, probability, among, looked, label) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`,
};
const PUT_PART: Statement = {
  sql: `INSERT INTO learnt (estimator, part, bytes) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET bytes = excluded.bytes`,
};
const DELETE_PART: Statement = { sql: 'DELETE FROM learnt WHERE estimator = ? AND part = ?' };
const DELETE_PARTS: Statement = { sql: 'DELETE FROM learnt WHERE estimator = ?' };
const PUT_THROUGH: Statement = {
  sql: `INSERT INTO learnt_through (estimator, outcome, reset) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET outcome = excluded.outcome, reset = excluded.reset`,
};
/** For an estimator without outcomes. */
const BEGIN_THROUGH: Statement = {
  sql: 'INSERT INTO learnt_through (estimator, outcome, reset) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
};
const PUT_STANDING: Statement = {
  sql: `INSERT INTO learning_standing (id, outcome, body) VALUES (1, ?, ?)
    ON CONFLICT DO UPDATE SET outcome = excluded.outcome, body = excluded.body`,
};
const INSERT_RESET: Statement = { sql: 'INSERT INTO learning_resets (model, at) VALUES (?, ?)' };
const APPLY_RESET: Statement = { sql: 'UPDATE learning_resets SET applied = ? WHERE id = ? AND applied IS NULL' };

export function insertExample(row: ExampleRow): Write {
  const { decision, until, keyId, estimator, model, task, declared, probability, among, features } = row;
  const params: SqlValue[] = [decision, until, keyId, estimator, model, task, declared, probability, among, features];
  return { statement: INSERT_EXAMPLE, params };
}

export function insertOutcome(row: OutcomeRow): Write {
  const { id, decision, source, estimator, keyId, model, task, score, offered, weight } = row;
  const { declared, estimated, probability, among, looked, label } = row;
  const what: SqlValue[] = [id, decision, source, estimator, keyId, model, task, score, offered, weight];
  return { statement: INSERT_OUTCOME, params: [...what, declared, estimated, probability, among, looked, label] };
}

export const putPart = (estimator: string, part: string, bytes: Uint8Array | null): Write =>
  bytes
    ? { statement: PUT_PART, params: [estimator, part, bytes] }
    : { statement: DELETE_PART, params: [estimator, part] };
export const deleteParts = (estimator: string): Write => ({ statement: DELETE_PARTS, params: [estimator] });
/** Records the last outcome and reset that the stored parts include. */
export const putThrough = (estimator: string, outcome: number, reset: number): Write => ({
  statement: PUT_THROUGH,
  params: [estimator, outcome, reset],
});
export const beginThrough = (estimator: string, outcome: number, reset: number): Write => ({
  statement: BEGIN_THROUGH,
  params: [estimator, outcome, reset],
});
export const putLearningState = (outcome: number, body: string): Write => ({
  statement: PUT_STANDING,
  params: [outcome, body],
});
export const insertReset = (model: string | null, at: number): Write => ({
  statement: INSERT_RESET,
  params: [model, at],
});
export const applyReset = (id: number, outcome: number): Write => ({ statement: APPLY_RESET, params: [outcome, id] });

export const SELECT_EXAMPLE: Statement = {
  sql: `SELECT decision, until, key_id AS keyId, estimator, model, task, declared, probability, among, features
    FROM examples WHERE decision = ?`,
};

const OUTCOME = `o.id, o.decision, o.source, o.estimator, o.key_id AS keyId, o.model, o.task, o.score, o.offered,
  o.weight, o.declared, o.estimated, o.probability, o.among, o.looked, o.label`;

export const SELECT_SCORE: Statement = {
  sql: `SELECT ${OUTCOME} FROM outcomes o WHERE o.decision = ? AND o.source = 'caller'`,
};

/** An outcome with the remaining features of its question. */
export interface OutcomeWithFeatures extends OutcomeRow {
  readonly features: Uint8Array | null;
}

const TAUGHT = `${OUTCOME}, e.features FROM outcomes o
  LEFT JOIN examples e ON e.decision = o.decision AND e.estimator = o.estimator`;

/** The outcomes since a checkpoint, latest first. Parameters: estimator, its last outcome, maximum number. */
export const SELECT_TAIL: Statement = {
  sql: `SELECT ${TAUGHT} WHERE o.estimator = ? AND o.weight > 0 AND o.id > ? ORDER BY o.id DESC LIMIT ?`,
};
/** Outcomes in their order. Parameters: the greatest ID to skip, maximum number. */
export const SELECT_OUTCOMES: Statement = {
  sql: `SELECT ${TAUGHT} WHERE o.id > ? ORDER BY o.id LIMIT ?`,
};
/** Outcomes, the latest first. Parameters: least ID to skip, maximum number, model and source, or null for all. */
export const SELECT_LATEST: Statement = {
  sql: `SELECT ${OUTCOME} FROM outcomes o WHERE o.id < ?1 AND (?3 IS NULL OR o.model = ?3)
    AND (?4 IS NULL OR o.source = ?4) ORDER BY o.id DESC LIMIT ?2`,
};
/**
 * Outcomes in their order. Parameters: the greatest and the least ID to skip, maximum number, a key, a model and a
 * source, or null for all.
 */
export const SELECT_PAGE: Statement = {
  sql: `SELECT ${OUTCOME} FROM outcomes o WHERE o.id > ?1 AND o.id < ?2 AND (?4 IS NULL OR o.key_id = ?4)
    AND (?5 IS NULL OR o.model = ?5) AND (?6 IS NULL OR o.source = ?6) ORDER BY o.id LIMIT ?3`,
};
export const SELECT_PARTS: Statement = { sql: 'SELECT estimator, part, bytes FROM learnt ORDER BY estimator, part' };
export const SELECT_THROUGH: Statement = { sql: 'SELECT estimator, outcome, reset FROM learnt_through' };
export const SELECT_LEARNING_STATE: Statement = { sql: 'SELECT outcome, body FROM learning_standing' };
export const SELECT_LAST: Statement = {
  sql: 'SELECT ifnull(max(id), 0) AS id FROM outcomes',
};
/** Resets after an ID, in their order. */
export const SELECT_RESETS: Statement = {
  sql: 'SELECT id, model, applied FROM learning_resets WHERE id > ? ORDER BY id',
};
export const SELECT_RESETS_SINCE: Statement = { sql: 'SELECT id, model, at FROM learning_resets ORDER BY id' };
