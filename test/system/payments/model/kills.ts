import { join } from 'node:path';
import type { PrivateKeyAccount } from 'viem/accounts';
import { type ClientPayment, signed } from '../../../payments/model/signed.ts';
import { waitFor } from '../../../support/answers.ts';
import { bookProblems } from './books.ts';
import { CHAT, chatBody, type Stand, startStand } from './stand.ts';

/** Points where `crash-points.ts` can kill the process, in the order in which a payment passes them. */
export const POINTS = [
  'verify',
  'settling-before-commit',
  'settling-after-commit',
  'broadcast-asked-for',
  'broadcast-sent',
  'receipt-seen',
  'captured-before-commit',
  'captured-after-commit',
  'provider-called',
  'settled-before-commit',
  'settled-after-commit',
] as const;
export type Point = (typeof POINTS)[number];

const PRELOAD = `--preload ${join(import.meta.dir, 'crash-points.ts')}`;
const CLIENTS = 6;
const PURSE = 100_000_000n;
const FAULTS = ['none', 'none', 'unmined', 'lost', 'provider', 'leavers'] as const;
/** After this time on the chain, a lost payment can no longer arrive, s. */
const HOUR_S = 3_600;

interface Sent {
  readonly n: number;
  readonly account: PrivateKeyAccount;
  readonly body: object;
  readonly paid: ClientPayment;
  /** The answers that its client received, in order. */
  readonly answers: { readonly status: number; readonly decision: string | null; readonly content: boolean }[];
}

export interface Kills {
  /** Kills the process at the point, with a fault of the chain, starts it again and returns all errors at the end. */
  kill(point: Point): Promise<{ readonly problems: string[]; readonly answered: number; readonly unsettled: number }>;
  stop(): Promise<void>;
}

/** Creates a key of a wallet with a balance. */
async function topUp(stand: Stand): Promise<string> {
  const body = { usd: 1 };
  const payer = await stand.chain.payer(PURSE);
  const { header } = await signed(payer, await stand.quote(body, '/v1/wallets/topup'));
  const answer = await stand.post('/v1/wallets/topup', body, { 'payment-signature': header });
  return ((await answer.json()) as { readonly key: string }).key;
}

/** Sends requests that spend a balance, in parallel to paying requests. The results of these requests do not matter. */
async function spend(stand: Stand, key: string, n: number): Promise<void> {
  const one = (stream: boolean) => stand.post(CHAT, chatBody(n, { stream }), { authorization: `Bearer ${key}` });
  const answers = [true, false, true].map((stream) => one(stream).then((answer) => answer.text()));
  await Promise.allSettled(answers);
}

/** Each kill has its own data folder and chain, because the chain's time is moved at the end. */
export function startKills(random: () => number): Kills {
  const below = (limit: number) => Math.floor(random() * limit);
  let stand: Stand | null = null;
  let requests = 0;

  const attempt = async (on: Stand, one: Sent, leaveAfterMs?: number): Promise<boolean> => {
    try {
      const response = await on.send(one.body, one.paid.header, leaveAfterMs);
      const decision = response.headers.get('x-signalbox-decision-id');
      const text = await response.text();
      one.answers.push({ status: response.status, decision, content: text.includes('"choices"') });
      return response.status === 200;
    } catch {
      // The process died during the request.
      one.answers.push({ status: 0, decision: null, content: false });
      return false;
    }
  };

  async function kill(point: Point) {
    await stand?.stop();
    const onCrash = random() < 0.5 ? 'charge' : 'release';
    const more = `ledger: { on_crash: ${onCrash} }\ngateway: { retries_max: 0, keyless_per_minute: 1000000 }\n`;
    stand = await startStand({ confirmationMs: 1_000, more });
    const on = stand;
    const at = `${point}:${1 + below(CLIENTS - 1)}`;
    const purse = await topUp(on);
    await on.start({ BUN_OPTIONS: PRELOAD, PAY_CRASH_AT: at });
    on.upstream.behave({ text: ['one ', 'two ', 'three '], betweenChunksMs: 3 });
    const accounts = [await on.chain.payer(PURSE), await on.chain.payer(PURSE), await on.chain.payer(PURSE)];
    const sent: Sent[] = [];
    for (let i = 0; i < CLIENTS; i++) {
      const account = accounts[i % accounts.length]!;
      const body = chatBody(++requests, { stream: random() < 0.5, agent_wallet: account.address });
      sent.push({ n: requests, account, body, paid: await on.sign(account, body), answers: [] });
    }
    const misfortune = FAULTS[below(FAULTS.length)];
    if (misfortune === 'lost') on.proxy.fail('lost', 'eth_sendRawTransaction', 'eth_getTransactionReceipt');
    if (misfortune === 'unmined') await on.chain.automine(false);
    if (misfortune === 'provider') on.upstream.next({ status: 500 }, { cutAfter: 2 }, { status: 500 });
    // Some callers disconnect before their answer.
    const patience = sent.map(() => (misfortune === 'leavers' && random() < 0.5 ? 10 + below(90) : undefined));
    const spent = spend(on, purse, ++requests);
    const came = await Promise.all(sent.map((one, at) => attempt(on, one, patience[at])));
    await spent;
    const died = await Promise.race([on.box.exited.then(() => true), Bun.sleep(300).then(() => false)]);
    const problems: string[] = [];
    if (died && !on.box.lines.includes(`killed at ${point}`)) problems.push('it died of something else');
    // A request that ends earlier passes no point. On a machine too busy to see its block in time, a request is killed while waiting.
    if (!died && misfortune === 'none' && came.every(Boolean)) problems.push(`it did not die at ${at}`);
    on.proxy.fail(null);
    if (random() < 0.2) await on.chain.cancel(sent[0]!.account, sent[0]!.paid.nonce).catch(() => {});
    await on.start();
    if (random() < 0.5) await Promise.all(sent.map((one) => attempt(on, one)));
    await on.chain.automine(true);
    await on.chain.mine();
    await retried(on, sent);
    problems.push(...(await endProblems(on, sent)));
    const answers = sent.filter(({ answers: told }) => told.some(({ status }) => status === 200));
    const unsettled = sent.filter(({ answers: told }) => told.some(({ status }) => status === 503)).length;
    return { problems, answered: answers.length, unsettled };
  }

  /** Repeats each request until it is answered or refused permanently. */
  async function retried(on: Stand, sent: readonly Sent[]): Promise<void> {
    for (const one of sent) {
      const over = () => one.answers.some(({ status }) => status === 200) || one.answers.at(-1)?.status === 402;
      for (let tries = 0; !over() && tries < 3; tries++) await attempt(on, one);
    }
  }

  return {
    kill,
    stop: async () => stand?.stop(),
  };
}

interface Row {
  readonly nonce: string;
  readonly state: string;
  readonly charged: number | null;
  readonly decision: number | null;
}

/** Returns the errors once the chain has decided everything. */
async function endProblems(stand: Stand, sent: readonly Sent[]): Promise<string[]> {
  const { chain, upstream } = stand;
  await chain.client.increaseTime({ seconds: HOUR_S });
  await chain.mine();
  await stand.settled();
  await waitFor(() => stand.query("SELECT 1 FROM payments WHERE state = 'captured'").length === 0);
  const problems = await bookProblems(stand);
  const rows = stand.query<Row>('SELECT nonce, state, charged, decision FROM payments');
  const spent = new Map<string, bigint>();
  for (const { n, account, paid, answers: told } of sent) {
    const own = rows.filter(({ nonce }) => nonce === paid.nonce);
    if (own.length > 1) problems.push(`request ${n} has ${own.length} payments`);
    const isPaid = own[0]?.state === 'settled';
    if (isPaid) {
      const before = spent.get(account.address) ?? 0n;
      spent.set(account.address, before + BigInt(paid.payload.accepted.amount));
    }
    const answers = new Set(told.filter(({ status }) => status === 200).map(({ decision }) => decision));
    if (answers.size > 1) problems.push(`request ${n} was answered ${answers.size} times: ${[...answers].join(', ')}`);
    if (answers.size > 0 && !isPaid) problems.push(`request ${n} was answered, and its payment is ${own[0]?.state}`);
    const calls = upstream.requests.filter(({ text }) => text.includes(`request ${n}.`)).length;
    if (calls > 0 && !isPaid) problems.push(`request ${n} reached the provider unpaid`);
    const refusedAt = told.findIndex(({ status }) => status === 402);
    if (refusedAt >= 0 && isPaid && told.slice(0, refusedAt).some(({ status }) => status === 503)) {
      problems.push(`request ${n} was quoted anew, and its payment came: ${JSON.stringify(told)}`);
    }
    if (told.some(({ status }) => ![0, 200, 402, 409, 502, 503].includes(status))) {
      problems.push(`request ${n} was told ${JSON.stringify(told)}`);
    }
  }
  for (const account of new Set(sent.map((one) => one.account))) {
    const debit = PURSE - (await chain.balanceOf(account.address));
    if (debit !== (spent.get(account.address) ?? 0n)) {
      problems.push(`${account.address} was debited ${debit}, and its payments are ${spent.get(account.address)}`);
    }
  }
  return problems;
}
