import { raisedBy } from '../news.ts';
import { BASELINE, type Migrations } from '../statement.ts';

/**
 * Amounts are microcredits, times ms since 1970. Values that repeat from row to row (the caller, the model at a price) are in separate
 * tables and referred to by number; the same value may have several numbers. No request updates a row or maintains an index: each request
 * appends two rows: of integers, and the second one with a bill. `spend` and `balances` sum the journal up to `checkpoint.through`. `spend` and `balances` are brought up to
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
    31: `DROP VIEW entries;
    -- The bill of an attempt as JSON: \`BillWriter\` of src/core/accounting/bill.ts.
    ALTER TABLE journal ADD COLUMN bill TEXT;
    -- Bills of older entries get the rates of the line that their tariff had for their input.
    UPDATE journal SET note = NULL, bill = (
        SELECT json_object('input', c.input, 'output', c.output, 'reasoning', c.reasoning,
            'units', json(json_group_object(u.unit, u.amount) FILTER (WHERE u.amount > 0)),
            'rates', CASE WHEN c.line IS NOT NULL THEN json(json_group_object(u.unit, u.rate) FILTER (WHERE u.amount > 0 OR u.amount IS NULL)) END,
            'over', c.line ->> '$.overInputTokens', 'divisor', CASE WHEN c.line IS NOT NULL THEN c.price ->> '$.divisor' END)
          FROM (
            SELECT 'input' AS unit, NULL AS amount, c.line ->> '$.input' AS rate
            UNION ALL SELECT 'output', NULL, c.line ->> '$.output'
            UNION ALL SELECT 'cached_input', c.cached, c.line ->> '$.cachedInput'
            UNION ALL SELECT 'cache_write', c.written - c.hour, c.line ->> '$.cacheWrite'
            UNION ALL SELECT 'cache_write_1h', c.hour, coalesce(c.line ->> '$.hourCacheWrite', c.line ->> '$.cacheWrite')
            UNION ALL SELECT 'tool_use/' || t.key, t.value,
                coalesce((SELECT f.value FROM json_each(c.price, '$.toolUses') AS f WHERE f.key = t.key), 0)
              FROM json_each(c.add_ons, '$.toolUses') AS t
            UNION ALL SELECT 'request', NULL, c.price ->> '$.perRequest' WHERE c.price ->> '$.perRequest' > 0
          ) AS u)
      FROM (
        SELECT e.seq, e.input_tokens AS input, coalesce(e.cached_input_tokens, 0) AS cached, coalesce(e.cache_write_tokens, 0) AS written,
            coalesce(e.output_tokens, 0) AS output, coalesce(e.reasoning_tokens, 0) AS reasoning, e.price, e.add_ons,
            coalesce(e.add_ons ->> '$.hourCacheTokens', 0) AS hour, (
              SELECT l.value FROM json_each(e.price, '$.lines') AS l
                WHERE l.value ->> '$.overInputTokens' < e.input_tokens OR l.value ->> '$.overInputTokens' = 0
                ORDER BY l.value ->> '$.overInputTokens' DESC LIMIT 1
            ) AS line
          FROM (
            SELECT j.*, CASE WHEN json_valid(t.price) THEN t.price ELSE '{}' END AS price,
                CASE WHEN json_valid(j.note) THEN j.note ELSE '{}' END AS add_ons
              FROM journal AS j JOIN tariffs AS t ON t.id = j.tariff
              WHERE j.kind IN ('post', 'settle') AND j.input_tokens IS NOT NULL
          ) AS e
      ) AS c
      WHERE c.seq = journal.seq;
    ALTER TABLE journal DROP COLUMN input_tokens;
    ALTER TABLE journal DROP COLUMN cached_input_tokens;
    ALTER TABLE journal DROP COLUMN cache_write_tokens;
    ALTER TABLE journal DROP COLUMN output_tokens;
    ALTER TABLE journal DROP COLUMN reasoning_tokens;
    -- The journal with the referenced rows spelled out.
    CREATE VIEW entries AS
      SELECT j.seq, j.kind, j.reservation, j.amount, j.time, a.key_id, a.payer, a.labels, a.selector, a.session, a.agent, a.team_id,
          a.user_id, CASE WHEN j.kind = 'reserve' THEN j.note END AS agent_wallet, t.model, t.provider,
          t.upstream, t.price, j.bill ->> '$.input' AS input_tokens, j.bill ->> '$.output' AS output_tokens, j.bill, j.estimated, j.funds, CASE WHEN j.kind <> 'reserve' THEN j.note END AS note
        FROM journal AS j JOIN accounts AS a ON a.id = j.account LEFT JOIN tariffs AS t ON t.id = j.tariff;`,
    32: `-- The costs that answers state, and the costs of the same attempts at our prices: \`stated\` and \`cost\` of their bills.
    ALTER TABLE spend ADD COLUMN stated INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE spend ADD COLUMN matched INTEGER NOT NULL DEFAULT 0;`,
  },
};
