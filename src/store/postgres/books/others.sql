-- Operations that `decide.sql` decides one by one, on their rows, which are locked.

CREATE TYPE ledger_named_1 AS (
  kind text, hold bigint, at bigint, account integer, funds integer[], amounts bigint[], note text, step integer, cost bigint,
  most bigint, tariff integer, rule text, name text, budget bigint, rank bigint, limits jsonb, source bigint, through bigint,
  paid bigint, fee bigint, amount bigint,
  -- Of a count: how many subjects its budget counted when the caller read the charges, the subjects that it counts from now on, and how many
  -- of the funds, from the end, are theirs.
  known bigint, subjects text[], opened integer
);

CREATE FUNCTION ledger_named_1(op ledger_op_1, p_ids bigint[], p_other jsonb) RETURNS ledger_named_1 LANGUAGE plpgsql AS $$
DECLARE
  o ledger_named_1;
BEGIN
  IF op.kind = 'o' THEN RETURN jsonb_populate_record(o, p_other); END IF;
  o.kind := CASE op.kind WHEN 'h' THEN 'hold' WHEN 'k' THEN 'earmark' WHEN 'e' THEN 'extend' WHEN 'p' THEN 'post' ELSE 'settle' END;
  o.hold := p_ids[op.ref];
  o.at := op.at;
  o.step := op.step;
  o.cost := op.cost;
  o.most := op.most;
  o.tariff := op.tariff;
  RETURN o;
END $$;

-- @returns the answer; null for a step of an open hold that was not done before
CREATE FUNCTION ledger_other_1(p_owner bigint, op ledger_op_1, o ledger_named_1, p_rides jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  h holds;
  answer jsonb;
  draws integer[];
BEGIN
  SELECT * INTO h FROM holds WHERE holds.id = o.hold;
  IF h.id IS NULL AND o.kind = 'correct' THEN
    INSERT INTO holds AS g SELECT * FROM ledger_recalled_1(o.hold) ON CONFLICT (id) DO UPDATE SET state = g.state RETURNING * INTO h;
  END IF;
  answer := ledger_earlier_1(o, h);
  IF answer IS NOT NULL OR (o.kind IN ('extend', 'post') AND h.state = 'open') THEN RETURN answer; END IF;
  draws := ledger_rows_1(CASE WHEN o.kind IN ('attach', 'correct') THEN o.funds ELSE h.funds END);
  answer := CASE
    WHEN o.kind = 'extend' THEN '["exhausted"]'
    WHEN o.kind IN ('post', 'settle') THEN ledger_late_1(o, h, draws)
    WHEN o.kind IN ('expire', 'void', 'release') THEN ledger_end_1(p_owner, o, h)
    WHEN o.kind = 'attach' THEN ledger_attach_1(o, h, draws)
    WHEN o.kind = 'capture' THEN ledger_capture_1(o, h)
    WHEN o.kind = 'correct' THEN ledger_correct_1(o, h)
    WHEN o.kind IN ('grant', 'deposit', 'waive') THEN ledger_credit_1(o.funds[1], o.amount)
    WHEN o.kind = 'count' THEN ledger_count_1(o)
    WHEN o.kind = 'enforce' THEN ledger_enforce_1(o)
    ELSE '["granted", 0]' END;
  -- Money that came in is booked before the hold that it pays.
  IF o.kind IN ('grant', 'deposit', 'waive', 'capture') AND answer ->> 0 NOT IN ('mistake', 'unmet') THEN
    INSERT INTO journal (seq, kind, account, amount, time, note)
      SELECT nextval('journal_seq'), e.kind, o.account, e.amount, o.at, o.note
        FROM (VALUES (1, 'grant', CASE o.kind WHEN 'grant' THEN o.amount END), (2, 'deposit', o.paid), (3, 'fee', -o.fee)) AS e (n, kind, amount)
        WHERE e.amount <> 0 OR (e.amount = 0 AND e.kind = 'grant') ORDER BY e.n;
  END IF;
  IF o.kind = 'capture' AND answer ->> 0 = 'granted' THEN
    INSERT INTO journal (seq, kind, reservation, account, amount, time, funds, note, owner, expires)
      VALUES (nextval('journal_seq'), 'reserve', o.hold, h.account, h.amount, o.at, nullif(draws, '{}'), h.note, h.owner, h.expires);
  END IF;
  IF o.name IS NOT NULL AND answer ->> 0 = 'granted' THEN
    INSERT INTO done_once (name, amount, time) VALUES (o.name, (answer ->> 1)::bigint, o.at);
  END IF;
  IF answer ->> 0 NOT IN ('mistake', 'unmet') THEN PERFORM ledger_must_ride_1(op, p_rides); END IF;
  RETURN answer;
END $$;

-- The answer to an operation that was done before is the one that it had then; null for a new one.
CREATE FUNCTION ledger_earlier_1(o ledger_named_1, h holds) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  answer jsonb;
BEGIN
  IF o.kind IN ('hold', 'earmark') AND h.id IS NOT NULL THEN
    RETURN CASE h.state WHEN 'void' THEN '["exhausted"]' ELSE jsonb_build_array('granted', h.first) END;
  ELSIF o.kind = 'capture' AND h.state IN ('open', 'closed') THEN
    RETURN jsonb_build_array('granted', h.first);
  ELSIF o.name IS NOT NULL THEN
    SELECT jsonb_build_array('granted', d.amount) INTO answer FROM done_once AS d WHERE d.name = o.name;
  ELSIF o.step IS NOT NULL AND h.id IS NOT NULL THEN
    SELECT CASE h.steps[x + 1] WHEN 1 THEN jsonb_build_array('charged', h.steps[x + 2], h.steps[x + 3])
        ELSE jsonb_build_array('granted', h.steps[x + 2]) END INTO answer
      FROM generate_series(1, cardinality(h.steps), 4) AS x WHERE h.steps[x] = o.step ORDER BY x DESC LIMIT 1;
  END IF;
  IF answer IS NULL AND o.kind IN ('extend', 'post', 'settle', 'expire') AND coalesce(h.state, 'void') IN ('earmark', 'void') THEN
    RETURN jsonb_build_array('mistake', 'there is no reservation ' || o.hold);
  END IF;
  RETURN answer;
END $$;

-- The rows by which entries name funds, in the order of these. A fund without a row gets one.
CREATE FUNCTION ledger_rows_1(p_funds integer[]) RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE
  draws integer[] := '{}';
  f funds;
  fund integer;
BEGIN
  FOREACH fund IN ARRAY coalesce(p_funds, '{}') LOOP
    SELECT * INTO f FROM funds WHERE funds.id = fund;
    IF f.row_id IS NULL THEN
      f.row_id := ledger_fund_row_1(f.id, CASE f.kind WHEN 'balance' THEN 0 ELSE f.most END, f.spent);
      UPDATE funds SET row_id = f.row_id WHERE funds.id = f.id;
    END IF;
    draws := draws || f.row_id;
  END LOOP;
  RETURN draws;
END $$;

CREATE FUNCTION ledger_enter_1(p_kind text, o ledger_named_1, h holds, p_amount bigint, p_funds integer[], p_drawn integer[], p_note text)
RETURNS void LANGUAGE sql AS $$
  INSERT INTO journal (seq, kind, reservation, account, amount, time, funds, drawn, note)
    VALUES (nextval('journal_seq'), p_kind, o.hold, h.account, p_amount, o.at, p_funds, p_drawn, p_note)
$$;

-- A post or a settlement after the hold has ended.
CREATE FUNCTION ledger_late_1(o ledger_named_1, h holds, p_draws integer[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  rest CONSTANT bigint := least(h.amount - h.late, o.most);
  cost CONSTANT bigint := CASE WHEN h.late IS NULL THEN 0 ELSE ledger_cost_1(o.cost, o.tariff, rest) END;
  charge CONSTANT bigint := CASE WHEN h.late IS NULL THEN 0 ELSE least(cost, rest) END;
  lack CONSTANT bigint := h.late + charge - h.charged;
  excess bigint := cost - charge;
  given bigint;
BEGIN
  IF o.kind = 'post' THEN
    -- On an expired hold it counts once that is settled.
    UPDATE holds SET late = late + charge, overrun = overrun + excess, steps = steps || ARRAY[o.step, 1, charge, excess]::bigint[]
      WHERE holds.id = o.hold;
    RETURN jsonb_build_array('charged', charge, excess);
  ELSIF h.late IS NULL THEN
    RETURN jsonb_build_array('charged', coalesce(h.corrected, h.charged),
      CASE WHEN h.corrected IS NULL THEN coalesce(h.closing_overrun, h.overrun) ELSE h.overrun END);
  END IF;
  -- Corrects what the hold was charged to what its attempts cost, as far as its funds still have it. Some may have been given back already.
  SELECT greatest(h.given_back - h.charged, least(lack, min(greatest(0, f.most - f.spent - f.held)))) INTO given
    FROM funds AS f WHERE f.id = ANY (h.funds);
  excess := excess + greatest(0, lack - given);
  UPDATE holds SET late = NULL, overrun = overrun + excess, corrected = h.charged + given, given_back = given_back - given
    WHERE holds.id = o.hold;
  IF given <> 0 THEN
    UPDATE funds AS f SET spent = f.spent + given WHERE f.id = ANY (h.funds);
    PERFORM ledger_enter_1('correct', o, h, given, p_draws, h.funds, 'settled after it had expired');
  END IF;
  RETURN jsonb_build_array('charged', h.charged + given, h.overrun + excess);
END $$;

-- Ends a hold or an earmark without a settlement.
CREATE FUNCTION ledger_end_1(p_owner bigint, o ledger_named_1, h holds) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  rest CONSTANT bigint := h.amount - h.charged;
  charge CONSTANT bigint := CASE o.rule WHEN 'charge' THEN rest ELSE 0 END;
  nothing CONSTANT jsonb := CASE o.kind WHEN 'release' THEN '["granted", 0]' ELSE '["charged", 0, 0]' END;
BEGIN
  IF h.id IS NULL THEN
    -- A hold that comes later is refused.
    IF o.kind = 'void' THEN
      INSERT INTO holds (id, account, owner, state, funds, first, amount) VALUES (o.hold, 0, p_owner, 'void', '{}', 0, 0);
    END IF;
    RETURN nothing;
  ELSIF h.state = 'earmark' THEN
    PERFORM ledger_unearmark_1(h);
    IF o.kind = 'void' THEN
      UPDATE holds SET state = 'void' WHERE holds.id = o.hold;
    ELSE
      DELETE FROM holds WHERE holds.id = o.hold;
    END IF;
    RETURN nothing;
  ELSIF o.kind = 'release' THEN
    RETURN nothing;
  ELSIF h.state <> 'open' THEN
    RETURN jsonb_build_array('charged', h.charged, coalesce(h.closing_overrun, h.overrun));
  END IF;
  UPDATE funds AS f SET held = f.held - rest, spent = f.spent + charge WHERE f.id = ANY (h.funds);
  UPDATE holds SET state = 'closed', charged = holds.charged + charge, closing_overrun = overrun,
      late = CASE o.kind WHEN 'expire' THEN h.charged END
    WHERE holds.id = o.hold;
  PERFORM ledger_enter_1('expire', o, h, charge, NULL, h.funds, NULL);
  RETURN jsonb_build_array('charged', h.charged + charge, h.overrun);
END $$;

-- Frees what an earmark holds.
CREATE FUNCTION ledger_unearmark_1(h holds) RETURNS void LANGUAGE sql AS $$
  UPDATE funds AS f
    SET held = f.held - CASE WHEN h.expected > 0 AND f.kind = 'balance' THEN greatest(0, h.amount - h.expected) ELSE h.amount END
    WHERE f.id = ANY (h.funds)
$$;

-- No payment brings what an earmark holds in new funds: it may overdraw them.
CREATE FUNCTION ledger_attach_1(o ledger_named_1, h holds, p_draws integer[]) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  IF h.id IS NULL OR h.state NOT IN ('open', 'earmark') THEN RETURN '["exhausted"]'; END IF;
  UPDATE funds AS f SET held = f.held + CASE WHEN f.id = ANY (o.funds) THEN h.amount - h.charged ELSE h.charged - h.amount END
    WHERE f.id = ANY (o.funds || h.funds) AND (f.id = ANY (o.funds)) <> (f.id = ANY (h.funds));
  UPDATE holds SET funds = o.funds WHERE holds.id = o.hold;
  IF h.state = 'open' AND h.funds <> o.funds THEN
    PERFORM ledger_enter_1('attach', o, h, 0, nullif(p_draws, '{}'), NULL, NULL);
  END IF;
  RETURN '["granted", 0]';
END $$;

-- Books the payment of an earmark, and makes it a hold.
CREATE FUNCTION ledger_capture_1(o ledger_named_1, h holds) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  promised CONSTANT bigint := least(h.amount, h.expected);
  f funds;
BEGIN
  IF h.id IS NULL OR h.state <> 'earmark' THEN RETURN '["unmet"]'; END IF;
  SELECT * INTO f FROM funds WHERE funds.id = ANY (h.funds) AND funds.kind = 'balance';
  IF f.id IS NULL THEN RETURN jsonb_build_array('mistake', 'earmark ' || o.hold || ' draws on no balance'); END IF;
  UPDATE funds SET most = most + o.paid - o.fee, is_opened = true WHERE funds.id = f.id RETURNING * INTO f;
  IF f.most - f.spent - f.held < promised THEN
    -- The balance was lowered after the earmark. The deposit stays booked.
    PERFORM ledger_unearmark_1(h);
    DELETE FROM holds WHERE holds.id = o.hold;
    SELECT * INTO f FROM funds WHERE funds.id = f.id;
    RETURN jsonb_build_array('exhausted', f.id, f.most, f.spent, f.held);
  END IF;
  UPDATE funds SET held = held + promised WHERE funds.id = f.id;
  UPDATE holds SET state = 'open', expected = 0 WHERE holds.id = o.hold;
  RETURN jsonb_build_array('granted', h.amount);
END $$;

CREATE FUNCTION ledger_credit_1(p_fund integer, p_amount bigint) RETURNS jsonb LANGUAGE sql AS $$
  UPDATE funds SET most = most + p_amount, is_opened = true WHERE id = p_fund;
  SELECT jsonb_build_array('granted', p_amount)
$$;

-- Gives back in the funds that apply now: in budgets, and in a balance only if one had paid.
CREATE FUNCTION ledger_correct_1(o ledger_named_1, h holds) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  given CONSTANT bigint := greatest(0, least(coalesce(h.charged - h.given_back, 0), o.amount));
  drawn integer[];
  draws integer[];
BEGIN
  IF h.state = 'open' THEN RETURN jsonb_build_array('mistake', 'reservation ' || o.hold || ' is open: what it costs is not known'); END IF;
  IF given > 0 THEN
    SELECT coalesce(array_agg(f.id ORDER BY u.n), '{}'), coalesce(array_agg(f.row_id ORDER BY u.n), '{}') INTO drawn, draws
      FROM unnest(o.funds) WITH ORDINALITY AS u (id, n) JOIN funds AS f ON f.id = u.id
      WHERE f.kind <> 'balance' OR EXISTS (SELECT 1 FROM funds AS d WHERE d.id = ANY (h.funds) AND d.kind = 'balance');
    UPDATE funds AS f SET spent = f.spent - given WHERE f.id = ANY (drawn);
    PERFORM ledger_enter_1('correct', o, h, -given, draws, drawn, o.note);
    UPDATE holds SET given_back = given_back + given WHERE holds.id = o.hold;
  END IF;
  RETURN jsonb_build_array('granted', given);
END $$;

-- Adds what funds have spent elsewhere, or before they were counted. Entries then name them by another row.
CREATE FUNCTION ledger_count_1(o ledger_named_1) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  added CONSTANT integer := cardinality(o.funds) - coalesce(o.opened, 0);
BEGIN
  INSERT INTO counted (budget, through) SELECT o.budget, o.through WHERE o.source IS NULL ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    UPDATE counted AS c SET through = o.through
      WHERE c.budget = o.budget AND c.through = o.source AND c.subjects = o.known;
  END IF;
  IF NOT FOUND THEN RETURN '["exhausted"]'; END IF;
  WITH begun AS (
    INSERT INTO counted_subjects (budget, subject) SELECT o.budget, unnest(o.subjects) ON CONFLICT DO NOTHING RETURNING 1
  ) UPDATE counted AS c SET subjects = c.subjects + (SELECT count(*) FROM begun) WHERE c.budget = o.budget;
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
CREATE FUNCTION ledger_enforce_1(o ledger_named_1) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO enforced (budget, rank, at, most, limits) VALUES (o.budget, o.rank, o.at, o.most, o.limits)
    ON CONFLICT (budget) DO UPDATE
      SET rank = excluded.rank, at = excluded.at, most = excluded.most, limits = coalesce(enforced.limits, '{}') || excluded.limits
      WHERE (enforced.rank, enforced.at) <= (excluded.rank, excluded.at);
  IF FOUND THEN
    UPDATE funds AS f SET most = t.most, row_id = NULL
      FROM (SELECT g.id, CASE WHEN o.limits IS NULL THEN o.most ELSE (o.limits ->> g.subject)::bigint END AS most
        FROM funds AS g WHERE g.budget = o.budget) AS t
      WHERE f.id = t.id AND f.most <> t.most;
  END IF;
  RETURN '["granted", 0]';
END $$;

-- Entries name funds by rows: makes one of a fund, with what it has spent so far.
CREATE FUNCTION ledger_fund_row_1(p_fund integer, p_most bigint, p_spent bigint) RETURNS integer LANGUAGE sql AS $$
  INSERT INTO fund_rows (fund, most, opening, after_seq, counted)
    SELECT p_fund, p_most, p_spent, nextval('journal_seq'), CASE WHEN f.budget <> 0 THEN coalesce(c.through, 0) END
      FROM funds AS f LEFT JOIN counted AS c ON c.budget = f.budget WHERE f.id = p_fund
    RETURNING id
$$;

-- Writes statements that ride with operations. Each is an object: its `text` with its values, and whether it `must` change or select a
-- row. @returns false where the first that must does not, and nothing was written
CREATE FUNCTION ledger_ride_1(p_rides jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  r record;
  n bigint;
  written bigint := 0;
BEGIN
  -- The caller keeps the locks of funds: other servers wait for it no longer than this.
  PERFORM set_config('lock_timeout', '200ms', true);
  FOR r IN SELECT * FROM jsonb_to_recordset(p_rides) AS x (text text, must boolean) LOOP
    EXECUTE r.text;
    GET DIAGNOSTICS n = ROW_COUNT;
    IF r.must AND n = 0 THEN
      IF written = 0 THEN RETURN false; END IF;
      RAISE EXCEPTION 'a condition is not met' USING ERRCODE = 'SB002';
    END IF;
    written := written + n;
  END LOOP;
  RETURN true;
END $$;
