import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { idAt, idText } from '../../src/core/id.ts';
import type { OutcomeRow } from '../../src/store/learning.ts';
import { openStore } from '../../src/store/open.ts';
import { TOY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** Tests the commands on scores while a server runs. */
const NOON = Date.UTC(2026, 10, 20, 12);
const MINUTE_MS = 60_000;

const outcome = (minute: number, more: Partial<OutcomeRow>): OutcomeRow => {
  const id = idAt(NOON + minute * MINUTE_MS);
  return {
    ...{ id, decision: id, keyId: 'k1', model: 'best', task: 'coding', score: 1, declared: 0.8, label: null },
    ...more,
  };
};

const OUTCOMES = [
  outcome(1, { score: 0.5, label: 'tests' }),
  outcome(2, { task: 'chat', score: 0.2 }),
  outcome(5, { model: 'plain', declared: 0.5, score: 0.75, keyId: 'k2' }),
];

let box: Signalbox;
const learn = async (...args: string[]) => {
  const { code, out, err } = await box.run('learn', ...args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
};

beforeAll(async () => {
  box = await startSignalbox({ policy: TOY });
  const store = await openStore(`${box.data}/signalbox.db`, { mode: 'beside', rooms: ['access', 'learning'] });
  await store.commit(OUTCOMES.map((row) => store.learning.outcomes.add(row)));
  await store.close();
});
afterAll(() => box.stop());

describe('learn status', () => {
  test('learn status without scores says how to score answers', async () => {
    const empty = await startSignalbox({ policy: TOY });
    const { out } = await empty.run('learn', 'status');
    expect(out).toContain('POST /v1/feedback');
    await empty.stop();
  });

  test('learn status shows the means of the scores, by model and task', async () => {
    const { models, outcomes } = JSON.parse(await learn('status', '--json'));
    expect(outcomes).toBe(3);
    expect(models).toEqual([
      { model: 'best', task: null, outcomes: 2, declared: 0.8, learnt: 0.35, difference_points: expect.closeTo(-45) },
      { model: 'best', task: 'chat', outcomes: 1, declared: 0.8, learnt: 0.2, difference_points: expect.closeTo(-60) },
      {
        model: 'best',
        task: 'coding',
        outcomes: 1,
        declared: 0.8,
        learnt: 0.5,
        difference_points: expect.closeTo(-30),
      },
      { model: 'plain', task: null, outcomes: 1, declared: 0.5, learnt: 0.75, difference_points: 25 },
      { model: 'plain', task: 'coding', outcomes: 1, declared: 0.5, learnt: 0.75, difference_points: 25 },
    ]);
    expect(await learn('status')).toMatch(/^best +coding +1 +0\.800 +0\.500 +-30\.0$/m);
  });
});

describe('learn export', () => {
  test('learn export writes a line for each score, in order', async () => {
    const lines = (await learn('export')).trimEnd().split('\n');
    const [first, ...rest] = lines.map((line) => JSON.parse(line));
    expect(first).toEqual({
      ...{ time: '2026-11-20T12:01:00.000Z', decision: idText('dec_', OUTCOMES[0]!.decision), key_id: 'k1' },
      ...{ model: 'best', task: 'coding', score: 0.5, label: 'tests', declared: 0.8 },
    });
    expect(rest.map(({ model }) => model)).toEqual(['best', 'plain']);
  });

  test.each([
    ['a model', ['--model', 'plain'], 1],
    ['a key', ['--key', 'k2'], 1],
    ['a period', ['--from', '2026-11-21'], 0],
  ])('learn export with %s writes only those scores', async (_, args, count) => {
    const out = await learn('export', ...args);
    expect(out.split('\n').length - 1).toBe(count);
  });

  test('learn export as CSV begins with the names of its columns', async () => {
    const [head, ...lines] = (await learn('export', '--format', 'csv')).trimEnd().split('\r\n');
    expect(head).toBe('time,decision,key_id,model,task,score,label,declared');
    expect(lines).toHaveLength(OUTCOMES.length);
  });
});

describe('a learn command that cannot run prints one sentence:', () => {
  test.each<[string, string[], RegExp]>([
    ['none of them', [], /The commands of learn are status, export or reset/],
    ['a command that does not exist', ['replay'], /The commands of learn are status, export or reset/],
    ['a format that does not exist', ['export', '--format', 'xml'], /--format must be jsonl or csv, not "xml"/],
    ['a model without scores', ['reset', '--model', 'nobody', '--yes'], /No answer of the model `nobody` was scored/],
    ['a reset without --yes', ['reset', '--model', 'best'], /the scores of best so far.*--yes\.$/m],
  ])('%s', async (_, args, message) => {
    const { code, err } = await box.run('learn', ...args);
    expect(code).toBe(1);
    expect(err).toMatch(message);
  });
});

test('learn reset excludes the scores of a model, then of all models, from the means; the export keeps them', async () => {
  const models = async () => {
    const shown = JSON.parse(await learn('status', '--json')) as { models: { model: string }[] };
    return [...new Set(shown.models.map(({ model }) => model))];
  };
  expect(await models()).toEqual(['best', 'plain']);
  await learn('reset', '--model', 'best', '--yes');
  expect(await models()).toEqual(['plain']);
  await learn('reset', '--yes');
  expect(await models()).toEqual([]);
  expect((await learn('export')).split('\n').length - 1).toBe(OUTCOMES.length);
});
