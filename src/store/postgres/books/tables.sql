-- The ledger. Amounts are microcredits, times milliseconds since 1970. Texts that repeat from row to row (who spends, which model at
-- which price) stand in tables of their own and are named by number.

-- The windows of budgets, and balances, with their figures. A group of operations updates each once: room for that is left on its page.
CREATE TABLE funds (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The SHA-256 of the generation of its budget, its subject and the begin of its window; of a balance, of its holder.
  digest bytea NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('budget', 'balance')),
  name TEXT NOT NULL,
  subject TEXT NOT NULL,
  definition TEXT NOT NULL,
  starts bigint NOT NULL,
  ends bigint,
  -- The generation of its budget; 0 for a balance.
  budget bigint NOT NULL,
  -- Of a budget, its limit; of a balance, all that was ever granted or paid in, less fees.
  most bigint NOT NULL,
  spent bigint NOT NULL DEFAULT 0,
  held bigint NOT NULL DEFAULT 0,
  -- Whether a balance was ever granted or paid anything.
  is_opened boolean NOT NULL DEFAULT false,
  -- The number of the news that it was opened; 0 before.
  changed bigint NOT NULL DEFAULT 0,
  -- The row of `fund_rows` that entries name now; null: the next draw makes one.
  row_id integer
) WITH (fillfactor = 50);
CREATE INDEX funds_budget ON funds (budget, ends) WHERE budget <> 0;
CREATE INDEX funds_balance ON funds (name) WHERE budget = 0;
CREATE INDEX funds_opened ON funds (changed) WHERE changed > 0;

-- A fund as entries name it. One whose limit was changed, or that was counted anew, has another row from then on.
CREATE TABLE fund_rows (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fund integer NOT NULL REFERENCES funds,
  most bigint NOT NULL,
  opening bigint NOT NULL,
  after_seq bigint NOT NULL,
  -- How far the budget of the row was counted when the row was made; null for a balance.
  counted bigint
);

-- The limits of the newest policy, by the generation of the budget. `limits` is JSON: those of some subjects. `at` is the moment for which they
-- hold, ms since 1970: of two servers with equal policies, the limits of the later moment count.
CREATE TABLE enforced (
  budget bigint PRIMARY KEY,
  rank bigint NOT NULL,
  at bigint NOT NULL,
  most bigint NOT NULL,
  limits jsonb
);

-- How far budgets are counted, and for how many subjects: a count that was read before another subject was added is refused.
CREATE TABLE counted (
  budget bigint PRIMARY KEY,
  through bigint NOT NULL,
  subjects bigint NOT NULL DEFAULT 0
);
-- The subjects that a budget with separate limits counts, even while no server limits them. Servers learn of a change of limits one after
-- the other: each charge then counts once in the budget, whichever limits its server knew.
CREATE TABLE counted_subjects (
  budget bigint NOT NULL,
  subject TEXT NOT NULL,
  PRIMARY KEY (budget, subject)
);

-- `earmark`: a hold whose payment has not arrived. `void`: one that must not come any more, or was ended for an owner that could not
-- learn of it. A closed one keeps its results.
CREATE TABLE holds (
  id bigint PRIMARY KEY,
  account integer NOT NULL,
  owner bigint NOT NULL,
  expires bigint,
  state TEXT NOT NULL CHECK (state IN ('earmark', 'open', 'closed', 'void')),
  funds integer[] NOT NULL,
  -- Granted first, and with the raises since.
  first bigint NOT NULL,
  amount bigint NOT NULL,
  charged bigint NOT NULL DEFAULT 0,
  overrun bigint NOT NULL DEFAULT 0,
  -- Of an earmark: what its payment will bring.
  expected bigint NOT NULL DEFAULT 0,
  note TEXT,
  given_back bigint NOT NULL DEFAULT 0,
  -- The results of raises and posts: for each its step, 1 for a charge, its amount, and what of it is the operator's loss.
  steps bigint[] NOT NULL DEFAULT '{}',
  -- Of an expired one: what it would have charged otherwise, until it is settled all the same.
  late bigint,
  closing_overrun bigint,
  -- The result of that settlement.
  corrected bigint,
  CHECK (charged BETWEEN 0 AND amount)
) WITH (fillfactor = 85);
CREATE INDEX holds_open ON holds (owner) WHERE state IN ('earmark', 'open');

-- The numbers are given while the funds of an entry are locked, so that they are in the order in which its funds saw them. Between two
-- there is room for an overrun, right behind its charge.
CREATE SEQUENCE journal_seq INCREMENT BY 2;
CREATE TABLE journal (
  seq bigint PRIMARY KEY,
  kind TEXT NOT NULL,
  reservation bigint,
  account integer NOT NULL,
  amount bigint NOT NULL,
  time bigint NOT NULL,
  -- Rows of `fund_rows` that a hold draws on.
  funds integer[],
  -- Funds that a charge counts in.
  drawn integer[],
  tariff integer,
  input_tokens bigint,
  cached_input_tokens bigint,
  cache_write_tokens bigint,
  output_tokens bigint,
  reasoning_tokens bigint,
  estimated boolean,
  note TEXT,
  step integer,
  owner bigint,
  expires bigint
);
-- Entries of one hold stand near each other: a few bytes for a stretch of pages.
CREATE INDEX journal_reservation ON journal USING brin (reservation) WITH (pages_per_range = 8, autosummarize = on);

-- How far `spend` goes: charges, less refunds, of all entries up to `through`, by the quarter of an hour of their holds. The tariff is 0 where none is known.
CREATE TABLE folded (
  id integer PRIMARY KEY CHECK (id = 1),
  through bigint NOT NULL DEFAULT 0,
  -- The sum of `spend`.
  charged bigint NOT NULL DEFAULT 0,
  -- When it last went on, ms since 1970.
  at bigint NOT NULL DEFAULT 0
);
INSERT INTO folded (id) VALUES (1);
-- The charges behind these, in the columns of `spend`. An ID tells the time of its hold, as in src/core/id.ts.
CREATE VIEW unfolded AS
  SELECT j.seq, ((j.reservation / 8192 + 1767225600000) / 900000)::integer AS quarter, j.account, coalesce(j.tariff, 0) AS tariff,
      1::bigint AS charges, j.amount AS microcredits, coalesce(j.input_tokens, 0) AS input_tokens,
      coalesce(j.output_tokens, 0) AS output_tokens
    FROM journal AS j WHERE j.seq > (SELECT f.through FROM folded AS f)
      AND j.kind IN ('post', 'settle', 'expire', 'correct') AND (j.amount <> 0 OR j.tariff IS NOT NULL);
-- All charges at any moment, though a group may be in two rows.
CREATE VIEW spending AS
  SELECT quarter, account, tariff, charges, microcredits, input_tokens, output_tokens FROM spend
  UNION ALL SELECT quarter, account, tariff, charges, microcredits, input_tokens, output_tokens FROM unfolded;

-- The first results of operations that are on no hold, by their names.
CREATE TABLE done_once (
  name TEXT PRIMARY KEY,
  amount bigint NOT NULL,
  time bigint NOT NULL
);

-- Grants and refunds that commands have asked for, until an instance books them. An amount is what is added to a balance; of a refund, it
-- is negative.
CREATE TABLE adjustments (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('grant', 'correct')),
  key_id TEXT NOT NULL,
  reservation bigint,
  amount bigint NOT NULL,
  note TEXT NOT NULL,
  time bigint NOT NULL,
  adopted bigint NOT NULL DEFAULT 0
);
CREATE INDEX adjustments_new ON adjustments (id) WHERE adopted = 0;
CREATE INDEX adjustments_reservation ON adjustments (reservation) WHERE reservation IS NOT NULL;

-- Names the database: random, made with it, and the same in each copy of it.
CREATE TABLE identity (
  id integer PRIMARY KEY CHECK (id = 1),
  ledger TEXT NOT NULL
);
INSERT INTO identity (id, ledger) VALUES (1, replace(gen_random_uuid()::text, '-', ''));

-- The worth of a Credit, and the budgets and rate limits of the newest policy, for those that do not have it.
CREATE TABLE terms (
  id integer PRIMARY KEY CHECK (id = 1),
  usd_per_credit TEXT,
  budgets TEXT NOT NULL DEFAULT '[]',
  rate_limits TEXT NOT NULL DEFAULT '[]',
  rank bigint NOT NULL DEFAULT 0
);
INSERT INTO terms (id) VALUES (1);

-- A budget keeps its generation: one that comes back goes on from where it was counted.
CREATE TABLE budgets (
  generation bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  digest bytea NOT NULL UNIQUE,
  name TEXT NOT NULL,
  definition TEXT NOT NULL
);
