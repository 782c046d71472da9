-- The fast path for a group that is one settlement of an open hold without attached writes. It decides like `decide.sql`. Parameters: `$1`
-- the owner (epoch * 128 + slot), `$2` the ID of the hold, `$3` the cost, `$4` the most that may be charged, `$5` the time, `$6` the tariff,
-- `$7` the bill, `$8` whether the tokens are estimated. It returns no row and changes nothing if the hold is not open or does not cover the cost, if a fund has no current row in `fund_rows`, or
-- if the lease of the owner has ended. Then the function in `decide.sql` must decide.
WITH own AS MATERIALIZED (
  SELECT h.account, h.funds, h.amount - h.charged AS rest, h.charged, h.overrun FROM holds AS h WHERE h.id = $2::bigint AND h.state = 'open'
    FOR NO KEY UPDATE
), locked AS MATERIALIZED (
  SELECT f.row_id FROM funds AS f WHERE f.id = ANY ((SELECT o.funds FROM own AS o)::integer[]) ORDER BY f.id FOR NO KEY UPDATE
), sums AS MATERIALIZED (
  SELECT o.* FROM own AS o
    WHERE $3::bigint <= least(o.rest, $4::bigint)
      AND (SELECT count(l.row_id) FROM locked AS l) = cardinality(o.funds)
      AND EXISTS (SELECT 1 FROM instances AS i WHERE i.slot = $1::bigint % 128 AND i.epoch = $1 / 128 AND i.is_released = 0
        AND i.until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
), spent AS (
  UPDATE funds AS f SET held = f.held - s.rest, spent = f.spent + $3 FROM sums AS s WHERE f.id = ANY (s.funds)
    RETURNING f.id, f.most, f.spent, f.held, f.is_opened
), ended AS (
  UPDATE holds AS h SET charged = h.charged + $3, state = 'closed', closing_overrun = h.overrun FROM sums WHERE h.id = $2
), noted AS (
  INSERT INTO journal (seq, kind, reservation, account, amount, time, drawn, tariff, bill, estimated)
    SELECT nextval('journal_seq'), 'settle', $2, s.account, $3, $5::bigint, s.funds, $6::integer, $7::text, $8::boolean
      FROM sums AS s
)
SELECT s.charged + $3 AS first, s.overrun AS second,
    (SELECT json_agg(json_build_array(f.id, f.most, f.spent, f.held, f.is_opened)) FROM spent AS f) AS figures
  FROM sums AS s
