import { raisedBy } from '../news.ts';
import { BASELINE, type Migrations } from '../statement.ts';

/**
 * Amounts are microcredits, times ms since 1970. Values that repeat from row to row (the caller, the model at a price) are in separate
 * tables and referred to by number; the same value may have several numbers. No request updates a row or maintains an index: each request
 * appends two rows of integers. `spend` and `balances` sum the journal up to `checkpoint.through`. `spend` and `balances` are brought up to
 * date every few seconds, together with the list of open reservations, so a starting server reads only later rows.
 */
export const ledgerMigrations: Migrations = {
  room: 'ledger',
  versions: {
    [BASELINE]: `CREATE TABLE accounts (
      id INTEGER PRIMARY KEY,
      key_id TEXT NOT NULL,
      labels TEXT NOT NULL,
      selector TEXT NOT NULL,
      -- Who pays in place of a key.
      payer TEXT,
      -- The session and the agent of a request, as its caller names them.
      session TEXT,
      agent TEXT,
      -- The team and the user that a key belonged to: the last dimensions with columns of their own. Labels take any others.
      team_id TEXT,
      user_id TEXT
    ) STRICT;
    CREATE INDEX accounts_team ON accounts (team_id) WHERE team_id IS NOT NULL;
    CREATE INDEX accounts_user ON accounts (user_id) WHERE user_id IS NOT NULL;
    CREATE TABLE tariffs (
      id INTEGER PRIMARY KEY,
      model TEXT NOT NULL,
      provider TEXT NOT NULL,
      upstream TEXT NOT NULL,
      price TEXT NOT NULL
    ) STRICT;
    CREATE TABLE funds (
      id INTEGER PRIMARY KEY,
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      subject TEXT NOT NULL,
      definition TEXT NOT NULL,
      starts INTEGER NOT NULL,
      ends INTEGER,
      most INTEGER NOT NULL,
      opening INTEGER NOT NULL,
      after_seq INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX funds_ends ON funds (ends);
    CREATE TABLE journal (
      seq INTEGER PRIMARY KEY,
      kind TEXT NOT NULL,
      reservation INTEGER,
      account INTEGER NOT NULL,
      amount INTEGER NOT NULL,
      time INTEGER NOT NULL,
      funds TEXT,
      tariff INTEGER,
      input_tokens INTEGER,
      cached_input_tokens INTEGER,
      cache_write_tokens INTEGER,
      output_tokens INTEGER,
      reasoning_tokens INTEGER,
      estimated INTEGER,
      note TEXT,
      -- Of a reservation: the instance that made it (its epoch * 128 + its slot), and when it counts as forgotten. Of a raise and a
      -- post: the step that it is.
      owner INTEGER,
      expires INTEGER,
      step INTEGER
    ) STRICT;
    -- Few rows, of payments: a repeated deposit finds its first result.
    CREATE INDEX journal_paid ON journal (note) WHERE kind = 'deposit' OR kind = 'fee';
    -- The journal with the referenced rows spelled out.
    CREATE VIEW entries AS
      SELECT j.seq, j.kind, j.reservation, j.amount, j.time, a.key_id, a.payer, a.labels, a.selector, a.session, a.agent, a.team_id,
          a.user_id, CASE WHEN j.kind = 'reserve' THEN j.note END AS agent_wallet, t.model, t.provider,
          t.upstream, t.price, j.input_tokens, j.cached_input_tokens, j.cache_write_tokens, j.output_tokens,
          j.reasoning_tokens, j.estimated, j.funds, CASE WHEN j.kind <> 'reserve' THEN j.note END AS note
        FROM journal AS j JOIN accounts AS a ON a.id = j.account LEFT JOIN tariffs AS t ON t.id = j.tariff;
    CREATE TABLE spend (
      quarter INTEGER NOT NULL,
      account INTEGER NOT NULL,
      tariff INTEGER NOT NULL,
      charges INTEGER NOT NULL,
      microcredits INTEGER NOT NULL,
      input_tokens INTEGER NOT NULL,
      output_tokens INTEGER NOT NULL,
      PRIMARY KEY (quarter, account, tariff)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE balances (
      key_id TEXT PRIMARY KEY,
      granted INTEGER NOT NULL,
      spent INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE checkpoint (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      through INTEGER NOT NULL,
      open TEXT NOT NULL,
      usd_per_credit TEXT,
      budgets TEXT NOT NULL DEFAULT '[]',
      -- The rank of the policy that was accepted last.
      rank INTEGER NOT NULL DEFAULT 0,
      -- The sum of \`spend\`, which has a row for each quarter of an hour of each account: millions after a month.
      charged INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO checkpoint (id, through, open) VALUES (1, 0, '[]');
    CREATE TABLE adjustments (
      id INTEGER PRIMARY KEY,
      kind TEXT NOT NULL CHECK (kind = 'grant' OR kind = 'correct'),
      key_id TEXT NOT NULL,
      reservation INTEGER,
      account INTEGER,
      amount INTEGER NOT NULL,
      note TEXT NOT NULL,
      time INTEGER NOT NULL,
      adopted INTEGER NOT NULL DEFAULT 0,
      -- What an adjustment gives back, so that it is given back once.
      name TEXT
    ) STRICT;
    CREATE INDEX adjustments_new ON adjustments (id) WHERE adopted = 0;
    CREATE UNIQUE INDEX adjustments_name ON adjustments (name) WHERE name IS NOT NULL;
    ${raisedBy('funds', 'adjustments', ['INSERT'])}
    -- For a key that asks what it was charged: by its accounts, which are few and new ones rare, to their sums.
    CREATE INDEX accounts_key ON accounts (key_id);
    CREATE INDEX spend_account ON spend (account, quarter);
    ${raisedBy('policy', 'checkpoint', ['UPDATE OF rank'])}
    -- The generations of budgets: one that was removed and is back has another.
    CREATE TABLE budgets (
      generation INTEGER PRIMARY KEY,
      name TEXT NOT NULL,
      definition TEXT NOT NULL,
      retired INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE UNIQUE INDEX budgets_counted ON budgets (name, definition) WHERE retired = 0;
    ${raisedBy('budgets', 'budgets', ['INSERT', 'UPDATE'])}`,
  },
};
