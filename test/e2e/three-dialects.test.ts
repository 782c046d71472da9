import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { objectOf } from '../../plugins/providers/json.ts';
import { tries } from '../deep/effort.ts';
import {
  type AnswerContent,
  type CallerSurface,
  hasTools,
  isServedBy,
  requestIn,
  SURFACES,
} from '../fault/surfaces.ts';
import type { Behaviour } from '../support/fake-upstream.ts';
import { testPolicy, withCompletions } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** A request has the same result in every dialect: decision, content, usage and charge, in JSON and in events. */
const PRICE = { input: 4, output: 16 };
const [first, second] = [useUpstream(), useUpstream()];
/** Requests of callers in these providers' own dialects are passed through unchanged, and so are the answers. */
const [claude, responds] = [useUpstream({ dialect: 'anthropic' }), useUpstream()];
const gemini = useUpstream({ dialect: 'gemini' });
const UPSTREAMS = [first, second, claude, responds, gemini];
/** The models with a provider whose adapter is not `openai-compatible`. */
const ADAPTERS: Readonly<Record<string, string>> = { claude: 'anthropic', responds: 'openai', gemini: 'gemini' };
const adapterOf = (model: string): string => ADAPTERS[model] ?? 'openai-compatible';
const box = useSignalbox(() => ({
  policy: withCompletions(
    testPolicy(
      {
        first: first.url,
        second: second.url,
        claude: { url: claude.url, adapter: adapterOf('claude') },
        responds: { url: responds.url, adapter: adapterOf('responds') },
        gemini: { url: gemini.url, adapter: adapterOf('gemini') },
      },
      {
        best: { endpoints: ['first', 'second'], price: PRICE, quality: 0.9 },
        plain: { endpoints: ['first'] },
        claude: { endpoints: ['claude'], price: PRICE },
        responds: { endpoints: ['responds'], price: PRICE },
        gemini: { endpoints: ['gemini'], price: PRICE },
      },
    ),
  ),
}));

interface Given {
  readonly surface: CallerSurface;
  readonly isStream: boolean;
}
const WAYS: readonly Given[] = SURFACES.flatMap((surface) => [
  { surface, isStream: false },
  { surface, isStream: true },
]);

interface Asked {
  readonly model: string;
  readonly cap: number;
  readonly question: string;
  readonly tool: string | null;
}

/** Whether a dialect can express the request, and the model's provider accepts the dialect. */
const isServed = ({ surface }: Given, { model, tool }: Asked): boolean =>
  (tool === null || hasTools(surface)) && isServedBy(surface, adapterOf(model));

function post({ surface, isStream }: Given, { model, cap, question, tool }: Asked): Promise<Response> {
  const { path, body } = requestIn(surface, model, isStream, surface.body(cap, tool, question));
  return box.post(path, body);
}

async function ask(way: Given, asked: Asked): Promise<AnswerContent> {
  const { surface, isStream } = way;
  const response = await post(way, asked);
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  return isStream ? surface.streamed(text) : surface.content(JSON.parse(text));
}

/** Everything that the dialects must agree on. */
function told({ text, tools, finish, platform }: AnswerContent): object {
  const { routed_model: model, route_reason: reason, credits_consumed: credits, estimated } = platform!;
  const called = tools.map(({ name, arguments: input }) => ({ name, input }));
  return { text, called, finish, model, reason, credits, estimated };
}

const words = fc.array(fc.constantFrom('a', ' tide', ' of', ' Köln', ' 潮', '\n', ' "x"'), {
  minLength: 1,
  maxLength: 9,
});
const cases = fc.record({
  model: fc.constantFrom('auto', 'auto-cheap', 'best', 'plain', 'claude', 'responds', 'gemini'),
  cap: fc.integer({ min: 16, max: 400 }),
  // Anthropic accepts no message that is only white space.
  question: words.map((all) => all.join('')).filter((text) => text.trim() !== ''),
  answer: words,
  calls: fc.boolean(),
  // If an upstream reports more than a one-letter question can have, the operator pays for the excess.
  prompt: fc.integer({ min: 1, max: 33 }),
  output: fc.integer({ min: 1, max: 16 }),
});
type World = typeof cases extends fc.Arbitrary<infer T> ? T : never;

/** Throws if two ways differ. */
async function agree(world: World, read: typeof told = told): Promise<void> {
  const { model, cap, question, answer, calls, prompt, output } = world;
  const usage = { prompt_tokens: prompt, completion_tokens: output };
  const behaviour: Behaviour = calls
    ? { toolCalls: [{ name: 'look_up', arguments: '{"city":"Bern"}' }], usage }
    : { text: answer, usage };
  for (const upstream of UPSTREAMS) upstream.behave(behaviour);
  const answers = [];
  const asked: Asked = { model, cap, question, tool: calls ? 'look_up' : null };
  for (const way of WAYS.filter((way) => isServed(way, asked))) answers.push(read(await ask(way, asked)));
  for (const other of answers) expect(other).toEqual(answers[0]!);
  const credits = (PRICE.input * prompt + PRICE.output * output) / 1_000;
  if (answers[0] && 'model' in answers[0] && answers[0].model !== 'plain')
    expect(answers[0]).toMatchObject({ credits: expect.closeTo(credits, 6), estimated: false });
}

test('the same request has the same decision, content and charge in each dialect, in JSON and in events', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (world) => agree(world)),
    tries('one answer in three dialects', 6, 400),
  );
});

const REFUSED = WAYS.filter(({ surface }) => surface.servedBy !== undefined);
test.each(
  Object.keys(ADAPTERS).flatMap((model) => REFUSED.map((way) => [way.surface.name, way.isStream, model, way] as const)),
)(
  'the dialect %s (a stream: %p) is refused with 422 for the model %s, whose provider does not accept the dialect',
  async (_, __, model, way) => {
    const refused = await post(way, { model, cap: 20, question: 'Say hello.', tool: null });
    const { code, param } = way.surface.failure(objectOf(await refused.json()));
    expect<unknown>([refused.status, code, param]).toEqual([422, 'no_eligible_model', null]);
  },
);

const LACKED = SURFACES.flatMap((surface) =>
  Object.entries(surface.reads.lacks ?? {}).flatMap(([feature, fields]) =>
    fields.map((field) => [surface.name, feature, field, surface] as const),
  ),
);
test.each(LACKED)('the dialect %s lacks %s, and refuses the field %s by name', async (_, __, field, surface) => {
  const { path, body } = requestIn(surface, 'best', false, surface.body(20, null));
  for (const value of ['x', [{ role: 'user', content: 'x' }]]) {
    const refused = await box.post(path, { ...body, [field]: value });
    expect<unknown>([refused.status, surface.failure(objectOf(await refused.json()))]).toMatchObject([
      400,
      { code: 'unsupported_parameter', param: field },
    ]);
  }
  expect((await box.post(path, { ...body, [field]: null })).status).toBe(200);
});

test('the law about dialects catches a dialect that loses the end of a text', async () => {
  let nth = 0;
  const broken = (content: AnswerContent): object =>
    told(++nth === 4 ? { ...content, text: content.text.slice(0, -1) } : content);
  const found = await fc.check(
    fc.asyncProperty(cases, async (world) => {
      nth = 0;
      await agree(world, broken);
    }),
    { numRuns: 30, endOnFailure: true },
  );
  expect(found.failed).toBe(true);
});
