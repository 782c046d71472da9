/** What a model of Anthropic's takes and refuses. */
export interface Claude {
  /** Output tokens at most. */
  readonly outputMax: number;
  /** The values of `thinking.type` that it takes. */
  readonly thinking: readonly string[];
  /** It thinks unless told otherwise. */
  readonly thinksByDefault: boolean;
  /** Its thinking comes without its text unless `display` asks for it. */
  readonly hidesThinking: boolean;
  /** `disabled` goes only with effort up to `high`. */
  readonly stillUpToHigh: boolean;
  /** Other values than the defaults of temperature, top_p and top_k are refused. */
  readonly refusesSampling: boolean;
  /** `tool_choice` of `any` and `tool` is refused, whether it thinks or not. */
  readonly refusesForcedTools: boolean;
  /** A last message of the assistant's is refused. */
  readonly refusesPrefill: boolean;
  /** Messages of role `system` amid the others. */
  readonly takesSystemMessages: boolean;
  readonly efforts: readonly string[];
  /** A thinking block is worth something only behind the very words that it came behind. */
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
  // A name that is not Anthropic's is taken for the model with the widest choice.
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
