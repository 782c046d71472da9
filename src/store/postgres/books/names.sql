-- Numbers texts that repeat. Rows are made in the order of their digests, so that callers never wait for each other in a circle.

CREATE FUNCTION ledger_funds_1(p_funds jsonb)
RETURNS TABLE (digest text, id integer, most bigint, spent bigint, held bigint, is_opened boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7312, 1);
  INSERT INTO funds (digest, kind, name, subject, definition, starts, ends, budget, most)
    SELECT decode(x.digest, 'hex'), x.kind, x.name, x.subject, x.definition, x.starts, x.ends, x.budget,
        -- `limitFor` of src/core/accounting/fund.ts, if a policy with the budget is active.
        CASE WHEN e.limits IS NULL THEN coalesce(e.most, x.most) ELSE coalesce((e.limits ->> x.subject)::bigint, x.most) END
      FROM jsonb_to_recordset(p_funds) AS x (digest text, kind text, name text, subject text, definition text, starts bigint,
          ends bigint, budget bigint, most bigint)
        LEFT JOIN enforced AS e ON e.budget = x.budget
      ORDER BY x.digest
    ON CONFLICT (digest) DO NOTHING;
  RETURN QUERY SELECT encode(f.digest, 'hex'), f.id, f.most, f.spent, f.held, f.is_opened FROM funds AS f
    WHERE f.digest IN (SELECT decode(x.digest, 'hex') FROM jsonb_to_recordset(p_funds) AS x (digest text));
END $$;

CREATE FUNCTION ledger_accounts_1(p_accounts jsonb) RETURNS TABLE (digest text, id integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO accounts (digest, key_id, labels, selector, payer, session, agent, team_id, user_id)
    SELECT decode(x.digest, 'hex'), x."keyId", x.labels, x.selector, x.payer, x.session, x.agent, x.team, x."user"
      FROM jsonb_to_recordset(p_accounts) AS x (digest text, "keyId" text, labels text, selector text, payer text, session text,
          agent text, team text, "user" text)
      ORDER BY x.digest
    ON CONFLICT (digest) DO NOTHING;
  RETURN QUERY SELECT encode(a.digest, 'hex'), a.id FROM accounts AS a
    WHERE a.digest IN (SELECT decode(x.digest, 'hex') FROM jsonb_to_recordset(p_accounts) AS x (digest text));
END $$;

CREATE FUNCTION ledger_tariffs_1(p_tariffs jsonb) RETURNS TABLE (digest text, id integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO tariffs (digest, model, provider, upstream, price)
    SELECT decode(x.digest, 'hex'), x.model, x.provider, x.upstream, x.price
      FROM jsonb_to_recordset(p_tariffs) AS x (digest text, model text, provider text, upstream text, price text)
      ORDER BY x.digest
    ON CONFLICT (digest) DO NOTHING;
  RETURN QUERY SELECT encode(t.digest, 'hex'), t.id FROM tariffs AS t
    WHERE t.digest IN (SELECT decode(x.digest, 'hex') FROM jsonb_to_recordset(p_tariffs) AS x (digest text));
END $$;

-- Stores the terms of a policy, and gives generations to its budgets, in their order. No row: Credits have another worth, which is set
-- once something was booked.
CREATE FUNCTION ledger_accept_1(p_usd text, p_budgets text, p_limits text, p_rank bigint, p_counted jsonb)
RETURNS TABLE (rank bigint, generations jsonb) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  last terms;
  mine bigint;
BEGIN
  SELECT * INTO last FROM terms FOR UPDATE;
  IF last.usd_per_credit <> p_usd AND EXISTS (SELECT 1 FROM journal) THEN RETURN; END IF;
  mine := coalesce(p_rank, last.rank + CASE WHEN last.rank > 0 AND last.budgets = p_budgets AND last.rate_limits = p_limits THEN 0 ELSE 1 END);
  -- A caller that is behind changes nothing for the others.
  IF mine >= last.rank THEN
    UPDATE terms SET usd_per_credit = p_usd, budgets = p_budgets, rate_limits = p_limits, rank = mine;
  END IF;
  INSERT INTO budgets (digest, name, definition)
    SELECT decode(x.digest, 'hex'), x.name, x.definition
      FROM jsonb_to_recordset(p_counted) AS x (digest text, name text, definition text) ORDER BY x.digest
    ON CONFLICT (digest) DO NOTHING;
  RETURN QUERY SELECT mine, coalesce(jsonb_agg(b.generation ORDER BY c.n), '[]')
    FROM jsonb_array_elements(p_counted) WITH ORDINALITY AS c (one, n)
      JOIN budgets AS b ON b.digest = decode(c.one ->> 'digest', 'hex');
END $$;
