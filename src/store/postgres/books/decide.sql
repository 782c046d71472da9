-- Decides a group of operations, in their order, by the rules of src/core/accounting, and writes the result. It locks the holds and then
-- the funds, each in the order of their numbers, so that groups never wait for each other in a circle. Holds, extensions, posts and
-- settlements of open holds change a state in memory, which is written once for a run of them. Other operations (`others.sql`) change rows.

-- An operation: `h` hold, `k` earmark, `e` extend, `p` post, `s` settle, or `o` for the next object of the others. `ref` is the place of its hold
-- among the IDs, `fund_set` that of its funds among the sets, `ride` that of the statements written with it; 0 for none.
CREATE TYPE ledger_op_1 AS (
  kind "char", ref integer, at bigint, account integer, fund_set integer, amounts bigint[], least bigint, ample bigint, expected bigint,
  expires bigint, step integer, cost bigint, most bigint, tariff integer, input bigint, cached bigint, written bigint, output bigint,
  reasoning bigint, estimated boolean, note text, ride integer, is_alone boolean
);

-- The state of a group. Funds, by their places.
CREATE TYPE ledger_state_1 AS (
  ids integer[], most bigint[], spent bigint[], held bigint[], row_ids integer[], is_balance boolean[], is_opened boolean[],
  -- Sets of funds: their texts, the places of their funds in one array, where those of each end, and the rows that entries name ('': not yet).
  sets text[], places integer[], ends integer[], draws text[],
  -- Holds by their places: the state is 0 for none, 1 for an open one, 2 for others. Steps are those of the run, as texts of arrays.
  states integer[], accounts integer[], in_sets integer[], amounts bigint[], charged bigint[], overruns bigint[], last_steps integer[],
  steps text[],
  -- Operations: their answers, and what their entries say. `g` is granted, `c` charged, `o` the next of `odd`.
  codes "char"[], firsts bigint[], seconds bigint[], changes bigint[], excesses bigint[], seqs bigint[], odd jsonb
);

-- `p_owner` is the instance, its epoch * 128 + its slot. @returns answers, figures of all funds, and the holds
CREATE FUNCTION ledger_decide_1(p_owner bigint, p_ops ledger_op_1[], p_ids bigint[], p_sets text[], p_others jsonb, p_rides jsonb)
RETURNS json LANGUAGE plpgsql
-- A plan that was made while the tables were small is kept when they are not.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  SIZE CONSTANT integer := cardinality(p_ops);
  s ledger_state_1 := ledger_begin_1(p_owner, p_ops, p_ids, p_sets, p_others);
  op ledger_op_1;
  -- Whether it is a new hold, or on an open one.
  is_usual boolean;
  answer jsonb;
  nth integer := 1;
  -- The first operation whose effects are not written.
  unwritten integer := 1;
  others integer := 0;
  -- One whose step was looked for, and not found.
  checked integer := 0;
BEGIN
  WHILE nth <= SIZE LOOP
    op := p_ops[nth];
    is_usual := CASE WHEN op.kind = 'o' THEN false WHEN op.kind IN ('h', 'k') THEN s.states[op.ref] = 0
      ELSE s.states[op.ref] = 1 AND (op.kind = 's' OR nth = checked OR op.step > coalesce(s.last_steps[op.ref], -1)) END;
    IF is_usual THEN
      IF op.kind IN ('p', 's') THEN s := ledger_charge_1(s, op, nth); ELSE s := ledger_hold_1(s, op, nth, p_rides); END IF;
      IF NOT (op.kind = 'h' AND op.is_alone) THEN PERFORM ledger_must_ride_1(op, p_rides); END IF;
      nth := nth + 1;
      CONTINUE;
    END IF;
    PERFORM ledger_write_1(p_owner, p_ops, p_ids, s, unwritten, nth - 1);
    answer := ledger_other_1(p_owner, op, ledger_named_1(op, p_ids, p_others -> others), p_rides);
    s := ledger_read_1(s, p_ids);
    unwritten := nth + CASE WHEN answer IS NULL THEN 0 ELSE 1 END;
    IF answer IS NULL THEN
      checked := nth;
      CONTINUE;
    END IF;
    IF op.kind = 'o' THEN others := others + 1; END IF;
    s.odd := s.odd || jsonb_build_array(answer);
    nth := nth + 1;
  END LOOP;
  PERFORM ledger_write_1(p_owner, p_ops, p_ids, s, unwritten, SIZE);
  RETURN json_build_array(s.codes, s.firsts, s.seconds, s.odd, s.ids, s.most, s.spent, s.held, s.is_opened, s.states, s.amounts, s.charged);
END $$;

-- Locks what the operations are on, and reads it.
CREATE FUNCTION ledger_begin_1(p_owner bigint, p_ops ledger_op_1[], p_ids bigint[], p_sets text[], p_others jsonb)
RETURNS ledger_state_1 LANGUAGE plpgsql AS $$
DECLARE
  s ledger_state_1;
  is_leased boolean;
  drawn integer[];
  funds_of_sets integer[];
BEGIN
  SELECT EXISTS (SELECT 1 FROM instances AS i WHERE i.slot = p_owner % 128 AND i.epoch = p_owner / 128
        AND i.is_released = 0 AND i.until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint),
      p_sets || coalesce(array_agg(DISTINCT g.set) FILTER (WHERE g.set <> ALL (p_sets)), '{}') INTO is_leased, s.sets
    FROM (SELECT holds.funds::text AS set FROM holds WHERE holds.id = ANY (p_ids) ORDER BY holds.id FOR NO KEY UPDATE) AS g;
  IF NOT is_leased THEN RAISE EXCEPTION 'the lease of this server on the database has ended' USING ERRCODE = 'SB001'; END IF;
  SELECT coalesce(array_agg(x.last ORDER BY x.n), '{}'), ('{' || coalesce(string_agg(x.funds, ',' ORDER BY x.n), '') || '}')::integer[]
    INTO s.ends, funds_of_sets
    FROM (
      SELECT t.n, sum(cardinality(t.funds::integer[])) OVER (ORDER BY t.n) AS last, nullif(btrim(t.funds, '{}'), '') AS funds
        FROM unnest(s.sets) WITH ORDINALITY AS t (funds, n)
    ) AS x;
  drawn := funds_of_sets;
  IF p_others <> '[]' THEN
    -- A fund that is made after this has the new limit.
    IF p_others @? '$[*] ? (@.kind == "enforce")' THEN PERFORM pg_advisory_xact_lock(7312, 1); END IF;
    drawn := drawn || ARRAY(
      SELECT unnest(x.funds) FROM jsonb_to_recordset(p_others) AS x (funds integer[])
      UNION SELECT f.id FROM funds AS f
        WHERE f.budget <> 0 AND f.budget = ANY (ARRAY(SELECT x.budget FROM jsonb_to_recordset(p_others) AS x (kind text, budget bigint)
          WHERE x.kind = 'enforce'))
    );
  END IF;
  s.ids := ARRAY(SELECT f.id FROM funds AS f WHERE f.id = ANY (drawn) ORDER BY f.id FOR NO KEY UPDATE);
  s.places := ARRAY(SELECT array_position(s.ids, m.fund) FROM unnest(funds_of_sets) WITH ORDINALITY AS m (fund, n) ORDER BY m.n);
  s.firsts := array_fill(0::bigint, ARRAY[cardinality(p_ops)]);
  s.seconds := s.firsts;
  s.changes := s.firsts;
  s.excesses := s.firsts;
  s.seqs := s.firsts;
  s.codes := array_fill('o'::"char", ARRAY[cardinality(p_ops)]);
  s.odd := '[]';
  -- Only now, because an earlier call whose answer was lost may have waited for the same funds.
  RETURN ledger_read_1(s, p_ids);
END $$;

-- Reads the figures of the funds and holds that are locked.
CREATE FUNCTION ledger_read_1(s ledger_state_1, p_ids bigint[]) RETURNS ledger_state_1 LANGUAGE plpgsql AS $$
BEGIN
  SELECT coalesce(array_agg(f.most ORDER BY u.n), '{}'), coalesce(array_agg(f.spent ORDER BY u.n), '{}'),
      coalesce(array_agg(f.held ORDER BY u.n), '{}'), coalesce(array_agg(f.row_id ORDER BY u.n), '{}'),
      coalesce(array_agg(f.kind = 'balance' ORDER BY u.n), '{}'), coalesce(array_agg(f.is_opened ORDER BY u.n), '{}')
    INTO s.most, s.spent, s.held, s.row_ids, s.is_balance, s.is_opened
    FROM unnest(s.ids) WITH ORDINALITY AS u (id, n) JOIN funds AS f ON f.id = u.id;
  SELECT array_agg(CASE WHEN h.id IS NULL THEN 0 WHEN h.state = 'open' THEN 1 ELSE 2 END ORDER BY u.n),
      array_agg(coalesce(h.account, 0) ORDER BY u.n), array_agg(coalesce(array_position(s.sets, h.funds::text), 0) ORDER BY u.n),
      array_agg(coalesce(h.amount, 0) ORDER BY u.n), array_agg(coalesce(h.charged, 0) ORDER BY u.n),
      array_agg(coalesce(h.overrun, 0) ORDER BY u.n), array_agg('{}'::text ORDER BY u.n),
      array_agg((SELECT max(h.steps[x]) FROM generate_series(1, cardinality(h.steps), 4) AS x)::integer ORDER BY u.n)
    INTO s.states, s.accounts, s.in_sets, s.amounts, s.charged, s.overruns, s.steps, s.last_steps
    FROM unnest(p_ids) WITH ORDINALITY AS u (id, n) LEFT JOIN LATERAL (SELECT * FROM holds WHERE holds.id = u.id OFFSET 0) AS h ON true;
  s.draws := array_fill(''::text, ARRAY[cardinality(s.sets)]);
  RETURN s;
END $$;

-- Gives each fund of a set a row that entries name, before an operation changes its figures.
CREATE FUNCTION ledger_drawn_1(s ledger_state_1, p_set integer) RETURNS ledger_state_1 LANGUAGE plpgsql AS $$
DECLARE
  draws integer[] := '{}';
  i integer;
BEGIN
  FOREACH i IN ARRAY ledger_places_1(s, p_set) LOOP
    IF s.row_ids[i] IS NULL THEN
      s.row_ids[i] := ledger_fund_row_1(s.ids[i], CASE WHEN s.is_balance[i] THEN 0 ELSE s.most[i] END, s.spent[i]);
    END IF;
    draws := draws || s.row_ids[i];
  END LOOP;
  s.draws[p_set] := draws::text;
  RETURN s;
END $$;

CREATE FUNCTION ledger_places_1(s ledger_state_1, p_set integer) RETURNS integer[] LANGUAGE sql IMMUTABLE AS $$
  SELECT s.places[coalesce(s.ends[p_set - 1], 0) + 1 : s.ends[p_set]]
$$;

-- Writes what rides with an operation that counts, or fails the group.
CREATE FUNCTION ledger_must_ride_1(op ledger_op_1, p_rides jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF op.ride > 0 AND NOT ledger_ride_1(p_rides -> (op.ride - 1)) THEN
    RAISE EXCEPTION 'a condition is not met' USING ERRCODE = 'SB002';
  END IF;
END $$;

-- `charge` of src/core/accounting/held-sum.ts. An impossible cost counts as all that is left.
CREATE FUNCTION ledger_cost_1(p_cost bigint, p_tariff integer, p_left bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_tariff IS NULL THEN 0 ELSE coalesce(p_cost, p_left) END
$$;

-- A post or a settlement of an open hold.
CREATE FUNCTION ledger_charge_1(s ledger_state_1, op ledger_op_1, nth integer) RETURNS ledger_state_1 LANGUAGE plpgsql AS $$
DECLARE
  ref CONSTANT integer := op.ref;
  fund_set CONSTANT integer := s.in_sets[ref];
  rest CONSTANT bigint := s.amounts[ref] - s.charged[ref];
  cost CONSTANT bigint := ledger_cost_1(op.cost, op.tariff, least(rest, op.most));
  charge CONSTANT bigint := least(cost, rest, op.most);
  i integer;
BEGIN
  IF s.draws[fund_set] = '' THEN s := ledger_drawn_1(s, fund_set); END IF;
  FOREACH i IN ARRAY ledger_places_1(s, fund_set) LOOP
    s.held[i] := s.held[i] - CASE op.kind WHEN 's' THEN rest ELSE charge END;
    s.spent[i] := s.spent[i] + charge;
  END LOOP;
  s.charged[ref] := s.charged[ref] + charge;
  s.overruns[ref] := s.overruns[ref] + cost - charge;
  s.changes[nth] := charge;
  s.excesses[nth] := cost - charge;
  s.seqs[nth] := nextval('journal_seq');
  s.codes[nth] := 'c';
  IF op.kind = 's' THEN
    s.states[ref] := 2;
    s.firsts[nth] := s.charged[ref];
    s.seconds[nth] := s.overruns[ref];
  ELSE
    s.last_steps[ref] := greatest(s.last_steps[ref], op.step);
    s.steps[ref] := (s.steps[ref]::bigint[] || ARRAY[op.step, 1, charge, cost - charge])::text;
    s.firsts[nth] := charge;
    s.seconds[nth] := cost - charge;
  END IF;
  RETURN s;
END $$;

-- A hold or an earmark, which is new, or an extension of an open hold.
CREATE FUNCTION ledger_hold_1(s ledger_state_1, op ledger_op_1, nth integer, p_rides jsonb) RETURNS ledger_state_1 LANGUAGE plpgsql AS $$
DECLARE
  ref CONSTANT integer := op.ref;
  fund_set CONSTANT integer := CASE op.kind WHEN 'e' THEN s.in_sets[ref] ELSE op.fund_set END;
  places CONSTANT integer[] := ledger_places_1(s, fund_set);
  given CONSTANT bigint := ledger_fit_1(op, places, s.most, s.spent, s.held, s.is_balance);
  refusal jsonb;
  i integer;
BEGIN
  IF s.draws[fund_set] = '' THEN s := ledger_drawn_1(s, fund_set); END IF;
  IF given IS NULL THEN
    refusal := ledger_refusal_1(s, places, coalesce(op.least, op.amounts[1]), op.expected);
  ELSIF op.kind = 'h' AND op.is_alone AND op.ride > 0 AND NOT ledger_ride_1(p_rides -> (op.ride - 1)) THEN
    refusal := '["unmet"]';
  END IF;
  IF refusal IS NOT NULL THEN
    s.odd := s.odd || jsonb_build_array(refusal);
    RETURN s;
  END IF;
  FOREACH i IN ARRAY places LOOP
    s.held[i] := s.held[i] + CASE WHEN op.expected > 0 AND s.is_balance[i] THEN greatest(0, given - op.expected) ELSE given END;
  END LOOP;
  s.changes[nth] := given;
  s.firsts[nth] := given;
  s.codes[nth] := 'g';
  IF op.kind = 'h' OR (op.kind = 'e' AND given > 0) THEN s.seqs[nth] := nextval('journal_seq'); END IF;
  IF op.kind = 'e' THEN
    s.amounts[ref] := s.amounts[ref] + given;
    s.last_steps[ref] := greatest(s.last_steps[ref], op.step);
    s.steps[ref] := (s.steps[ref]::bigint[] || ARRAY[op.step, 0, given, 0])::text;
  ELSE
    s.states[ref] := CASE op.kind WHEN 'h' THEN 1 ELSE 2 END;
    s.accounts[ref] := op.account;
    s.in_sets[ref] := fund_set;
    s.amounts[ref] := given;
  END IF;
  RETURN s;
END $$;

-- `fit` of src/core/accounting/fund.ts: what is given; null for a refusal.
CREATE FUNCTION ledger_fit_1(op ledger_op_1, p_places integer[], p_most bigint[], p_spent bigint[], p_held bigint[], p_is_balance boolean[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  -- More than any sum.
  MUCH CONSTANT bigint := 4611686018427387904;
  wanted CONSTANT bigint := op.amounts[1];
  lack CONSTANT bigint := coalesce(op.least, wanted);
  free bigint := MUCH;
  own bigint := MUCH;
  has_held boolean := false;
  given bigint := wanted;
  more bigint;
  i integer;
BEGIN
  FOREACH i IN ARRAY p_places LOOP
    IF op.expected > 0 AND p_is_balance[i] THEN own := p_most[i] - p_spent[i] - p_held[i];
    ELSE free := least(free, p_most[i] - p_spent[i] - p_held[i]); END IF;
    has_held := has_held OR p_held[i] > 0;
  END LOOP;
  IF wanted <= free AND wanted - op.expected <= own THEN
    FOREACH more IN ARRAY op.amounts LOOP
      IF more > given AND more * 2 <= free AND more - op.expected <= own AND (more - op.expected) * 2 <= greatest(0, own) THEN given := more; END IF;
    END LOOP;
    RETURN given;
  END IF;
  given := least(free, own + op.expected);
  IF given < lack THEN RETURN NULL; END IF;
  RETURN greatest(lack, least(given, coalesce(op.ample, wanted)), given / CASE WHEN has_held THEN 8 ELSE 2 END);
END $$;

-- The first fund that can never pay, or the first that cannot pay now, with its figures.
CREATE FUNCTION ledger_refusal_1(s ledger_state_1, p_places integer[], p_lack bigint, p_expected bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  i integer;
  need bigint;
  contended jsonb;
BEGIN
  FOREACH i IN ARRAY p_places LOOP
    need := p_lack - CASE WHEN s.is_balance[i] THEN p_expected ELSE 0 END;
    IF need > s.most[i] - s.spent[i] THEN RETURN jsonb_build_array('exhausted', s.ids[i], s.most[i], s.spent[i], s.held[i]); END IF;
    IF contended IS NULL AND need > s.most[i] - s.spent[i] - s.held[i] THEN
      contended := jsonb_build_array('contended', s.ids[i], s.most[i], s.spent[i], s.held[i]);
    END IF;
  END LOOP;
  RETURN contended;
END $$;

-- Writes the figures of funds, and the holds and entries of a run of operations.
CREATE FUNCTION ledger_write_1(p_owner bigint, p_ops ledger_op_1[], p_ids bigint[], s ledger_state_1, p_from integer, p_to integer)
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
  INSERT INTO journal
    SELECT s.seqs[x.ordinality::integer], CASE x.kind WHEN 'h' THEN 'reserve' WHEN 'e' THEN 'raise' WHEN 'p' THEN 'post' ELSE 'settle' END,
        p_ids[x.ref], s.accounts[x.ref], s.changes[x.ordinality::integer], x.at,
        CASE x.kind WHEN 'h' THEN nullif(s.draws[x.fund_set], '{}')::integer[] END,
        CASE WHEN x.kind IN ('p', 's') THEN s.sets[s.in_sets[x.ref]]::integer[] END, x.tariff,
        x.input, x.cached, x.written, x.output, x.reasoning, x.estimated, x.note, x.step,
        CASE x.kind WHEN 'h' THEN p_owner END, CASE x.kind WHEN 'h' THEN x.expires END
      FROM unnest(p_ops) WITH ORDINALITY AS x
      WHERE x.ordinality BETWEEN p_from AND p_to AND s.seqs[x.ordinality::integer] > 0;
  -- Right after their charges.
  INSERT INTO journal (seq, kind, reservation, account, amount, time, tariff, input_tokens, cached_input_tokens, cache_write_tokens,
      output_tokens, reasoning_tokens, estimated)
    SELECT s.seqs[x.ordinality::integer] + 1, 'overrun', p_ids[x.ref], s.accounts[x.ref], s.excesses[x.ordinality::integer], x.at, x.tariff,
        0, 0, 0, 0, 0, x.estimated
      FROM unnest(p_ops) WITH ORDINALITY AS x
      WHERE x.ordinality BETWEEN p_from AND p_to AND s.excesses[x.ordinality::integer] > 0;
END $$;
