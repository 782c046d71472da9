import { describe, expect, test } from 'bun:test';
import { windowAsked } from '../../src/routing/model-name.ts';
import { answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** The names that callers can use for selectors and models. */
const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    { fake: upstream.url },
    { best: { endpoints: ['fake'], more: '    aliases: [claude-best]\n' } },
    `selectors: { auto: { strategy: auto, aliases: [claude-auto] } }
budgets: [{ name: of-auto, match: 'request.model == "auto"', limit_credits: 0.01, window: total }]
`,
  ),
}));

const ask = (model: string) => box.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi' }] });

describe('an alias of a model or a selector', () => {
  test('the model answers under its alias, and the decision shows the requested name and its meaning', async () => {
    const answer = await answerOf(await ask('claude-best'));
    expect(answer.platform).toMatchObject({ routed_model: 'best', route_reason: 'pinned' });
    const decision = await (await box.get(`/v1/decisions/${answer.platform.decision_id}`)).json();
    expect(decision).toMatchObject({
      facts: { model: 'best', alias: 'claude-best', pinned: true },
      replay: { matches: true },
    });
    const own = await answerOf(await ask('best'));
    const other = await (await box.get(`/v1/decisions/${own.platform.decision_id}`)).json();
    expect(other).toMatchObject({ facts: { model: 'best', alias: null } });
  });

  test('an alias of a selector spends from the budgets of the selector', async () => {
    for (const name of ['auto', 'claude-auto']) await expectError(await ask(name), 'request_exceeds_budget');
  });
});

describe('`[1m]` after a name', () => {
  const models = {
    small: { endpoints: ['fake'], price: { input: 0.01, output: 0.01 } },
    wide: { endpoints: ['fake'] },
  };
  const policy = testPolicy(
    { fake: upstream.url },
    models,
    'selectors: { auto-cheap: { strategy: auto-cheap, aliases: [haiku] } }\n',
  );
  const [small, wide] = policy.split(/(?= {2}wide:)/);
  const windows = useSignalbox({
    policy: small!.replace('32768', '999999') + wide!.replace('32768', '1000000'),
  });
  const chat = (model: string) =>
    windows.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi' }] });

  test.each([
    ['haiku', 'small'],
    ['haiku[1m]', 'wide'],
    ['auto-cheap[1m]', 'wide'],
    ['wide[1m]', 'wide'],
    ['haiku[1M]', 'wide'],
    ['wide[1M]', 'wide'],
  ])('%s: a model with a large enough window answers, and the decision can be repeated', async (name, model) => {
    const { platform } = await answerOf(await chat(name));
    expect(platform).toMatchObject({ routed_model: model });
    const decision = await (await windows.get(`/v1/decisions/${platform.decision_id}`)).json();
    expect(decision).toMatchObject({ replay: { matches: true } });
  });

  test('`[1M]` in capitals requests a window in new requests; earlier builds ignored it, so their records do too', async () => {
    const { platform } = await answerOf(await chat('haiku[1M]'));
    const decision = await (await windows.get(`/v1/decisions/${platform.decision_id}`)).json();
    expect(decision).toMatchObject({ facts: { alias: 'haiku[1m]' } });
    expect(windowAsked({ alias: 'haiku[1M]' })).toBe(0);
  });

  test('`[1m]` is refused if the window is smaller, and the error says what to do', async () => {
    const error = await expectError(await chat('small[1m]'), 'unsupported_parameter', 'model');
    expect(error).toMatchObject({
      message:
        '`small[1m]` requests a window of 1000000 tokens. The largest window of an eligible model has 999999 tokens. Remove `[1m]`, or name another model.',
    });
  });

  test('the decision shows that a model was rejected because of `[1m]`', async () => {
    const { platform } = await answerOf(await chat('haiku[1m]'));
    const decision = await windows.get(`/v1/decisions/${platform.decision_id}`);
    expect(await decision.text()).toContain(
      'its window of 999999 tokens is below the 1000000 tokens that `haiku[1m]` requests',
    );
  });
});
