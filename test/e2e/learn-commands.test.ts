import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { answerOf, waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, temporaryFolder, writePolicy } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** What was learnt, by the commands, beside a server and without one. One database, through all of its life. */
const PATIENCE = 20_000;
const SCORES = 8;
/** The status without the figures that move with the clock. */
const settled = ({ keys: _, checkpoint: __, ...status }: Record<string, unknown>) => status;

const upstream = useUpstream();
let box: Signalbox;
let policies: string;
let data: string;

const start = (key?: string) =>
  startSignalbox({
    data,
    args: ['--policies', policies],
    env: { ...UPSTREAM_ENV, ...(key && { SIGNALBOX_API_KEY: key }) },
  });
/** As in a shell without a provider's key. */
const learn = (...args: string[]) => runHere(['learn', ...args, '--data', data, '--policies', policies]);
const learnt = async (...args: string[]) => {
  const { code, out, err } = await learn(...args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
};
const idsOf = (models: readonly { readonly model: string }[]) => [...new Set(models.map(({ model }) => model))].sort();
const chat = async (model: string, i: number) => {
  const messages = [{ role: 'user', content: `Add ${i} and ${i * 7} please.` }];
  return (await answerOf(await box.post('/v1/chat/completions', { model, messages }))).platform.decision_id as string;
};
const qualityOf = async (model: string) => {
  const { quality } = (await (await box.get(`/v1/decisions/${await chat(model, 1)}`)).json()) as {
    quality: Record<string, number>;
  };
  return quality[model]!;
};

beforeAll(async () => {
  const models = { best: { endpoints: ['fake'], quality: 0.9 }, plain: { endpoints: ['fake'], quality: 0.5 } };
  const more = 'learning: { mode: on }\n';
  policies = writePolicy(testPolicy({ fake: upstream.url }, models, more));
  data = temporaryFolder();
  box = await start();
});
afterAll(async () => {
  await box?.stop();
  for (const folder of [policies, data]) rmSync(folder, { recursive: true, force: true });
});

test(
  'what a server has learnt is told, exported, forgotten beside it, and learnt anew without it',
  async () => {
    const decisions: string[] = [];
    for (let i = 0; i < SCORES; i++) {
      const decision_id = await chat(i % 2 ? 'plain' : 'best', i);
      decisions.push(decision_id);
      const given = await box.post('/v1/feedback', { decision_id, score: i % 2, label: 'tests' });
      expect(given.status).toBe(200);
    }
    const [told, exported, refused] = await Promise.all([
      learnt('status', '--json'),
      learnt('export'),
      learn('replay', '--write'),
    ]);
    const { outcomes, models } = JSON.parse(told);
    expect(outcomes).toEqual([{ source: 'caller', outcomes: SCORES, learnt: SCORES, withheld: 0 }]);
    expect(idsOf(models)).toEqual(['best', 'plain']);
    // The server answers from its own memories, the command from those that are stored.
    const served = (await (await box.get('/admin/learning')).json()) as Record<string, unknown>;
    expect(settled(served)).toEqual(settled(JSON.parse(told)));
    const lines = exported
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ decision }) => decision)).toEqual(decisions);
    expect(lines[1]).toMatchObject({ model: 'plain', score: 1, source: 'caller', label: 'tests', declared: 0.5 });
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(
      /^signalbox: Another Signalbox server is using .* works only while no server runs\.\n$/,
    );

    const before = await qualityOf('best');
    expect(before).toBeLessThan(0.9);
    expect(await learnt('reset', '--model', 'best', '--yes')).toStartWith(
      'Deleted everything that was learned about best.',
    );
    await waitFor(async () => (await qualityOf('best')) > before);
    const plain = await qualityOf('plain');
    expect(plain).toBeGreaterThan(0.5);
    const page = await (await box.get('/metrics')).text();
    expect(page).toContain(`signalbox_outcomes_total{source="caller"} ${SCORES}\n`);
    expect(page).toMatch(/signalbox_quality_brier\{figure="estimated"\} 0\.\d+\n/);

    box.signal('SIGTERM');
    await box.exited;
    const written = JSON.parse(await learnt('replay', '--write', '--json'));
    // What was reset stays forgotten.
    expect(written).toMatchObject({ outcomes: SCORES / 2, scores: SCORES / 2, written: true, faults: [] });
    box = await start(box.key);
    expect(await qualityOf('plain')).toBeGreaterThan(0.5);
  },
  PATIENCE,
);
