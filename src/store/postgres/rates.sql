-- Decides demands for units of limits that instances share, one by one in their order, and answers each. A row is locked before the time is
-- read, so that times grow in the order in which a row is changed. The order of the demands is that of all instances: nobody waits in a circle.
--
-- A demand is [limit, subject, unit, most, need, ahead, back, held]; an answer is [granted, ahead, left]: see src/store/rates.ts. Buckets are
-- in 1/60,000 of a unit: each millisecond adds `most`. `p_now` is null, but for a test.
CREATE FUNCTION rates_take_1(p_slot bigint, p_epoch bigint, p_demands jsonb, p_now bigint DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  MINUTE_MS CONSTANT bigint := 60000;
  DEBT_MAX CONSTANT bigint := 4503599627370496;
  demand record;
  rate rates;
  answers jsonb[] := '{}';
  now_ms bigint;
  this_second bigint;
  others bigint;
  granted bigint;
  given bigint;
BEGIN
  -- A grant that is lost with the server's last moments lets a little more pass: no reason to wait for the disk.
  PERFORM set_config('synchronous_commit', 'off', true);
  FOR demand IN
    SELECT d->>0 AS name, d->>1 AS subject, d->>2 AS unit, (d->>3)::bigint AS most, (d->>4)::bigint AS need,
        (d->>5)::bigint AS ahead, (d->>6)::bigint AS back, (d->>7)::bigint AS held
      FROM jsonb_array_elements(p_demands) WITH ORDINALITY AS list (d, place) ORDER BY place
  LOOP
    now_ms := coalesce(p_now, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    INSERT INTO rates AS r (name, subject, unit, most, units_left, at, second, ahead, before)
      VALUES (demand.name, demand.subject, demand.unit, demand.most, demand.most * MINUTE_MS, now_ms, 0, 0, 0)
      ON CONFLICT (name, subject, unit) DO UPDATE SET at = r.at
      RETURNING * INTO rate;
    now_ms := greatest(rate.at, coalesce(p_now, (extract(epoch FROM clock_timestamp()) * 1000)::bigint));
    IF demand.unit = 'streams' THEN
      -- Those of an instance whose lease has ended count no more: it ends them.
      SELECT coalesce(sum(s.streams), 0) INTO others FROM rate_streams AS s LEFT JOIN instances AS i ON i.slot = s.slot
        WHERE s.name = demand.name AND s.subject = demand.subject AND (s.slot, s.epoch) <> (p_slot, p_epoch)
          AND (i.slot IS NULL OR i.epoch < s.epoch OR (i.epoch = s.epoch AND i.is_released = 0 AND i.until > now_ms));
      granted := greatest(0, least(demand.need, demand.most - others - demand.held));
      IF demand.held + granted > 0 THEN
        INSERT INTO rate_streams AS s (name, subject, slot, epoch, streams)
          VALUES (demand.name, demand.subject, p_slot, p_epoch, demand.held + granted)
          ON CONFLICT (name, subject, slot, epoch) DO UPDATE SET streams = excluded.streams;
      ELSE
        DELETE FROM rate_streams AS s
          WHERE s.name = demand.name AND s.subject = demand.subject AND s.slot = p_slot AND s.epoch = p_epoch;
      END IF;
      UPDATE rates AS r SET at = now_ms
        WHERE r.name = demand.name AND r.subject = demand.subject AND r.unit = demand.unit;
      answers := answers || jsonb_build_array(granted, 0, demand.most - others - demand.held - granted);
      CONTINUE;
    END IF;
    rate.units_left := least(
      rate.most * MINUTE_MS,
      rate.units_left + (now_ms - rate.at)::numeric * rate.most
    );
    -- Under another limit it keeps its relative level.
    IF rate.most <> demand.most THEN
      rate.units_left := floor(rate.units_left::numeric * demand.most / rate.most);
    END IF;
    this_second := now_ms / 1000;
    IF this_second <> rate.second THEN
      rate.before := CASE WHEN this_second = rate.second + 1 THEN rate.ahead ELSE 0 END;
      rate.ahead := 0;
    END IF;
    rate.units_left := greatest(-DEBT_MAX, least(demand.most * MINUTE_MS, rate.units_left + demand.back * MINUTE_MS));
    -- It fills up only so far that the units which are out still fit.
    rate.units_left := least(rate.units_left, greatest(0, demand.most - rate.ahead - rate.before) * MINUTE_MS);
    granted := least(demand.need, greatest(0, rate.units_left / MINUTE_MS));
    rate.units_left := rate.units_left - granted * MINUTE_MS;
    given := greatest(0, least(demand.ahead, demand.most / 60 - rate.ahead, rate.units_left / MINUTE_MS));
    UPDATE rates AS r
      SET most = demand.most, units_left = rate.units_left - given * MINUTE_MS, at = now_ms, second = this_second,
        ahead = rate.ahead + given, before = rate.before
      WHERE r.name = demand.name AND r.subject = demand.subject AND r.unit = demand.unit;
    answers := answers || jsonb_build_array(granted, given, rate.units_left - given * MINUTE_MS);
  END LOOP;
  RETURN to_jsonb(answers);
END
$$;
