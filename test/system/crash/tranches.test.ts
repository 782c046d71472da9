import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { effort, isDeep } from '../../deep/effort.ts';
import { closedBooks, entriesOf } from '../../gateway/money/books.ts';
import { startMeteredService } from '../../support/metered-service.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { makeTestKey, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';

const { runs, random, proved } = effort('tranches', 2, 200);
const STREAMS = 6;
const LIMIT = 6;
/** The operations on the hold of a request whose attempts have not failed. */
const HELD: ReadonlySet<string> = new Set(['reserve', 'raise']);

/** Reads a stream as far as it comes. Returns the stream's charge in Credits; null if the server reported none. */
async function told(asked: Promise<Response>): Promise<number | null> {
  let text = '';
  try {
    for await (const piece of (await asked).body!.pipeThrough(new TextDecoderStream())) text += piece;
  } catch {
    // The test killed the server.
  }
  const [, credits] = /"credits_consumed":([\d.]+)/.exec(text) ?? [];
  return credits === undefined ? null : Number(credits);
}

test(
  'kill -9 while holds grow: the audit is clean, no reported charge is lost, no budget is exceeded, and each open hold is charged up to its size',
  async () => {
    let grown = 0;
    for (let run = 0; run < runs; run++) {
      const data = temporaryFolder();
      const lengths = Array.from({ length: STREAMS }, () => 40 + Math.floor(random() * 500));
      const service = startMeteredService('stops', (nth) => ({
        tokens: lengths[nth % STREAMS]!,
        atOnce: 4,
        reports: random() < 0.5 ? 'each' : 'last',
      }));
      const policy = testPolicy(
        { up: service.url },
        { m: { endpoints: ['up'] } },
        `budgets: [{ name: purse, limit_credits: ${LIMIT}, window: total }]\nledger: { contention_wait_ms: 500 }\n`,
      )
        .replace(
          'passthrough: [verbosity]',
          'after_abort: { bills: stops, reports: each, margin_tokens: 16, margin_ms: 20 }',
        )
        .replace('expected_output_tokens: 400', 'expected_output_tokens: 60');
      const options = { policy, data, env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: makeTestKey() } };
      const box = await startSignalbox({ ...options, isProcess: true });
      try {
        const body = { model: 'm', messages: [{ role: 'user', content: 'Hi.' }], max_tokens: 700, stream: true };
        const asked = Array.from({ length: STREAMS }, () => told(box.post('/v1/chat/completions', body)));
        await Bun.sleep(50 + random() * 1_500);
        box.signal('SIGKILL');
        await box.exited;
        const charges = (await Promise.all(asked.map((one) => one.catch(() => null)))).filter((one) => one !== null);
        const next = await startSignalbox(options);
        const { code, out } = await next.run('ledger', 'audit', '--idle');
        expect([code, out]).toEqual([0, expect.anything()]);
        await next.stop();
        const { faults, funds } = await closedBooks(data);
        expect(faults).toEqual([]);
        expect(funds.every(({ peak }) => peak <= LIMIT * 1_000_000)).toBe(true);
        const entries = entriesOf(data);
        const settled = entries.filter(({ kind }) => kind === 'settle').map(({ amount }) => amount / 1_000_000);
        for (const charge of charges) {
          const at = settled.indexOf(charge);
          expect(at).toBeGreaterThanOrEqual(0);
          settled.splice(at, 1);
        }
        for (const { reservation, amount } of entries.filter(({ kind }) => kind === 'expire')) {
          const held = entries.filter((one) => one.reservation === reservation && HELD.has(one.kind));
          expect(amount).toBe(held.reduce((sum, one) => sum + one.amount, 0));
          if (held.length > 1) grown++;
        }
      } finally {
        await service.stop();
        rmSync(data, { recursive: true, force: true });
      }
    }
    // With few kills, all may come before a hold grows.
    if (isDeep) expect(grown).toBeGreaterThan(0);
    proved('kill -9 while holds grow with their answers: audit clean, no reported charge lost, spent + held ≤ limit');
  },
  runs * 30_000,
);
