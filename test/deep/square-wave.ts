import { expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { startSignalbox } from '../support/signalbox.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- square-wave`: a provider that is up for ten seconds and down for ten, and another one that is always up, under
 * steady traffic through the real server. test/providers/health has the same test with a simulated clock.
 */
const PHASE_MS = 10_000;
const EVERY_MS = 50;
/** The longest wait for the first probe of an up phase, ms: an outage of ten seconds causes ejections of up to 8 s, plus a fifth. */
const PROBE_MS = 8_000 * 1.2;

const { runs: cycles, proved } = effort('square-wave', 1, 6);

interface Seen {
  readonly at: number;
  readonly status: number;
  readonly model: string;
  readonly failures: number;
}

test('if a provider comes and goes, callers notice nothing, and it is used again after one probe', async () => {
  const [wave, well] = [startFakeUpstream({ key: UPSTREAM_KEY }), startFakeUpstream({ key: UPSTREAM_KEY })];
  const policy = testPolicy(
    { wave: wave.url, well: well.url },
    { best: { endpoints: ['wave'], quality: 0.9 }, plain: { endpoints: ['well'], quality: 0.5 } },
    'gateway: { retries_max: 2 }\n',
  );
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  const seen: Seen[] = [];
  const pending: Promise<void>[] = [];
  const ask = async () => {
    const at = performance.now();
    const messages = [{ role: 'user', content: 'Say hello.' }];
    const response = await box.post('/v1/chat/completions', { model: 'auto', messages, max_tokens: 20 });
    const { platform } = await answerOf(response);
    const failures = (platform?.attempts ?? []).filter(({ failure }) => failure !== null).length;
    seen.push({ at, status: response.status, model: platform?.routed_model ?? '', failures });
  };
  const phase = async (): Promise<readonly Seen[]> => {
    const from = performance.now();
    while (performance.now() - from < PHASE_MS) {
      pending.push(ask());
      await Bun.sleep(EVERY_MS);
    }
    await Promise.all(pending.splice(0));
    return seen.filter(({ at }) => at >= from);
  };
  const told: string[] = [];
  try {
    await phase();
    for (let cycle = 0; cycle < cycles; cycle++) {
      wave.behave({ status: 500 });
      const before = wave.requests.length;
      await phase();
      const down = wave.requests.length - before;
      // Five faults open the breaker, each with at most one retry and some requests in progress; after that, each ejection has one probe.
      expect(down).toBeLessThanOrEqual(40);
      wave.behave({});
      const since = performance.now();
      const up = await phase();
      const back = up.findIndex(({ model }) => model === 'best');
      expect(back).toBeGreaterThanOrEqual(0);
      const backAfter = up[back]!.at - since;
      expect(backAfter).toBeLessThanOrEqual(PROBE_MS + 4 * EVERY_MS);
      // After the provider has returned, all later requests go to this provider and none fails; some requests were already in progress
      // before.
      const settled = up.slice(back).filter(({ at }) => at > up[back]!.at + 500);
      expect(new Set(settled.map(({ model, failures }) => `${model} ${failures}`))).toEqual(new Set(['best 0']));
      told.push(`${down} requests while it was down, back after ${(backAfter / 1000).toFixed(1)} s`);
    }
    expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([200]));
  } finally {
    await box.stop();
    await Promise.all([wave.stop(), well.stop()]);
  }
  const line = `a provider down for 10 s of every 20, ${seen.length} requests, all answered; ${told.join('; ')}`;
  console.log(line);
  proved(line);
}, 3_600_000);
