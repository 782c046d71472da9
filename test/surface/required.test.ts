import { expect, test } from 'bun:test';
import type Anthropic from '@anthropic-ai/sdk';
import type { ResponseUsage } from 'openai/resources/responses/responses';
import { startBench } from '../support/dialect-bench.ts';
import { withKey } from '../support/signalbox.ts';

/**
 * Members that the official clients' types always have: clients that validate refuse an answer without one. `tsc` compares these
 * lists with the types, so a member that a new version requires is missing here.
 */
type Required<T> = { [K in keyof T]-?: undefined extends T[K] ? never : K }[keyof T];
type Members<T> = Readonly<Record<Required<T>, true>>;

const USAGE: Members<ResponseUsage> = {
  input_tokens: true,
  input_tokens_details: true,
  output_tokens: true,
  output_tokens_details: true,
  total_tokens: true,
};
const INPUT_DETAILS: Members<ResponseUsage.InputTokensDetails> = { cache_write_tokens: true, cached_tokens: true };
const OUTPUT_DETAILS: Members<ResponseUsage.OutputTokensDetails> = { reasoning_tokens: true };
const MODEL: Members<Anthropic.ModelInfo> = {
  capabilities: true,
  created_at: true,
  deprecated_at: true,
  display_name: true,
  id: true,
  lifecycle: true,
  line: true,
  max_input_tokens: true,
  max_tokens: true,
  retires_at: true,
  type: true,
};

const bench = startBench('openai');

test('the usage of a translated response has every member that strict clients require', async () => {
  bench.upstream.next({ text: 'Hi' });
  const answer = await bench.box.post('/v1/responses', { model: 'best', input: 'Hi', store: false });
  const { usage } = (await answer.json()) as { usage: ResponseUsage };
  expect(Object.keys(usage)).toEqual(expect.arrayContaining(Object.keys(USAGE)));
  expect(Object.keys(usage.input_tokens_details)).toEqual(expect.arrayContaining(Object.keys(INPUT_DETAILS)));
  expect(Object.keys(usage.output_tokens_details)).toEqual(expect.arrayContaining(Object.keys(OUTPUT_DETAILS)));
  expect(usage.input_tokens_details.cache_write_tokens).toBe(0);
});

test('every model in the list has every member that strict clients require', async () => {
  const answer = await fetch(`${bench.box.url}/v1/models`, withKey(bench.box.key));
  const { data } = (await answer.json()) as { data: Anthropic.ModelInfo[] };
  expect(data.length).toBeGreaterThan(0);
  for (const model of data) {
    expect(Object.keys(model)).toEqual(expect.arrayContaining(Object.keys(MODEL)));
    expect(model.lifecycle).toBe('active');
  }
});
