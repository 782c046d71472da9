import { expect, test } from 'bun:test';
import { loadText, SMALL, snapshotOf } from './support.ts';

const readsWith = (section: string): boolean => snapshotOf(loadText(`${SMALL}\n${section}`)).namedModelsReadIntent;
const when = (condition: string, section = 'constraints', effect = 'require: model.price.output < 6.0') =>
  `${section}: [{ name: r, when: '${condition}', ${effect} }]`;

test.each([
  '',
  when('key.labels.team == "a" && time.hour < 6'),
  when('request.input_tokens > 9.0 && request.max_tokens < 50 && request.stream && request.images == 0.0'),
  when('request.tools || "vision" in request.needs || request.user == "u" || request.metadata.n == "1"'),
  when('request.model == "auto"', 'preferences', 'prefer: model.price.output < 6.0, worth: 0.1'),
  'budgets: [{ name: b, limit_credits: 5, window: day, on_exhausted: downgrade }]',
  'rate_limits: [{ name: l, requests_per_minute: 5, concurrent_streams: 2 }]',
])('if the caller names the model, `%s` does not require reading the prompt', (section) => {
  expect(readsWith(section)).toBe(false);
});

test.each([
  ...['request.task == "coding"', 'request.difficulty == "hard"', '"rust" in request.languages'].map((one) =>
    when(one),
  ),
  ...['request.natural_language == "de"', 'request.output_tokens > 50.0', 'request["task"] == "chat"'].map((one) =>
    when(one),
  ),
  when('[request].exists(r, r.stream)'),
  when('request.task == "coding"', 'preferences', 'prefer: model.price.output < 6.0, worth: 0.1'),
  'constraints: [{ name: r, max_cost_credits: 5 }]',
  'constraints: [{ name: r, max_latency_ms: 5 }]',
  'rate_limits: [{ name: l, tokens_per_minute: 500 }]',
  'tasks: { unread: { expected_output_tokens: 1, default_input_tokens: 1, min_useful_output: 1 } }',
])('if the caller names the model, `%s` requires reading the prompt', (section) => {
  expect(readsWith(section)).toBe(true);
});
