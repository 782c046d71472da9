import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { AttemptRecord } from '../../../src/core/decision/attempt.ts';
import type { DecisionOutcome } from '../../../src/core/decision/outcome.ts';
import type { DecisionRecord } from '../../../src/core/decision/record.ts';
import { type Sentence, textsOf } from '../../../src/core/decision/sentence.ts';
import { withoutReplay } from '../../../src/gateway/request/certificate.ts';
import { recordStory } from '../../../src/gateway/request/record-story.ts';
import { tries } from '../../deep/effort.ts';
import { facts } from '../../routing/build.ts';

/** Tests the sentences about a recorded request whose decision cannot be repeated. */
const effort = tries('the first sentence about a request names the model that answered', 300, 20_000);

const attempt = (model: string, failure: AttemptRecord['failure']): AttemptRecord => ({
  model,
  provider: 'p',
  upstream: model,
  startMs: 0,
  ms: 20,
  firstPartMs: failure === null ? 10 : null,
  failure,
  endpoint: 0,
  requestId: null,
  finishReasons: [],
});

const outcome = (of: Partial<DecisionOutcome> = {}): DecisionOutcome => ({
  status: 'completed',
  error: null,
  attempts: [],
  usage: null,
  estimated: false,
  charged: 0,
  saved: 0,
  firstPartMs: null,
  totalMs: 30,
  cappedBy: null,
  usageReplaced: false,
  ...of,
});

const record = (of: Partial<DecisionRecord> = {}): DecisionRecord => ({
  id: 1,
  time: 0,
  request: null,
  keyId: 'k',
  kind: 'chat',
  revision: 'r',
  seed: '0',
  facts: facts(),
  stream: false,
  labels: {},
  metadata: {},
  team: null,
  user: null,
  session: null,
  agent: null,
  parentAgent: null,
  sentBy: null,
  expectedLength: null,
  readingsNumber: 0,
  reason: 'auto:usual',
  choice: 'a',
  fallbacks: [],
  lastResorts: [],
  outcome: outcome(),
  ...of,
});

type Tell = (record: DecisionRecord) => readonly Sentence[];
const tell: Tell = (of) => recordStory(withoutReplay(of, 'Its policy is no longer stored.'));
const textsAbout = (of: DecisionRecord, ...subjects: readonly Sentence['about'][]): string[] =>
  textsOf(tell(of).filter(({ about }) => subjects.includes(about)));

const records: fc.Arbitrary<DecisionRecord> = fc
  .record({
    models: fc.uniqueArray(fc.stringMatching(/^m[a-z0-9-]{1,6}$/), { minLength: 1, maxLength: 4 }),
    failures: fc.nat({ max: 3 }),
    status: fc.constantFrom<DecisionOutcome['status']>('completed', 'failed', 'broken', 'abandoned'),
    isNamed: fc.boolean(),
    isLeftOut: fc.boolean(),
  })
  .map(({ models, failures, status, isNamed, isLeftOut }) => {
    const tried = models.slice(0, status === 'failed' ? failures : failures + 1);
    const attempts = tried.map((model, at) =>
      attempt(model, at < tried.length - 1 || status === 'failed' ? 'rate_limited' : null),
    );
    const insteadOf = { model: 'named', reason: 'capability', text: 'it lacks vision' } as const;
    return record({
      choice: models[0]!,
      facts: facts(isNamed ? { model: 'named', named: ['named'] } : {}),
      outcome: outcome({
        status,
        attempts,
        error: status === 'failed' ? 'upstream_failed' : null,
        ...(isNamed && isLeftOut && { insteadOf }),
      }),
    });
  });

const check = (tellRecord: Tell) =>
  fc.check(
    fc.property(records, (of) => {
      const [first, ...others] = tellRecord(of);
      const { attempts, status, insteadOf } = of.outcome!;
      const [answer, ...reasons] = textsOf([first!, ...others]);
      if (status === 'failed') expect(answer).toStartWith('No model answered');
      else expect(first!.parts).toContainEqual({ kind: 'model', text: attempts.at(-1)?.model ?? of.choice });
      for (const text of [answer, ...reasons]) expect(text).toMatch(/^(?!.*\b(?:NaN|undefined|null|Infinity)\b).*\.$/);
      if (insteadOf) {
        expect(reasons.join(' ')).toContain('is a fallback of named, which was left out (it lacks vision)');
        expect(reasons.join(' ')).not.toContain('was requested by name');
      }
    }),
    effort,
  );

describe('the sentences about a recorded request', () => {
  test('begin with the model that answered, and name the model that was left out', () => {
    const { failed, counterexample } = check(tell);
    expect(failed, `seed ${effort.seed}: ${JSON.stringify(counterexample)}`).toBe(false);
  });

  test('are found to be wrong by this law if they omit the failover or the fallback', () => {
    const forgetsTurn: Tell = (of) => tell({ ...of, outcome: of.outcome && { ...of.outcome, attempts: [] } });
    const forgetsFallback: Tell = (of) => tell(of).filter(({ about }) => about !== 'choice');
    for (const mutant of [forgetsTurn, forgetsFallback]) expect(check(mutant).failed).toBe(true);
  });

  test('say which model failed before another one answered', () => {
    const attempts = [attempt('a', 'rate_limited'), attempt('b', null)];
    expect(textsAbout(record({ outcome: outcome({ attempts }) }), 'outcome')).toEqual([
      'It went to b after a, the first choice, failed (rate limited at p).',
    ]);
  });

  test('name equal failures once, with their providers', () => {
    const at = (provider: string, failure: AttemptRecord['failure']) => ({ ...attempt('a', failure), provider });
    const attempts = [at('p', 'timeout'), at('q', 'rate_limited'), at('p', 'timeout'), at('r', 'timeout')];
    const [first] = textsAbout(record({ outcome: outcome({ status: 'failed', attempts }) }), 'outcome');
    expect(first).toBe('No model answered: all 4 attempts failed (timeout at p (2 times) and r, rate limited at q).');
  });

  test('name the decision whose answer the cache repeated, and no reason of a choice', () => {
    const of = record({ outcome: outcome({ repeats: 1 }) });
    expect(tell(of)[0]!.parts).toContainEqual({ kind: 'decision', text: expect.stringMatching(/^dec_/) });
    expect(textsAbout(of, 'choice')).toEqual([]);
  });

  test('do not say that a recommendation was sent to its model', () => {
    expect(textsAbout(record({ outcome: null }), 'outcome')).toEqual(['It went to a, which was chosen by auto:usual.']);
    expect(textsAbout(record({ outcome: null, kind: 'route' }), 'outcome')).toEqual([
      'The recommendation was a, which was chosen by auto:usual.',
    ]);
  });

  test('state amounts as figures with their unit', () => {
    const [money] = tell(record({ outcome: outcome({ charged: 90_000 }) })).filter(({ about }) => about === 'money');
    expect(money!.parts).toContainEqual({ kind: 'figure', value: 0.09, unit: 'credits', text: '0.09 Credits' });
  });
});
