import { isAddress } from '../../../../src/core/money/holder-address.ts';
import type { Stand } from './stand.ts';

interface Sum {
  readonly holder: string;
  readonly kind: string;
  readonly amount: number;
  readonly rows: number;
}

/** Microcredits in an atomic unit if a Credit is 0.001 USD. */
const PER_ATOMIC = 1_000n;

/**
 * Returns all errors once nothing is in progress: errors of the audit, differences between the chain and the deposits, and wrong sums of
 * wallets.
 */
export async function bookProblems(stand: Stand): Promise<string[]> {
  const problems: string[] = [];
  const audit = await stand.box.run('ledger', 'audit', '--idle');
  if (audit.code !== 0) problems.push(`the audit: ${audit.out}${audit.err}`);
  const sums = stand.query<Sum>(
    `SELECT key_id AS holder, kind, SUM(amount) AS amount, COUNT(*) AS rows FROM entries GROUP BY key_id, kind`,
  );
  const deposited = sums.filter(({ kind }) => kind === 'deposit').reduce((all, { amount }) => all + BigInt(amount), 0n);
  const received = await stand.chain.balanceOf(stand.chain.payTo);
  if (deposited !== received * PER_ATOMIC) problems.push(`${received} units arrived, and ${deposited} was booked`);
  for (const holder of new Set(sums.map((one) => one.holder))) {
    if (!isAddress(holder)) continue;
    const of = (...kinds: readonly string[]) =>
      sums
        .filter((one) => one.holder === holder && kinds.includes(one.kind))
        .reduce((all, { amount }) => all + amount, 0);
    const left = of('deposit', 'fee', 'grant', 'correct') - of('settle', 'post', 'expire');
    if (left < 0) problems.push(`${holder} is at ${left}`);
    if (of('expire') > 0) problems.push(`a crash charged ${holder} ${of('expire')}`);
  }
  const open = stand.query<{ id: number; state: string }>(
    "SELECT id, state FROM payments WHERE state NOT IN ('settled', 'failed')",
  );
  for (const { id, state } of open) problems.push(`payment ${id} is ${state}`);
  const nameless = stand.query<{ id: number }>("SELECT id FROM payments WHERE state = 'settled' AND tx IS NULL");
  for (const { id } of nameless) problems.push(`payment ${id} is settled by no transaction`);
  const uncharged = stand.query<{ id: number }>(
    "SELECT id FROM payments WHERE state = 'settled' AND charged = 0 AND fee > 0 AND purpose = 'chat'",
  );
  for (const { id } of uncharged) problems.push(`payment ${id} keeps a fee for nothing`);
  return problems;
}

export function balanceIn(stand: Stand, wallet: string): number {
  const [row] = stand.query<{ left: number | null }>(
    `SELECT SUM(CASE WHEN kind IN ('deposit', 'fee', 'grant', 'correct') THEN amount
        WHEN kind IN ('settle', 'post', 'expire') THEN -amount ELSE 0 END) AS left FROM entries WHERE key_id = ?`,
    wallet.toLowerCase(),
  );
  return row?.left ?? 0;
}
