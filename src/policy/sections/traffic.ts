import type { Static } from '@sinclair/typebox';
import { closed, figure, mapOf, optional, whole } from '../../core/define/fields.ts';
import type { TaskTraffic } from '../../core/policy/snapshot.ts';
import { checkNamed } from '../check/section-checks.ts';
import { asDrafted, type DraftContext, defineSection, ORDINARY } from '../define/section.ts';
import { TASKS } from './tasks.ts';
import shipped from './traffic.json' with { type: 'json' };

const tokens = { minimum: 1, maximum: 10_000_000 };

const TrafficText = closed('How much of your traffic is this task, and how long its requests are.', {
  share: figure('Share of the requests, relative to the shares of the other tasks.', {
    exclusiveMinimum: 0,
    maximum: 1_000_000,
    example: 3,
  }),
  input_tokens: optional(
    whole('Usual length of the input, in tokens. Default: the `default_input_tokens` of the task.', {
      ...tokens,
      example: 6000,
    }),
  ),
  output_tokens: optional(
    whole('Usual length of the visible output, in tokens. Default: the `expected_output_tokens` of the task.', {
      ...tokens,
      example: 800,
    }),
  ),
});
type TrafficText = Static<typeof TrafficText>;

/** The section `traffic`: the typical requests that a policy states, or the shipped ones. */
export const TRAFFIC = defineSection({
  name: 'traffic',
  text: mapOf(
    TrafficText,
    'Task → its part of your traffic. Selectors order their models for the mean of these requests. Default: a mix of all built-in tasks.',
  ),
  guard: ORDINARY,
  page: ['Choose', '../route/how-a-model-is-chosen.md#the-typical-request'],
  draft: draftTraffic,
  compile: asDrafted,
});

function draftTraffic(context: DraftContext): readonly TaskTraffic[] {
  const tasks = context.of(TASKS);
  const guesses = new Map<string, TrafficText>(Object.entries(shipped));
  const stated = new Map<string, TrafficText>();
  const names = tasks.map(({ name }) => name);
  for (const { name, data, place: at } of checkNamed('traffic', TrafficText, context)) {
    if (!names.includes(name)) context.report.addUnknown('task', name, names, at);
    else if (data) stated.set(name, data);
  }
  const mix = tasks.flatMap(({ name, ...sizes }, task) => {
    const text = (stated.size > 0 ? stated : guesses).get(name);
    return text ? [{ task, sizes, text }] : [];
  });
  const sum = mix.reduce((total, { text }) => total + text.share, 0);
  return mix.map(({ task, sizes, text }) => ({
    task,
    share: text.share / sum,
    inputTokens: text.input_tokens ?? sizes.defaultInputTokens,
    outputTokens: text.output_tokens ?? sizes.expectedOutputTokens,
  }));
}
