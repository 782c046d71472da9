import type { Capability } from 'signalbox/plugin';

/**
 * What OpenAI's reasoning models take of a chat completion, by their names, the most particular first. Efforts ascend.
 * Beside tools some take no effort but `none`, and say so; one takes no tools here at all.
 */
interface Family {
  readonly name: RegExp;
  readonly efforts: readonly string[];
  readonly tools: 'with_effort' | 'without_effort' | 'never';
}

const FAMILIES: readonly Family[] = [
  { name: /^gpt-6-astra/, efforts: ['low', 'medium', 'high', 'xhigh'], tools: 'never' },
  {
    name: /^gpt-(?:5\.(?:[4-9]|\d\d)|[6-9]|\d\d)/,
    efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
    tools: 'without_effort',
  },
  { name: /^gpt-5\.[23]/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'], tools: 'with_effort' },
  { name: /^gpt-5\.1/, efforts: ['none', 'low', 'medium', 'high'], tools: 'with_effort' },
  { name: /^gpt-5/, efforts: ['minimal', 'low', 'medium', 'high'], tools: 'with_effort' },
  { name: /^o\d/, efforts: ['low', 'medium', 'high'], tools: 'with_effort' },
];

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

const familyOf = (upstream: string): Family | undefined => FAMILIES.find(({ name }) => name.test(upstream));

/** What a reasoning model of OpenAI's cannot be asked. */
export function reasoningModelLacks(upstream: string): readonly Capability[] {
  const lacks: Capability[] = ['stop', 'penalties', 'logit_bias', 'logprobs'];
  if (familyOf(upstream)?.tools === 'never') lacks.push('tools');
  // The o-series refuses `parallel_tool_calls`, whatever it says.
  if (/^o\d/.test(upstream)) lacks.push('single_tool_calls');
  return lacks;
}

/** The effort to ask of a reasoning model of OpenAI's: the one asked for, or the next that it has. */
export function effortFor(upstream: string, asked: string | undefined, withTools: boolean): string | undefined {
  const family = familyOf(upstream);
  if (withTools && family?.tools === 'without_effort') return 'none';
  if (!family || asked === undefined || !EFFORTS.includes(asked)) return asked;
  return family.efforts.find((effort) => EFFORTS.indexOf(effort) >= EFFORTS.indexOf(asked)) ?? family.efforts.at(-1);
}
