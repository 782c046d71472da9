import type { Capability } from 'signalbox/plugin';
import { type Effort, rounded } from '../openai-compatible/efforts.ts';

/** How a model is asked. */
export type Endpoint = 'chat' | 'responses';

/**
 * What OpenAI's reasoning models take, by their names, the most particular first. Efforts ascend; chat completions know
 * no `max`. Beside tools some take there no effort but `none`, and say so; one, which has no `none`, takes no tools there.
 */
interface Family {
  readonly name: RegExp;
  readonly efforts: readonly Effort[];
  readonly toolsInChat: 'with_effort' | 'without_effort' | 'never';
}

// `max`: enricoros/big-AGI#1159, BerriAI/litellm-docs#1173. Tools: openai/openai-openapi#541, BerriAI/litellm#34569.
const FAMILIES: readonly Family[] = [
  { name: /^gpt-6-astra/, efforts: ['low', 'medium', 'high', 'xhigh', 'max'], toolsInChat: 'never' },
  {
    name: /^gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)/,
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
    toolsInChat: 'without_effort',
  },
  { name: /^gpt-5\.[45]/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'], toolsInChat: 'without_effort' },
  { name: /^gpt-5\.[23]/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'], toolsInChat: 'with_effort' },
  { name: /^gpt-5\.1/, efforts: ['none', 'low', 'medium', 'high'], toolsInChat: 'with_effort' },
  { name: /^gpt-5/, efforts: ['minimal', 'low', 'medium', 'high'], toolsInChat: 'with_effort' },
  { name: /^o\d/, efforts: ['low', 'medium', 'high'], toolsInChat: 'with_effort' },
];

const familyOf = (upstream: string): Family | undefined => FAMILIES.find(({ name }) => name.test(upstream));

/** What a reasoning model of OpenAI's cannot be asked. */
export function reasoningModelLacks(upstream: string): readonly Capability[] {
  const lacks: Capability[] = ['stop', 'penalties', 'logit_bias', 'logprobs'];
  // The o-series refuses `parallel_tool_calls`, whatever it says.
  if (/^o\d/.test(upstream)) lacks.push('single_tool_calls');
  return lacks;
}

/** Whether chat completions let a reasoning model have tools, and reason beside them. */
export function toolsInChat(upstream: string): Family['toolsInChat'] {
  return familyOf(upstream)?.toolsInChat ?? 'with_effort';
}

/** The effort to ask of a reasoning model: the one asked for, or the next that it has there. */
export function effortFor(upstream: string, asked: string | undefined, endpoint: Endpoint): string | undefined {
  const family = familyOf(upstream);
  if (!family || asked === undefined) return asked;
  return rounded(
    asked,
    family.efforts.filter((effort) => effort !== 'max' || endpoint === 'responses'),
  );
}
