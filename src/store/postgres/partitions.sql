-- Partitions of the tables of records, by ID and so by time. They cover all IDs, so that no insert lacks a place: the first has no lower
-- bound, the last no upper one, and usually both are empty. A DEFAULT partition would cost each list its order.

-- The bounds between partitions, least first.
CREATE FUNCTION records_bounds_1() RETURNS bigint[]
LANGUAGE sql STABLE AS $$
  SELECT coalesce(array_agg(upper ORDER BY upper), '{}') FROM (
    SELECT substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(-?\d+)''\)')::bigint AS upper
      FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = 'records'::regclass
  ) AS parts WHERE upper IS NOT NULL
$$;

-- The partitions of a table within two bounds, null for none.
CREATE FUNCTION records_parts_1(p_table text, p_from bigint, p_to bigint) RETURNS SETOF regclass
LANGUAGE sql STABLE AS $$
  SELECT part FROM (
    SELECT c.oid::regclass AS part, substring(bound FROM 'FROM \(''(-?\d+)''\)')::bigint AS low,
        substring(bound FROM 'TO \(''(-?\d+)''\)')::bigint AS high
      FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid, pg_get_expr(c.relpartbound, c.oid) AS bound
      WHERE i.inhparent = p_table::regclass
  ) AS parts WHERE (p_from IS NULL OR low >= p_from) AND (p_to IS NULL OR high <= p_to)
$$;

-- Drops the partitions that end at `p_before` or below. Gives those behind the first of `p_bounds` these bounds, as far as few rows are in
-- them, which are moved while all wait. It runs with the rights of who made the tables, for those who may delete records, and waits 100 ms
-- for each lock at most: requests wait behind it. Answers whether too many rows were behind the last bound.
CREATE FUNCTION records_partition_1(p_before bigint, p_bounds bigint[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '100ms' AS $$
DECLARE
  MOVED_MAX CONSTANT bigint := 10000;
  TABLES CONSTANT text[] := '{records,record_index,record_labels}';
  bounds bigint[];
  dropped bigint;
  change bigint;
  start bigint;
  filled bigint;
  name text;
  part record;
  moved text[];
  at bigint;
BEGIN
  -- Nobody's temporary table stands before ours.
  PERFORM set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
  IF NOT has_table_privilege(session_user, 'records', 'DELETE') THEN
    RAISE insufficient_privilege USING MESSAGE = 'the user may not delete records';
  END IF;
  PERFORM pg_advisory_xact_lock(1397310279, 2);
  bounds := records_bounds_1();
  -- The first alone is left to deletion by rows: it would be made again at once.
  SELECT CASE WHEN count(*) > 1 THEN max(b) END INTO dropped FROM unnest(bounds) AS b WHERE b <= p_before;
  SELECT min(b) INTO change FROM (
    SELECT unnest(p_bounds) EXCEPT SELECT unnest(bounds)
    UNION (SELECT unnest(bounds) EXCEPT SELECT unnest(p_bounds))
  ) AS differences (b) WHERE b > (SELECT min(b) FROM unnest(p_bounds) AS b);
  IF NOT p_bounds[1] = ANY (bounds) AND (cardinality(bounds) = 0 OR p_bounds[1] > bounds[cardinality(bounds)]) THEN
    change := p_bounds[1];
  END IF;
  IF dropped IS NULL AND change IS NULL THEN
    RETURN false;
  END IF;
  LOCK TABLE ONLY records, ONLY record_index, ONLY record_labels IN ACCESS EXCLUSIVE MODE;
  IF dropped IS NOT NULL THEN
    FOREACH name IN ARRAY TABLES LOOP
      FOR part IN SELECT p AS old FROM records_parts_1(name, NULL, dropped) AS p LOOP
        EXECUTE format('DROP TABLE %s', part.old);
      END LOOP;
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (MINVALUE) TO (%s)', name || '_first', name, dropped);
    END LOOP;
    UPDATE traffic_counting SET version = version + 1, pruned_below = greatest(pruned_below, dropped);
    bounds := records_bounds_1();
  END IF;
  IF change IS NULL THEN
    RETURN false;
  END IF;
  -- It begins at a bound that stays, behind all rows but the few that are moved.
  SELECT max(b) INTO start FROM unnest(bounds) AS b WHERE b < change;
  FOREACH name IN ARRAY TABLES LOOP
    EXECUTE format('SELECT id FROM %I ORDER BY id DESC LIMIT 1 OFFSET %s', name, MOVED_MAX) INTO filled;
    CONTINUE WHEN filled IS NULL OR filled < start;
    SELECT min(b) INTO start FROM unnest(bounds) AS b WHERE b > filled;
    IF start IS NULL THEN
      RETURN true;
    END IF;
  END LOOP;
  IF start IS NOT NULL AND ARRAY(SELECT b FROM unnest(bounds) AS b WHERE b > start)
      = ARRAY(SELECT b FROM unnest(p_bounds) AS b WHERE b > start ORDER BY b) THEN
    RETURN false;
  END IF;
  FOREACH name IN ARRAY TABLES LOOP
    moved := '{}';
    FOR part IN SELECT p AS old FROM records_parts_1(name, start, NULL) AS p LOOP
      at := cardinality(moved);
      EXECUTE format('ALTER TABLE %I DETACH PARTITION %s', name, part.old);
      EXECUTE format('ALTER TABLE %s RENAME TO %I', part.old, name || '_moved_' || at);
      moved := moved || (name || '_moved_' || at);
    END LOOP;
    FOR part IN
      SELECT lag(cut, 1, start) OVER places AS low, cut AS high FROM (
        SELECT DISTINCT cut FROM unnest(p_bounds || NULL::bigint) AS cut WHERE cut > start OR cut IS NULL OR start IS NULL
      ) AS cuts WINDOW places AS (ORDER BY cut NULLS LAST)
    LOOP
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%s) TO (%s)',
        name || CASE WHEN part.low IS NULL THEN '_first' WHEN part.high IS NULL THEN '_last' ELSE '_' || part.low END,
        name, coalesce(part.low::text, 'MINVALUE'), coalesce(part.high::text, 'MAXVALUE'));
    END LOOP;
    FOR at IN 1 .. cardinality(moved) LOOP
      EXECUTE format('INSERT INTO %I SELECT * FROM %I', name, moved[at]);
      EXECUTE format('DROP TABLE %I', moved[at]);
    END LOOP;
  END LOOP;
  RETURN false;
END
$$;
