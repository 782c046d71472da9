import { idText } from '../../../src/core/id.ts';
import type { Payment } from '../../../src/store/payments.ts';
import { audit } from '../../ledger/audit-support.ts';
import type { Play } from './play.ts';

interface Row {
  readonly kind: string;
  readonly reservation: number | null;
  readonly amount: number;
  readonly wallet: string;
  readonly note: string | null;
}

export async function standingProblems({ house, signed, wallets }: Play): Promise<string[]> {
  const problems: string[] = [];
  const payments = await allPayments(house);
  for (const { state, payer, nonce, id } of payments) {
    if (state !== 'settling' && state !== 'unknown') continue;
    const request = signed.find((one) => one.nonce === nonce && one.wallet === payer);
    if (request && !(await house.payments.unsettled(payer, request.requestHash))) {
      problems.push(`payment ${id} is ${state}, but its request would be quoted again`);
    }
  }
  for (const { n, lastAnswer: report, nonce, wallet } of signed) {
    // After a refusal the client may pay again, so this payment must not be in progress.
    const payment = payments.find((one) => one.nonce === nonce && one.payer === wallet);
    if (report === 'refused' && payment && payment.state !== 'failed') {
      problems.push(`request ${n} was refused, and its payment is ${payment.state}`);
    }
  }
  for (const { address } of wallets) {
    const fund = house.ledger.balanceOf(address.toLowerCase());
    if (fund && fund.free < 0) problems.push(`${address} has less than nothing: ${fund.free}`);
  }
  return problems;
}

export async function finalProblems(play: Play): Promise<string[]> {
  const { house, chain, signed } = play;
  const { findings } = await audit(house.file, true);
  const problems = findings.map((finding) => `the audit finds ${JSON.stringify(finding)}`);
  const payments = await allPayments(house);
  const rows = await journal(house);
  const deposits = rows.filter(({ kind }) => kind === 'deposit');
  const deposited = sum(deposits);
  if (BigInt(deposited) !== chain.received * 1_000n) {
    problems.push(`the chain brought ${chain.received * 1_000n}, and ${deposited} was booked`);
  }
  for (const [nonce, times] of chain.debits) if (times > 1) problems.push(`${nonce} moved money ${times} times`);
  for (const { n, lastAnswer: report, wallet, nonce } of signed) {
    if (report === 'refused' && chain.isUsed(wallet, nonce))
      problems.push(`request ${n} was refused, and then debited`);
  }
  for (const payment of payments) problems.push(...paymentProblems(payment, rows, play));
  for (const { address } of play.wallets) problems.push(...walletProblems(address.toLowerCase(), rows, play));
  return problems;
}

function paymentProblems(payment: Payment, rows: readonly Row[], { chain }: Play): string[] {
  const { id, state, payer, nonce, amount, paid, fee, charged, decision } = payment;
  const problems: string[] = [];
  const report = (what: string) => problems.push(`payment ${id}, ${state}: ${what}`);
  const own = rows.filter(({ note }) => note?.includes(idText('pay_', id)));
  const deposits = own.filter(({ kind }) => kind === 'deposit');
  const fees = sum(own.filter(({ kind }) => kind === 'fee'));
  const isUsed = chain.isUsed(payer, nonce);
  if (state !== 'settled' && state !== 'failed') report('has no final state');
  if (isUsed !== (state === 'settled')) report(`the chain says ${isUsed ? 'paid' : 'not paid'}`);
  if (deposits.length !== (isUsed ? 1 : 0)) report(`has ${deposits.length} deposits`);
  if (state !== 'settled') return problems;
  if (sum(deposits) !== paid || BigInt(paid) !== amount * 1_000n) report(`brought ${sum(deposits)} of ${paid}`);
  if (fees !== -fee) report(`has fees of ${fees}, and ${fee} in its row`);
  const run = rows.filter(({ reservation }) => reservation !== null && reservation === decision);
  const spent = sum(run.filter(({ kind }) => kind === 'settle' || kind === 'post'));
  if ((charged ?? 0) !== spent) report(`was charged ${charged}, and its run ${spent}`);
  if (spent === 0 && fee !== 0) report('keeps a fee for nothing');
  return problems;
}

/** A wallet's balance must be its deposits minus its charges. */
function walletProblems(wallet: string, rows: readonly Row[], { house }: Play): string[] {
  const own = rows.filter((row) => row.wallet === wallet);
  const isOf = (...kinds: string[]) => sum(own.filter(({ kind }) => kinds.includes(kind)));
  const due = isOf('deposit', 'fee', 'grant') - isOf('settle', 'post', 'expire');
  const has = house.ledger.balanceOf(wallet)?.free ?? 0;
  const problems = due === has ? [] : [`${wallet} has ${has}, and the journal says ${due}`];
  if (due < 0) problems.push(`${wallet} owes ${-due}`);
  // A payer without an answer keeps the whole amount, whatever the policy says for keys.
  if (isOf('expire') > 0) problems.push(`a crash charged ${wallet} ${isOf('expire')}`);
  return problems;
}

const sum = (rows: readonly { readonly amount: number }[]): number => rows.reduce((all, { amount }) => all + amount, 0);

const allPayments = ({ payments }: Play['house']) =>
  payments.list({ state: null, payer: null, limit: 10_000, before: null });

function journal(house: Play['house']): Promise<Row[]> {
  return house.query<Row>(
    'SELECT kind, reservation, amount, COALESCE(agent_wallet, key_id) AS wallet, note FROM entries ORDER BY seq',
  );
}
