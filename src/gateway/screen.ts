import { type ChatMessage, type ChatRequest, type ContentPart, KNOWN_FIELDS } from '../core/chat-request.ts';
import { SignalboxError } from '../core/errors.ts';
import { isObject } from '../core/object.ts';
import type { GatewayPolicy, Provider } from '../core/snapshot.ts';
import { whyNotPublic } from './public-address.ts';

/** What the schema cannot say: fields that contradict each other, and what changes the bill unseen. Throws SignalboxError. */
export function screen(request: ChatRequest, limits: GatewayPolicy): void {
  screenBill(request);
  screenMessages(request.messages, limits);
  screenTools(request, limits);
  const { max_tokens: short, max_completion_tokens: long } = request;
  if (short != null && long != null && short !== long) {
    throw invalid('max_completion_tokens', 'max_tokens and max_completion_tokens differ; send one of them.');
  }
  // Nulls are gone: options that state nothing are none.
  if (!request.stream && Object.keys(request.stream_options ?? {}).length > 0) {
    throw invalid('stream_options', '`stream_options` goes with stream: true.');
  }
  if (request.top_logprobs != null && !request.logprobs) {
    throw invalid('top_logprobs', '`top_logprobs` goes with logprobs: true.');
  }
}

/**
 * Kinds of tools that OpenAI has and Signalbox does not: told by name, before the schema would call
 * them misspelt. Takes the body as it came. Throws SignalboxError.
 */
export function screenKinds(body: unknown): void {
  if (!isObject(body)) return;
  const tools = Array.isArray(body.tools) ? body.tools : [];
  for (const [i, tool] of tools.entries()) refuseKind(tool, `tools[${i}].type`);
  refuseKind(body.tool_choice, 'tool_choice.type');
  const messages = Array.isArray(body.messages) ? body.messages : [];
  for (const [i, message] of messages.entries()) {
    const calls = isObject(message) && Array.isArray(message.tool_calls) ? message.tool_calls : [];
    for (const [j, call] of calls.entries()) refuseKind(call, `messages[${i}].tool_calls[${j}].type`);
  }
}

function refuseKind(value: unknown, param: string): void {
  if (!isObject(value) || typeof value.type !== 'string' || value.type === 'function') return;
  throw unsupported(param, `Only tools of the type \`function\` are supported, not \`${value.type.slice(0, 64)}\`.`);
}

const invalid = (param: string, message: string) => new SignalboxError('invalid_value', message, { param });
const unsupported = (param: string, message: string) => new SignalboxError('unsupported_parameter', message, { param });

/** Fields that would be billed beyond tokens, or by other prices: no reservation could cover them. */
function screenBill(request: Readonly<Record<string, unknown>>): void {
  const { service_tier: tier, modalities, best_of: bestOf } = request;
  if (tier != null && tier !== 'auto' && tier !== 'default') {
    throw unsupported('service_tier', 'Service tiers are billed by other prices; leave service_tier out.');
  }
  if (request.web_search_options != null)
    throw unsupported('web_search_options', 'Web search is billed by the call and not supported.');
  if (request.audio != null) throw unsupported('audio', 'Audio output is not supported.');
  if (Array.isArray(modalities) && modalities.some((kind) => kind !== 'text')) {
    throw unsupported('modalities', 'Only text output is supported.');
  }
  if (request.prediction != null)
    throw unsupported('prediction', 'Rejected predictions are billed beyond max_tokens; not supported.');
  if (bestOf != null && bestOf !== 1)
    throw unsupported('best_of', '`best_of` bills answers that are thrown away; use n.');
  if (request.functions != null) throw unsupported('functions', '`functions` was replaced by `tools`.');
  if (request.function_call != null)
    throw unsupported('function_call', '`function_call` was replaced by `tool_choice`.');
}

/** Checks the number of messages and what each role requires. */
function screenMessages(messages: readonly ChatMessage[], limits: GatewayPolicy): void {
  const { messagesMax } = limits;
  if (messages.length > messagesMax) {
    throw new SignalboxError('out_of_range', `\`messages\` may have at most ${messagesMax} items.`, {
      param: 'messages',
    });
  }
  for (const [i, message] of messages.entries()) screenMessage(message, i, limits);
}

function screenTools({ tools, tool_choice: choice }: ChatRequest, { toolsMax }: GatewayPolicy): void {
  if (tools && tools.length > toolsMax) {
    throw new SignalboxError('out_of_range', `\`tools\` may have at most ${toolsMax} items.`, { param: 'tools' });
  }
  if (choice == null || choice === 'none' || choice === 'auto') return;
  if (!tools?.length) throw invalid('tool_choice', '`tool_choice` goes with `tools`.');
  if (choice === 'required') return;
  const { name } = choice.function;
  if (!tools.some((tool) => tool.function.name === name)) {
    throw invalid('tool_choice.function.name', `There is no tool \`${name.slice(0, 64)}\` in \`tools\`.`);
  }
}

const IMAGE_URL = /^(?:https?:\/\/|data:)/i;

function screenMessage(message: ChatMessage, index: number, limits: GatewayPolicy): void {
  const at = `messages[${index}]`;
  const hasCalls =
    message.role === 'assistant' && (message.tool_calls?.length || 'function_call' in message || message.refusal);
  if (message.content == null && !hasCalls) {
    throw new SignalboxError(
      'missing_field',
      `\`${at}.content\` is required; only an assistant message with tool calls may go without.`,
      {
        param: `${at}.content`,
      },
    );
  }
  if (Array.isArray(message.content)) {
    for (const [i, part] of message.content.entries()) {
      screenAddresses(part, `${at}.content[${i}]`, limits);
    }
  }
  if (message.role === 'tool' && message.tool_call_id === undefined) {
    throw new SignalboxError(
      'missing_field',
      `\`${at}.tool_call_id\` is required: it names the call that this message answers.`,
      {
        param: `${at}.tool_call_id`,
      },
    );
  }
}

/** An address with a scheme: what stands in the place of an image, of a file, of a sound. Some read one slash as two. */
const ADDRESS = /^\s*(?:https?:|[a-z][a-z0-9+.-]*:\/\/)/i;

/** Members of a part that hold what is said, and those that hold media: each belongs to parts of its own type. */
const WORDS: ReadonlySet<string> = new Set(['type', 'text', 'refusal']);
const MEDIA: ReadonlySet<string> = new Set(['image_url', 'input_audio', 'file']);

/** Signalbox fetches none of them. Whoever does so may stand in a network where more can be reached than by the caller. */
function screenAddresses(part: ContentPart, at: string, { allowPrivateImageUrls }: GatewayPolicy): void {
  if (part.type === 'image_url' && !IMAGE_URL.test(part.image_url.url)) {
    throw invalid(`${at}.image_url.url`, 'An image is given by an http or https address, or as a data: URL.');
  }
  for (const [name, value] of Object.entries(part)) {
    if (value == null || WORDS.has(name)) continue;
    // Some servers go by the member that is there, whatever the type says.
    if (MEDIA.has(name) && name !== part.type) {
      throw invalid(`${at}.${name}`, `A part of the type \`${part.type}\` has no \`${name}\`.`);
    }
    if (!allowPrivateImageUrls) screenAddress(value, `${at}.${name.slice(0, NAME_SHOWN)}`);
  }
}

/** Looks at every text in a value: a body nests no deeper than its limits. */
function screenAddress(value: unknown, at: string): void {
  if (typeof value === 'string') {
    const why = ADDRESS.test(value) ? whyNotPublic(value) : null;
    if (why) throw invalid(at, `The address ${why}.`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) screenAddress(inner, `${at}.${name.slice(0, NAME_SHOWN)}`);
  }
}

export interface Extras {
  readonly passed: Readonly<Record<string, unknown>>;
  readonly dropped: readonly string[];
}

/** Names shown of dropped fields; a body can hold tens of thousands of them. */
const DROPPED_SHOWN = 64;
const NAME_SHOWN = 64;

const NO_EXTRAS: Extras = { passed: {}, dropped: [] };

/** Sorts the fields that the gateway does not know into those a provider lets through and the rest. */
export function sortExtras(request: ChatRequest, { passthrough }: Provider): Extras {
  const unknown = Object.keys(request).filter((name) => !KNOWN_FIELDS.has(name));
  if (unknown.length === 0) return NO_EXTRAS;
  const passes = (name: string) => passthrough.has('*') || passthrough.has(name);
  const fields: Readonly<Record<string, unknown>> = request;
  return {
    passed: Object.fromEntries(unknown.filter(passes).map((name) => [name, fields[name]])),
    dropped: shown(unknown.filter((name) => !passes(name)).map((name) => name.slice(0, NAME_SHOWN))),
  };
}

/** The first of many names, and how many more there are. */
export function shown(names: readonly string[]): readonly string[] {
  const more = names.length - DROPPED_SHOWN;
  return more > 0 ? [...names.slice(0, DROPPED_SHOWN), `and ${more} more`] : names;
}
