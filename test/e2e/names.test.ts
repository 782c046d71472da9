import { describe, expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** Names under which callers reach selectors and models. */
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

describe('an alias', () => {
  test('of a model is answered by it, and the decision shows what was asked and what it means', async () => {
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

  test('of a selector spends from the budgets of that selector', async () => {
    for (const name of ['auto', 'claude-auto']) await expectError(await ask(name), 'request_exceeds_budget');
  });
});
