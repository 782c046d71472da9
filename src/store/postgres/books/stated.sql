-- Version 32: sums of the costs that answers state, and of the costs of the same attempts at our prices, which their bills have
-- (`BillWriter` of src/core/accounting/bill.ts). The tables of a new database, which follow those of SQLite, already have them.
ALTER TABLE spend ADD COLUMN IF NOT EXISTS stated bigint NOT NULL DEFAULT 0, ADD COLUMN IF NOT EXISTS matched bigint NOT NULL DEFAULT 0;

DROP VIEW spending;
DROP VIEW unfolded;
-- The charges behind these, in the columns of `spend`. An ID tells the time of its hold, as in src/core/id.ts.
CREATE VIEW unfolded AS
  SELECT j.seq, ((j.reservation / 8192 + 1767225600000) / 900000)::integer AS quarter, j.account, coalesce(j.tariff, 0) AS tariff,
      1::bigint AS charges, j.amount AS microcredits, coalesce((j.bill::json ->> 'input')::bigint, 0) AS input_tokens,
      coalesce((j.bill::json ->> 'output')::bigint, 0) AS output_tokens, coalesce((j.bill::json ->> 'stated')::bigint, 0) AS stated,
      coalesce((j.bill::json ->> 'cost')::bigint, 0) AS matched
    FROM journal AS j WHERE j.seq > (SELECT f.through FROM folded AS f)
      AND j.kind IN ('post', 'settle', 'expire', 'correct') AND (j.amount <> 0 OR j.tariff IS NOT NULL);
-- All charges at any moment, though a group may be in two rows.
CREATE VIEW spending AS
  SELECT quarter, account, tariff, charges, microcredits, input_tokens, output_tokens, stated, matched FROM spend
  UNION ALL SELECT quarter, account, tariff, charges, microcredits, input_tokens, output_tokens, stated, matched FROM unfolded;
