import { type MeteredService, PROMPT_TOKENS, startMeteredService } from '../test/support/metered-service.ts';
import { testPolicy, UPSTREAM_ENV } from '../test/support/policies.ts';
import { startSignalbox } from '../test/support/signalbox.ts';
import { fixed, median, table } from './stats.ts';

/**
 * `npm run bench:holds`: measures how much of a budget is usable if the budget is never overspent. 128 parallel streams with answers of
 * three lengths draw on one budget of 25, 50 and 90 % of what they would cost without it.
 *
 * Money is held in four ways: (a) the budget is checked before a stream, and its tokens are counted after it; (b) the worst case is held;
 * (c) the hold grows with the answer; (d) like (b), but no request states `max_tokens`, so the worst case of each exceeds the budget. The
 * bill of the provider is compared with the budget.
 *
 * `--seeds N`; `--only d`; `--wait MS` for another `contention_wait_ms` than the default; `--retries N` for clients that retry after a 429,
 * as OpenAI's client does twice.
 */
const STREAMS = 128;
const LENGTHS = [100, 400, 1_200] as const;
const SHARES = [0.25, 0.5, 0.9] as const;
/** The output tokens that each stream allows. */
const CAP = 4_096;
/** The number of tokens that are written at once, and the interval: 200 tokens per second. */
const AT_ONCE = 10;
const EVERY_MS = 50;
const MARGIN = { tokens: 20, ms: 50 };
/** The maximum output of a model whose worst case exceeds each budget. */
const VAST = 128_000;

const flag = (name: string): string | undefined => process.argv[process.argv.indexOf(`--${name}`) + 1];
const SEEDS = process.argv.includes('--seeds') ? Number(flag('seeds')) : 3;
const WAYS = process.argv.includes('--only') ? [...flag('only')!] : ['a', 'b', 'c', 'd'];
const WAIT_MS = process.argv.includes('--wait') ? Number(flag('wait')) : 20_000;
const RETRIES = process.argv.includes('--retries') ? Number(flag('retries')) : 0;

interface Outcome {
  /** The amount billed above the budget, as a share of the budget; 0 for none. */
  readonly overshoot: number;
  /** The amount billed within the budget, as a share of the budget. */
  readonly usable: number;
  readonly refused: number;
  readonly cut: number;
  /** The seconds from the request to the first byte of each answer, in ascending order. */
  readonly waits: readonly number[];
}

/** Returns the lengths of the streams, a third of each length, in an order that depends on the seed. */
function lengthsBy(seed: number): number[] {
  let state = seed * 2_654_435_761 + 1;
  const next = () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) >>> 0;
    return state / 2 ** 32;
  };
  return Array.from({ length: STREAMS }, (_, at) => ({ length: LENGTHS[at % LENGTHS.length]!, rank: next() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ length }) => length);
}

/** Returns the cost in thousandths of a Credit: a token of the prompt costs 1 and a token of the output 4. */
const costOf = (output: number): number => PROMPT_TOKENS + 4 * output;
const billedBy = ({ bills }: MeteredService): number => bills.reduce((sum, { billed }) => sum + costOf(billed), 0);

interface StreamEnd {
  readonly status: number;
  readonly isCut: boolean;
  readonly waitedS: number;
}

async function stream(url: string, headers: Readonly<Record<string, string>>, cap?: number): Promise<StreamEnd> {
  const began = performance.now();
  const body = { model: 'm', stream: true, max_tokens: cap, messages: [{ role: 'user', content: 'Wherefore?' }] };
  const send = () =>
    fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  let response = await send();
  for (let tries = 0; tries < RETRIES && response.status === 429; tries++) {
    await response.arrayBuffer();
    await Bun.sleep(1_000 * Number(response.headers.get('retry-after') ?? 1));
    response = await send();
  }
  let waitedS = Number.NaN;
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    if (Number.isNaN(waitedS)) waitedS = (performance.now() - began) / 1_000;
    text += chunk;
  }
  return { status: response.status, isCut: text.includes('"finish_reason":"length"'), waitedS };
}

/** Way (a): no stream begins once the budget is spent, and each stream is counted at its end. */
async function checkThenCount(service: MeteredService, limit: number): Promise<StreamEnd[]> {
  let spent = 0;
  const one = async (): Promise<StreamEnd> => {
    if (spent >= limit) return { status: 402, isCut: false, waitedS: 0 };
    const before = service.bills.length;
    const end = await stream(service.url, {}, CAP);
    spent += costOf(service.bills[before]!.billed);
    return end;
  };
  return Promise.all(Array.from({ length: STREAMS }, one));
}

/** Ways (b), (c) and (d): the gateway holds the money. */
async function held(service: MeteredService, limit: number, afterAbort: string, cap?: number): Promise<StreamEnd[]> {
  const mean = Math.round(LENGTHS.reduce((sum, length) => sum + length, 0) / LENGTHS.length);
  const policy = testPolicy(
    { up: service.url },
    { m: { endpoints: ['up'] } },
    `budgets: [{ name: all, limit_credits: ${limit / 1_000}, window: total, on_exhausted: cap }]
ledger: { contention_wait_ms: ${WAIT_MS} }
`,
  )
    .replace('passthrough: [verbosity]', `passthrough: [verbosity], after_abort: ${afterAbort}`)
    .replace('default_max_output: 1024', `default_max_output: ${VAST}`)
    .replace('max_output: 8192', `max_output: ${VAST}`)
    .replace(/context_window: \d+/, `context_window: ${2 * VAST}`)
    .replace('expected_output_tokens: 400', `expected_output_tokens: ${mean}`)
    .replace('output_tokens_per_second: 100', `output_tokens_per_second: ${(AT_ONCE * 1_000) / EVERY_MS}`);
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV, isProcess: true });
  try {
    const headers = { authorization: `Bearer ${box.key}` };
    return await Promise.all(Array.from({ length: STREAMS }, () => stream(`${box.url}/v1`, headers, cap)));
  } finally {
    await box.stop();
  }
}

async function play(way: string, share: number, seed: number): Promise<Outcome> {
  const lengths = lengthsBy(seed);
  const limit = Math.floor(share * lengths.reduce((sum, length) => sum + costOf(length), 0));
  const service = startMeteredService('stops', (nth) => ({
    tokens: lengths[nth % STREAMS]!,
    atOnce: AT_ONCE,
    everyMs: EVERY_MS,
    reports: 'each',
    afterAbort: (nth * 7) % MARGIN.tokens,
  }));
  try {
    const stops = `{ bills: stops, reports: each, margin_tokens: ${MARGIN.tokens}, margin_ms: ${MARGIN.ms} }`;
    const ends =
      way === 'a'
        ? await checkThenCount(service, limit)
        : await held(service, limit, way === 'c' ? stops : '{ bills: unknown }', way === 'd' ? undefined : CAP);
    await Bun.sleep(200);
    const billed = billedBy(service);
    const served = ends.filter(({ status }) => status === 200);
    return {
      overshoot: Math.max(0, billed - limit) / limit,
      usable: Math.min(billed, limit) / limit,
      refused: ends.length - served.length,
      cut: served.filter(({ isCut }) => isCut).length,
      waits: served.map(({ waitedS }) => waitedS).sort((a, b) => a - b),
    };
  } finally {
    await service.stop();
  }
}

const NAMES: Readonly<Record<string, string>> = {
  a: 'check, then count',
  b: 'worst case',
  c: 'grows with the answer',
  d: 'no max_tokens',
};
const rows: string[][] = [];
for (const share of SHARES) {
  for (const way of WAYS) {
    const outcomes: Outcome[] = [];
    for (let seed = 1; seed <= SEEDS; seed++) outcomes.push(await play(way, share, seed));
    const worst = Math.max(...outcomes.map(({ overshoot }) => overshoot));
    const least = Math.min(...outcomes.map(({ usable }) => usable));
    const of = (figure: (outcome: Outcome) => number) => median(outcomes.map(figure));
    rows.push([
      `${share * 100} %`,
      NAMES[way]!,
      `${fixed(100 * worst, 2)} %`,
      `${fixed(100 * of(({ usable }) => usable), 1)} % (${fixed(100 * least, 1)})`,
      String(of(({ refused }) => refused)),
      String(of(({ cut }) => cut)),
      `${fixed(
        of(({ waits }) => waits[Math.floor(waits.length / 2)] ?? 0),
        1,
      )} s`,
      `${fixed(
        of(({ waits }) => waits.at(-1) ?? 0),
        1,
      )} s`,
    ]);
    console.error(rows.at(-1)!.join(' | '));
  }
}
console.log(
  table([
    ['budget', 'holds', 'overshoot, most', 'usable (least)', 'refused', 'cut', 'first byte, median', 'most'],
    ...rows,
  ]),
);
