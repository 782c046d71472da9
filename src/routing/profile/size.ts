import { CAPABILITIES } from '../../core/capability.ts';
import { ChatMessage, type ContentPart } from '../../core/chat-request.ts';
import { estimateTokens, utf8Bytes } from '../../core/tokens.ts';
import type { ProfileInput } from './input.ts';

/** Most and expected tokens that a chat template adds to a message: role, separators. */
const MESSAGE_MAX = 16;
const MESSAGE_EXPECTED = 4;
/** Most tokens that a template adds once: the opening of the reply; with tools, their system prompt. */
const REPLY_MAX = 16;
const TOOLS_MAX = 1_024;

/** The size of a request and the capabilities that it needs. */
interface RequestSize {
  /** Expected. */
  tokens: number;
  /** Upper bound of its tokens. */
  bytes: number;
  images: number;
  audioBytes: number;
  unboundedMedia: number;
  /** Bits of `CAPABILITIES`. */
  needs: number;
}

/** Measures a request. Long texts are sampled for `tokens`. */
export function measure(request: ProfileInput): RequestSize {
  const size: RequestSize = { tokens: 0, bytes: REPLY_MAX, images: 0, audioBytes: 0, unboundedMedia: 0, needs: 0 };
  for (const message of request.messages) addMessage(size, message);
  if (request.tools?.length) {
    size.needs |= CAPABILITIES.tools.bit;
    size.bytes += TOOLS_MAX;
    addText(size, JSON.stringify(request.tools));
  }
  addFormat(size, request);
  if ((request.n ?? 1) > 1) size.needs |= CAPABILITIES.choices.bit;
  if (request.logprobs) size.needs |= CAPABILITIES.logprobs.bit;
  size.needs |= dialectNeeds(request);
  return size;
}

/** Capabilities for fields that some dialects lack. A field with its default value needs none. */
function dialectNeeds(request: ProfileInput): number {
  const { seed, stop, temperature, tools, tool_choice: choice, response_format: format } = request;
  let needs = 0;
  if (seed != null) needs |= CAPABILITIES.seed.bit;
  if (request.frequency_penalty || request.presence_penalty) needs |= CAPABILITIES.penalties.bit;
  if (stop != null && stop.length > 0) needs |= CAPABILITIES.stop.bit;
  if (temperature != null && temperature > 1) needs |= CAPABILITIES.high_temperature.bit;
  if (request.messages.at(-1)?.role === 'assistant') needs |= CAPABILITIES.continuation.bit;
  for (const _ in request.logit_bias) needs |= CAPABILITIES.logit_bias.bit;
  if (!tools?.length) return needs;
  if (choice != null && choice !== 'auto' && choice !== 'none') needs |= CAPABILITIES.forced_tools.bit;
  if (request.parallel_tool_calls === false) needs |= CAPABILITIES.single_tool_calls.bit;
  if (format != null && format.type !== 'text') needs |= CAPABILITIES.json_with_tools.bit;
  return needs;
}

function addText(size: RequestSize, text: string): void {
  size.tokens += estimateTokens(text);
  size.bytes += utf8Bytes(text);
}

function addMessage(size: RequestSize, message: ChatMessage): void {
  size.tokens += MESSAGE_EXPECTED;
  size.bytes += MESSAGE_MAX;
  if (typeof message.content === 'string') addText(size, message.content);
  else for (const part of message.content ?? []) addPart(size, part);
  if (message.name) addText(size, message.name);
  if (message.refusal) addText(size, message.refusal);
  if (message.tool_call_id) addText(size, message.tool_call_id);
  for (const call of message.tool_calls ?? []) {
    addText(size, call.id);
    addText(size, call.function.name);
    addText(size, call.function.arguments);
    addUnknown(size, call, KNOWN_CALL);
    addUnknown(size, call.function, KNOWN_FUNCTION);
    size.bytes += MESSAGE_MAX;
  }
  addUnknown(size, message, KNOWN_MESSAGE);
}

const KNOWN_MESSAGE: ReadonlySet<string> = new Set(Object.keys(ChatMessage.properties));
const KNOWN_CALL: ReadonlySet<string> = new Set(['id', 'type', 'function']);
const KNOWN_FUNCTION: ReadonlySet<string> = new Set(['name', 'arguments']);
const KNOWN_IMAGE: ReadonlySet<string> = new Set(['url', 'detail']);
const KNOWN_AUDIO: ReadonlySet<string> = new Set(['data', 'format']);
const KNOWN_FORMAT: ReadonlySet<string> = new Set(['type', 'json_schema']);

/** Fields beyond the schema, such as earlier reasoning, go upstream too and may be billed. */
function addUnknown(size: RequestSize, owner: Readonly<Record<string, unknown>>, known: ReadonlySet<string>): void {
  for (const field in owner) if (!known.has(field)) addField(size, owner, field);
}

function addField(size: RequestSize, owner: Readonly<Record<string, unknown>>, field: string): void {
  const value = owner[field];
  if (value != null) addText(size, typeof value === 'string' ? value : JSON.stringify(value));
}

function addPart(size: RequestSize, part: ContentPart): void {
  // Fields of other kinds of parts count as unknown: some servers read them.
  for (const field in part) if (field !== 'type' && field !== part.type) addField(size, part, field);
  switch (part.type) {
    case 'text':
      addText(size, part.text);
      return;
    case 'refusal':
      addText(size, part.refusal);
      return;
    case 'image_url':
      addUnknown(size, part.image_url, KNOWN_IMAGE);
      size.images++;
      size.needs |= CAPABILITIES.vision.bit;
      if (!isData(part.image_url.url)) size.needs |= CAPABILITIES.image_urls.bit;
      return;
    case 'input_audio':
      addUnknown(size, part.input_audio, KNOWN_AUDIO);
      // Base64: 3 bytes in 4 characters.
      size.audioBytes += Math.ceil((part.input_audio.data.length * 3) / 4);
      if (!isBoundedAudio(part.input_audio)) size.unboundedMedia++;
      size.needs |= CAPABILITIES.audio_input.bit;
      return;
    case 'file':
      size.unboundedMedia++;
      size.needs |= CAPABILITIES.file_input.bit;
      if (part.file.file_id != null) size.needs |= CAPABILITIES.file_ids.bit;
  }
}

/**
 * Whether the bytes of a sound bound its duration. FLAC, Opus and AAC write an hour of silence in a few kilobytes, and
 * providers go by the first bytes of a file rather than its label.
 */
const isBoundedAudio = ({ format, data }: { readonly format: string; readonly data: string }): boolean =>
  BOUNDED_AUDIO.has(format.toLowerCase()) && !PACKED_AUDIO.test(data);

const BOUNDED_AUDIO: ReadonlySet<string> = new Set(['wav', 'mp3']);
/** In base64: `fLaC`, `OggS`, EBML (WebM), AAC's ADTS, and a box of MP4, whose length comes first. */
const PACKED_AUDIO = /^(?:ZkxhQ|T2dnUw|GkXfo|\/\/[A-Hg-n]|.{5}[GWm2]Z0eX)/;

const isData = (url: string): boolean => /^data:/i.test(url);

function addFormat(size: RequestSize, { response_format: format }: ProfileInput): void {
  if (format) addUnknown(size, format, KNOWN_FORMAT);
  if (format?.type === 'json_object') size.needs |= CAPABILITIES.json_mode.bit;
  if (format?.type !== 'json_schema') return;
  size.needs |= CAPABILITIES.json_schema.bit;
  addText(size, JSON.stringify(format.json_schema));
}
