-- Decides a group of operations, in their order, by the rules of src/accounting/fund.ts and src/accounting/held-sum.ts, and writes what
-- follows. It locks the holds and then the funds, each in the order of their numbers, so that groups never wait for each other in a
-- circle. The figures of funds and holds are kept in arrays meanwhile: a row is updated once a group, however many operations are on it.
--
-- `p_owner` is the instance that asks, its epoch * 128 + its slot: its lease must last.
--
-- An operation has the same place in all columns from `p_kinds` to `p_alone`. Columns that are looked at are free of NULL, so that their
-- values are found at once: -1 stands for no number, and 0 for no reference. The kinds are `h` hold, `k` earmark, `e` extend, `p` post, `s` settle, and
-- `o` another one, which is the next object of `p_others`. `p_ids` are the holds that operations are on, `p_refs` places in it, and
-- `p_sets` places in `p_fund_sets`, which are texts of arrays. An operation has the fallbacks up to its place in `p_more_ends`.
--
-- `p_rides` are statements that are written with an operation, and with those before it in its call: see `ledger_ride_1`. They are not
-- written with one that was decided before, and with a hold that is alone in its call only where it is granted.
--
-- `codes` has a letter for each operation: `g` granted (the amount in `firsts`), `c` charged (the charge in `firsts`, the operator's loss
-- in `seconds`), or `o` for the next of `odd`: `exhausted` or `contended` (the fund that lacks the money, with its limit, spent and held
-- at that moment), `mistake` (of the program, in words), or `unmet`: the hold has ended, or what rides has met another. `ids` and the
-- columns `f_` are the figures of all funds of the group; `h_state` (1: open), `h_amount` and `h_charged` those of `p_ids`.
--
-- A group of one costs as much as its statements take to begin: there are as few as can be, each with few expressions.
CREATE FUNCTION ledger_decide_1(
  p_owner bigint,
  p_kinds "char"[],
  p_refs integer[],
  p_times bigint[],
  p_accounts integer[],
  p_sets integer[],
  p_amounts bigint[],
  p_more_ends integer[],
  p_leasts bigint[],
  p_amples bigint[],
  p_expected bigint[],
  p_expires bigint[],
  p_steps integer[],
  p_costs bigint[],
  p_mosts bigint[],
  p_tariffs integer[],
  p_inputs bigint[],
  p_cached bigint[],
  p_written bigint[],
  p_outputs bigint[],
  p_reasoning bigint[],
  p_estimated boolean[],
  p_notes text[],
  p_ride_refs integer[],
  p_alone boolean[],
  p_more bigint[],
  p_ids bigint[],
  p_fund_sets text[],
  p_others jsonb,
  p_rides jsonb,
  OUT codes "char"[],
  OUT firsts bigint[],
  OUT seconds bigint[],
  OUT odd jsonb,
  -- The figures of the funds of all operations, by their places in these arrays.
  OUT ids integer[],
  OUT f_most bigint[],
  OUT f_spent bigint[],
  OUT f_held bigint[],
  OUT f_opened boolean[],
  -- Of the holds of `p_ids`: 0 for none, 1 for an open one, 2 for others.
  OUT h_state integer[],
  OUT h_amount bigint[],
  OUT h_charged bigint[]
) LANGUAGE plpgsql
-- A plan that was made while the tables were small is kept when they are not, and none is made for each group anew.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  -- More than any sum.
  MUCH CONSTANT bigint := 4611686018427387904;
  SIZE CONSTANT integer := coalesce(array_length(p_kinds, 1), 0);
  nth integer := 1;
  -- The first operation whose effects on holds and entries are not written.
  unwritten integer := 1;
  others integer := 0;
  -- One whose step was looked for, and not found.
  checked integer := 0;
  is_leased boolean;
  drawn integer[];
  -- Of the funds, beside their figures.
  f_row integer[];
  f_balance boolean[];
  -- Sets of funds, as texts; their funds in one line, and the places of these; where those of each end; the rows that entries name them by.
  sets text[];
  s_funds integer[];
  s_places integer[];
  s_ends integer[];
  s_draws text[];
  s_ready boolean[];
  -- Of the holds, beside their figures.
  h_account integer[];
  h_set integer[];
  h_overrun bigint[];
  -- The greatest step, by which repeated ones are told, and those of the run, as texts of arrays.
  h_step integer[];
  h_steps text[];
  -- What the operations of a run have changed; the numbers of their entries, 0 for none.
  amounts bigint[];
  excesses bigint[];
  seqs bigint[];
  makes boolean := false;
  changes boolean := false;
  exceeds boolean := false;
  opens boolean := false;
  strange jsonb[] := '{}';
  -- Of one operation.
  kind "char";
  ref integer;
  state integer;
  fund_set integer;
  o record;
  h holds;
  places integer[];
  draws integer[];
  e journal;
  i integer;
  n integer;
  of_balance integer;
  has_held boolean;
  free bigint;
  own bigint;
  wanted bigint;
  given bigint;
  ample bigint;
  expected bigint;
  lack bigint;
  need bigint;
  is_exhausted boolean;
  blocker integer;
  left_over bigint;
  cost bigint;
  charge bigint;
  excess bigint;
  promised bigint;
  adds bigint;
  answer jsonb;
BEGIN
  SELECT EXISTS (SELECT 1 FROM instances WHERE instances.slot = p_owner % 128 AND instances.epoch = p_owner / 128
        AND instances.is_released = 0 AND instances.until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint),
      p_fund_sets || coalesce(array_agg(DISTINCT g.set) FILTER (WHERE g.set <> ALL (p_fund_sets)), '{}') INTO is_leased, sets
    FROM (SELECT holds.funds::text AS set FROM holds WHERE holds.id = ANY (p_ids) ORDER BY holds.id FOR NO KEY UPDATE) AS g;
  IF NOT is_leased THEN RAISE EXCEPTION 'the lease of this server on the database has ended' USING ERRCODE = 'SB001'; END IF;
  IF cardinality(sets) = 1 THEN
    s_funds := sets[1];
    s_ends := ARRAY[cardinality(s_funds)];
    s_ready := '{false}';
    s_draws := '{""}';
  ELSE
    SELECT array_agg(x.last), array_agg(false), array_agg(''::text), ('{' || coalesce(string_agg(x.funds, ','), '') || '}')::integer[]
      INTO s_ends, s_ready, s_draws, s_funds
      FROM (
        SELECT sum(cardinality(s.funds::integer[])) OVER (ORDER BY s.n) AS last, nullif(btrim(s.funds, '{}'), '') AS funds
          FROM unnest(sets) WITH ORDINALITY AS s (funds, n)
      ) AS x;
  END IF;
  drawn := s_funds;
  IF p_others <> '[]' THEN
    -- A fund that is made meanwhile has the new limit.
    IF p_others @? '$[*] ? (@.kind == "enforce")' THEN PERFORM pg_advisory_xact_lock(7312, 1); END IF;
    drawn := drawn || ARRAY(
      SELECT unnest(x.funds) FROM jsonb_to_recordset(p_others) AS x (funds integer[])
      UNION SELECT g.id FROM funds AS g
        WHERE g.budget <> 0 AND g.budget = ANY (ARRAY(SELECT x.budget FROM jsonb_to_recordset(p_others) AS x (kind text, budget bigint)
          WHERE x.kind = 'enforce'))
    );
  END IF;
  SELECT array_agg(f.id), array_agg(f.most), array_agg(f.spent), array_agg(f.held), array_agg(f.row_id),
      array_agg(f.kind = 'balance'), array_agg(f.is_opened)
    INTO ids, f_most, f_spent, f_held, f_row, f_balance, f_opened
    FROM (SELECT * FROM funds WHERE funds.id = ANY (drawn) ORDER BY funds.id FOR NO KEY UPDATE) AS f;
  -- Only now, because a lost call of before may have been waiting for the same funds.
  SELECT array_agg(CASE g.state WHEN 'open' THEN 1 ELSE CASE WHEN g.id IS NULL THEN 0 ELSE 2 END END), array_agg(coalesce(g.account, 0)),
      array_agg(coalesce(array_position(sets, g.funds::text), 0)), array_agg(coalesce(g.amount, 0)), array_agg(coalesce(g.charged, 0)),
      array_agg(coalesce(g.overrun, 0)), ARRAY(SELECT array_position(ids, m.fund) FROM unnest(s_funds) AS m (fund))
    INTO h_state, h_account, h_set, h_amount, h_charged, h_overrun, s_places
    FROM unnest(p_ids) WITH ORDINALITY AS u (id, n) LEFT JOIN LATERAL (SELECT * FROM holds WHERE holds.id = u.id OFFSET 0) AS g ON true;
  IF 'e' = ANY (p_kinds) OR 'p' = ANY (p_kinds) THEN
    SELECT array_agg((SELECT max(g.steps[x]) FROM generate_series(1, cardinality(g.steps), 4) AS x)), array_agg('{}'::text)
      INTO h_step, h_steps
      FROM unnest(p_ids) WITH ORDINALITY AS u (id, n) LEFT JOIN LATERAL (SELECT * FROM holds WHERE holds.id = u.id OFFSET 0) AS g ON true;
  END IF;
  firsts := array_fill(0::bigint, ARRAY[SIZE]);
  seconds := firsts;
  amounts := firsts;
  excesses := firsts;
  seqs := firsts;
  codes := array_fill('o'::"char", ARRAY[SIZE]);

  LOOP
    -- A run of operations on holds that are open, or are made by them.
    WHILE nth <= SIZE LOOP
      kind := p_kinds[nth];
      EXIT WHEN kind = 'o';
      ref := p_refs[nth];
      state := h_state[ref];
      IF kind = 'h' OR kind = 'k' THEN
        EXIT WHEN state <> 0;
        fund_set := p_sets[nth];
      ELSE
        EXIT WHEN state <> 1 OR (kind <> 's' AND coalesce(p_steps[nth] <= h_step[ref], false) AND nth <> checked);
        fund_set := h_set[ref];
      END IF;
      n := CASE fund_set WHEN 1 THEN 1 ELSE s_ends[fund_set - 1] + 1 END;
      -- A fund without a row gets it before the operation changes its figures.
      IF NOT s_ready[fund_set] THEN
        draws := '{}';
        FOREACH i IN ARRAY s_places[n:s_ends[fund_set]] LOOP
          IF f_row[i] IS NULL THEN f_row[i] := ledger_fund_row_1(ids[i], CASE WHEN f_balance[i] THEN 0 ELSE f_most[i] END, f_spent[i]); END IF;
          draws := draws || f_row[i];
        END LOOP;
        s_draws[fund_set] := draws::text;
        s_ready[fund_set] := true;
      END IF;

      IF kind = 'p' OR kind = 's' THEN
        -- `charge` of src/accounting/held-sum.ts. An impossible cost counts as all that is left.
        left_over := least(h_amount[ref] - h_charged[ref], p_mosts[nth]);
        cost := CASE WHEN p_tariffs[nth] = 0 THEN 0 WHEN p_costs[nth] < 0 THEN left_over ELSE p_costs[nth] END;
        charge := least(cost, left_over);
        excess := cost - charge;
        left_over := CASE kind WHEN 's' THEN h_amount[ref] - h_charged[ref] ELSE charge END;
        FOR x IN n .. s_ends[fund_set] LOOP
          i := s_places[x];
          f_held[i] := f_held[i] - left_over;
          f_spent[i] := f_spent[i] + charge;
        END LOOP;
        h_charged[ref] := h_charged[ref] + charge;
        h_overrun[ref] := h_overrun[ref] + excess;
        changes := true;
        exceeds := exceeds OR excess > 0;
        amounts[nth] := charge;
        excesses[nth] := excess;
        seqs[nth] := nextval('journal_seq');
        codes[nth] := 'c';
        IF kind = 's' THEN
          h_state[ref] := 2;
          firsts[nth] := h_charged[ref];
          seconds[nth] := h_overrun[ref];
        ELSE
          h_step[ref] := greatest(h_step[ref], p_steps[nth]);
          h_steps[ref] := (h_steps[ref]::bigint[] || ARRAY[p_steps[nth], 1, charge, excess])::text;
          firsts[nth] := charge;
          seconds[nth] := excess;
        END IF;
      ELSE
        -- `fit` of src/accounting/fund.ts.
        wanted := p_amounts[nth];
        expected := p_expected[nth];
        free := MUCH;
        own := MUCH;
        has_held := false;
        FOR x IN n .. s_ends[fund_set] LOOP
          i := s_places[x];
          IF expected > 0 AND f_balance[i] THEN own := f_most[i] - f_spent[i] - f_held[i];
          ELSE free := least(free, f_most[i] - f_spent[i] - f_held[i]); END IF;
          has_held := has_held OR f_held[i] > 0;
        END LOOP;
        blocker := NULL;
        answer := NULL;
        IF wanted > free OR wanted - expected > own THEN
          given := least(free, own + expected);
          lack := CASE WHEN p_leasts[nth] < 0 THEN wanted ELSE p_leasts[nth] END;
          IF given < lack THEN
            is_exhausted := false;
            FOR x IN n .. s_ends[fund_set] LOOP
              i := s_places[x];
              need := CASE WHEN expected > 0 AND f_balance[i] THEN lack - expected ELSE lack END;
              IF need > f_most[i] - f_spent[i] THEN
                blocker := i;
                is_exhausted := true;
                EXIT;
              END IF;
              IF blocker IS NULL AND need > f_most[i] - f_spent[i] - f_held[i] THEN blocker := i; END IF;
            END LOOP;
            answer := jsonb_build_array(CASE WHEN is_exhausted THEN 'exhausted' ELSE 'contended' END,
              ids[blocker], f_most[blocker], f_spent[blocker], f_held[blocker]);
          ELSE
            ample := CASE WHEN p_amples[nth] < 0 THEN wanted ELSE p_amples[nth] END;
            given := greatest(lack, least(given, ample), given / CASE WHEN has_held THEN 8 ELSE 2 END);
          END IF;
        ELSE
          given := wanted;
          FOR x IN CASE nth WHEN 1 THEN 1 ELSE p_more_ends[nth - 1] + 1 END .. p_more_ends[nth] LOOP
            wanted := p_more[x];
            need := wanted - expected;
            IF wanted > given AND wanted * 2 <= free AND need <= own AND need * 2 <= greatest(0, own) THEN given := wanted; END IF;
          END LOOP;
        END IF;
        IF answer IS NULL AND kind = 'h' AND p_alone[nth] AND NOT ledger_ride_1(p_rides -> (p_ride_refs[nth] - 1)) THEN
          answer := '["unmet"]';
        END IF;
        IF answer IS NULL THEN
          FOR x IN n .. s_ends[fund_set] LOOP
            i := s_places[x];
            need := CASE WHEN expected > 0 AND f_balance[i] THEN greatest(0, given - expected) ELSE given END;
            f_held[i] := f_held[i] + need;
          END LOOP;
          amounts[nth] := given;
          firsts[nth] := given;
          codes[nth] := 'g';
          IF kind = 'h' OR (kind = 'e' AND given > 0) THEN seqs[nth] := nextval('journal_seq'); END IF;
          IF kind = 'e' THEN
            changes := true;
            h_amount[ref] := h_amount[ref] + given;
            h_step[ref] := greatest(h_step[ref], p_steps[nth]);
            h_steps[ref] := (h_steps[ref]::bigint[] || ARRAY[p_steps[nth], 0, given, 0])::text;
          ELSE
            makes := true;
            h_state[ref] := CASE kind WHEN 'h' THEN 1 ELSE 2 END;
            h_account[ref] := p_accounts[nth];
            h_set[ref] := fund_set;
            h_amount[ref] := given;
          END IF;
        ELSE
          strange := strange || answer;
        END IF;
      END IF;
      IF p_ride_refs[nth] > 0 AND NOT (kind = 'h' AND p_alone[nth]) THEN
        IF NOT ledger_ride_1(p_rides -> (p_ride_refs[nth] - 1)) THEN
          RAISE EXCEPTION 'a condition is not met' USING ERRCODE = 'SB002';
        END IF;
      END IF;
      nth := nth + 1;
    END LOOP;

    n := nth - 1;
    IF makes THEN
      INSERT INTO holds (id, account, owner, expires, state, funds, first, amount, expected, note)
        SELECT p_ids[x.ref], x.account, p_owner, nullif(x.expires, -1), CASE x.kind WHEN 'h' THEN 'open' ELSE 'earmark' END,
            sets[x.fund_set]::integer[], x.amount, x.amount, x.expected, x.note
          FROM unnest(p_kinds[unwritten:n], codes[unwritten:n], p_refs[unwritten:n], p_accounts[unwritten:n], p_expires[unwritten:n],
              p_sets[unwritten:n], amounts[unwritten:n], p_expected[unwritten:n], p_notes[unwritten:n])
            AS x (kind, code, ref, account, expires, fund_set, amount, expected, note)
          WHERE x.kind IN ('h', 'k') AND x.code = 'g';
    END IF;
    IF changes THEN
      UPDATE holds AS g SET amount = h_amount[x.ref], charged = h_charged[x.ref], overrun = h_overrun[x.ref],
          state = CASE h_state[x.ref] WHEN 1 THEN 'open' ELSE 'closed' END,
          closing_overrun = CASE h_state[x.ref] WHEN 1 THEN NULL ELSE h_overrun[x.ref] END,
          steps = CASE WHEN h_steps[x.ref] <> '{}' THEN g.steps || h_steps[x.ref]::bigint[] ELSE g.steps END
        FROM unnest(p_kinds[unwritten:n], codes[unwritten:n], p_refs[unwritten:n]) AS x (kind, code, ref)
        WHERE g.id = p_ids[x.ref] AND x.kind IN ('e', 'p', 's') AND x.code <> 'o';
    END IF;
    IF makes OR changes THEN
      INSERT INTO journal
        SELECT x.seq, CASE x.kind WHEN 'h' THEN 'reserve' WHEN 'e' THEN 'raise' WHEN 'p' THEN 'post' ELSE 'settle' END, p_ids[x.ref],
            h_account[x.ref], x.amount, x.time, CASE x.kind WHEN 'h' THEN nullif(s_draws[x.fund_set], '{}')::integer[] END,
            CASE WHEN x.kind IN ('p', 's') THEN sets[h_set[x.ref]]::integer[] END, nullif(x.tariff, 0),
            x.input, x.cached, x.written, x.output, x.reasoning, x.estimated, x.note, nullif(x.step, -1),
            CASE x.kind WHEN 'h' THEN p_owner END, CASE x.kind WHEN 'h' THEN nullif(x.expires, -1) END
          FROM unnest(seqs[unwritten:n], p_kinds[unwritten:n], p_refs[unwritten:n], amounts[unwritten:n], p_times[unwritten:n],
              p_sets[unwritten:n], p_tariffs[unwritten:n], p_inputs[unwritten:n], p_cached[unwritten:n], p_written[unwritten:n],
              p_outputs[unwritten:n], p_reasoning[unwritten:n], p_estimated[unwritten:n], p_notes[unwritten:n], p_steps[unwritten:n],
              p_expires[unwritten:n])
            AS x (seq, kind, ref, amount, time, fund_set, tariff, input, cached, written, output, reasoning, estimated, note, step, expires)
          WHERE x.seq > 0;
    END IF;
    -- Right behind their charges.
    IF exceeds THEN
      INSERT INTO journal (seq, kind, reservation, account, amount, time, tariff, input_tokens, cached_input_tokens, cache_write_tokens,
          output_tokens, reasoning_tokens, estimated)
        SELECT x.seq + 1, 'overrun', p_ids[x.ref], h_account[x.ref], x.excess, x.time, x.tariff, 0, 0, 0, 0, 0, x.estimated
          FROM unnest(seqs[unwritten:n], p_refs[unwritten:n], excesses[unwritten:n], p_times[unwritten:n], p_tariffs[unwritten:n],
              p_estimated[unwritten:n]) AS x (seq, ref, excess, time, tariff, estimated)
          WHERE x.excess > 0;
    END IF;
    EXIT WHEN nth > SIZE;

    -- Another operation, by itself, on the rows of its hold.
    ref := p_refs[nth];
    SELECT * INTO o FROM jsonb_to_record(CASE kind WHEN 'o' THEN p_others -> others ELSE '{}' END) AS x (
      kind text, hold bigint, at bigint, account integer, funds integer[], amounts bigint[], note text, step integer, cost bigint,
      most bigint, tariff integer, rule text, name text, budget bigint, rank bigint, limits jsonb, source bigint, through bigint,
      paid bigint, fee bigint, amount bigint
    );
    IF kind = 'o' THEN
      others := others + 1;
    ELSE
      o.kind := CASE kind WHEN 'h' THEN 'hold' WHEN 'k' THEN 'earmark' WHEN 'e' THEN 'extend' WHEN 'p' THEN 'post' ELSE 'settle' END;
      o.hold := p_ids[ref];
      o.at := p_times[nth];
      o.step := nullif(p_steps[nth], -1);
      o.cost := nullif(p_costs[nth], -1);
      o.most := p_mosts[nth];
      o.tariff := nullif(p_tariffs[nth], 0);
    END IF;
    unwritten := nth + 1;
    makes := false;
    changes := false;
    exceeds := false;
    h_steps := array_fill('{}'::text, ARRAY[cardinality(p_ids)]);
    answer := NULL;
    SELECT * INTO h FROM holds WHERE holds.id = o.hold;
    IF h.id IS NULL AND o.kind = 'correct' THEN
      INSERT INTO holds AS g SELECT * FROM ledger_recalled_1(o.hold) ON CONFLICT (id) DO UPDATE SET state = g.state RETURNING * INTO h;
    END IF;

    -- What was done before is answered as it was then.
    IF o.kind IN ('hold', 'earmark') AND h.id IS NOT NULL THEN
      answer := CASE h.state WHEN 'void' THEN '["exhausted"]' ELSE jsonb_build_array('granted', h.first) END;
    ELSIF o.kind = 'capture' AND h.state IN ('open', 'closed') THEN
      answer := jsonb_build_array('granted', h.first);
    ELSIF o.name IS NOT NULL THEN
      SELECT jsonb_build_array('granted', d.amount) INTO answer FROM done_once AS d WHERE d.name = o.name;
    ELSIF o.step IS NOT NULL AND h.id IS NOT NULL THEN
      FOR i IN 1 .. coalesce(array_length(h.steps, 1), 0) BY 4 LOOP
        IF h.steps[i] = o.step THEN
          answer := CASE h.steps[i + 1]
            WHEN 1 THEN jsonb_build_array('charged', h.steps[i + 2], h.steps[i + 3])
            ELSE jsonb_build_array('granted', h.steps[i + 2]) END;
        END IF;
      END LOOP;
    END IF;
    IF answer IS NULL AND o.kind IN ('extend', 'post', 'settle', 'expire') AND coalesce(h.state, 'void') IN ('earmark', 'void') THEN
      answer := jsonb_build_array('mistake', 'there is no reservation ' || o.hold);
    END IF;
    IF answer IS NOT NULL THEN
      strange := strange || answer;
      nth := nth + 1;
      CONTINUE;
    END IF;
    IF o.kind IN ('extend', 'post') AND h.state = 'open' THEN
      checked := nth;
      unwritten := nth;
      CONTINUE;
    END IF;

    -- The same for any other operation.
    places := '{}';
    draws := '{}';
    FOREACH n IN ARRAY coalesce(CASE WHEN o.kind IN ('attach', 'correct') THEN o.funds ELSE h.funds END, '{}') LOOP
      i := array_position(ids, n);
      places := places || i;
      IF f_row[i] IS NULL THEN f_row[i] := ledger_fund_row_1(ids[i], CASE WHEN f_balance[i] THEN 0 ELSE f_most[i] END, f_spent[i]); END IF;
      draws := draws || f_row[i];
    END LOOP;
    e := NULL;
    e.reservation := o.hold;
    e.account := coalesce(h.account, o.account);
    e.time := o.at;

    CASE o.kind
    WHEN 'extend' THEN
      answer := '["exhausted"]';
    WHEN 'post', 'settle' THEN
      -- `charge` of src/accounting/held-sum.ts once more, on an expired hold.
      IF h.late IS NOT NULL THEN
        left_over := least(h.amount - h.late, o.most);
        cost := CASE WHEN o.tariff IS NULL THEN 0 ELSE coalesce(o.cost, left_over) END;
        charge := least(cost, left_over);
        excess := cost - charge;
      END IF;
      IF o.kind = 'post' THEN
        -- On an expired hold it counts once that is settled.
        charge := coalesce(charge, 0);
        excess := coalesce(excess, 0);
        IF h.late IS NULL THEN
          charge := 0;
          excess := 0;
        END IF;
        UPDATE holds SET late = late + charge, overrun = overrun + excess,
            steps = steps || ARRAY[o.step, 1, charge, excess]::bigint[]
          WHERE holds.id = o.hold;
        answer := jsonb_build_array('charged', charge, excess);
      ELSIF h.late IS NULL THEN
        answer := jsonb_build_array('charged', coalesce(h.corrected, h.charged),
          CASE WHEN h.corrected IS NULL THEN coalesce(h.closing_overrun, h.overrun) ELSE h.overrun END);
      ELSE
        -- Corrects what it was charged to what its attempts cost, as far as its funds still have it.
        lack := h.late + charge - h.charged;
        free := lack;
        FOREACH i IN ARRAY places LOOP free := least(free, greatest(0, f_most[i] - f_spent[i] - f_held[i])); END LOOP;
        -- Some of it may have been given back already, as that of a request that was repeated.
        given := greatest(h.given_back - h.charged, least(lack, free));
        excess := excess + greatest(0, lack - given);
        UPDATE holds SET late = NULL, overrun = overrun + excess, corrected = h.charged + given, given_back = given_back - given
          WHERE holds.id = o.hold;
        IF given <> 0 THEN
          FOREACH i IN ARRAY places LOOP
            f_spent[i] := f_spent[i] + given;
          END LOOP;
          e.kind := 'correct';
          e.amount := given;
          e.funds := draws;
          e.drawn := h.funds;
          e.note := 'settled after it had expired';
          e.seq := nextval('journal_seq');
          INSERT INTO journal SELECT e.*;
        END IF;
        answer := jsonb_build_array('charged', h.charged + given, h.overrun + excess);
      END IF;

    WHEN 'expire', 'void', 'release' THEN
      IF h.id IS NULL THEN
        -- One that comes later is refused.
        IF o.kind = 'void' THEN
          INSERT INTO holds (id, account, owner, state, funds, first, amount) VALUES (o.hold, 0, p_owner, 'void', '{}', 0, 0);
        END IF;
        answer := CASE o.kind WHEN 'void' THEN '["charged", 0, 0]' ELSE '["granted", 0]' END;
      ELSIF h.state = 'earmark' THEN
        FOREACH i IN ARRAY places LOOP
          f_held[i] := f_held[i] - CASE WHEN h.expected > 0 AND f_balance[i] THEN greatest(0, h.amount - h.expected) ELSE h.amount END;
        END LOOP;
        IF o.kind = 'void' THEN
          UPDATE holds SET state = 'void' WHERE holds.id = o.hold;
        ELSE
          DELETE FROM holds WHERE holds.id = o.hold;
        END IF;
        answer := CASE o.kind WHEN 'release' THEN '["granted", 0]' ELSE '["charged", 0, 0]' END;
      ELSIF o.kind = 'release' THEN
        answer := '["granted", 0]';
      ELSIF h.state <> 'open' THEN
        answer := jsonb_build_array('charged', h.charged, coalesce(h.closing_overrun, h.overrun));
      ELSE
        left_over := h.amount - h.charged;
        charge := CASE o.rule WHEN 'charge' THEN left_over ELSE 0 END;
        FOREACH i IN ARRAY places LOOP
          f_held[i] := f_held[i] - left_over;
          f_spent[i] := f_spent[i] + charge;
        END LOOP;
        UPDATE holds SET state = 'closed', charged = holds.charged + charge, closing_overrun = overrun,
            late = CASE o.kind WHEN 'expire' THEN h.charged END
          WHERE holds.id = o.hold;
        e.kind := 'expire';
        e.amount := charge;
        e.drawn := h.funds;
        e.seq := nextval('journal_seq');
        INSERT INTO journal SELECT e.*;
        answer := jsonb_build_array('charged', h.charged + charge, h.overrun);
      END IF;

    WHEN 'attach' THEN
      IF h.id IS NULL OR h.state NOT IN ('open', 'earmark') THEN
        answer := '["exhausted"]';
      ELSE
        -- What an earmark holds from here on no payment brings: it may overdraw the new funds.
        left_over := h.amount - h.charged;
        FOR i IN 1 .. coalesce(array_length(ids, 1), 0) LOOP
          IF ids[i] = ANY (o.funds) AND ids[i] <> ALL (h.funds) THEN f_held[i] := f_held[i] + left_over;
          ELSIF ids[i] = ANY (h.funds) AND ids[i] <> ALL (o.funds) THEN f_held[i] := f_held[i] - left_over;
          ELSE CONTINUE; END IF;
        END LOOP;
        UPDATE holds SET funds = o.funds WHERE holds.id = o.hold;
        IF h.state = 'open' AND h.funds <> o.funds THEN
          e.kind := 'attach';
          e.amount := 0;
          e.funds := nullif(draws, '{}');
          e.seq := nextval('journal_seq');
          INSERT INTO journal SELECT e.*;
        END IF;
        answer := '["granted", 0]';
      END IF;

    WHEN 'capture' THEN
      of_balance := NULL;
      FOREACH i IN ARRAY places LOOP
        IF f_balance[i] THEN of_balance := i; END IF;
      END LOOP;
      IF h.id IS NULL OR h.state <> 'earmark' THEN
        answer := '["unmet"]';
      ELSIF of_balance IS NULL THEN
        answer := jsonb_build_array('mistake', 'earmark ' || o.hold || ' draws on no balance');
      ELSE
        adds := o.paid - o.fee;
        promised := least(h.amount, h.expected);
        f_most[of_balance] := f_most[of_balance] + adds;
        f_opened[of_balance] := true;
        opens := true;
        IF f_most[of_balance] - f_spent[of_balance] - f_held[of_balance] < promised THEN
          -- The balance was lowered meanwhile. The deposit stays booked.
          FOREACH i IN ARRAY places LOOP
            f_held[i] := f_held[i] - CASE WHEN f_balance[i] THEN greatest(0, h.amount - h.expected) ELSE h.amount END;
          END LOOP;
          DELETE FROM holds WHERE holds.id = o.hold;
          answer := jsonb_build_array('exhausted', ids[of_balance], f_most[of_balance], f_spent[of_balance], f_held[of_balance]);
        ELSE
          f_held[of_balance] := f_held[of_balance] + promised;
          UPDATE holds SET state = 'open', expected = 0 WHERE holds.id = o.hold;
          answer := jsonb_build_array('granted', h.amount);
        END IF;
      END IF;

    WHEN 'grant', 'deposit', 'waive' THEN
      i := array_position(ids, o.funds[1]);
      f_most[i] := f_most[i] + o.amount;
      f_opened[i] := true;
      opens := true;
      answer := jsonb_build_array('granted', o.amount);

    WHEN 'correct' THEN
      IF h.state = 'open' THEN
        answer := jsonb_build_array('mistake', 'reservation ' || o.hold || ' is open: what it costs is not known');
      ELSE
        given := greatest(0, least(coalesce(h.charged - h.given_back, 0), o.amount));
        IF given > 0 THEN
          -- Budgets by those that apply; a balance only where it had paid.
          places := ARRAY(SELECT p FROM unnest(places) AS p
            WHERE NOT f_balance[p] OR EXISTS (SELECT 1 FROM unnest(h.funds) AS d WHERE f_balance[array_position(ids, d)]));
          FOREACH i IN ARRAY places LOOP
            f_spent[i] := f_spent[i] - given;
          END LOOP;
          e.kind := 'correct';
          e.amount := -given;
          e.funds := ARRAY(SELECT f_row[p] FROM unnest(places) AS p);
          e.drawn := ARRAY(SELECT ids[p] FROM unnest(places) AS p);
          e.note := o.note;
          e.seq := nextval('journal_seq');
          INSERT INTO journal SELECT e.*;
          UPDATE holds SET given_back = given_back + given WHERE holds.id = o.hold;
        END IF;
        answer := jsonb_build_array('granted', given);
      END IF;

    WHEN 'count' THEN
      INSERT INTO counted (budget, through) SELECT o.budget, o.through WHERE o.source IS NULL ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN
        UPDATE counted SET through = o.through WHERE counted.budget = o.budget AND counted.through = o.source;
      END IF;
      answer := CASE WHEN FOUND THEN '["granted", 0]' ELSE '["exhausted"]' END;
    WHEN 'join', 'write' THEN
      answer := '["granted", 0]';

    WHEN 'enforce' THEN
      INSERT INTO enforced (budget, rank, most, limits) VALUES (o.budget, o.rank, o.most, o.limits)
        ON CONFLICT (budget) DO UPDATE SET rank = excluded.rank, most = excluded.most, limits = excluded.limits
          WHERE enforced.rank <= excluded.rank;
      IF FOUND THEN
        FOR i, lack IN
          SELECT array_position(ids, f.id), CASE WHEN o.limits IS NULL THEN o.most ELSE (o.limits ->> f.subject)::bigint END
            FROM funds AS f WHERE f.budget = o.budget
        LOOP
          -- A fund that was made just now has the limit already.
          IF i IS NULL OR lack IS NULL OR f_most[i] = lack THEN CONTINUE; END IF;
          f_most[i] := lack;
          f_row[i] := NULL;
        END LOOP;
      END IF;
      answer := '["granted", 0]';
    END CASE;

    IF o.kind IN ('count', 'join') AND answer ->> 0 = 'granted' THEN
      FOR n IN 1 .. coalesce(array_length(o.funds, 1), 0) LOOP
        i := array_position(ids, o.funds[n]);
        f_spent[i] := f_spent[i] + o.amounts[n];
        -- Entries name it anew, with what it has spent.
        f_row[i] := NULL;
      END LOOP;
    END IF;

    -- Money that came in stands in front of the hold that it pays.
    IF o.kind IN ('grant', 'deposit', 'waive', 'capture') AND answer ->> 0 <> 'mistake' AND answer ->> 0 <> 'unmet' THEN
      e := NULL;
      e.account := o.account;
      e.time := o.at;
      e.note := o.note;
      FOR e.kind, e.amount IN VALUES ('grant', CASE o.kind WHEN 'grant' THEN o.amount END), ('deposit', o.paid), ('fee', -o.fee) LOOP
        IF e.amount IS NULL OR (e.amount = 0 AND e.kind <> 'grant') THEN CONTINUE; END IF;
        e.seq := nextval('journal_seq');
        INSERT INTO journal SELECT e.*;
      END LOOP;
    END IF;
    IF o.kind = 'capture' AND answer ->> 0 = 'granted' THEN
      e := (nextval('journal_seq'), 'reserve', o.hold, h.account, h.amount, o.at, nullif(draws, '{}'), NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, h.note, NULL, h.owner, h.expires)::journal;
      INSERT INTO journal SELECT e.*;
    END IF;
    IF o.name IS NOT NULL AND answer ->> 0 = 'granted' THEN
      INSERT INTO done_once (name, amount, time) VALUES (o.name, (answer ->> 1)::bigint, o.at);
    END IF;
    IF p_ride_refs[nth] > 0 AND answer ->> 0 NOT IN ('mistake', 'unmet') THEN
      IF NOT ledger_ride_1(p_rides -> (p_ride_refs[nth] - 1)) THEN
        RAISE EXCEPTION 'a condition is not met' USING ERRCODE = 'SB002';
      END IF;
    END IF;
    strange := strange || answer;
    IF o.kind IN ('count', 'join', 'enforce') THEN s_ready := array_fill(false, ARRAY[cardinality(sets)]); END IF;
    -- Nothing else of a hold that is open, or is made again, has another operation changed.
    IF ref > 0 THEN
      SELECT * INTO h FROM holds WHERE holds.id = p_ids[ref];
      h_state[ref] := CASE WHEN h.id IS NULL THEN 0 WHEN h.state = 'open' THEN 1 ELSE 2 END;
      h_set[ref] := coalesce(array_position(sets, h.funds::text), 0);
    END IF;
    nth := nth + 1;
  END LOOP;

  UPDATE funds AS f SET most = t.most, spent = t.spent, held = t.held, row_id = t.row_id
    FROM unnest(ids, f_most, f_spent, f_held, f_row) AS t (id, most, spent, held, row_id)
    WHERE f.id = t.id AND (f.most, f.spent, f.held, f.row_id) IS DISTINCT FROM (t.most, t.spent, t.held, t.row_id);
  IF opens THEN
    UPDATE funds AS f SET is_opened = true FROM unnest(ids, f_opened) AS t (id, opened) WHERE f.id = t.id AND t.opened AND NOT f.is_opened;
  END IF;
  odd := to_jsonb(strange);
END $$;

-- Entries name funds by rows: makes one of a fund, with what it has spent so far.
CREATE FUNCTION ledger_fund_row_1(p_fund integer, p_most bigint, p_spent bigint) RETURNS integer LANGUAGE sql AS $$
  INSERT INTO fund_rows (fund, most, opening, after_seq) VALUES (p_fund, p_most, p_spent, nextval('journal_seq')) RETURNING id
$$;

-- Writes statements that ride with operations. Each is an object: its `text` with its values, and whether it `must` change or select a
-- row. @returns false where the first that must does not, and nothing was written
CREATE FUNCTION ledger_ride_1(p_rides jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  r record;
  n bigint;
  written bigint := 0;
BEGIN
  -- The caller keeps the locks of funds meanwhile: others wait for it no longer than this.
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
