-- The fast path for a group of new holds and of settlements of open holds without attached writes. It decides like `decide.sql`. It returns
-- no row and changes nothing if the hold of a settlement is not open or does not cover the cost, if a fund may have too little free, if a
-- fund has no current row in `fund_rows`, or if the lease of the owner has ended. Then the function in `decide.sql` must decide.
-- Parameters: `$1` the owner (epoch * 128 + slot).
-- `$2` to `$9` the holds: place in the group, ID, account, number of the set of funds, amount, expiry time, note and time.
-- `$10` the sets of funds. `$11` to `$13` the funds of the holds: ID, sum of the amounts, and what must be free.
-- `$14` to `$21` the settlements: place, ID, cost, the most that may be charged, time, tariff, bill, and whether the tokens are estimated.
WITH own AS MATERIALIZED (
  SELECT s.*, h.account, h.funds, h.amount - h.charged AS rest, h.charged, h.overrun
    FROM unnest($14::integer[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::integer[], $20::text[],
        $21::boolean[])
      AS s (place, hold, cost, most, at, tariff, bill, estimated)
    JOIN holds AS h ON h.id = s.hold AND h.state = 'open'
    ORDER BY h.id FOR NO KEY UPDATE OF h
), changes AS MATERIALIZED (
  SELECT c.fund, sum(c.held)::bigint AS held, sum(c.spent)::bigint AS spent, max(c.need) AS need
    FROM (
      SELECT unnest(o.funds) AS fund, -o.rest AS held, o.cost AS spent, NULL::bigint AS need FROM own AS o
      UNION ALL SELECT n.fund, n.held, 0, n.need FROM unnest($11::integer[], $12::bigint[], $13::bigint[]) AS n (fund, held, need)
    ) AS c
    GROUP BY c.fund
), locked AS MATERIALIZED (
  SELECT f.id, f.row_id, f.most - f.spent - f.held AS free FROM funds AS f WHERE f.id = ANY (ARRAY(SELECT c.fund FROM changes AS c))
    ORDER BY f.id FOR NO KEY UPDATE
), plain AS MATERIALIZED (
  SELECT 1 WHERE (SELECT count(*) FROM own AS o WHERE o.cost <= least(o.rest, o.most)) = cardinality($15)
    AND (SELECT count(l.row_id) FROM locked AS l) = (SELECT count(*) FROM changes)
    AND NOT EXISTS (SELECT 1 FROM changes AS c JOIN locked AS l ON l.id = c.fund WHERE c.need > l.free)
    AND EXISTS (SELECT 1 FROM instances AS i WHERE i.slot = $1::bigint % 128 AND i.epoch = $1 / 128 AND i.is_released = 0
      AND i.until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
), sets AS MATERIALIZED (
  SELECT t.number, t.funds::integer[] AS funds, nullif(ARRAY(
      SELECT l.row_id FROM unnest(t.funds::integer[]) WITH ORDINALITY AS m (fund, nth) JOIN locked AS l ON l.id = m.fund ORDER BY m.nth
    ), '{}') AS draws
    FROM unnest($10::text[]) WITH ORDINALITY AS t (funds, number)
), holding AS MATERIALIZED (
  SELECT n.*, s.funds, s.draws
    FROM plain, unnest($2::integer[], $3::bigint[], $4::integer[], $5::integer[], $6::bigint[], $7::bigint[], $8::text[], $9::bigint[])
      AS n (place, hold, account, fund_set, given, expires, note, at)
    JOIN sets AS s ON s.number = n.fund_set
), changed AS (
  UPDATE funds AS f SET held = f.held + c.held, spent = f.spent + c.spent FROM plain, changes AS c WHERE f.id = c.fund
    RETURNING f.id, f.most, f.spent, f.held, f.is_opened
), made AS (
  INSERT INTO holds (id, account, owner, expires, state, funds, first, amount, note)
    SELECT n.hold, n.account, $1, n.expires, 'open', n.funds, n.given, n.given, n.note FROM holding AS n
), ended AS (
  UPDATE holds AS h SET charged = h.charged + o.cost, state = 'closed', closing_overrun = h.overrun FROM plain, own AS o WHERE h.id = o.hold
), noted AS (
  INSERT INTO journal (seq, kind, reservation, account, amount, time, funds, drawn, tariff, bill, estimated, note, owner, expires)
    SELECT nextval('journal_seq'), e.kind, e.hold, e.account, e.amount, e.at, e.draws, e.drawn, e.tariff, e.bill, e.estimated,
        e.note, e.owner, e.expires
      FROM (
        SELECT n.place, 'reserve' AS kind, n.hold, n.account, n.given AS amount, n.at, n.draws, NULL::integer[] AS drawn,
            NULL::integer AS tariff, NULL::text AS bill, NULL::boolean AS estimated, n.note, $1 AS owner, n.expires
          FROM holding AS n
        UNION ALL
        SELECT o.place, 'settle', o.hold, o.account, o.cost, o.at, NULL, o.funds, o.tariff, o.bill, o.estimated, NULL,
            NULL, NULL
          FROM plain, own AS o
        ORDER BY place
      ) AS e
)
SELECT to_json(ARRAY(SELECT o.charged + o.cost FROM own AS o ORDER BY o.place))::text AS first,
    to_json(ARRAY(SELECT o.overrun FROM own AS o ORDER BY o.place))::text AS second,
    (SELECT json_agg(json_build_array(f.id, f.most, f.spent, f.held, f.is_opened)) FROM changed AS f) AS figures
  FROM plain
