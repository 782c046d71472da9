-- A hold that has ended and was forgotten, as its entries tell it: for a refund that comes so late.
CREATE FUNCTION ledger_recalled_1(p_id bigint) RETURNS SETOF holds LANGUAGE plpgsql STABLE AS $$
DECLARE
  h holds;
BEGIN
  SELECT j.reservation, j.account, j.owner, j.expires, j.amount, j.note INTO h.id, h.account, h.owner, h.expires, h.first, h.note
    FROM journal AS j WHERE j.reservation = p_id AND j.kind = 'reserve';
  SELECT j.drawn INTO h.funds FROM journal AS j WHERE j.reservation = p_id AND j.kind IN ('settle', 'expire');
  IF NOT FOUND OR h.id IS NULL THEN RETURN; END IF;
  h.state := 'closed';
  h.funds := coalesce(h.funds, '{}');
  h.expected := 0;
  h.steps := '{}';
  SELECT coalesce(sum(j.amount) FILTER (WHERE j.kind IN ('reserve', 'raise')), 0),
      coalesce(sum(j.amount) FILTER (WHERE j.kind IN ('post', 'settle', 'expire')), 0),
      coalesce(sum(j.amount) FILTER (WHERE j.kind = 'overrun'), 0),
      -coalesce(sum(j.amount) FILTER (WHERE j.kind = 'correct'), 0)
    INTO h.amount, h.charged, h.overrun, h.given_back FROM journal AS j WHERE j.reservation = p_id;
  RETURN NEXT h;
END $$;

