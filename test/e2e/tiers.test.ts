import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type LivePolicy, startLivePolicy } from '../support/live-policy.ts';

/** Simulated models write at the speed that they state. */
const LATENCY = 'latency: { ttft_ms: 1, output_tokens_per_second: 10000, basis: guessed }';
const POLICY = `version: 1
providers: { sim: { adapter: simulated } }
models:
  small: { provider: sim, price: { input: 0.1, output: 0.4 }, context_window: 90000, max_output: 9000, capabilities: [tools], quality: { default: 0.7 }, ${LATENCY} }
  other: { provider: sim, price: { input: 0.2, output: 0.8 }, context_window: 90000, max_output: 9000, capabilities: [tools], quality: { default: 0.7 }, ${LATENCY} }
  strong: { provider: sim, price: { input: 5, output: 20 }, context_window: 90000, max_output: 9000, capabilities: [tools], quality: { default: 0.9 }, ${LATENCY} }
selectors:
  auto: { strategy: auto, tiers: { usual: [small, other], strong: [strong] } }
  each: { strategy: weighted }
`;

const PROOF =
  'Find all functions f from the reals to the reals with f(x f(y) + f(x)) = f(xy) + f(x) for all real x and y, with a complete proof.';
const GREETING = 'hi, how are you?';
const WRONG = [GREETING, 'Fine.', 'Was ist 2 + 2?', '5', 'Nein, das ist falsch.'];

let live: LivePolicy;
beforeAll(async () => {
  live = await startLivePolicy({ 'policy.yaml': POLICY });
});
afterAll(() => live.stop());

async function decisionOf(model: string, texts: readonly string[], more: object = {}) {
  const messages = texts.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content }));
  const answer = await live.box.post('/v1/chat/completions', { model, messages, ...more });
  const { platform } = (await answer.json()) as { platform: { decision_id: string } };
  return (await (await live.box.get(`/v1/decisions/${platform.decision_id}`)).json()) as {
    choice: string;
    route_reason: string;
    tier: { name: string; why: string; order: string[]; stated: { usual: string[]; strong: string[] } | null } | null;
    facts: { first_tier: { name: string; hard: number } | null; escalation: object | null };
    replay: { matches: boolean };
    explanation: string[];
  };
}

test('a conversation gets the first model of the tier of its first question, and the decision says so and replays', async () => {
  const decision = await decisionOf('auto', [GREETING]);
  expect(decision).toMatchObject({
    choice: 'small',
    route_reason: 'auto:usual',
    tier: { name: 'usual', why: 'usual', stated: { usual: ['small', 'other'], strong: ['strong'] } },
    facts: { first_tier: { name: 'usual' } },
    replay: { matches: true },
  });
  expect(decision.explanation.join(' ')).toContain('small, then other');
  expect(await decisionOf('auto', [PROOF])).toMatchObject({
    choice: 'strong',
    route_reason: 'auto:strong',
    tier: { name: 'strong', why: 'hard' },
    replay: { matches: true },
  });
});

test('later questions change neither tier nor model', async () => {
  const answers = [
    [GREETING, 'Fine.', PROOF],
    [PROOF, 'Here it is: …', GREETING],
    [PROOF, 'Here it is: …', 'Thanks!', 'Gladly.', GREETING],
  ];
  const choices = [];
  for (const texts of answers) choices.push((await decisionOf('auto', texts)).choice);
  expect(choices).toEqual(['small', 'strong', 'strong']);
});

test('weights score all models, and a ceiling only removes some', async () => {
  const weights = { route_strategy: { cost_weight: 0, quality_weight: 1 } };
  expect(await decisionOf('auto', [GREETING], weights)).toMatchObject({
    choice: 'strong',
    tier: null,
    route_reason: 'auto:weighted',
  });
  const ceiling = { constraints: { max_cost_credits: 0.2 } };
  const capped = { choice: 'small', tier: { name: 'strong' }, route_reason: 'auto:strong' };
  expect(await decisionOf('auto', [PROOF], { ...ceiling, max_tokens: 100 })).toMatchObject(capped);
  expect(await decisionOf('each', [GREETING])).toMatchObject({ tier: null, route_reason: 'each:weighted' });
});

test('after an answer that failed, a conversation has the strong tier for a stated number of answers, and the decision says why', async () => {
  const failed = [GREETING, 'Fine.', 'Was ist 2 + 2?', '', 'Are you there?'];
  const decision = await decisionOf('auto', failed);
  expect(decision).toMatchObject({
    choice: 'strong',
    tier: { name: 'strong', why: 'escalated' },
    facts: { first_tier: { name: 'usual' }, escalation: { signal: 'empty_answer', turns_ago: 0 } },
    replay: { matches: true },
  });
  expect(decision.explanation.join(' ')).toContain('The conversation is escalated: an answer was empty.');
  const later = (answers: number) => [
    ...failed,
    ...Array.from({ length: answers }, (_, nth) => ['4', `Thanks. And number ${nth}?`]).flat(),
  ];
  const choices = [];
  for (const answers of [5, 6]) choices.push((await decisionOf('auto', later(answers))).choice);
  expect(choices).toEqual(['strong', 'small']);
  expect(await decisionOf('each', failed)).toMatchObject({ tier: null, facts: { escalation: null } });
});

test('a call whose arguments do not fit their function moves the conversation to the strong tier', async () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const tools = [{ type: 'function', function: { name: 'weather', parameters } }];
  const after = (written: string) =>
    decisionOf('auto', [], {
      tools,
      messages: [
        { role: 'user', content: GREETING },
        {
          role: 'assistant',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'weather', arguments: written } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'no' },
      ],
    });
  expect(await after('{"city":1}')).toMatchObject({
    choice: 'strong',
    facts: { escalation: { signal: 'malformed_call', turns_ago: 0 } },
    replay: { matches: true },
  });
  expect(await after('{"city":"Bern"}')).toMatchObject({ choice: 'small', facts: { escalation: null } });
});

test('the policy says which failures count, and words of the user count only if it names them', async () => {
  expect(await decisionOf('auto', WRONG)).toMatchObject({ choice: 'small', facts: { escalation: null } });
  const { revision } = await live.status();
  live.replace('policy.yaml', `${POLICY}escalate: { on: [correction], turns: 2 }\n`);
  await live.changedFrom(revision);
  try {
    const corrected = await decisionOf('auto', WRONG);
    expect(corrected).toMatchObject({
      choice: 'strong',
      facts: { escalation: { signal: 'correction', turns_ago: 0 } },
    });
    expect(corrected.explanation.join(' ')).toContain('the user said that the answer is wrong');
    const empty = await decisionOf('auto', [GREETING, '', 'Are you there?']);
    expect(empty).toMatchObject({ choice: 'small', facts: { escalation: null } });
  } finally {
    const changed = await live.status();
    live.replace('policy.yaml', POLICY);
    await live.changedFrom(changed.revision);
  }
});
