import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { AnswerContent } from '../../fault/surfaces.ts';
import { requestIn } from '../../fault/surfaces.ts';
import { waitFor } from '../../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { contentOf, WAYS, type Way } from '../steps/served.ts';
import { cachingServer, missAndHit } from './support.ts';

const upstream = useUpstream();

describe('a cache of every request', () => {
  let box: Signalbox;
  beforeAll(async () => {
    box = await cachingServer(upstream.url, 'cache: { sampled: true }\n');
  });
  afterAll(() => box.stop());

  const send = ({ surface, isStream }: Way, question: string, headers = {}) => {
    const { path, body } = requestIn(surface, 'best', isStream, surface.body(20, null, question));
    return box.post(path, body, { headers });
  };

  test.each(WAYS)('repeats an answer, except its ID, time and decision: %s', async (name, way) => {
    const { miss, hit, calls } = await missAndHit(upstream, () => send(way, `Say hello, ${name}.`));
    expect(hit.headers.get('age')).toMatch(/^\d+$/);
    const decision = hit.headers.get('x-signalbox-decision-id')!;
    const stored = await contentOf(way, miss);
    const repeated = await contentOf(way, hit);
    expect(calls).toBe(0);
    expect(withoutIdentity(repeated)).toEqual(withoutIdentity(stored));
    expect(decision).not.toBe(miss.headers.get('x-signalbox-decision-id'));
    const { platform } = repeated;
    expect(platform).toMatchObject({ route_reason: 'cache:exact', credits_consumed: 0, decision_id: decision });
    const record = await (await box.get(`/v1/decisions/${decision}`)).json();
    expect(record).toMatchObject({ outcome: { repeats: miss.headers.get('x-signalbox-decision-id') } });
    const line = await waitFor(() => box.lines.find((one) => one.includes(decision)));
    expect(JSON.parse(line)).toMatchObject({ cache: 'hit', credits: 0, outcome: 'completed' });
  });
});

describe('a hit of an answer that is passed through', () => {
  const upstreams = { openai: upstream, anthropic: useUpstream({ dialect: 'anthropic' }) };
  let box: Signalbox;
  beforeAll(async () => {
    const providers = Object.entries(upstreams).map(([name, { url }]) => [name, { url, adapter: name }]);
    const models = Object.keys(upstreams).map((name) => [
      `at-${name}`,
      { endpoints: [name], price: { input: 4, output: 16 } },
    ]);
    const policy = testPolicy(Object.fromEntries(providers), Object.fromEntries(models), 'cache: { sampled: true }\n');
    box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  });
  afterAll(() => box.stop());

  const bodies = {
    openai: ['/v1/responses', { input: 'Hi.' }],
    anthropic: ['/v1/messages', { max_tokens: 20, messages: [{ role: 'user', content: 'Hi.' }] }],
  } as const;

  /** Returns the IDs of an answer: of a message or of a response, in each of its events. */
  const idsOf = (text: string): readonly string[] =>
    [...text.matchAll(/"id":"([^"]+)"[^{}]*"(?:object":"response"|type":"message"[^{}]*"model")/g)].map(
      ([, id]) => id!,
    );

  test.each([
    ['openai', false],
    ['openai', true],
    ['anthropic', false],
    ['anthropic', true],
  ] as const)('has an ID of its own: %s, stream: %p', async (name, stream) => {
    const [path, body] = bodies[name];
    const send = () => box.post(path, { ...body, model: `at-${name}`, stream });
    const { miss, hit } = await missAndHit(upstreams[name], send);
    const again = await send();
    const answers = await Promise.all([miss, hit, again].map((response) => response.text()));
    const ids = answers.map((text) => [...new Set(idsOf(text))]);
    expect(ids.map(({ length }) => length)).toEqual([1, 1, 1]);
    expect(new Set(ids.flat()).size).toBe(3);
    expect(answers[1]).toContain('"route_reason":"cache:exact"');
  });
});

const withoutIdentity = ({ platform: _, ...content }: AnswerContent) => content;
