import { cpus } from 'node:os';
import type { PaymentRequired } from '@x402/core/types';
import type { PrivateKeyAccount } from 'viem/accounts';
import { signQuote } from '../test/support/pay.ts';
import { startChain, type TestChain } from '../test/system/support/chain/chain.ts';
import { newKey, startUpstream, startWithPolicy } from './gateways.ts';
import { benchPolicy } from './policy.ts';
import { cpuMicros, type Program } from './process.ts';
import { fixed, median, quantile, table } from './stats.ts';

/**
 * `npm run bench:payments`: compares the cost of a request that a wallet pays for with a request with an API key. The wallet pays from its
 * balance with its own key, and by x402 (a quote, then the payment, settled on a local chain that mines at once). Rounds take turns. CPU
 * time is the server's, as counted by the kernel. `--quick` gives a rough result.
 */
const quick = process.argv.includes('--quick');
const ROUNDS = quick ? 3 : 7;
const IN_FLIGHT = 16;
/** The number of requests per round: about a second of work, so that the kernel's ticks are fine enough. */
const REQUESTS = { key: 3_000, balance: 3_000, quote: 1_500, payment: 250 } as const;
type Way = keyof typeof REQUESTS;
const WAYS: readonly Way[] = ['key', 'balance', 'quote', 'payment'];
const NAMES: Readonly<Record<Way, string>> = {
  key: 'an API key',
  balance: 'a wallet’s key, from its balance',
  quote: 'a quote (402)',
  payment: 'a payment, settled',
};
const PURSE = 1_000_000_000_000n;

interface Stand {
  readonly program: Program;
  readonly payer: PrivateKeyAccount;
  /** The headers with which a request is paid for. */
  readonly headers: Readonly<Record<'key' | 'balance', Readonly<Record<string, string>>>>;
}

interface Round {
  readonly cpu: number;
  readonly p50: number;
  readonly p99: number;
}

let asked = 0;
/** Every body is different, because a payer does not pay twice for the same request at the same time. */
const body = (): string =>
  JSON.stringify({
    model: 'auto',
    max_tokens: 200,
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: `${String(++asked).padStart(8, '0')} ${'How do gateways choose a model? '.repeat(6)}` },
    ],
  });

const post = (stand: Pick<Stand, 'program'>, path: string, text: string, headers: Readonly<Record<string, string>>) =>
  fetch(`http://127.0.0.1:${stand.program.port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: text,
  });

async function expecting(status: number, answer: Response): Promise<string> {
  const text = await answer.text();
  if (answer.status !== status) throw new Error(`${answer.status} in place of ${status}: ${text.slice(0, 300)}`);
  return text;
}

const quoteIn = (answer: Response): PaymentRequired =>
  JSON.parse(Buffer.from(answer.headers.get('payment-required') ?? '', 'base64').toString()) as PaymentRequired;

async function quoted(stand: Stand, path: string, text: string): Promise<PaymentRequired> {
  const answer = await post(stand, path, text, {});
  await expecting(402, answer);
  return quoteIn(answer);
}

/** Sends this many requests, several in parallel, and returns how long each request took. */
async function timed(count: number, send: (at: number) => Promise<unknown>): Promise<Float64Array> {
  const latencies = new Float64Array(count);
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < count; at = next++) {
      const began = performance.now();
      await send(at);
      latencies[at] = performance.now() - began;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return latencies.sort();
}

/** Runs a round of one way of payment. Signing is the client's work, so it is done before the clocks start. */
async function round(stand: Stand, way: Way, count: number): Promise<Round> {
  const texts = Array.from({ length: count }, body);
  const path = '/v1/chat/completions';
  let send = async (at: number): Promise<unknown> =>
    expecting(200, await post(stand, path, texts[at]!, stand.headers[way === 'balance' ? 'balance' : 'key']));
  if (way === 'quote') send = async (at) => expecting(402, await post(stand, path, texts[at]!, {}));
  if (way === 'payment') {
    const signed: string[] = [];
    for (const text of texts) signed.push(await signQuote(stand.payer, await quoted(stand, path, text)));
    send = async (at) => expecting(200, await post(stand, path, texts[at]!, { 'payment-signature': signed[at]! }));
  }
  const before = cpuMicros(stand.program.pid);
  const latencies = await timed(count, send);
  return {
    cpu: (cpuMicros(stand.program.pid) - before) / count,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  };
}

const paymentsSection = ({ chainId, token, payTo, url }: TestChain): string => `payments:
  x402:
    enabled: true
    prepaid: { max_usd: 1000000 }
    networks:
      - id: eip155:${chainId}
        asset: { address: "${token}", name: USDC }
        pay_to: "${payTo}"
        rpc_urls: ["${url}"]
        facilitator: { mode: local, private_key_env: BENCH_GAS_KEY }
gateway: { keyless_per_minute: 1000000 }
`;

async function start(chain: TestChain, upstream: Program): Promise<Stand> {
  const key = newKey();
  const policy = benchPolicy(`http://127.0.0.1:${upstream.port}/v1`) + paymentsSection(chain);
  const program = await startWithPolicy(policy, key, { BENCH_GAS_KEY: chain.gasKey });
  const payer = await chain.payer(PURSE);
  // The server checks the payment network first, so the first requests may fail.
  while ((await post({ program }, '/v1/chat/completions', body(), {})).status !== 402) await Bun.sleep(50);
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
  const stand = { program, payer, headers: { key: bearer(key), balance: bearer(key) } };
  const topUp = JSON.stringify({ usd: 100_000 });
  const signature = await signQuote(payer, await quoted(stand, '/v1/wallets/topup', topUp));
  const made = await expecting(201, await post(stand, '/v1/wallets/topup', topUp, { 'payment-signature': signature }));
  return { ...stand, headers: { ...stand.headers, balance: bearer((JSON.parse(made) as { key: string }).key) } };
}

const HEAD = ['paid by', 'CPU µs', 'against a key', 'p50 ms', 'p99 ms'];

async function main(): Promise<void> {
  const chain = await startChain();
  const upstream = await startUpstream();
  const stand = await start(chain, upstream);
  try {
    const scaled = (way: Way) => Math.round(REQUESTS[way] * (quick ? 0.4 : 1));
    for (const way of WAYS) await round(stand, way, 2 * scaled(way));
    const rounds = { key: [], balance: [], quote: [], payment: [] } as Record<Way, Round[]>;
    for (let i = 0; i < ROUNDS; i++) for (const way of WAYS) rounds[way].push(await round(stand, way, scaled(way)));
    const of = (way: Way, figure: keyof Round) => median(rounds[way].map((one) => one[figure]));
    const rows = WAYS.map((way) => [
      NAMES[way],
      fixed(of(way, 'cpu'), 0),
      fixed(median(rounds[way].map(({ cpu }, at) => cpu / rounds.key[at]!.cpu)), 2),
      fixed(of(way, 'p50'), 2),
      fixed(of(way, 'p99'), 2),
    ]);
    const how = `${cpus().length} cores (${cpus()[0]!.model}), Bun ${Bun.version}, ${ROUNDS} interleaved rounds, ${IN_FLIGHT} in flight, medians.`;
    process.stdout.write(`${how}\n\n${table([HEAD, ...rows])}\n`);
  } finally {
    await Promise.all([stand.program.stop(), upstream.stop()]);
    await chain.stop();
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
