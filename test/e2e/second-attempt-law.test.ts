import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { auditLedger } from '../../src/ledger/audit/run.ts';
import { effort, seedOf } from '../deep/effort.ts';
import { send } from '../gateway/money/flood.ts';
import { SLOW } from '../store/hostile/faults.ts';
import { World } from '../store/hostile/world.ts';
import type { Answer } from '../support/answers.ts';
import { waitFor } from '../support/answers.ts';
import { type Behaviour, type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';

/**
 * Requests of one key at once, with random answers of both tiers, little money, and callers who leave: what is spent never exceeds the
 * budget, every attempt is paid once, and the caller gets an answer that fits, or else the first one.
 */
const REQUESTS = 24;
const GOOD = '{"city":"Bern"}';
const BAD = '{"city":7}';
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const PRICE = { weak: { input: 1, output: 4 }, strong: { input: 3, output: 12 } };
type ModelName = keyof typeof PRICE;

type Ending = 'good' | 'bad' | 'fails';
interface Plan {
  readonly weak: Ending;
  readonly strong: Ending;
  /** Tokens of output of both answers. */
  readonly tokens: number;
  readonly leavesAfterMs: number | undefined;
  readonly delayMs: number;
}

/** The observations of a run of requests. */
interface Run {
  readonly answers: readonly { readonly plan: Plan; readonly status: number; readonly body: Partial<Answer> }[];
  /** The budget and what was charged to it, Credits. */
  readonly limit: number;
  readonly spent: number;
  readonly findings: readonly unknown[];
}

const creditsOf = (model: ModelName, { tokens }: Plan): number =>
  (10 * PRICE[model].input + tokens * PRICE[model].output) / 1_000;

/** The attempts that a plan may lead to, with the text of the answer and the cost. */
function outcomesOf(
  plan: Plan,
): readonly { readonly tried: string; readonly text: string; readonly credits: number }[] {
  const [weak, strong] = [creditsOf('weak', plan), creditsOf('strong', plan)];
  // A provider that rejects the request ends it, so the request has no answer.
  if (plan.weak === 'fails') return [];
  const alone = { tried: 'weak', text: plan.weak === 'good' ? GOOD : BAD, credits: weak };
  if (plan.weak === 'good') return [alone];
  const second = {
    good: { tried: 'weak broken_schema, strong', text: GOOD, credits: weak + strong },
    bad: { tried: 'strong broken_schema, weak', text: BAD, credits: weak + strong },
    fails: { tried: 'strong rejected, weak', text: BAD, credits: weak },
  };
  // Without money for both, the first answer is the only one.
  return [alone, second[plan.strong]];
}

const isSame = (one: number, other: number): boolean => Math.abs(one - other) < 1e-7;

function faultsOf({ answers, limit, spent, findings }: Run): string[] {
  const faults = findings.map((finding) => `audit: ${JSON.stringify(finding)}`);
  let charged = 0;
  for (const { plan, status, body } of answers) {
    if (status !== 200 || !body.platform) continue;
    const { attempts, credits_consumed: credits } = body.platform;
    charged += credits!;
    const tried = attempts.map(({ model, failure }) => (failure === null ? model : `${model} ${failure}`)).join(', ');
    const text = body.choices?.[0]?.message.content;
    const isKnown = outcomesOf(plan).some(
      (one) => one.tried === tried && one.text === text && isSame(one.credits, credits!),
    );
    if (!isKnown) faults.push(`${JSON.stringify(plan)} led to ${tried}: ${text} for ${credits}`);
    const parts = attempts.flatMap(({ credits_consumed: part }) => (part === undefined ? [] : [part]));
    if (
      parts.length > 0 &&
      !isSame(
        parts.reduce((sum, part) => sum + part, 0),
        credits!,
      )
    )
      faults.push(`the attempts cost ${parts.join(' + ')}, not ${credits}`);
  }
  if (spent > limit) faults.push(`${spent} of ${limit} Credits were spent`);
  if (spent < charged - 1e-7) faults.push(`${charged} Credits were shown, but ${spent} charged`);
  return faults;
}

const STORES = {
  'in memory': () => ({ world: new World(), count: 1 }),
  'that loses and delays calls, with two servers': () => ({
    world: new World({ faults: SLOW, seed: seedOf('second attempts') }),
    count: 2,
  }),
};

/** The answers of all runs, for the mutants. */
const shown: Run['answers'][number][] = [];

describe.each(Object.entries(STORES))('a store %s', (_, make) => {
  const upstreams = {} as Record<ModelName, FakeUpstream>;
  const plans = new Map<number, Plan>();
  let fleet: Fleet;
  beforeAll(async () => {
    const { world, count } = make();
    for (const name of ['weak', 'strong'] as const) {
      upstreams[name] = startFakeUpstream({ key: UPSTREAM_KEY, behaviour: ({ text }) => behaviourOf(name, text) });
    }
    const capabilities = ['tools', 'json_schema'];
    const policy = testPolicy(
      { weak: upstreams.weak.url, strong: upstreams.strong.url },
      {
        weak: { endpoints: ['weak'], price: PRICE.weak, quality: 0.6, capabilities },
        strong: { endpoints: ['strong'], price: PRICE.strong, quality: 0.9, capabilities },
      },
      'selectors: { auto: { strategy: auto, tiers: { usual: [weak], strong: [strong] } } }\nledger: { contention_wait_ms: 2000 }\n',
    );
    fleet = await startFleet(world, count, { policy, env: UPSTREAM_ENV });
  });
  afterAll(async () => {
    await fleet.stop();
    await Promise.all(Object.values(upstreams).map((upstream) => upstream.stop()));
  });

  function behaviourOf(name: ModelName, text: string): Behaviour {
    const plan = plans.get(Number(/request (\d+)\./.exec(text)?.[1]))!;
    const headersAfterMs = plan.delayMs;
    if (plan[name] === 'fails') return { headersAfterMs, status: 400, error: { message: 'no' } };
    const usage = { prompt_tokens: 10, completion_tokens: plan.tokens };
    return { headersAfterMs, text: plan[name] === 'good' ? GOOD : BAD, usage };
  }

  async function runOf(random: () => number): Promise<Run> {
    const below = (n: number) => Math.floor(random() * n);
    const endings = ['good', 'bad', 'bad', 'fails'] as const;
    const limit = 2 + below(30);
    const key = await fleet.makeKey({ budgets: [{ limit_credits: limit, window: 'total' }] });
    const sent = Array.from({ length: REQUESTS }, async () => {
      const number = plans.size;
      const plan: Plan = {
        weak: endings[below(4)]!,
        strong: endings[below(4)]!,
        tokens: 1 + below(100),
        leavesAfterMs: random() < 0.2 ? below(60) : undefined,
        delayMs: below(25),
      };
      plans.set(number, plan);
      const body = {
        model: 'auto',
        messages: [{ role: 'user', content: `This is request ${number}.` }],
        max_tokens: 100,
        response_format: { type: 'json_schema', json_schema: { name: 'city', schema: SCHEMA } },
        ...(random() < 0.2 && { budget_limit: 0.5 + random() }),
      };
      const answer = await send(fleet.url, key, body, plan.leavesAfterMs);
      return answer ? [{ plan, ...answer }] : [];
    });
    const answers = (await Promise.all(sent)).flat();
    const { journal } = fleet.world.store;
    // Answers of callers who left may still be settled.
    let findings: readonly unknown[] = [];
    await waitFor(async () => {
      ({ findings } = await auditLedger(journal, { idle: true }));
      return findings.length === 0;
    });
    const usage = await fleet.get('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    const { total_credits: spent } = (await usage.json()) as { total_credits: number };
    return { answers, limit, spent, findings };
  }

  test('no budget is overspent, every attempt is paid once, and callers get an answer that fits or the first one', async () => {
    const { runs, random, proved } = effort('second attempts', 4, 40);
    const seen = new Map<string, number>();
    for (let run = 0; run < runs; run++) {
      const made = await runOf(random);
      expect(faultsOf(made)).toEqual([]);
      shown.push(...made.answers);
      for (const { body } of made.answers) {
        const last = body.platform?.attempts.at(-1);
        const kind = last?.after ? 'second' : `${body.platform?.attempts.length ?? 'none'}`;
        seen.set(kind, (seen.get(kind) ?? 0) + 1);
      }
    }
    // All kinds of endings came up: one attempt, two of them, a second one that answered, and none.
    for (const kind of ['1', '2', 'second', 'none']) expect(seen.get(kind) ?? 0).toBeGreaterThan(0);
    proved('random first and second attempts, failures and leavers: 0 microcredits overspent');
  });
});

type Shown = Run['answers'][number];
const platformWith = (one: Shown, more: object): Shown => ({
  ...one,
  body: { ...one.body, platform: { ...one.body.platform!, ...more } },
});
const isSecond = ({ body }: Shown) => body.platform?.attempts.at(-1)?.after !== undefined;

test.each<[string, (run: Run) => Run]>([
  [
    'charges only the last attempt',
    (run) => ({
      ...run,
      answers: run.answers.map((one) =>
        isSecond(one) ? platformWith(one, { credits_consumed: creditsOf('strong', one.plan) }) : one,
      ),
    }),
  ],
  [
    'passes on a second answer that failed',
    (run) => ({
      ...run,
      answers: run.answers.map((one) => {
        const attempts = one.body.platform?.attempts ?? [];
        return isSecond(one) ? platformWith({ ...one, plan: { ...one.plan, strong: 'bad' } }, { attempts }) : one;
      }),
    }),
  ],
  ['spends a microcredit too much', (run) => ({ ...run, limit: run.spent - 1e-6 })],
  ['does not charge what it shows', (run) => ({ ...run, spent: run.spent - 0.01 })],
])('the law rejects a server that %s', (_, mutate) => {
  // Callers who left are charged without an answer, so only the charges of the others are compared.
  const answers = shown.filter(({ body }) => body.platform);
  const spent = answers.reduce((sum, { body }) => sum + body.platform!.credits_consumed!, 0);
  const run: Run = { answers, spent, limit: spent, findings: [] };
  expect(faultsOf(run)).toEqual([]);
  expect(faultsOf(mutate(run))).not.toEqual([]);
});
