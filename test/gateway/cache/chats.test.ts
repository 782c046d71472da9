import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { AnswerContent } from '../../fault/surfaces.ts';
import { requestIn } from '../../fault/surfaces.ts';
import { waitFor } from '../../support/answers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
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

const withoutIdentity = ({ platform: _, ...content }: AnswerContent) => content;
