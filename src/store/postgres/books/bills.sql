-- Version 31: an attempt stores its bill in one column, as JSON (`BillWriter` of src/core/accounting/bill.ts), in place of a column for each count
-- of tokens and of the add-ons in its note. Bills of older entries get the rates of the line that their tariff had for their input.
ALTER TABLE journal ADD COLUMN bill TEXT;

UPDATE journal AS j SET note = NULL, bill = (
    SELECT json_build_object('input', c.input, 'output', c.output, 'reasoning', c.reasoning,
        'units', coalesce(json_object_agg(u.unit, u.amount) FILTER (WHERE u.amount > 0), '{}'),
        'rates', CASE WHEN c.line IS NOT NULL THEN json_object_agg(u.unit, u.rate) FILTER (WHERE u.amount > 0 OR u.amount IS NULL) END,
        'over', c.line -> 'overInputTokens', 'divisor', CASE WHEN c.line IS NOT NULL THEN c.price -> 'divisor' END)::text
      FROM (
        VALUES ('input', NULL::bigint, c.line -> 'input'),
          ('output', NULL, c.line -> 'output'),
          ('cached_input', c.cached, c.line -> 'cachedInput'),
          ('cache_write', c.written - c.hour, c.line -> 'cacheWrite'),
          ('cache_write_1h', c.hour, coalesce(c.line -> 'hourCacheWrite', c.line -> 'cacheWrite'))
        UNION ALL SELECT 'tool_use/' || t.key, t.value::bigint, coalesce(c.price -> 'toolUses' -> t.key, '0')
          FROM json_each_text(coalesce(c.add_ons -> 'toolUses', '{}')) AS t
        UNION ALL SELECT 'request', NULL, c.price -> 'perRequest' WHERE (c.price ->> 'perRequest')::bigint > 0
      ) AS u (unit, amount, rate))
  FROM (
    SELECT e.seq, e.input_tokens AS input, coalesce(e.cached_input_tokens, 0) AS cached, coalesce(e.cache_write_tokens, 0) AS written,
        coalesce(e.output_tokens, 0) AS output, coalesce(e.reasoning_tokens, 0) AS reasoning, p.price, n.add_ons,
        coalesce((n.add_ons ->> 'hourCacheTokens')::bigint, 0) AS hour, (
          SELECT l.line FROM jsonb_array_elements(p.price -> 'lines') AS l (line)
            WHERE (l.line ->> 'overInputTokens')::bigint < e.input_tokens OR (l.line ->> 'overInputTokens')::bigint = 0
            ORDER BY (l.line ->> 'overInputTokens')::bigint DESC LIMIT 1
        ) AS line
      FROM journal AS e JOIN tariffs AS t ON t.id = e.tariff
        CROSS JOIN LATERAL (SELECT t.price::jsonb AS price) AS p
        CROSS JOIN LATERAL (SELECT e.note::json AS add_ons) AS n
      WHERE e.kind IN ('post', 'settle') AND e.input_tokens IS NOT NULL
  ) AS c
  WHERE c.seq = j.seq;

DROP VIEW spending;
DROP VIEW unfolded;
ALTER TABLE journal DROP COLUMN input_tokens, DROP COLUMN cached_input_tokens, DROP COLUMN cache_write_tokens,
  DROP COLUMN output_tokens, DROP COLUMN reasoning_tokens;
-- The charges behind these, in the columns of `spend`. An ID tells the time of its hold, as in src/core/id.ts.
CREATE VIEW unfolded AS
  SELECT j.seq, ((j.reservation / 8192 + 1767225600000) / 900000)::integer AS quarter, j.account, coalesce(j.tariff, 0) AS tariff,
      1::bigint AS charges, j.amount AS microcredits, coalesce((j.bill::json ->> 'input')::bigint, 0) AS input_tokens,
      coalesce((j.bill::json ->> 'output')::bigint, 0) AS output_tokens
    FROM journal AS j WHERE j.seq > (SELECT f.through FROM folded AS f)
      AND j.kind IN ('post', 'settle', 'expire', 'correct') AND (j.amount <> 0 OR j.tariff IS NOT NULL);
-- All charges at any moment, though a group may be in two rows.
CREATE VIEW spending AS
  SELECT quarter, account, tariff, charges, microcredits, input_tokens, output_tokens FROM spend
  UNION ALL SELECT quarter, account, tariff, charges, microcredits, input_tokens, output_tokens FROM unfolded;

ALTER TYPE ledger_op_1 DROP ATTRIBUTE input, DROP ATTRIBUTE cached, DROP ATTRIBUTE written, DROP ATTRIBUTE output,
  DROP ATTRIBUTE reasoning, ADD ATTRIBUTE bill text;

-- Writes the figures of funds, and the holds and entries of a run of operations.
CREATE OR REPLACE FUNCTION ledger_write_1(p_owner bigint, p_ops ledger_op_1[], p_ids bigint[], s ledger_state_1, p_from integer, p_to integer)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_from > p_to THEN RETURN; END IF;
  UPDATE funds AS f SET most = t.most, spent = t.spent, held = t.held, row_id = t.row_id
    FROM unnest(s.ids, s.most, s.spent, s.held, s.row_ids) AS t (id, most, spent, held, row_id)
    WHERE f.id = t.id AND (f.most, f.spent, f.held, f.row_id) IS DISTINCT FROM (t.most, t.spent, t.held, t.row_id);
  INSERT INTO holds (id, account, owner, expires, state, funds, first, amount, expected, note)
    SELECT p_ids[x.ref], x.account, p_owner, x.expires, CASE x.kind WHEN 'h' THEN 'open' ELSE 'earmark' END, s.sets[x.fund_set]::integer[],
        s.firsts[x.ordinality::integer], s.firsts[x.ordinality::integer], x.expected, x.note
      FROM unnest(p_ops) WITH ORDINALITY AS x
      WHERE x.ordinality BETWEEN p_from AND p_to AND x.kind IN ('h', 'k') AND s.codes[x.ordinality::integer] = 'g';
  UPDATE holds AS h SET amount = s.amounts[x.ref], charged = s.charged[x.ref], overrun = s.overruns[x.ref],
      state = CASE s.states[x.ref] WHEN 1 THEN 'open' ELSE 'closed' END,
      closing_overrun = CASE s.states[x.ref] WHEN 1 THEN NULL ELSE s.overruns[x.ref] END, steps = h.steps || s.steps[x.ref]::bigint[]
    FROM unnest(p_ops) WITH ORDINALITY AS x
    WHERE h.id = p_ids[x.ref] AND x.ordinality BETWEEN p_from AND p_to AND x.kind IN ('e', 'p', 's')
      AND s.codes[x.ordinality::integer] <> 'o';
  INSERT INTO journal (seq, kind, reservation, account, amount, time, funds, drawn, tariff, estimated, note, step, owner, expires, bill)
    SELECT s.seqs[x.ordinality::integer], CASE x.kind WHEN 'h' THEN 'reserve' WHEN 'e' THEN 'raise' WHEN 'p' THEN 'post' ELSE 'settle' END,
        p_ids[x.ref], s.accounts[x.ref], s.changes[x.ordinality::integer], x.at,
        CASE x.kind WHEN 'h' THEN nullif(s.draws[x.fund_set], '{}')::integer[] END,
        CASE WHEN x.kind IN ('p', 's') THEN s.sets[s.in_sets[x.ref]]::integer[] END, x.tariff,
        x.estimated, x.note, x.step, CASE x.kind WHEN 'h' THEN p_owner END, CASE x.kind WHEN 'h' THEN x.expires END, x.bill
      FROM unnest(p_ops) WITH ORDINALITY AS x
      WHERE x.ordinality BETWEEN p_from AND p_to AND s.seqs[x.ordinality::integer] > 0;
  -- Right after their charges.
  INSERT INTO journal (seq, kind, reservation, account, amount, time, tariff, estimated)
    SELECT s.seqs[x.ordinality::integer] + 1, 'overrun', p_ids[x.ref], s.accounts[x.ref], s.excesses[x.ordinality::integer], x.at, x.tariff,
        x.estimated
      FROM unnest(p_ops) WITH ORDINALITY AS x
      WHERE x.ordinality BETWEEN p_from AND p_to AND s.excesses[x.ordinality::integer] > 0;
END $$;
