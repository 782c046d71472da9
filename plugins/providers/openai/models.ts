import type { Capability } from 'signalbox/plugin';
import { type Effort, nearestEffort } from '../openai-compatible/efforts.ts';

/** OpenAI's endpoints. */
type OpenAiEndpoint = 'chat' | 'responses';

/**
 * A family of OpenAI's reasoning models by name, the most specific first. Efforts are in ascending order; chat completions do not support
 * `max`. With tools, chat completions of some families accept only the effort `none`. One family has no effort `none`, and accepts no tools
 * in chat completions.
 */
interface Family {
  readonly name: RegExp;
  readonly efforts: readonly Effort[];
  readonly toolsInChat: 'with_effort' | 'without_effort' | 'never';
}

// Sources for `max`: enricoros/big-AGI#1159, BerriAI/litellm-docs#1173. Sources for tools: openai/openai-openapi#541,
// BerriAI/litellm#34569.
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

/** Returns OpenAI's own name of a model. Bedrock adds the vendor and perhaps a profile: `global.openai.gpt-6-luna`. */
const ownName = (upstream: string): string => upstream.replace(/^(?:[a-z-]+\.)?openai\./, '');

function familyOf(upstream: string): Family | undefined {
  const ofOpenAi = ownName(upstream);
  return FAMILIES.find(({ name }) => name.test(ofOpenAi));
}

/** Capabilities that OpenAI's reasoning models lack. */
export function reasoningModelLacks(upstream: string): readonly Capability[] {
  const lacks: Capability[] = ['stop', 'penalties', 'logit_bias', 'logprobs'];
  // Models of the o-series reject `parallel_tool_calls` with any value.
  if (/^o\d/.test(ownName(upstream))) lacks.push('single_tool_calls');
  return lacks;
}

/** Returns whether a reasoning model accepts tools in chat completions, with or without an effort. */
export function toolsInChat(upstream: string): Family['toolsInChat'] {
  return familyOf(upstream)?.toolsInChat ?? 'with_effort';
}

/** Returns the requested effort, or the nearest effort that the model supports at the endpoint. */
export function effortFor(
  upstream: string,
  requested: string | undefined,
  endpoint: OpenAiEndpoint,
): string | undefined {
  const family = familyOf(upstream);
  if (!family || requested === undefined) return requested;
  return nearestEffort(
    requested,
    family.efforts.filter((effort) => effort !== 'max' || endpoint === 'responses'),
  );
}
