import { expect, test } from 'bun:test';
import { parseId } from '../../src/core/id.ts';
import { closedBooks, type Entry } from '../gateway/money/books.ts';
import { type Behaviour, type RecordedRequest, startFakeUpstream } from '../support/fake-upstream.ts';
import { startLivePolicy } from '../support/live-policy.ts';
import { testPolicy, UPSTREAM_KEY } from '../support/policies.ts';
import { descriptors, openFiles, residentMiB, slopeOf } from '../support/process.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- faults-soak`: an hour of JSON and streams with upstreams that fail in many ways, callers that disconnect, and
 * reloads. Memory and descriptors must not grow, and the ledger must agree with the upstreams.
 */
const { runs: seconds, random, proved } = effort('faults-soak', 20, 1_800);
const DIALECTS = ['openai', 'anthropic', 'gemini'] as const;
const ADAPTERS = { openai: 'openai-compatible', anthropic: 'anthropic', gemini: 'gemini' } as const;
const CALLERS = 16;
const LEAVING = 0.01;
/** The longest pause of a caller between two requests, ms. The test is about duration, not load. */
const PAUSE_MS = 100;
const RELOAD_EVERY_MS = 10_000;
/** The allowed growth after warming up, MiB a minute: far below one leaked request in a thousand. */
const SLOPE_MAX = 2;

/** The usage that an upstream counts for a request, derived from the number in its prompt. */
const usageOf = (n: number) => ({ prompt_tokens: 10 + (n % 97), completion_tokens: 3 + (n % 17) });
const numberIn = ({ text }: RecordedRequest): number => Number(/request (\d+)/.exec(text)?.[1] ?? -1);

const FAULTS: readonly Behaviour[] = [
  { status: 500 },
  { status: 503 },
  { status: 429, headers: { 'retry-after-ms': '20' } },
  { status: 404 },
  { raw: ['not json at all'] },
  { raw: [] },
  { cutAfter: 2 },
  { endAfter: 2 },
  { usage: 'missing' },
  { hang: 'headers' },
  { hang: 2 },
];

/** For each request, whether the last upstream that received it reported its usage. */
const toldUsage = new Map<number, boolean>();

function behaviourOf(request: RecordedRequest): Behaviour {
  const n = numberIn(request);
  const { prompt_tokens, completion_tokens } = usageOf(n);
  const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
  const fine: Behaviour = { text: ['one ', 'two ', 'three ', 'four'], usage };
  const behaviour = random() < 0.8 ? fine : { ...fine, ...FAULTS[Math.floor(random() * FAULTS.length)]! };
  toldUsage.set(n, behaviour.usage !== 'missing');
  return behaviour;
}

test(
  `${seconds} s of faults`,
  async () => {
    const upstreams = DIALECTS.map((dialect) => ({
      dialect,
      server: startFakeUpstream({ dialect, key: UPSTREAM_KEY, behaviour: behaviourOf }),
    }));
    const providers = upstreams.map(({ dialect, server: { url } }) => [dialect, { url, adapter: ADAPTERS[dialect] }]);
    const more = '    deadlines: { first_token_ms: 300, idle_ms: 300, total_ms: 2000 }\n';
    // A model of each dialect; its second endpoint uses the next model's dialect.
    const models = DIALECTS.map((dialect, at) => {
      const endpoints = [dialect, DIALECTS[(at + 1) % DIALECTS.length]!];
      return [dialect, { endpoints, quality: 0.9 - at / 10, more }];
    });
    const text = (wait: number) =>
      testPolicy(
        Object.fromEntries(providers),
        Object.fromEntries(models),
        `gateway: { retries_max: 2 }\nledger: { contention_wait_ms: ${wait} }\n`,
      );
    const live = await startLivePolicy({ 'policy.yaml': text(1) }, { isProcess: true });
    const { box } = live;
    /** The number of the request for each decision that answered it. */
    const decisions = new Map<number, number>();
    const outcomes = new Map<string, number>();
    /** The numbers of the requests that were answered completely. */
    const whole: number[] = [];
    const until = performance.now() + seconds * 1_000;
    let asked = 0;
    const note = (what: string) => void outcomes.set(what, (outcomes.get(what) ?? 0) + 1);
    const ask = async () => {
      const n = ++asked;
      const leaving = new AbortController();
      if (random() < LEAVING) setTimeout(() => leaving.abort(), random() * 20);
      const messages = [{ role: 'user', content: `This is request ${n}.` }];
      const model = ['auto', ...DIALECTS][Math.floor(random() * 4)];
      const body = { model, messages, max_tokens: 100, stream: random() < 0.5 };
      try {
        const response = await box.post('/v1/chat/completions', body, { signal: leaving.signal });
        const decision = response.headers.get('x-signalbox-decision-id');
        if (decision) decisions.set(parseId('dec_', decision)!, n);
        const answer = await response.text();
        const cut = response.status === 200 && answer.includes('"error"');
        if (response.status === 200 && !cut) whole.push(n);
        note(cut ? 'cut' : String(response.status));
      } catch {
        note('left');
      }
    };
    const caller = async () => {
      while (performance.now() < until) {
        await ask();
        await Bun.sleep(random() * PAUSE_MS);
      }
    };
    const memory: [number, number][] = [];
    const watch = setInterval(() => memory.push([performance.now() / 60_000, residentMiB(box.pid)]), 1_000);
    let reloads = 0;
    const reload = setInterval(() => {
      live.replace('policy.yaml', text(1 + (++reloads % 2)));
      // The requests that the upstreams record are memory of this process, not of the server. In an hour, the recorded requests would use
      // much memory.
      for (const { server } of upstreams) server.requests.length = 0;
    }, RELOAD_EVERY_MS);
    let opened: [readonly string[], number] = [[], 0];
    const warm = setTimeout(async () => {
      // After the first audit, SQLite keeps a file open for the next one.
      await box.run('ledger', 'audit');
      opened = [openFiles(box.pid), descriptors(box.pid).length];
    }, seconds * 300);
    try {
      await Promise.all(Array.from({ length: CALLERS }, caller));
      clearInterval(watch);
      clearInterval(reload);
      clearTimeout(warm);
      const { entries, faults } = await closedBooks(box.data);
      expect(faults).toEqual([]);
      const { total, credits } = expectUpstreamsCount(entries, decisions);
      expectAllBooked(entries, decisions, whole);
      const audit = await box.run('ledger', 'audit');
      expect([audit.code, audit.err]).toEqual([0, '']);
      expect(named(openFiles(box.pid))).toEqual(named(opened[0]));
      // Connections come and go, but leaked descriptors would grow without end.
      expect(descriptors(box.pid).length).toBeLessThanOrEqual(opened[1] + 3 * CALLERS);
      const settled = memory.slice(Math.floor(memory.length / 3));
      const slope = slopeOf(settled);
      if (seconds >= 300) expect(slope).toBeLessThan(SLOPE_MAX);
      const told = [...outcomes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([what, n]) => `${n} ${what}`);
      const line = `${seconds} s of mixed faults in ${DIALECTS.length} dialects, ${asked} requests (${told.join(', ')}), ${reloads} reloads: ${total} reported usages booked exactly, ${credits.toFixed(3)} Credits, and each of ${whole.length} whole answers settled once; the audit is clean; memory ${slope.toFixed(2)} MiB a minute, named files ${named(opened[0]).length} → ${named(openFiles(box.pid)).length}`;
      console.log(line);
      proved(line);
    } finally {
      clearInterval(watch);
      clearInterval(reload);
      await live.stop();
      await Promise.all(upstreams.map(({ server }) => server.stop()));
    }
  },
  2 * 3_600_000,
);

/** Counts only files with a name, because the thread that parses policies opens and closes a few without. */
const named = (files: readonly string[]): string[] => files.filter((file) => !file.startsWith('anon_inode:'));

/** Checks that each booking of reported usage equals the count of an upstream for this request, at its price. */
function expectUpstreamsCount(entries: readonly Entry[], decisions: ReadonlyMap<number, number>) {
  let total = 0;
  let credits = 0;
  for (const { reservation, kind, estimated, input_tokens, output_tokens, amount } of entries) {
    const n = reservation === null ? undefined : decisions.get(reservation);
    if (n === undefined || estimated !== 0 || (kind !== 'settle' && kind !== 'post')) continue;
    const { prompt_tokens, completion_tokens } = usageOf(n);
    // A failed attempt has reported the output up to its failure.
    const output = kind === 'post' ? Math.min(output_tokens!, completion_tokens) : completion_tokens;
    expect([n, input_tokens, output_tokens]).toEqual([n, prompt_tokens, output]);
    expect(amount).toBe(prompt_tokens * 1_000 + output * 4_000);
    total++;
    credits += amount / 1_000_000;
  }
  expect(total).toBeGreaterThan(0);
  return { total, credits };
}

/** Checks that every complete answer is settled once, with the usage that the upstream reported, if it reported any. */
function expectAllBooked(entries: readonly Entry[], decisions: ReadonlyMap<number, number>, whole: readonly number[]) {
  const settled = new Map<number, number | null>();
  const twice: number[] = [];
  for (const { kind, reservation, estimated } of entries) {
    const n = kind === 'settle' && reservation !== null ? decisions.get(reservation) : undefined;
    if (n === undefined) continue;
    if (settled.has(n)) twice.push(n);
    settled.set(n, estimated);
  }
  expect(twice).toEqual([]);
  expect(whole.filter((n) => !settled.has(n))).toEqual([]);
  expect(whole.filter((n) => toldUsage.get(n) && settled.get(n) !== 0)).toEqual([]);
}
