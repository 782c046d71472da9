import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { tries } from '../deep/effort.ts';
import { EVERY_VARIABLE } from '../policy/shipped.ts';
import { type AdviceAnswer, adviceOf } from '../support/answers.ts';
import { type LivePolicy, startLivePolicy } from '../support/live-policy.ts';
import { FakeModelServer } from '../support/model-servers.ts';
import { testPolicy } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

type Body = Readonly<Record<string, unknown>>;
type Figures = { readonly model: string; readonly cost: number; readonly latency: number };

interface Candidate {
  readonly model: string;
  readonly cost_credits: number;
  readonly latency_ms: number;
  readonly rejections: readonly { readonly kind: string }[];
}

/** Makes a random policy without round figures. */
function anyPolicy(seed: number): string {
  let at = seed;
  const next = () => Number(Bun.hash.xxHash32(String(at++))) / 2 ** 32;
  const made = ['m0', 'm1', 'm2', 'm3', 'm4', 'm5'].map((id) => [
    id,
    {
      endpoints: ['up'],
      price: { input: Number((0.01 + next() * 5).toFixed(5)), output: Number((0.01 + next() * 20).toFixed(5)) },
      quality: Number(next().toFixed(4)),
      more: next() < 0.4 ? '    reasoning_tokens: 777\n' : '',
    },
  ]);
  const policy = testPolicy(
    { up: 'http://127.0.0.1:9/v1' },
    Object.fromEntries(made),
    `gateway: { alternatives: 10 }\n`,
  );
  return policy.replace(
    /ttft_ms: 100, output_tokens_per_second: 100/g,
    () => `ttft_ms: ${(50 + next() * 900).toFixed(0)}, output_tokens_per_second: ${(7 + next() * 200).toFixed(3)}`,
  );
}

const words = fc.oneof(
  fc.constantFrom('Hello!', 'Solve 2x + 3 = 9', 'Write a function in Python', 'Answer in 77 words: why?'),
  fc.nat({ max: 3000 }).map((n) => 'word '.repeat(n + 1)),
);
const bodies: fc.Arbitrary<Body> = fc.record(
  {
    model: fc.constantFrom('auto', 'auto-fast', 'auto-cheap'),
    messages: words.map((content) => [{ role: 'user', content }]),
    estimated_input_tokens: fc.nat({ max: 9000 }),
    estimated_output_tokens: fc.integer({ min: 1, max: 3000 }),
    task_type: fc.constantFrom('coding', 'general', 'strange'),
    route_strategy: fc.constantFrom({}, { cost_weight: 1, quality_weight: 0 }),
  },
  { requiredKeys: [] },
);

/** Returns the candidates of a decision by their IDs. */
async function candidatesOf(box: Signalbox, id: string): Promise<ReadonlyMap<string, Candidate>> {
  const { candidates } = (await (await box.get(`/v1/decisions/${id}`)).json()) as { candidates: Candidate[] };
  return new Map(candidates.map((one) => [one.model, one]));
}

/** Sends the constraints, and expects that they do not reject these models. */
async function expectAdmitted(box: Signalbox, body: Body, constraints: object, models: readonly string[]) {
  const response = await box.post('/v1/route', { ...body, constraints });
  const advice = await adviceOf(response);
  expect({ status: response.status, error: advice.error }).toEqual({ status: 200, error: undefined as never });
  const candidates = await candidatesOf(box, advice.decision_id);
  for (const model of models) expect(candidates.get(model)?.rejections).toEqual([]);
}

type FigureReader = (box: Signalbox, advice: AdviceAnswer) => Promise<readonly Figures[]>;

/** Returns the figures of the choice and its alternatives in the answer of `/v1/route`. */
const asShown: FigureReader = async (_, advice) => [
  { model: advice.recommended_model, cost: advice.estimated_cost_credits, latency: advice.estimated_latency_ms },
  ...advice.alternatives.map((one) => ({
    model: one.model,
    cost: one.estimated_cost_credits,
    latency: one.estimated_latency_ms,
  })),
];

/** Returns the figures of `GET /v1/decisions`, rounded with `round`. */
const roundedBy =
  (round: (figure: number) => number): FigureReader =>
  async (box, advice) =>
    [...(await candidatesOf(box, advice.decision_id)).values()]
      .filter(({ rejections }) => rejections.length === 0)
      .map(({ model, cost_credits: cost, latency_ms: latency }) => ({
        model,
        cost: round(cost * 1e6) / 1e6,
        latency: Math.max(1, round(latency)),
      }));

async function admits(box: Signalbox, body: Body, shown: FigureReader): Promise<void> {
  const advice = await adviceOf(await box.post('/v1/route', body));
  for (const { model, cost, latency } of await shown(box, advice)) {
    await expectAdmitted(box, body, { max_cost_credits: cost }, [model]);
    await expectAdmitted(box, body, { max_latency_ms: latency }, [model]);
    await expectAdmitted(box, { ...body, model }, { max_cost_credits: cost, max_latency_ms: latency }, [model]);
  }
}

let relaxed = 0;
/** Expects that a refusal because of ceilings names figures that admit their model. */
async function relaxes(box: Signalbox, body: Body): Promise<void> {
  const given = { max_cost_credits: 1e-6, max_latency_ms: 2 };
  for (const constraints of [{ max_cost_credits: 0 }, { max_latency_ms: 1 }, given]) {
    const { error } = await adviceOf(await box.post('/v1/route', { ...body, constraints }));
    // A free model satisfies the ceiling.
    if (!error) continue;
    const relaxation = String(error.details.relaxation);
    const moved = [...relaxation.matchAll(/(max_\w+) from \S+ to (\S+)/g)].map(
      ([, name, to]) => [name!, Number(to)] as const,
    );
    expect(moved.length).toBeGreaterThan(0);
    await expectAdmitted(box, body, { ...constraints, ...Object.fromEntries(moved) }, [
      /`(.+)`$/.exec(relaxation)![1]!,
    ]);
    relaxed++;
  }
}

const law = (box: Signalbox, shown: FigureReader) =>
  fc.asyncProperty(bodies, async (body) => {
    await admits(box, body, shown);
    if (shown === asShown) await relaxes(box, body);
  });

describe('a figure of /v1/route, sent back as a ceiling,', () => {
  let live: LivePolicy;
  let shipped: Signalbox;
  beforeAll(async () => {
    [live, shipped] = await Promise.all([
      startLivePolicy({ 'policy.yaml': anyPolicy(0) }),
      startSignalbox({ env: EVERY_VARIABLE }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([live.stop(), shipped.stop()]);
  });

  test('a figure of /v1/route, sent back as a ceiling, admits its model under any policy, and so do the figures in a refusal', async () => {
    const first = fc.sample(fc.nat({ max: 1e6 }), 1)[0]!;
    console.log(`policies from seed ${first} on`);
    for (let seed = first; seed < first + 200; seed += 100) {
      live.replace('policy.yaml', anyPolicy(seed));
      expect((await live.reload()).status).toBe(200);
      await fc.assert(
        law(live.box, asShown),
        tries('a figure of /v1/route, sent back as a ceiling, admits its model under any policy', 2, 20),
      );
    }
    expect(relaxed).toBeGreaterThan(10);
  });

  test('a figure of /v1/route, sent back as a ceiling, admits its model under the shipped policy with every provider', async () => {
    await fc.assert(
      law(shipped, asShown),
      tries('a figure of /v1/route, sent back as a ceiling, admits its model under the shipped policy', 2, 50),
    );
  });

  test('the law detects figures that are rounded to the nearest or down', async () => {
    for (const round of [Math.round, Math.floor]) {
      const { counterexample } = await fc.check(law(live.box, roundedBy(round)), { numRuns: 50, endOnFailure: true });
      expect(counterexample).not.toBeNull();
    }
    // Rounding up keeps the law.
    const up = (figure: number) => Math.ceil(figure) + 1;
    await fc.assert(law(live.box, roundedBy(up)), { numRuns: 2 });
  });

  test('a small ceiling is written in plain decimals in the message, not with an exponent', async () => {
    const tiny = { constraints: { max_cost_credits: 1.5e-7 } };
    const { error } = await adviceOf(await live.box.post('/v1/route', tiny));
    expect(error.code).toBe('no_eligible_model');
    expect(String(error.details.relaxation)).toStartWith('change max_cost_credits from 0.00000015 to ');
  });

  test('a figure of /v1/route, sent back as a ceiling, may be 0, which free models satisfy', async () => {
    const free = { constraints: { max_cost_credits: 0 } };
    const server = new FakeModelServer('ollama', [{ name: 'smol', capabilities: ['completion'] }]);
    const own = await startSignalbox({ env: { OLLAMA_BASE_URL: server.url } });
    expect((await adviceOf(await own.post('/v1/route', free))).estimated_cost_credits).toBe(0);
    await Promise.all([own.stop(), server.stop()]);
    const { error } = await adviceOf(await live.box.post('/v1/route', free));
    expect(error.code).toBe('no_eligible_model');
    expect(String(error.details.relaxation)).toMatch(/^change max_cost_credits from 0 to \S+ to use/);
  });
});
