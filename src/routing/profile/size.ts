import { ListTotal } from '../../core/json/list-memory.ts';
import { isEmpty, isObject } from '../../core/json/object.ts';
import type { Members, OriginalPath } from '../../core/json/original.ts';
import { isShared, SharedValues } from '../../core/json/shared-values.ts';
import { askedBit } from '../../core/money/units.ts';
import { CAPABILITIES, passthroughBit } from '../../core/request/capability.ts';
import type { ContentPart, Conversation, FilePart, Turn } from '../../core/request/conversation.ts';
import { DROPPABLE_SETTINGS } from '../../core/request/droppable.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { addTextSize } from '../../core/request/tokens.ts';

/** The maximum and the expected number of tokens that a chat template adds to a turn for its role and separators. */
const TURN_MAX = 16;
const TURN_EXPECTED = 4;
/** The maximum number of tokens that a template adds once: for the opening of the reply, and with tools for their system prompt. */
const REPLY_MAX = 16;
const TOOLS_MAX = 1_024;

/** The bytes of the marks around instructions within a conversation, for models that accept no system messages within a conversation. */
const MARKS_MAX = 48;

/** The capabilities that a request needs to continue a conversation whose history the provider keeps. */
export const THREAD_NEEDS = CAPABILITIES.threads.bit | CAPABILITIES.anthropic_messages.bit;

/** The size of a request and the capabilities that it needs. */
export type RequestSize = ReturnType<typeof sizeOfNothing>;

const NOWHERE: OriginalPath = [];
const noPath = (): OriginalPath | null => null;

/** Returns the size of a request without messages. Callers then add the sizes of the request's parts. */
export const sizeOfNothing = () => ({
  /** The expected number of tokens. */
  tokens: 0,
  /** An upper bound of the number of tokens, in bytes. */
  bytes: REPLY_MAX,
  images: 0,
  audioBytes: 0,
  pdfs: 0,
  /** The expected number of pages of the PDFs. */
  pages: 0,
  unboundedMedia: 0,
  /** The capabilities that the request needs, as bits of `CAPABILITIES`. */
  needs: 0,
  /** The units that the request asks for, as bits of `ASKED_UNITS`, and the location of OpenAI's first mark that asks for one. */
  asked: 0,
  askedAt: noPath(),
  /** The location of a mark that makes OpenAI write to its cache at a price that the catalog does not have; null for none. */
  unpricedCacheAt: noPath(),
});

/** Measures a request. `measure` counts `tokens` of long texts from samples, and opens no file. */
export function measure(request: ModelRequest): RequestSize {
  const { conversation, settings } = request;
  const { turns, tools } = conversation;
  const { size } = totals.of(turns, (total, turn) => addTurn(total, turn, request));
  const native = conversation.nativeTools?.length ?? 0;
  if (native > 0) size.needs |= passthroughBit(request.original.dialect);
  if (conversation.isWarmUp) size.needs |= passthroughBit(request.original.dialect);
  if (conversation.isCompletion) size.needs |= completionNeeds(conversation);
  if (conversation.thread?.continues) size.needs |= THREAD_NEEDS;
  if (request.toolsText !== '') {
    if (tools.length > 0) size.needs |= CAPABILITIES.tools.bit;
    for (const { extras, at } of tools) markCache(size, extras, at);
    for (const { at } of conversation.nativeTools ?? []) addWithin(size, request.originalAt(at), at, false);
    size.bytes += TOOLS_MAX;
    // The gateway sends tools to the provider unchanged.
    addToolsSize(size, request);
  }
  markCache(size, request.extras, NOWHERE);
  const { prompt_cache_options: options } = request.original.body;
  if (options !== undefined) markLongCache(size, options, ['prompt_cache_options']);
  addFormat(size, request);
  if ((settings.choices ?? 1) > 1) size.needs |= CAPABILITIES.choices.bit;
  size.needs |= dialectNeeds(request);
  size.tokens = Math.max(1, size.tokens);
  return size;
}

export const hasMedia = ({ images, audioBytes, pdfs, unboundedMedia }: RequestSize): boolean =>
  images + audioBytes + pdfs + unboundedMedia > 0;

interface SizeOfTurns {
  readonly size: RequestSize;
  /** Whether a turn other than an instruction was among the turns. */
  hasBegun: boolean;
}

/** The sizes of lists of turns. */
const totals = new ListTotal<Turn, SizeOfTurns>(
  () => ({ size: sizeOfNothing(), hasBegun: false }),
  ({ size, hasBegun }) => ({ size: { ...size }, hasBegun }),
);

function addTurn(total: SizeOfTurns, turn: Turn, request: ModelRequest): SizeOfTurns {
  const { size } = total;
  if (isShared(turn)) add(size, sizeOfShared(turn, request));
  else measureTurn(size, turn, request);
  if (turn.role !== 'system' && turn.role !== 'developer') total.hasBegun = true;
  else if (total.hasBegun) size.bytes += MARKS_MAX * turn.parts.length;
  return total;
}

/** The second part of a completion is its suffix. */
const completionNeeds = ({ turns: [turn] }: Conversation): number =>
  CAPABILITIES.completions.bit | ((turn?.parts.length ?? 0) > 1 ? CAPABILITIES.suffix.bit : 0);

/** Returns the capabilities for fields that some dialects lack. A field with its default value needs no capability. */
function dialectNeeds(request: ModelRequest): number {
  const { conversation, settings } = request;
  const { temperature, answerFormat: format } = settings;
  let needs = 0;
  for (const one of DROPPABLE_SETTINGS) if (settings[one.setting] !== undefined && one.isSet(request)) needs |= one.bit;
  if (temperature !== undefined && temperature > 1) needs |= CAPABILITIES.high_temperature.bit;
  if (conversation.turns.at(-1)?.role === 'assistant') needs |= CAPABILITIES.continuation.bit;
  if (conversation.tools.length === 0) return needs;
  if (isForced(conversation)) {
    needs |= CAPABILITIES.forced_tools.bit;
    if (asksForThinking(request)) needs |= CAPABILITIES.forced_tools_with_thinking.bit;
  }
  if (format !== undefined && format.type !== 'text') needs |= CAPABILITIES.json_with_tools.bit;
  return needs;
}

const isForced = ({ toolChoice: choice }: Conversation): boolean =>
  choice !== undefined && choice !== 'auto' && choice !== 'none';

/** A chat may have Anthropic's own `thinking` among its extra fields, and a provider can be configured to pass extra fields on. */
function asksForThinking({ conversation, settings, extras: { thinking } }: ModelRequest): boolean {
  if (isObject(thinking)) return thinking.type === 'enabled' || thinking.type === 'adaptive';
  const { reasoningEffort: effort } = settings;
  return conversation.asksForThinking ?? (effort != null && effort !== 'none');
}

/** The sizes of the texts of tools that several requests share. */
const knownTools = new SharedValues<
  object,
  { readonly text: string; readonly tokens: number; readonly bytes: number }
>();

function addToolsSize(size: RequestSize, { toolsText: text, names, original }: ModelRequest): void {
  const list = Object(original.body[names.tools]);
  let known = knownTools.get(list);
  if (known?.text !== text) {
    const own = { text, tokens: 0, bytes: 0 };
    addTextSize(own, text);
    known = knownTools.set(list, own);
  }
  size.tokens += known.tokens;
  size.bytes += known.bytes;
}

/** The sizes of shared turns. */
const knownSizes = new SharedValues<Turn, RequestSize>();

function sizeOfShared(turn: Turn, request: ModelRequest): RequestSize {
  const known = knownSizes.get(turn);
  if (known !== undefined) return known;
  const size = { ...sizeOfNothing(), bytes: 0 };
  measureTurn(size, turn, request);
  return knownSizes.set(turn, size);
}

function add(size: RequestSize, more: RequestSize): void {
  size.tokens += more.tokens;
  size.bytes += more.bytes;
  size.images += more.images;
  size.audioBytes += more.audioBytes;
  size.pdfs += more.pdfs;
  size.pages += more.pages;
  size.unboundedMedia += more.unboundedMedia;
  size.needs |= more.needs;
  size.asked |= more.asked;
  size.askedAt ??= more.askedAt;
  size.unpricedCacheAt ??= more.unpricedCacheAt;
}

function measureTurn(size: RequestSize, { parts, name, toolCallId, extras, at }: Turn, request: ModelRequest): void {
  size.tokens += TURN_EXPECTED;
  size.bytes += TURN_MAX;
  for (const part of parts) addPart(size, part, request);
  if (name) addTextSize(size, name);
  if (toolCallId) addTextSize(size, toolCallId);
  addExtras(size, extras, at);
  // An earlier spoken answer is only an ID, so the number of its tokens is unknown.
  if (isObject(extras.audio)) size.unboundedMedia++;
}

/**
 * Reads the marks for a prefix to cache: Anthropic's, which several gateways accept in every dialect, and OpenAI's.
 * @param at the location of the owner, or of the value that the owner is within
 */
function markCache(
  size: RequestSize,
  { cache_control: mark, prompt_cache_breakpoint: breakpoint }: Members,
  at: OriginalPath,
  isWithin = false,
): void {
  if (isObject(mark)) size.asked |= askedBit(mark.ttl);
  // The names of members within a value can be the caller's texts, which no record may have.
  if (breakpoint !== undefined) markLongCache(size, breakpoint, isWithin ? at : [...at, 'prompt_cache_breakpoint']);
}

/** Reads OpenAI's mark. Without a TTL or with `30m`, the price `cache_write` applies, as to every prompt that OpenAI caches by itself. */
function markLongCache(size: RequestSize, mark: unknown, at: OriginalPath): void {
  if (!isObject(mark) || mark.ttl == null || mark.ttl === '30m') return;
  const bit = askedBit(mark.ttl);
  if (bit === 0) size.unpricedCacheAt ??= at;
  else size.askedAt ??= at;
  size.asked |= bit;
}

/** Adds extra fields, such as earlier reasoning, because the gateway sends them to the provider, which may bill them. */
function addExtras(size: RequestSize, extras: Members, at: OriginalPath): void {
  if (isEmpty(extras)) return;
  markCache(size, extras, at);
  for (const name in extras) {
    const value = extras[name];
    if (value != null) addTextSize(size, typeof value === 'string' ? value : JSON.stringify(value));
  }
}

function addPart(size: RequestSize, part: ContentPart, request: ModelRequest): void {
  addExtras(size, part.extras, part.at);
  switch (part.type) {
    case 'text':
    case 'refusal':
      addTextSize(size, part.text);
      return;
    case 'image':
      size.images++;
      size.needs |= CAPABILITIES.vision.bit;
      if (!isData(part.url)) size.needs |= CAPABILITIES.image_urls.bit;
      return;
    case 'audio':
      // In base64, 4 characters encode 3 bytes.
      size.audioBytes += Math.ceil((part.data.length * 3) / 4);
      if (!isBoundedAudio(part)) size.unboundedMedia++;
      size.needs |= CAPABILITIES.audio_input.bit;
      return;
    case 'file':
      if (part.name) addTextSize(size, part.name);
      addFile(size, part);
      size.needs |= CAPABILITIES.file_input.bit;
      if (part.id !== undefined) size.needs |= CAPABILITIES.file_ids.bit;
      return;
    case 'tool-call':
      addTextSize(size, part.id);
      addTextSize(size, part.name);
      addTextSize(size, part.arguments);
      size.bytes += TURN_MAX;
      return;
    case 'native': {
      size.needs |= passthroughBit(request.original.dialect);
      const original = request.originalAt(part.at);
      addTextSize(size, JSON.stringify(original));
      // A file with a URL also has a part of its own, which counts the file.
      if (part.kind !== 'document' && part.kind !== 'input_file') addWithin(size, original, part.at, true);
    }
  }
}

/** The names that dialects give to media objects. The size of a media object in bytes is no bound on its tokens. */
const IMAGES: ReadonlySet<unknown> = new Set(['image', 'input_image', 'computer_screenshot', 'image_generation_call']);
const FILES: ReadonlySet<unknown> = new Set(['document', 'input_file', 'input_audio', 'input_video']);

/**
 * Adds cache marks and media that are nested in a value of the request's own dialect. The bytes of such a value are no bound on its tokens.
 * @param at the location of the outermost value
 */
function addWithin(size: RequestSize, value: unknown, at: OriginalPath, hasMedia: boolean, isWithin = false): void {
  if (Array.isArray(value)) for (const one of value) addWithin(size, one, at, hasMedia, true);
  if (!isObject(value)) return;
  markCache(size, value, at, isWithin);
  if (hasMedia && IMAGES.has(value.type)) size.images++;
  if (hasMedia && FILES.has(value.type) && !isPlainSource(value.source)) size.unboundedMedia++;
  for (const name in value) addWithin(size, value[name], at, hasMedia, true);
}

/** Whether a document contains its text or its blocks inline. */
const isPlainSource = (source: unknown): boolean =>
  isObject(source) && (source.type === 'text' || source.type === 'content');

/** The bytes of an average PDF page. A page of text has fewer bytes than the average page, a scanned page more. */
const PDF_PAGE_BYTES = 100_000;

function addFile(size: RequestSize, { data, id, url }: FilePart): void {
  // Only the provider knows the type of a file given by ID or URL, so the file counts as a PDF.
  const isElsewhere = id !== undefined || url !== undefined;
  if (isElsewhere) addPdf(size, 0);
  if (data === undefined && isElsewhere) return;
  const text = data ?? '';
  if (PDF.test(text)) addPdf(size, (text.length * 3) / 4);
  // The text of a plain-text file has fewer bytes than its base64 encoding, so the length is an upper bound.
  else if (PLAIN_TEXT.test(text)) size.bytes += text.length;
  else size.unboundedMedia++;
}

/** Estimates the pages of a PDF from its size. Signalbox never opens a PDF, because the page count in it could be false. */
function addPdf(size: RequestSize, bytes: number): void {
  size.pdfs++;
  size.pages += Math.max(1, Math.round(bytes / PDF_PAGE_BYTES));
}

const PDF = /^data:\s*application\/pdf\s*[;,]/i;
const PLAIN_TEXT = /^data:text\/plain[;,]/i;

/**
 * Whether the size of an audio file limits its duration. FLAC, Opus and AAC store an hour of silence in a few kilobytes, and providers
 * detect the format from the first bytes of a file, not from its label.
 */
const isBoundedAudio = ({ format, data }: { readonly format: string; readonly data: string }): boolean =>
  BOUNDED_AUDIO.has(format.toLowerCase()) && !PACKED_AUDIO.test(data);

const BOUNDED_AUDIO: ReadonlySet<string> = new Set(['wav', 'mp3']);
/**
 * The beginnings of compressed formats in base64: `fLaC`, `OggS`, EBML (WebM), AAC's ADTS, and an MP4 box, which begins with its length.
 */
const PACKED_AUDIO = /^(?:ZkxhQ|T2dnUw|GkXfo|\/\/[A-Hg-n]|.{5}[GWm2]Z0eX)/;

const isData = (url: string): boolean => /^data:/i.test(url);

function addFormat(size: RequestSize, request: ModelRequest): void {
  const { answerFormat: format } = request.settings;
  if (!format) return;
  // If a dialect has the schema directly in the format, the format has no further members to add.
  if (format.type !== 'json-schema' || format.at !== format.valueAt) {
    addBeside(size, request, format.at, format.valueAt.at(-1));
  }
  if (format.type === 'json') size.needs |= CAPABILITIES.json_mode.bit;
  if (format.type !== 'json-schema') return;
  size.needs |= CAPABILITIES.json_schema.bit;
  addTextSize(size, JSON.stringify(request.originalAt(format.valueAt)));
}

/** Adds the members of an object except its `type` and one other member. */
function addBeside(
  size: RequestSize,
  request: ModelRequest,
  at: OriginalPath,
  other: string | number | undefined,
): void {
  const owner = request.originalAt(at);
  if (!isObject(owner)) return;
  const { type: _, [String(other)]: __, ...rest } = owner;
  addExtras(size, rest, at);
}
