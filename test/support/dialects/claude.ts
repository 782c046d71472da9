/** What an Anthropic model accepts and refuses. */
export interface Claude {
  /** The largest output, tokens. */
  readonly outputMax: number;
  /** The values of `thinking.type` that the model accepts. */
  readonly thinking: readonly string[];
  /** Whether the model thinks unless the request disables thinking. */
  readonly thinksByDefault: boolean;
  /** Whether the model hides the text of its thinking unless the request sets `display`. */
  readonly hidesThinking: boolean;
  /** Whether `disabled` is accepted only with an effort up to `high`. */
  readonly stillUpToHigh: boolean;
  /** Whether the model refuses values of temperature, top_p and top_k other than the defaults. */
  readonly refusesSampling: boolean;
  /** Whether the model refuses `any` and `tool` for `tool_choice`, with or without thinking. */
  readonly refusesForcedTools: boolean;
  /** Whether the model refuses a conversation whose last message is from the assistant. */
  readonly refusesPrefill: boolean;
  /** Whether the model accepts messages of role `system` between other messages. */
  readonly takesSystemMessages: boolean;
  readonly efforts: readonly string[];
  /** Whether a thinking block is valid only after exactly the messages that it was issued after. */
  readonly bindsThinking: boolean;
}

const NAME = /claude-(opus|sonnet|haiku|fable|mythos)-(\d+)(?:-(\d)(?!\d))?/;

/**
 * Sources: `getModelCapabilities` and the section on effort in the documents of @ai-sdk/anthropic; the pages
 * build-with-claude/thinking-troubleshooting (which `thinking.type` is refused), build-with-claude/preserved-thinking,
 * build-with-claude/mid-conversation-system-messages, models/opus-5-5/whats-new-opus-5-5 and
 * models/sonnet-5-5/whats-new-sonnet-5-5 (forced tools) and api/errors (prefill) of platform.claude.com/docs.
 */
export function claudeOf(model: string): Claude {
  const [, family = 'sonnet', major, minor = '0'] = NAME.exec(model) ?? [];
  // A name that is not Anthropic's gets the rules of the model that accepts the most.
  const version = major === undefined ? 4.6 : Number(`${major}.${minor}`);
  const isLarge = family === 'fable' || family === 'mythos';
  const thinksAlways = isLarge || (version >= 5.5 && family !== 'haiku');
  const isNewest = version >= (isLarge ? 5.1 : 5.5);
  return {
    outputMax: version >= 4.6 ? 128_000 : version >= 4.5 || family !== 'opus' ? 64_000 : 32_000,
    thinking: [
      ...(version >= 4.6 ? ['adaptive'] : []),
      ...(version < 4.7 ? ['enabled'] : []),
      ...(thinksAlways ? [] : ['disabled']),
      ...(family === 'sonnet' && version >= 5.5 ? ['between_tools'] : []),
    ],
    thinksByDefault: version >= 5,
    hidesThinking: version >= 4.7,
    stillUpToHigh: version >= 5.5 || (family === 'opus' && version >= 5),
    refusesSampling: version >= 4.7,
    refusesForcedTools:
      ((family === 'opus' || family === 'sonnet') && version === 5.5) || (family === 'fable' && version === 5.1),
    refusesPrefill: version >= 4.6,
    takesSystemMessages: version >= 4.8 && !(family === 'sonnet' && version < 5.5),
    efforts: [
      ...(version >= 4.6 || (family === 'opus' && version >= 4.5) ? ['low', 'medium', 'high'] : []),
      ...(version >= 4.7 ? ['xhigh'] : []),
      ...(version >= 4.6 ? ['max'] : []),
    ],
    bindsThinking: isNewest,
  };
}
