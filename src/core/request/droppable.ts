import { isEmpty } from '../json/object.ts';
import { CAPABILITIES, type Capability } from './capability.ts';
import type { ModelRequest } from './model-request.ts';

/** A setting of a request that not every model accepts. */
interface DroppableSetting {
  readonly setting: 'presencePenalty' | 'frequencyPenalty' | 'logitBias' | 'logprobs' | 'seed' | 'parallelToolCalls';
  /** The capability that a model needs to accept the setting. */
  readonly capability: Capability;
  /** Whether a request sets a value other than the default. */
  isSet(request: Pick<ModelRequest, 'settings' | 'conversation'>): boolean;
}

/**
 * The settings that a policy may drop, under OpenAI's names. Without droppable settings, the answer has the same form and the same bounds.
 * Never add fields that bound money, content or form to this table.
 */
const DROPPABLE = {
  presence_penalty: {
    setting: 'presencePenalty',
    capability: 'penalties',
    isSet: ({ settings }) => !!settings.presencePenalty,
  },
  frequency_penalty: {
    setting: 'frequencyPenalty',
    capability: 'penalties',
    isSet: ({ settings }) => !!settings.frequencyPenalty,
  },
  logit_bias: { setting: 'logitBias', capability: 'logit_bias', isSet: ({ settings }) => !isEmpty(settings.logitBias) },
  logprobs: { setting: 'logprobs', capability: 'logprobs', isSet: ({ settings }) => settings.logprobs === true },
  seed: { setting: 'seed', capability: 'seed', isSet: ({ settings }) => settings.seed !== undefined },
  parallel_tool_calls: {
    setting: 'parallelToolCalls',
    capability: 'single_tool_calls',
    isSet: ({ settings, conversation }) => settings.parallelToolCalls === false && conversation.tools.length > 0,
  },
} as const satisfies Readonly<Record<string, DroppableSetting>>;

export type DroppableName = keyof typeof DROPPABLE;
export const DROPPABLE_NAMES = Object.keys(DROPPABLE) as DroppableName[];

/** The droppable settings with the bits of their capabilities. */
export const DROPPABLE_SETTINGS = DROPPABLE_NAMES.map((name) => {
  const one: DroppableSetting = DROPPABLE[name];
  return { ...one, name, bit: CAPABILITIES[one.capability].bit };
});
