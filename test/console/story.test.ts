import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type DecisionRead, type Sentence, storyOf } from '../../src/console/views/requests/story.ts';
import { tries } from '../deep/effort.ts';

/** Tests the story of a request over decisions of every kind: its first sentence says which model the request got. */
const effort = tries(
  'the first sentence of a story names the model that answered, and no rule is missing',
  300,
  50_000,
);

type Told = Parameters<typeof storyOf>[0];
type Outcome = NonNullable<DecisionRead['outcome']>;

const RULES = ['eu-only', 'not-dear', 'no-previews'].map((name, at) => ({ name, file: 'rules.yaml', line: 10 + at }));
const share = fc.double({ min: 0, max: 1, noNaN: true });
const figure = fc.oneof(fc.constant(0), fc.double({ min: 1e-9, max: 1e6, noNaN: true }));

const candidates = fc
  .uniqueArray(fc.stringMatching(/^m[a-z0-9-]{1,6}$/), { minLength: 1, maxLength: 9 })
  .chain((models) =>
    fc.tuple(
      ...models.map((model) =>
        fc.record({
          model: fc.constant(model),
          isLeftOut: fc.boolean(),
          rule: fc.constantFrom(null, ...RULES),
          quality: fc.option(share),
          counted_quality: share,
          cost_credits: figure,
          latency_ms: figure,
        }),
      ),
    ),
  )
  .map((all) => {
    // The first candidate is the choice.
    let rank = 0;
    return all.map(({ isLeftOut, rule, ...figures }, at) => {
      const isOut = at > 0 && isLeftOut;
      const text = rule ? `the policy rejects it: ${rule.name}` : 'it lacks vision';
      const rejections = isOut ? [{ kind: rule ? 'constraint' : 'capability', text, rules: rule ? [rule] : [] }] : [];
      return { ...figures, rank: isOut ? null : ++rank, rejections };
    });
  });

const stories: fc.Arbitrary<Told> = fc
  .record({
    candidates,
    failures: fc.nat({ max: 2 }),
    status: fc.constantFrom('completed', 'failed', 'broken', 'abandoned'),
    isPinned: fc.boolean(),
    isFallback: fc.boolean(),
    isReplayed: fc.boolean(),
  })
  .map(({ candidates: all, failures, status, isPinned, isFallback, isReplayed }) => {
    const ranked = all.filter(({ rank }) => rank !== null).map(({ model }) => model);
    const tried = ranked.slice(0, status === 'failed' ? failures : failures + 1);
    const attempts = tried.map((model, at) => ({
      ...{ model, provider: 'p', failure: at < tried.length - 1 || status === 'failed' ? 'timeout' : null },
    }));
    const [choice = ''] = ranked;
    const leftOut = isPinned && isFallback ? all.find(({ rank }) => rank === null) : undefined;
    const reason = { reason: 'capability', text: 'it lacks vision' };
    const told = {
      instead_of: leftOut ? { model: leftOut.model, ...reason } : null,
      ...{ choice, route_reason: 'auto:usual', choice_reason: null, strategy_failed: false, preferences: [] },
      choice_without_preferences: null,
      facts: { pinned: isPinned, alias: null, model: isPinned ? (leftOut?.model ?? choice) : 'auto' },
      candidates: isReplayed ? all : null,
      constraints: isReplayed ? RULES : null,
      outcome: { status, error: status === 'failed' ? 'upstream_failed' : null, attempts },
    };
    // The story reads only these members.
    return told as unknown as Told;
  });

const textOf = (sentence: Sentence): string =>
  sentence
    .map((piece) => {
      if (typeof piece === 'string') return piece;
      if ('model' in piece) return piece.model;
      return 'rule' in piece ? piece.rule.name : piece.decision;
    })
    .join('');

function check(tell: typeof storyOf): fc.RunDetails<[Told]> {
  return fc.check(
    fc.property(stories, (told) => {
      const sentences = tell(told, (credits) => `${credits} Credits`);
      const texts = sentences.map(textOf);
      const { attempts, status } = told.outcome as Outcome;
      const last = attempts.at(-1)?.model ?? told.choice ?? '';
      const [first = []] = sentences;
      if (status === 'failed') expect(texts[0]).toStartWith('No model answered');
      else
        expect(first.some((piece) => typeof piece !== 'string' && 'model' in piece && piece.model === last)).toBe(true);
      for (const text of texts) expect(text).toMatch(/^(?!.*\b(?:NaN|undefined|null|Infinity)\b).*\.$/);
      const { pinned, model: named } = told.facts;
      if (pinned && named !== told.choice) {
        expect(texts.join(' ')).not.toContain('because the request named it');
        expect(texts.some((text) => text.includes(`a fallback of ${named}, which the request named`))).toBe(true);
        expect(texts.some((text) => text.includes(named) && text.includes('left out'))).toBe(true);
      }
      for (const { name } of told.constraints ?? [])
        expect(texts.filter((text) => text.includes(`Rule ${name} `))).toHaveLength(1);
      for (const { model, rank, rejections } of told.candidates ?? []) {
        if (rank !== null || rejections.some(({ rules }) => rules.length > 0)) continue;
        expect(texts.some((text) => text.includes(model) || /and \d+ more w/.test(text))).toBe(true);
      }
    }),
    effort,
  );
}

test('the first sentence names the model that answered, and the story contains every rule and every reason', () => {
  const { failed, counterexample } = check(storyOf);
  expect(failed, `seed ${effort.seed}: ${JSON.stringify(counterexample)}`).toBe(false);
});

test('the law of stories detects a story that omits the failover, a rule, or the model that was named', () => {
  const forgetsTurn: typeof storyOf = (told, cost) => storyOf({ ...told, outcome: null }, cost);
  const forgetsRule: typeof storyOf = (told, cost) =>
    storyOf(told, cost).filter((one) => !textOf(one).includes('not-dear'));
  const forgetsFallback: typeof storyOf = (told, cost) =>
    storyOf({ ...told, instead_of: null, facts: { ...told.facts, model: told.choice ?? '' } }, cost);
  for (const mutant of [forgetsTurn, forgetsRule, forgetsFallback]) expect(check(mutant).failed).toBe(true);
});

test('the first sentence about a request that failed over mentions the failover', () => {
  const told = {
    ...{
      choice: 'a',
      route_reason: 'auto:usual',
      choice_reason: 'a costs least within 0.03 of the best quality (0.8); the request is not hard',
      strategy_failed: false,
      preferences: [],
      constraints: [],
    },
    choice_without_preferences: null,
    instead_of: null,
    facts: { pinned: false, alias: null, model: 'auto' },
    candidates: [
      { model: 'a', rank: 1, quality: 0.8, counted_quality: 0.8, cost_credits: 10, latency_ms: 500, rejections: [] },
      { model: 'b', rank: 2, quality: 0.7, counted_quality: 0.7, cost_credits: 40, latency_ms: 400, rejections: [] },
    ],
    outcome: {
      status: 'completed',
      error: null,
      attempts: [
        { model: 'a', failure: 'timeout' },
        { model: 'b', failure: null },
      ],
    },
  } as unknown as Told;
  expect(storyOf(told, (credits) => `${credits} Credits`).map(textOf)).toEqual([
    'It went to b after a, the first choice, failed (timeout).',
    'The first choice was a, by `auto:usual`.',
    'a costs least within 0.03 of the best quality (0.8); the request is not hard.',
    'a was expected to have a quality of 80 %, cost 10 Credits and finish in 500 ms.',
    'The next in the order, b, was expected to be 10 points worse, 4 times more expensive and 20 % faster.',
  ]);
});

test('a price or a time is compared with that of the choice, so 40 % less is 40 % cheaper', () => {
  const compare = (cost: number, latency: number): string => {
    const candidate = { quality: 0.8, counted_quality: 0.8, rejections: [] };
    const told = {
      ...{
        choice: 'a',
        route_reason: 'auto:usual',
        choice_reason: null,
        strategy_failed: false,
        preferences: [],
        constraints: [],
      },
      ...{ choice_without_preferences: null, instead_of: null, outcome: null },
      facts: { pinned: false, alias: null, model: 'auto' },
      candidates: [
        { ...candidate, model: 'a', rank: 1, cost_credits: 10, latency_ms: 1_000 },
        { ...candidate, model: 'b', rank: 2, cost_credits: cost, latency_ms: latency },
      ],
    } as unknown as Told;
    return textOf(storyOf(told, String).at(-1)!);
  };
  expect(compare(6, 1_400)).toEndWith('was expected to be 40 % cheaper and 40 % slower.');
  expect(compare(14, 600)).toEndWith('was expected to be 40 % more expensive and 40 % faster.');
  expect(compare(5, 2_000)).toEndWith('was expected to be 2 times cheaper and 2 times slower.');
});

test('a request that the cache answered names the decision whose answer it got, and no reason of a choice', () => {
  const told = {
    ...{ choice: 'a', route_reason: null, strategy_failed: null, preferences: null, constraints: null },
    ...{ choice_without_preferences: null, instead_of: null, candidates: null, status: 'completed' },
    facts: { pinned: true, alias: null, model: 'a' },
    outcome: { status: 'completed', error: null, attempts: [], repeats: 'dec_1', cache: 'hit' },
  } as unknown as Told;
  expect(storyOf(told, String)).toEqual([
    ['The cache repeated the answer that ', { model: 'a' }, ' gave to an equal request, ', { decision: 'dec_1' }, '.'],
  ]);
});

test('the story of a running request names the model that got the request; the story of a recommendation does not', () => {
  const told = {
    ...{ choice: 'a', route_reason: 'pinned', strategy_failed: false, preferences: [], constraints: [] },
    choice_without_preferences: null,
    instead_of: null,
    facts: { pinned: true, alias: null, model: 'a' },
    candidates: [],
    outcome: null,
  } as unknown as Told;
  const firstOf = (status: DecisionRead['status']) => storyOf({ ...told, status }, String).map(textOf)[0];
  expect(firstOf('running')).toStartWith('It went to a');
  expect(firstOf('recommended')).toStartWith('The recommendation was a');
});
