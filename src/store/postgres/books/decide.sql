-- Decides a group of operations, in their order, by the rules of src/accounting/fund.ts and src/accounting/held-sum.ts, and writes what
-- follows. It locks the holds and then the funds, each in the order of their numbers, so that groups never wait for each other in a
-- circle. The figures of funds are kept in arrays meanwhile: a row is updated once a group, however many operations draw on it.
--
-- `p_owner` is the instance that asks, its epoch * 128 + its slot: its lease must last.
--
-- Each operation is an object. `hold` is the ID of a hold, `name` that of an operation which is on none, `funds` are numbers of funds.
-- An answer has a kind: `granted` (its amount), `charged` (the charge, the operator's loss), `exhausted` or `contended` (the fund that
-- lacks the money, with its limit, spent and held at that moment), or `mistake` (of the program, in words), or `unmet`: the hold has
-- ended, or what rides has met another. `figures` are those of all funds of the group, `open_holds` the IDs of its holds that are open,
-- with what they may still charge.
--
-- `rides` are statements that are written with an operation, and with those before it in its call: see `ledger_ride_1`. They are not
-- written with one that was decided before, and with a hold that is `alone` in its call only where it is granted.
CREATE FUNCTION ledger_decide_1(
  p_owner bigint,
  p_ops jsonb,
  OUT answers jsonb,
  OUT figures jsonb,
  OUT open_holds jsonb
) LANGUAGE plpgsql AS $$
DECLARE
  -- More than any sum.
  MUCH CONSTANT bigint := 4611686018427387904;
  o record;
  h holds;
  -- The figures of the funds of all operations, by their places in these arrays.
  ids integer[];
  f_most bigint[];
  f_spent bigint[];
  f_held bigint[];
  f_row integer[];
  f_balance boolean[];
  f_opened boolean[];
  f_touched boolean[];
  -- Holds that exist.
  known bigint[];
  -- The places of the funds of one operation.
  places integer[];
  i integer;
  n integer;
  of_balance integer;
  has_held boolean;
  free bigint;
  own bigint;
  wanted bigint;
  given bigint;
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
  -- The rows of the funds of one operation.
  draws integer[];
  answer jsonb;
  results jsonb[];
  -- Rows that are written together: entries, and holds that no other operation of the group is on.
  e journal;
  entries journal[];
  made holds[];
  fresh bigint[];
BEGIN
  results := '{}';
  entries := '{}';
  made := '{}';
  fresh := '{}';
  IF NOT EXISTS (
    SELECT 1 FROM instances WHERE instances.slot = p_owner % 128 AND instances.epoch = p_owner / 128 AND instances.is_released = 0
      AND instances.until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint
  ) THEN RAISE EXCEPTION 'the lease of this server on the database has ended' USING ERRCODE = 'SB001'; END IF;
  -- A fund that is made meanwhile has the new limit.
  IF EXISTS (SELECT 1 FROM jsonb_to_recordset(p_ops) AS x (kind text) WHERE x.kind = 'enforce') THEN
    PERFORM pg_advisory_xact_lock(7312, 1);
  END IF;
  PERFORM 1 FROM holds
    WHERE holds.id IN (SELECT x.hold FROM jsonb_to_recordset(p_ops) AS x (hold bigint)) ORDER BY holds.id FOR NO KEY UPDATE;
  SELECT array_agg(f.id), array_agg(f.most), array_agg(f.spent), array_agg(f.held), array_agg(f.row_id),
      array_agg(f.kind = 'balance'), array_agg(f.is_opened), array_agg(false)
    INTO ids, f_most, f_spent, f_held, f_row, f_balance, f_opened, f_touched
    FROM (
      SELECT * FROM funds WHERE funds.id IN (
        SELECT unnest(x.funds) FROM jsonb_to_recordset(p_ops) AS x (funds integer[])
        UNION SELECT unnest(g.funds) FROM holds AS g
          WHERE g.id IN (SELECT x.hold FROM jsonb_to_recordset(p_ops) AS x (hold bigint))
        UNION SELECT g.id FROM funds AS g
          WHERE g.budget <> 0 AND g.budget IN (SELECT x.budget FROM jsonb_to_recordset(p_ops) AS x (kind text, budget bigint)
            WHERE x.kind = 'enforce')
      ) ORDER BY funds.id FOR NO KEY UPDATE
    ) AS f;
  -- Only now, because a lost call of before may have been waiting for the same funds.
  SELECT coalesce(array_agg(g.id), '{}') INTO known FROM holds AS g
    WHERE g.id IN (SELECT x.hold FROM jsonb_to_recordset(p_ops) AS x (hold bigint));

  FOR o IN SELECT * FROM jsonb_to_recordset(p_ops) AS x (
    kind text, hold bigint, at bigint, account integer, funds integer[], amounts bigint[], least bigint, ample bigint,
    expected bigint, note text, expires bigint, step integer, cost bigint, most bigint, tariff integer, usage bigint[],
    estimated boolean, rule text, name text, budget bigint, rank bigint, limits jsonb, source bigint, through bigint, paid bigint,
    fee bigint, amount bigint, rides jsonb, alone boolean
  ) LOOP
    answer := NULL;
    h := NULL;
    IF o.hold = ANY (known) THEN
      IF o.hold = ANY (fresh) THEN
        INSERT INTO holds SELECT * FROM unnest(made);
        made := '{}';
        fresh := '{}';
      END IF;
      SELECT * INTO h FROM holds WHERE holds.id = o.hold;
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
      results := results || answer;
      CONTINUE;
    END IF;

    -- Entries name funds by rows. One that has none now gets it, before the operation changes its figures.
    places := '{}';
    draws := '{}';
    FOREACH n IN ARRAY coalesce(CASE WHEN o.kind IN ('hold', 'earmark', 'attach', 'correct') THEN o.funds ELSE h.funds END, '{}') LOOP
      i := array_position(ids, n);
      places := places || i;
      IF f_row[i] IS NULL THEN
        INSERT INTO fund_rows (fund, most, opening, after_seq)
          VALUES (ids[i], CASE WHEN f_balance[i] THEN 0 ELSE f_most[i] END, f_spent[i], nextval('journal_seq'))
          RETURNING fund_rows.id INTO n;
        f_row[i] := n;
        f_touched[i] := true;
      END IF;
      draws := draws || f_row[i];
    END LOOP;
    e := NULL;
    e.reservation := o.hold;
    e.account := coalesce(h.account, o.account);
    e.time := o.at;

    CASE o.kind
    WHEN 'hold', 'earmark', 'extend' THEN
      IF o.kind = 'extend' AND h.state <> 'open' THEN
        answer := '["exhausted"]';
      ELSE
        -- `fit` of src/accounting/fund.ts.
        free := MUCH;
        own := MUCH;
        has_held := false;
        wanted := o.amounts[1];
        FOREACH i IN ARRAY places LOOP
          IF o.expected > 0 AND f_balance[i] THEN own := f_most[i] - f_spent[i] - f_held[i];
          ELSE free := least(free, f_most[i] - f_spent[i] - f_held[i]); END IF;
          has_held := has_held OR f_held[i] > 0;
        END LOOP;
        blocker := NULL;
        IF wanted > free OR wanted - coalesce(o.expected, 0) > own THEN
          given := least(free, own + coalesce(o.expected, 0));
          lack := coalesce(o.least, wanted);
          IF given < lack THEN
            is_exhausted := false;
            FOREACH i IN ARRAY places LOOP
              need := CASE WHEN o.expected > 0 AND f_balance[i] THEN lack - o.expected ELSE lack END;
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
            given := greatest(lack, least(given, coalesce(o.ample, wanted)), given / CASE WHEN has_held THEN 8 ELSE 2 END);
          END IF;
        ELSE
          given := wanted;
          FOREACH wanted IN ARRAY o.amounts[2:] LOOP
            need := wanted - coalesce(o.expected, 0);
            IF wanted > given AND wanted * 2 <= free AND need <= own AND need * 2 <= greatest(0, own) THEN given := wanted; END IF;
          END LOOP;
        END IF;
        IF blocker IS NULL AND o.kind = 'hold' AND o.alone AND NOT ledger_ride_1(o.rides) THEN
          answer := '["unmet"]';
        ELSIF blocker IS NULL THEN
          answer := jsonb_build_array('granted', given);
          FOREACH i IN ARRAY places LOOP
            need := CASE WHEN o.expected > 0 AND f_balance[i] THEN greatest(0, given - o.expected) ELSE given END;
            f_held[i] := f_held[i] + need;
            f_touched[i] := true;
          END LOOP;
          IF o.kind = 'extend' THEN
            UPDATE holds SET amount = holds.amount + given, steps = steps || ARRAY[o.step, 0, given, 0]::bigint[]
              WHERE holds.id = o.hold;
            IF given > 0 THEN
              e.kind := 'raise';
              e.amount := given;
              e.step := o.step;
              e.seq := nextval('journal_seq');
              entries := entries || e;
            END IF;
          ELSE
            h := NULL;
            h.id := o.hold;
            h.account := o.account;
            h.owner := p_owner;
            h.expires := o.expires;
            h.state := CASE o.kind WHEN 'hold' THEN 'open' ELSE o.kind END;
            h.funds := o.funds;
            h.first := given;
            h.amount := given;
            h.charged := 0;
            h.overrun := 0;
            h.expected := coalesce(o.expected, 0);
            h.note := o.note;
            h.given_back := 0;
            h.steps := '{}';
            made := made || h;
            fresh := fresh || o.hold;
            known := known || o.hold;
          END IF;
        END IF;
      END IF;

    WHEN 'post', 'settle' THEN
      -- `charge` of src/accounting/held-sum.ts. An impossible cost counts as all that is left.
      IF h.state = 'open' OR h.late IS NOT NULL THEN
        left_over := least(h.amount - CASE h.state WHEN 'open' THEN h.charged ELSE h.late END, o.most);
        cost := CASE WHEN o.tariff IS NULL THEN 0 ELSE coalesce(o.cost, left_over) END;
        charge := least(cost, left_over);
        excess := cost - charge;
      END IF;
      IF h.state = 'open' THEN
        left_over := CASE o.kind WHEN 'settle' THEN h.amount - h.charged ELSE charge END;
        FOREACH i IN ARRAY places LOOP
          f_held[i] := f_held[i] - left_over;
          f_spent[i] := f_spent[i] + charge;
          f_touched[i] := true;
        END LOOP;
        IF o.kind = 'settle' THEN
          UPDATE holds SET state = 'closed', charged = holds.charged + charge, overrun = overrun + excess,
              closing_overrun = overrun + excess
            WHERE holds.id = o.hold;
          answer := jsonb_build_array('charged', h.charged + charge, h.overrun + excess);
        ELSE
          UPDATE holds SET charged = holds.charged + charge, overrun = overrun + excess,
              steps = steps || ARRAY[o.step, 1, charge, excess]::bigint[]
            WHERE holds.id = o.hold;
          answer := jsonb_build_array('charged', charge, excess);
        END IF;
        e.kind := o.kind;
        e.amount := charge;
        e.drawn := h.funds;
        e.tariff := o.tariff;
        e.input_tokens := o.usage[1];
        e.cached_input_tokens := o.usage[2];
        e.cache_write_tokens := o.usage[3];
        e.output_tokens := o.usage[4];
        e.reasoning_tokens := o.usage[5];
        e.estimated := o.estimated;
        e.note := o.note;
        e.step := o.step;
        e.seq := nextval('journal_seq');
        entries := entries || e;
        IF excess > 0 THEN
          e := (e.seq + 1, 'overrun', o.hold, h.account, excess, o.at, NULL, NULL, o.tariff, 0, 0, 0, 0, 0, o.estimated,
            NULL, NULL, NULL, NULL)::journal;
          entries := entries || e;
        END IF;
      ELSIF o.kind = 'post' THEN
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
            f_touched[i] := true;
          END LOOP;
          e.kind := 'correct';
          e.amount := given;
          e.funds := draws;
          e.drawn := h.funds;
          e.note := 'settled after it had expired';
          e.seq := nextval('journal_seq');
          entries := entries || e;
        END IF;
        answer := jsonb_build_array('charged', h.charged + given, h.overrun + excess);
      END IF;

    WHEN 'expire', 'void', 'release' THEN
      IF h.id IS NULL THEN
        -- One that comes later is refused.
        IF o.kind = 'void' THEN
          INSERT INTO holds (id, account, owner, state, funds, first, amount) VALUES (o.hold, 0, p_owner, 'void', '{}', 0, 0);
          known := known || o.hold;
        END IF;
        answer := CASE o.kind WHEN 'void' THEN '["charged", 0, 0]' ELSE '["granted", 0]' END;
      ELSIF h.state = 'earmark' THEN
        FOREACH i IN ARRAY places LOOP
          f_held[i] := f_held[i] - CASE WHEN h.expected > 0 AND f_balance[i] THEN greatest(0, h.amount - h.expected) ELSE h.amount END;
          f_touched[i] := true;
        END LOOP;
        IF o.kind = 'void' THEN
          UPDATE holds SET state = 'void' WHERE holds.id = o.hold;
        ELSE
          DELETE FROM holds WHERE holds.id = o.hold;
          known := array_remove(known, o.hold);
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
          f_touched[i] := true;
        END LOOP;
        UPDATE holds SET state = 'closed', charged = holds.charged + charge, closing_overrun = overrun,
            late = CASE o.kind WHEN 'expire' THEN h.charged END
          WHERE holds.id = o.hold;
        e.kind := 'expire';
        e.amount := charge;
        e.drawn := h.funds;
        e.seq := nextval('journal_seq');
        entries := entries || e;
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
          f_touched[i] := true;
        END LOOP;
        UPDATE holds SET funds = o.funds WHERE holds.id = o.hold;
        IF h.state = 'open' AND h.funds <> o.funds THEN
          e.kind := 'attach';
          e.amount := 0;
          e.funds := nullif(draws, '{}');
          e.seq := nextval('journal_seq');
          entries := entries || e;
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
        IF f_most[of_balance] - f_spent[of_balance] - f_held[of_balance] < promised THEN
          -- The balance was lowered meanwhile. The deposit stays booked.
          FOREACH i IN ARRAY places LOOP
            f_held[i] := f_held[i] - CASE WHEN f_balance[i] THEN greatest(0, h.amount - h.expected) ELSE h.amount END;
            f_touched[i] := true;
          END LOOP;
          DELETE FROM holds WHERE holds.id = o.hold;
          known := array_remove(known, o.hold);
          answer := jsonb_build_array('exhausted', ids[of_balance], f_most[of_balance], f_spent[of_balance], f_held[of_balance]);
        ELSE
          f_held[of_balance] := f_held[of_balance] + promised;
          f_touched[of_balance] := true;
          UPDATE holds SET state = 'open', expected = 0 WHERE holds.id = o.hold;
          answer := jsonb_build_array('granted', h.amount);
        END IF;
      END IF;

    WHEN 'grant', 'deposit', 'waive' THEN
      i := array_position(ids, o.funds[1]);
      f_most[i] := f_most[i] + o.amount;
      f_opened[i] := true;
      f_touched[i] := true;
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
            f_touched[i] := true;
          END LOOP;
          e.kind := 'correct';
          e.amount := -given;
          e.funds := ARRAY(SELECT f_row[p] FROM unnest(places) AS p);
          e.drawn := ARRAY(SELECT ids[p] FROM unnest(places) AS p);
          e.note := o.note;
          e.seq := nextval('journal_seq');
          entries := entries || e;
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
          f_touched[i] := true;
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
        f_touched[i] := true;
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
        entries := entries || e;
      END LOOP;
    END IF;
    IF o.kind IN ('hold', 'capture') AND answer ->> 0 = 'granted' THEN
      e := (nextval('journal_seq'), 'reserve', o.hold, h.account, h.amount, o.at, nullif(draws, '{}'), NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, h.note, NULL, h.owner, h.expires)::journal;
      entries := entries || e;
    END IF;
    IF o.name IS NOT NULL AND answer ->> 0 = 'granted' THEN
      INSERT INTO done_once (name, amount, time) VALUES (o.name, (answer ->> 1)::bigint, o.at);
    END IF;
    IF o.rides IS NOT NULL AND answer ->> 0 NOT IN ('mistake', 'unmet') AND NOT (o.kind = 'hold' AND o.alone) THEN
      IF NOT ledger_ride_1(o.rides) THEN RAISE EXCEPTION 'a condition is not met' USING ERRCODE = 'SB002'; END IF;
    END IF;
    results := results || answer;
  END LOOP;

  INSERT INTO holds SELECT * FROM unnest(made);
  INSERT INTO journal SELECT * FROM unnest(entries);
  IF ids IS NOT NULL THEN
    UPDATE funds AS f SET most = t.most, spent = t.spent, held = t.held, row_id = t.row_id, is_opened = t.opened
      FROM unnest(ids, f_most, f_spent, f_held, f_row, f_opened, f_touched) AS t (id, most, spent, held, row_id, opened, touched)
      WHERE f.id = t.id AND t.touched;
  END IF;
  answers := to_jsonb(results);
  SELECT coalesce(jsonb_agg(jsonb_build_array(t.id, t.most, t.spent, t.held, t.opened)), '[]') INTO figures
    FROM unnest(ids, f_most, f_spent, f_held, f_opened) AS t (id, most, spent, held, opened);
  SELECT coalesce(jsonb_agg(jsonb_build_array(g.id, g.amount - g.charged)), '[]') INTO open_holds
    FROM holds AS g WHERE g.id = ANY (known) AND g.state = 'open';
END $$;

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
