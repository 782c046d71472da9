-- The subjects that a budget with separate limits counts, even while no server limits them. Servers learn of a change of limits one after
-- the other: each charge then counts once in the budget, whichever limits its server knew.
CREATE TABLE counted_subjects (
  budget bigint NOT NULL,
  subject TEXT NOT NULL,
  PRIMARY KEY (budget, subject)
);
-- The number of these subjects: a count that was read before another subject was added is refused.
ALTER TABLE counted ADD COLUMN subjects bigint NOT NULL DEFAULT 0;
INSERT INTO counted_subjects (budget, subject)
  SELECT e.budget, s.subject FROM enforced AS e CROSS JOIN LATERAL jsonb_object_keys(e.limits) AS s (subject);
UPDATE counted AS c SET subjects = (SELECT count(*) FROM counted_subjects AS s WHERE s.budget = c.budget);

-- How far the budget of a row was counted when the row was made; null for a row of an earlier version, and for a balance.
ALTER TABLE fund_rows ADD COLUMN counted bigint;

CREATE OR REPLACE FUNCTION ledger_fund_row_1(p_fund integer, p_most bigint, p_spent bigint) RETURNS integer LANGUAGE sql AS $$
  INSERT INTO fund_rows (fund, most, opening, after_seq, counted)
    SELECT p_fund, p_most, p_spent, nextval('journal_seq'), CASE WHEN f.budget <> 0 THEN coalesce(c.through, 0) END
      FROM funds AS f LEFT JOIN counted AS c ON c.budget = f.budget WHERE f.id = p_fund
    RETURNING id
$$;

-- Of a count: how many subjects its budget counted when the caller read the charges, the subjects that it counts from now on, and how many
-- of the funds, from the end, are theirs.
ALTER TYPE ledger_named_2 ADD ATTRIBUTE known bigint, ADD ATTRIBUTE subjects text[], ADD ATTRIBUTE opened integer;

-- Adds what funds have spent elsewhere, or before they were counted. Entries then name them by another row.
CREATE OR REPLACE FUNCTION ledger_count_2(o ledger_named_2) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  added CONSTANT integer := cardinality(o.funds) - coalesce(o.opened, 0);
BEGIN
  IF o.kind = 'count' THEN
    INSERT INTO counted (budget, through) SELECT o.budget, o.through WHERE o.source IS NULL ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      UPDATE counted AS c SET through = o.through
        WHERE c.budget = o.budget AND c.through = o.source AND c.subjects = coalesce(o.known, c.subjects);
    END IF;
    IF NOT FOUND THEN RETURN '["exhausted"]'; END IF;
    WITH begun AS (
      INSERT INTO counted_subjects (budget, subject) SELECT o.budget, unnest(o.subjects) ON CONFLICT DO NOTHING RETURNING 1
    ) UPDATE counted AS c SET subjects = c.subjects + (SELECT count(*) FROM begun) WHERE c.budget = o.budget;
  END IF;
  UPDATE funds AS f SET spent = f.spent + t.amount, row_id = NULL
    FROM (SELECT u.id, sum(u.amount) AS amount FROM unnest(o.funds[:added], o.amounts[:added]) AS u (id, amount) GROUP BY u.id) AS t
    WHERE f.id = t.id;
  -- The funds are locked, so no later charge draws on them before this transaction ends.
  UPDATE funds AS f SET row_id = NULL,
      spent = u.amount + coalesce((SELECT sum(j.amount) FROM journal AS j WHERE j.seq > o.through AND u.id = ANY (j.drawn)), 0)
    FROM unnest(o.funds[added + 1:], o.amounts[added + 1:]) AS u (id, amount) WHERE f.id = u.id;
  RETURN '["granted", 0]';
END $$;

-- Gives the funds of a budget their new limits, if the policy is the newest. The limits of other subjects stay: another server may know them.
CREATE OR REPLACE FUNCTION ledger_enforce_2(o ledger_named_2) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO enforced (budget, rank, most, limits) VALUES (o.budget, o.rank, o.most, o.limits)
    ON CONFLICT (budget) DO UPDATE
      SET rank = excluded.rank, most = excluded.most, limits = coalesce(enforced.limits, '{}') || excluded.limits
      WHERE enforced.rank <= excluded.rank;
  IF FOUND THEN
    UPDATE funds AS f SET most = t.most, row_id = NULL
      FROM (SELECT g.id, CASE WHEN o.limits IS NULL THEN o.most ELSE (o.limits ->> g.subject)::bigint END AS most
        FROM funds AS g WHERE g.budget = o.budget) AS t
      WHERE f.id = t.id AND f.most <> t.most;
  END IF;
  RETURN '["granted", 0]';
END $$;
