import { describe, expect, test } from 'bun:test';
import type { GuardModels } from '../../src/gateway/guards/guard-model.ts';
import { addedSteps } from '../../src/gateway/request/added-steps.ts';
import { guardRequest } from '../../src/gateway/request/guard-steps.ts';
import type { StepChoice } from '../../src/gateway/request/steps.ts';
import { auditLedger } from '../../src/ledger/audit/run.ts';
import { effort, seedOf } from '../deep/effort.ts';
import { send } from '../gateway/money/flood.ts';
import { SLOW } from '../store/hostile/faults.ts';
import { World } from '../store/hostile/world.ts';
import { type Answer, waitFor } from '../support/answers.ts';
import { type Behaviour, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';

/**
 * Requests of one key at once, under a guard that calls a model for the request and for its answer, with little money and callers who leave:
 * the calls of the guard and the answers together never cost more than the budget, every call is paid once, and no model reads a request
 * that the guard has not paid for and found safe.
 */
const REQUESTS = 24;
const PRICE = { judge: { input: 1, output: 4 }, best: { input: 3, output: 12 } };
type ModelName = keyof typeof PRICE;

interface Plan {
  readonly verdict: 'safe' | 'unsafe' | 'nonsense';
  readonly answer: 'safe' | 'unsafe';
  /** Tokens of output of the answer. */
  readonly tokens: number;
  readonly leavesAfterMs: number | undefined;
  readonly delayMs: number;
}

interface Run {
  readonly answers: readonly { readonly plan: Plan; readonly status: number; readonly body: Partial<Answer> }[];
  readonly limit: number;
  /** What the key was charged, Credits. */
  readonly spent: number;
  /** What providers billed for the requests of callers who stayed, Credits. */
  readonly billed: number;
  /** Unsafe requests that the model `best` has read. */
  readonly leaked: number;
  readonly findings: readonly unknown[];
}

const creditsOf = (model: ModelName, output: number): number =>
  (10 * PRICE[model].input + output * PRICE[model].output) / 1_000;

function faultsOf({ answers, limit, spent, billed, leaked, findings }: Run): string[] {
  const faults = findings.map((finding) => `audit: ${JSON.stringify(finding)}`);
  if (spent > limit + 1e-9) faults.push(`${spent} of ${limit} Credits were spent`);
  if (billed > spent + 1e-7) faults.push(`providers billed ${billed} Credits, but ${spent} were charged`);
  if (leaked > 0) faults.push(`${leaked} requests reached a model although the guard did not find them safe`);
  for (const { plan, status, body } of answers) {
    const isSafe = plan.verdict === 'safe' && plan.answer === 'safe';
    if (status === 200 && !isSafe) faults.push(`${JSON.stringify(plan)} was answered`);
    const paid = (body.platform as { guard_credits_consumed?: number } | undefined)?.guard_credits_consumed ?? 0;
    if (status === 200 && Math.abs(paid - 2 * creditsOf('judge', 1)) > 1e-7) faults.push(`guards cost ${paid}`);
  }
  return faults;
}

interface Stage {
  readonly fleet: Fleet;
  runOf(random: () => number): Promise<Run>;
  stop(): Promise<void>;
}

async function stageOf(world: World, count: number, stepsFor?: (judge: string) => StepChoice): Promise<Stage> {
  const plans = new Map<number, Plan>();
  const numberIn = (text: string) => Number(/request (\d+)\./.exec(text)?.[1]);
  const behaviourOf = (name: ModelName, text: string): Behaviour => {
    const plan = plans.get(numberIn(text))!;
    const headersAfterMs = plan.delayMs;
    if (name === 'best') {
      const usage = { prompt_tokens: 10, completion_tokens: plan.tokens };
      return { headersAfterMs, text: `Answer to request ${numberIn(text)}.`, usage };
    }
    const verdict = text.includes('Answer to') ? plan.answer : plan.verdict;
    return { headersAfterMs, text: verdict, usage: { prompt_tokens: 10, completion_tokens: 1 } };
  };
  const upstreams = {
    judge: startFakeUpstream({ key: UPSTREAM_KEY, behaviour: ({ text }) => behaviourOf('judge', text) }),
    best: startFakeUpstream({ key: UPSTREAM_KEY, behaviour: ({ text }) => behaviourOf('best', text) }),
  };
  const guards = `guards:
  - { name: mod, guard: model, model: judge, on: [input, output], on_match: block, deadline_ms: 30000 }
ledger: { contention_wait_ms: 400 }
`;
  const policy = testPolicy(
    { judge: upstreams.judge.url, best: upstreams.best.url },
    { judge: { endpoints: ['judge'], price: PRICE.judge }, best: { endpoints: ['best'], price: PRICE.best } },
    guards,
  );
  const steps = stepsFor?.(upstreams.judge.url);
  const fleet = await startFleet(world, count, { policy, env: UPSTREAM_ENV, ...(steps && { steps }) });

  async function runOf(random: () => number): Promise<Run> {
    const below = (n: number) => Math.floor(random() * n);
    for (const { requests } of Object.values(upstreams)) requests.splice(0);
    const limit = 1.5 + below(4);
    const key = await fleet.makeKey({ budgets: [{ limit_credits: limit, window: 'total' }] });
    const sent = Array.from({ length: REQUESTS }, async () => {
      const number = plans.size;
      const plan: Plan = {
        verdict: (['safe', 'safe', 'safe', 'unsafe', 'nonsense'] as const)[below(5)]!,
        answer: (['safe', 'safe', 'unsafe'] as const)[below(3)]!,
        tokens: 1 + below(60),
        leavesAfterMs: random() < 0.2 ? below(60) : undefined,
        delayMs: below(25),
      };
      plans.set(number, plan);
      const messages = [{ role: 'user', content: `This is request ${number}.` }];
      const answer = await send(fleet.url, key, { model: 'best', messages, max_tokens: 60 }, plan.leavesAfterMs);
      return answer ? [{ plan, ...answer }] : [];
    });
    const answers = (await Promise.all(sent)).flat();
    // Calls of callers who left may still be settled.
    let findings: readonly unknown[] = [];
    await waitFor(async () => {
      ({ findings } = await auditLedger(fleet.world.store.journal, { idle: true }));
      return findings.length === 0;
    }).catch(() => {});
    const usage = await fleet.get('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    const { total_credits: spent } = (await usage.json()) as { total_credits: number };
    const stayed = ({ text }: { readonly text: string }) => plans.get(numberIn(text))!.leavesAfterMs === undefined;
    const calls = { judge: upstreams.judge.requests.filter(stayed), best: upstreams.best.requests.filter(stayed) };
    const billed =
      calls.judge.length * creditsOf('judge', 1) +
      calls.best.reduce((sum, { text }) => sum + creditsOf('best', plans.get(numberIn(text))!.tokens), 0);
    const leaked = calls.best.filter(({ text }) => plans.get(numberIn(text))!.verdict !== 'safe').length;
    return { answers, limit, spent, billed, leaked, findings };
  }
  return {
    fleet,
    runOf,
    async stop() {
      await fleet.stop();
      await Promise.all(Object.values(upstreams).map((upstream) => upstream.stop()));
    },
  };
}

const STORES = {
  'in memory': () => ({ world: new World(), count: 1 }),
  'that loses and delays calls, with two servers': () => ({
    world: new World({ faults: SLOW, seed: seedOf('paid guards') }),
    count: 2,
  }),
};

test.each(Object.entries(STORES))(
  'with a store %s, guards and answers together never cost more than the budget, and every call is paid once',
  async (_, make) => {
    const { world, count } = make();
    const stage = await stageOf(world, count);
    try {
      const { runs, random, proved } = effort('paid guards', 3, 30);
      const seen = new Set<number>();
      // Requests are answered, refused by the guard, and end without funds; which of them a run has is random.
      const isComplete = () => seen.has(200) && seen.has(400) && (seen.has(402) || seen.has(429));
      for (let run = 0; run < runs || (!isComplete() && run < 10 * runs); run++) {
        const made = await stage.runOf(random);
        expect(faultsOf(made)).toEqual([]);
        for (const { status } of made.answers) seen.add(status);
      }
      expect([isComplete(), [...seen]]).toEqual([true, [...seen]]);
      proved('random calls of guards, answers and leavers: 0 microcredits overspent');
    } finally {
      await stage.stop();
    }
  },
);

/** Calls the model of a guard without a hold. */
const freeModels = (judge: string): GuardModels => ({
  unpaid: null,
  open: () => ({
    async ask({ instructions, text, outputTokensMax }) {
      const messages = [
        { role: 'system', content: instructions },
        { role: 'user', content: text },
      ];
      const body = JSON.stringify({ model: 'judge-upstream', messages, max_tokens: outputTokensMax });
      const headers = { authorization: `Bearer ${UPSTREAM_KEY}`, 'content-type': 'application/json' };
      const reply = await fetch(`${judge}/chat/completions`, { method: 'POST', body, headers });
      const { choices } = (await reply.json()) as { choices: { message: { content: string } }[] };
      return choices[0]!.message.content;
    },
    end() {},
  }),
});

describe('the law finds', () => {
  test('a guard that calls its model without a hold', async () => {
    const stage = await stageOf(new World(), 1, (judge) => (runtime) => ({
      ...addedSteps(runtime),
      onRequest: [
        (prepared) => {
          Object.defineProperty(prepared, 'models', { value: freeModels(judge) });
          return guardRequest(prepared);
        },
      ],
    }));
    try {
      const { random } = effort('paid guards', 1, 1);
      const faults = faultsOf(await stage.runOf(random));
      expect(faults.join('\n')).toContain('providers billed');
    } finally {
      await stage.stop();
    }
  });
});
