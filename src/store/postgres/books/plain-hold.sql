-- The fast path for a group that is one new hold without attached writes. It decides like `decide.sql`. Parameters: `$1` the owner
-- (epoch * 128 + slot), `$2` the ID of the hold, `$3` the account, `$4` the funds, `$5` the first amount, `$6` the other amounts, `$7` the
-- expiry time, `$8` a note, `$9` the time. It returns no row and changes nothing in three cases: a fund has too little free for the first
-- amount, a fund has no current row in `fund_rows`, or the lease of the owner has ended. Then the function in `decide.sql` must decide.
WITH locked AS MATERIALIZED (
  SELECT f.id, f.row_id, f.most - f.spent - f.held AS free FROM funds AS f WHERE f.id = ANY ($4::integer[])
    ORDER BY f.id FOR NO KEY UPDATE
), room AS MATERIALIZED (
  SELECT greatest($5::bigint, (SELECT max(m) FROM unnest($6::bigint[]) AS m WHERE m * 2 <= coalesce(min(l.free), 4611686018427387904))) AS given,
      array_agg(l.row_id ORDER BY array_position($4, l.id)) AS draws
    FROM locked AS l
    HAVING coalesce(min(l.free) >= $5, true)
      AND count(l.row_id) = cardinality($4)
      AND EXISTS (SELECT 1 FROM instances AS i WHERE i.slot = $1::bigint % 128 AND i.epoch = $1 / 128 AND i.is_released = 0
        AND i.until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
), held AS (
  UPDATE funds AS f SET held = f.held + room.given FROM room WHERE f.id = ANY ($4)
    RETURNING f.id, f.most, f.spent, f.held, f.is_opened
), made AS (
  INSERT INTO holds (id, account, owner, expires, state, funds, first, amount, note)
    SELECT $2::bigint, $3::integer, $1, $7::bigint, 'open', $4, room.given, room.given, $8::text FROM room
), noted AS (
  INSERT INTO journal (seq, kind, reservation, account, amount, time, funds, note, owner, expires)
    SELECT nextval('journal_seq'), 'reserve', $2, $3, room.given, $9::bigint, room.draws, $8, $1, $7 FROM room
)
SELECT room.given AS first, 0 AS second,
    (SELECT json_agg(json_build_array(f.id, f.most, f.spent, f.held, f.is_opened)) FROM held AS f) AS figures
  FROM room
