import { afterAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { shipped } from '../../plugins/index.ts';
import { runLearn } from '../../src/cli/learn/learn.ts';
import { NO_LEDGER } from '../../src/core/budget.ts';
import { UsageError } from '../../src/core/usage-error.ts';
import { runtimeOf } from '../../src/operate/policy/tools.ts';
import { judgeTools } from '../../src/server/policy.ts';
import { write } from '../../src/store/sql/statement.ts';
import { lockFolder } from '../../src/store/sqlite/folder-lock.ts';
import { exampleOf, lab, NOON, WEEK } from '../learning/support.ts';
import { facts } from '../routing/build.ts';
import { tempFolder } from '../store/support.ts';
import { testPolicy } from '../support/policies.ts';

/** The commands on a database that a learner has filled, in this process. */
const UPSTREAM = { fake: 'http://127.0.0.1:9' };
const MODELS = { best: { endpoints: ['fake'], quality: 0.9 }, plain: { endpoints: ['fake'], quality: 0.5 } };
const folder = tempFolder();
afterAll(() => folder[Symbol.dispose]());

const nowhere = { write: () => {}, isTerminal: false };
const host = {
  version: '',
  shipped,
  out: nowhere,
  err: nowhere,
  env: () => undefined,
  now: () => NOON,
  clock: () => 0,
};
const judge = { ...judgeTools(host), ledger: () => NO_LEDGER };
const withKey = { ...judge, env: { get: () => 'a-key-that-is-set' } };

/** `mode`: as the policy has it when it is read next. */
function writeMode(mode: string, more = ''): void {
  writeFileSync(join(folder.path, 'p.yaml'), testPolicy(UPSTREAM, MODELS, `learning: { mode: ${mode}${more} }\n`));
}

interface Lesson {
  readonly model: string;
  readonly score: number;
  readonly text?: string;
  readonly keyId?: string;
}

/** So many lessons, each made of its number. */
const lessons = (length: number, of: (i: number) => Lesson): Lesson[] => Array.from({ length }, (_, i) => of(i));
const alternating = (i: number): Lesson => ({ model: i % 2 ? 'plain' : 'best', score: i % 2 });

async function place(mode = 'shadow', more = '') {
  writeMode(mode, more);
  const one = await lab();
  const policy = await runtimeOf(folder.path, withKey);
  const run = async (...args: string[]) => {
    const written: string[] = [];
    const write = async (text: string) => void written.push(text);
    const command = {
      judge: { ...judge, now: one.now },
      folder: folder.path,
      database: one.file,
      terminal: false,
      write,
    };
    const text = await runLearn(args, command);
    return written.join('') + text;
  };
  const json = async (...args: string[]) => JSON.parse(await run(...args, '--json'));
  /** Scores answers, a second after each other, in as few commits as may be. */
  const teach = async (lessons: readonly Lesson[]) => {
    const given = lessons.map(({ model, score, text = 'Why is the sky blue?', keyId = 'k1' }) => {
      one.pass(1_000);
      const features = one.learner.memories.read(policy, text);
      const told = { model, keyId, features, facts: facts({ task: 'general' }) };
      one.learner.memories.noteRequest(policy, told.facts, features);
      return { score, example: exampleOf(one.nextId(), told) };
    });
    for (const { example } of given) one.learner.keepExample(policy, example);
    await one.store.flush();
    await Promise.all(
      given.map(({ score, example: { decision } }) => one.learner.score(policy, { decision, score, label: null })),
    );
  };
  return { ...one, policy, run, json, teach, [Symbol.asyncDispose]: () => one[Symbol.asyncDispose]() };
}

describe('learn status', () => {
  test('says what to do next where nothing was learnt, by the mode', async () => {
    await using off = await place('off');
    expect(await off.run('status')).toMatch(
      /^Learning is off: .*\nNothing was learned yet\.\n\nTo learn without affecting decisions, set `learning: /,
    );
    writeMode('on');
    expect(await off.run('status')).toMatch(
      /^Learning is on: .*\nNothing was learned yet\.\n\nScore answers with POST/,
    );
    expect(await off.json('status')).toMatchObject({
      mode: 'on',
      outcomes: [],
      models: [],
      keys: [],
      checkpoint: null,
    });
  });

  test('tells what is declared and learnt, in points, and who taught it', async () => {
    await using one = await place();
    await one.teach(lessons(30, (i) => ({ ...alternating(i), text: `Question ${i}`, keyId: i % 3 ? 'k1' : 'k2' })));
    await one.learner.checkpoint();
    await one.teach([{ model: 'best', score: 0 }]);
    const { models, keys, brier, ...body } = await one.json('status');
    expect(body).toEqual({
      mode: 'shadow',
      estimator: 'learned',
      outcomes: [{ source: 'caller', outcomes: 31, learnt: 31, withheld: 0 }],
      examples: 31,
      checkpoint: { through: new Date(NOON + 30_000).toISOString(), behind: 1 },
      faults: [],
    });
    expect(models).toEqual(
      one.learner.memories
        .known(one.policy)
        .map((known) => ({ ...known, difference_points: 100 * (known.learnt - known.declared) })),
    );
    expect(models).toMatchObject([
      { model: 'best', task: null, outcomes: 16, declared: 0.9 },
      { model: 'best', task: 'general', outcomes: 16 },
      { model: 'plain', task: null, outcomes: 15, declared: 0.5 },
      { model: 'plain', task: 'general', outcomes: 15 },
    ]);
    expect(brier).toEqual(one.learner.activity.brier);
    expect(keys.map(({ key_id, share }: { key_id: string; share: number }) => [key_id, share])).toEqual([
      ['k1', expect.closeTo(21 / 31, 9)],
      ['k2', expect.closeTo(10 / 31, 9)],
    ]);
    const text = await one.run('status');
    expect(text).toContain('31 outcomes kept: 31 scores by callers that count as 31.');
    expect(text).toContain('1 later outcome would be learned again at a start.');
    expect(text).toMatch(/^best +all +16 +0\.900 +0\.\d{3} +-\d+\.\d$/m);
    expect(text).toMatch(/^plain +general +15 +0\.500 +0\.\d{3} +\+\d+\.\d$/m);
    expect(text).toMatch(/^k1 +21\.0 +67\.7 % +0\.0 %$/m);
    expect(text).toEndWith('To see whether `on` would help, run: ./signalbox learn replay\n');
  });

  test('tells of scores that counted for nothing, and of the key whose they are', async () => {
    await using one = await place('on', ', influence_max: 0');
    await one.teach([{ model: 'best', score: 1, keyId: 'k2' }]);
    await one.teach(lessons(400, () => ({ model: 'best', score: 0 })));
    const { outcomes, keys } = await one.json('status');
    const { bound } = keys[0];
    expect(outcomes).toEqual([{ source: 'caller', outcomes: 401, learnt: 1 + bound, withheld: 400 - bound }]);
    expect(keys[0]).toMatchObject({ key_id: 'k1', learnt: bound, is_at_bound: true });
    const text = await one.run('status');
    expect(text).toContain(`${400 - bound} scores had no effect: the key had reached its share of influence.`);
    expect(text).toMatch(/^k1 .* at its bound$/m);
  });
});

describe('learn export', () => {
  test('writes outcomes in their order, filtered, and more than one page of them', async () => {
    await using one = await place();
    const lesson = (i: number) => ({ ...alternating(i), keyId: `k${i % 3}` });
    await one.teach(lessons(500, lesson));
    await one.teach(lessons(501, lesson));
    const lines = (await one.run('export'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(1_001);
    expect(new Set(lines.map(({ decision }) => decision)).size).toBe(1_001);
    expect(lines.map(({ time }) => time)).toEqual(lines.map(({ time }) => time).sort());
    expect(Object.keys(lines[0]).join()).toBe(
      'time,decision,key_id,model,task,score,weight,offered,source,label,declared,estimated,probability,among,estimator',
    );
    const { time } = lines[500];
    const rest = (await one.run('export', '--from', time, '--key', 'k2', '--model', 'best')).trimEnd().split('\n');
    const wanted = lines.slice(500).filter(({ key_id, model }) => key_id === 'k2' && model === 'best');
    expect(rest.map((line) => JSON.parse(line))).toEqual(wanted);
    const csv = await one.run('export', '--format', 'csv', '--to', time);
    expect(csv.split('\r\n')).toHaveLength(500 + 2);
    expect(await one.run('export', '--source', 'retry')).toBe('');
  });
});

describe('learn replay', () => {
  test('judges each score before it is learnt, and changes nothing', async () => {
    await using one = await place();
    await one.teach(lessons(60, (i) => ({ ...alternating(i), text: `Question ${i}` })));
    await one.learner.checkpoint();
    const before = await one.json('status');
    const { brier, models, reliability, better_by, ...body } = await one.json('replay');
    const since = new Date(NOON + 60_000).toISOString();
    expect(body).toEqual({
      ...{ mode: 'shadow', estimator: 'learned', outcomes: 60, since, without_words: 0, scores: 60 },
      ...{ faults: [], written: false },
    });
    // Of declared qualities that are .9 of what is always bad and .5 of what is always good.
    expect(brier.declared).toBeCloseTo((0.81 + 0.25) / 2, 9);
    expect(brier.estimated).toBeLessThan(brier.declared);
    expect(better_by.mean).toBeCloseTo(brier.declared - brier.estimated, 9);
    expect(models).toMatchObject([
      { model: 'best', scores: 30, mean_score: 0, mean_declared: expect.closeTo(0.9, 9) },
      { model: 'plain', scores: 30, mean_score: 1, mean_declared: 0.5 },
    ]);
    const sumOf = (figure: string) =>
      reliability.reduce((sum: number, bin: Record<string, { scores: number }>) => sum + bin[figure]!.scores, 0);
    expect([sumOf('declared'), sumOf('estimated')]).toEqual([60, 60]);
    const text = await one.run('replay');
    expect(text).toMatch(/Learning would have helped, by 0\.\d{4} ± 0\.\d{4}\. The policy has `mode: shadow`\./);
    expect(text).toMatch(/^0\.8–1\.0 +30 +0\.900 +0\.000 /m);
    expect(await one.json('status')).toEqual(before);
  });

  test('with --write replaces the memory while no server runs; a reset stays in force', async () => {
    await using one = await place('on');
    await one.teach(lessons(20, alternating));
    const lock = lockFolder(dirname(one.file));
    await expect(one.run('replay', '--write')).rejects.toThrow(/is using .* works only while no server runs\.$/);
    lock.release();
    one.pass(1);
    await one.run('reset', '--model', 'best', '--yes');
    await one.learner.close();
    one.pass(WEEK + 3_600_000);
    await one.learner.prune(2 * WEEK);
    const written = await one.run('replay', '--write');
    expect(written).toStartWith(
      'Learned again from 10 outcomes since 2026-06-01 12:00 UTC with the estimator learned. 10 outcomes had no words',
    );
    expect(written).toContain('The server uses it from its next start.');
    const { models } = await one.json('status');
    expect(models).toMatchObject([
      { model: 'plain', task: null, outcomes: 10 },
      { model: 'plain', task: 'general' },
    ]);
    const { learner, store } = await one.open();
    expect(learner.memories.known(one.policy)).toMatchObject([{ model: 'plain', outcomes: 10 }, { outcomes: 10 }]);
    await store.close();
  });

  test('with --write comes to what was learnt, where all of it is kept', async () => {
    await using one = await place('on');
    const asked = facts({ task: 'general' });
    for (let i = 0; i < 12; i++) {
      const lesson = { ...alternating(i), text: `Question ${i} ${'of many words '.repeat(i)}` };
      await one.teach([lesson]);
    }
    const text = 'Question of many words';
    const features = one.learner.memories.read(one.policy, text);
    const before = [one.learner.memories.estimate(one.policy, asked, features), one.learner.memories.known(one.policy)];
    await one.learner.close();
    await one.run('replay', '--write');
    const { learner, store } = await one.open();
    expect([learner.memories.estimate(one.policy, asked, features), learner.memories.known(one.policy)]).toEqual(
      before,
    );
    await store.close();
  });

  test('has nothing to judge without scores', async () => {
    await using one = await place();
    expect(await one.run('replay')).toMatch(/^Learned again from 0 outcomes .*\nNo caller has scored an answer/);
    expect(await one.json('replay')).toMatchObject({ scores: 0, brier: null, better_by: null, models: [] });
  });
});

describe('learn reset', () => {
  test('asks to be meant, and then has a model forgotten, or all', async () => {
    await using one = await place();
    await one.teach(lessons(8, alternating));
    const known = async () => (await one.json('status')).models.map(({ model }: { model: string }) => model);
    await expect(one.run('reset', '--model', 'best')).rejects.toThrow(
      /deletes everything that was learned about best.*--yes\.$/,
    );
    expect(await known()).toEqual(['best', 'best', 'plain', 'plain']);
    one.pass(1);
    expect(await one.run('reset', '--model', 'best', '--yes')).toStartWith(
      'Deleted everything that was learned about best.',
    );
    expect(await known()).toEqual(['plain', 'plain']);
    await one.learner.refresh();
    expect(new Set(one.learner.memories.known(one.policy).map(({ model }) => model))).toEqual(new Set(['plain']));
    expect(await one.run('reset', '--yes')).toStartWith('Deleted everything that was learned.');
    expect(await known()).toEqual([]);
  });
});

describe('a command that cannot be is refused in one sentence:', () => {
  const cases: readonly (readonly [what: string, args: readonly string[], message: RegExp])[] = [
    ['none of them', [], /learn takes status, replay, export or reset/],
    ['one that is none', ['toString'], /learn takes status, replay, export or reset/],
    ['a format that is none', ['export', '--format', 'xml'], /--format is jsonl or csv, not "xml"/],
    ['a source that is none', ['export', '--source', 'me'], /--source is caller, checks or retry, not "me"/],
    ['a period that ends before it begins', ['export', '--from', '2026-02', '--to', '2026-01'], /must be later than/],
    ['a model that is none', ['reset', '--model', 'nobody', '--yes'], /There is no model `nobody`/],
    ['a flag that is none', ['status', '--jsno'], /Unknown option '--jsno'/],
  ];
  for (const [what, args, message] of cases) {
    test(what, async () => {
      await using one = await place();
      const refused = await one.run(...args).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(UsageError);
      expect(String(refused)).toMatch(message);
      expect(String(refused)).toMatch(/^UsageError: [^\n]+\.$/);
    });
  }

  test('a database that no server of this version was started on', async () => {
    await using one = await place();
    await one.store.commit([write({ sql: 'DROP TABLE learning_secret' })]);
    await expect(one.run('status')).rejects.toThrow(
      /has no learning data of this version yet. Start the server once to create it\.$/,
    );
  });

  test('a policy that is none', async () => {
    await using one = await place();
    writeFileSync(join(folder.path, 'p.yaml'), 'version: 1\n');
    await expect(one.run('status')).rejects.toThrow(/Run \.\/signalbox policy check to see why\.$/);
    expect(await one.run('export')).toBe('');
  });
});
