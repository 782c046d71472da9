import { ALL_MEDIA, MEDIA_BITS } from '../core/money/units.ts';
import type { Model, PagesMax } from '../core/policy/snapshot.ts';
import type { Facts } from '../core/request/facts.ts';

/** The tokens of an image if the model states no maximum. Only estimates use this number of image tokens. */
const IMAGE_TOKENS = 1_000;
/**
 * The bytes per second of an MP3 of 128 kbit/s, and the tokens per second if the model states no maximum. Only estimates use these figures
 * for audio.
 */
const AUDIO_BYTES_PER_SECOND = 16_000;
const AUDIO_TOKENS_PER_SECOND = 32;
/** No common codec has fewer bytes per second (MP3 starts at 8 kbit/s), so the size in bytes limits the duration. */
const AUDIO_BYTES_PER_SECOND_MIN = 500;
/**
 * The tokens of a usual page with its text and its picture, unless the model states a lower maximum per page. Only estimates use this
 * number of tokens per page.
 */
const PAGE_TOKENS = 2_300;

/** The figures of a model that determine how many input tokens a request has. */
export type InputFigures = Pick<
  Model,
  'id' | 'tokenizer' | 'imageTokensMax' | 'audioTokensPerSecondMax' | 'pageTokensMax' | 'contextWindow' | 'maxOutput'
>;

/** Returns the expected input tokens on a model, including images, audio and PDFs. */
export function expectedInput(facts: Facts, model: InputFigures): number {
  const { images, audioBytes, pdfs, serviceCounts } = facts;
  const counted = serviceCounts?.[model.id];
  if (counted !== undefined) return counted.tokens;
  const text = Math.min(facts.inputTokens, countedInput(model, facts));
  if (images + audioBytes + pdfs === 0) return text;
  const rest =
    text +
    images * Math.min(IMAGE_TOKENS, model.imageTokensMax ?? IMAGE_TOKENS) +
    Math.ceil(audioBytes / AUDIO_BYTES_PER_SECOND) * (model.audioTokensPerSecondMax ?? AUDIO_TOKENS_PER_SECOND);
  return pdfs === 0 ? rest : rest + expectedPdfTokens(model, facts, rest);
}

/**
 * Returns the expected tokens of a request's PDFs. The size of a PDF in bytes says little about the number of pages, so the estimate leaves
 * room for a whole answer and never rejects a model.
 * @param rest expected tokens of the rest of the prompt
 */
function expectedPdfTokens(
  { pageTokensMax, contextWindow, maxOutput }: Pick<Model, 'pageTokensMax' | 'contextWindow' | 'maxOutput'>,
  { pages }: Facts,
  rest: number,
): number {
  const tokens = pages * Math.min(PAGE_TOKENS, pageTokensMax ?? PAGE_TOKENS);
  return Math.min(tokens, Math.max(0, contextWindow - maxOutput - rest));
}

/** Returns the input tokens of the text according to the model's own tokenizer; Infinity if the tokenizer did not count the text. */
function countedInput({ tokenizer }: Pick<Model, 'tokenizer'>, { inputTokensCounted }: Facts): number {
  if (inputTokensCounted === null || tokenizer === null) return Number.POSITIVE_INFINITY;
  return inputTokensCounted[tokenizer] ?? Number.POSITIVE_INFINITY;
}

/** Returns the maximum input tokens of the request on this model; null if its media have no upper bound. */
export function inputBound(model: Model, facts: Facts): number | null {
  const { addOns, images, audioBytes, pdfs, unboundedMedia } = facts;
  // A provider's own tool adds its findings to the input, and the model reads the input again after each use.
  if (addOns !== undefined && addOns.rereadings > 0) return (1 + addOns.rereadings) * model.contextWindow;
  // The provider keeps the history of this conversation, so only the provider knows its length.
  if (facts.thread !== undefined) return model.contextWindow;
  if (unboundedMedia > 0) return null;
  const text = Math.min(facts.inputTokensMax, countedInput(model, facts));
  if (images + audioBytes + pdfs === 0) return text;
  const imageTokens = images === 0 ? 0 : model.imageTokensMax;
  const perSecond = audioBytes === 0 ? 0 : model.audioTokensPerSecondMax;
  if (imageTokens === null || perSecond === null) return null;
  const seconds = Math.ceil(audioBytes / AUDIO_BYTES_PER_SECOND_MIN);
  const rest = text + images * imageTokens + seconds * perSecond;
  if (pdfs === 0) return rest;
  const ofPdfs = pdfTokensMax(model, facts, rest);
  return ofPdfs === null ? null : Math.min(rest + ofPdfs, countedByService(model, facts));
}

/**
 * Returns the bits of the media that the input of a request can have. Files are billed as images; the history that a service keeps and the
 * findings of its tools can have any.
 */
export function mediaOf({ images, audioBytes, pdfs, unboundedMedia, thread, addOns }: Facts): number {
  if (images + audioBytes + pdfs + unboundedMedia === 0 && thread === undefined && addOns === undefined) return 0;
  if (unboundedMedia > 0 || thread !== undefined || (addOns?.rereadings ?? 0) > 0) return ALL_MEDIA;
  return (images + pdfs > 0 ? MEDIA_BITS.image : 0) | (audioBytes > 0 ? MEDIA_BITS.audio : 0);
}

/** Returns the maximum input tokens of the prompt according to the model's provider; Infinity if the provider did not count the prompt. */
function countedByService({ id }: Pick<Model, 'id'>, { serviceCounts }: Facts): number {
  const counted = serviceCounts?.[id];
  return counted === undefined ? Number.POSITIVE_INFINITY : counted.tokens + counted.margin;
}

/**
 * Returns the maximum tokens of a request's PDFs: the most pages that the provider reads times the most tokens per page, and at most the
 * model's window. Neither the size of a PDF nor the page count in the file is a reliable bound.
 * @param rest maximum tokens of the rest of the prompt
 * @returns null if the policy does not state both figures
 */
function pdfTokensMax(
  { pageTokensMax, pagesMax, contextWindow }: Pick<Model, 'pageTokensMax' | 'pagesMax' | 'contextWindow'>,
  { pdfs }: Facts,
  rest: number,
): number | null {
  if (pageTokensMax === null || pagesMax.length === 0) return null;
  const pages = pagesMax.reduce((most, stated) => Math.max(most, pagesOf(stated, pdfs)), 0);
  return Math.min(pages * pageTokensMax, Math.max(0, contextWindow - rest));
}

const pagesOf = ({ request, file }: PagesMax, pdfs: number): number =>
  Math.min(request ?? Number.POSITIVE_INFINITY, (file ?? Number.POSITIVE_INFINITY) * pdfs);

/**
 * The tokens assumed for media without an upper bound if no hard limit applies. The hold of a request with such media is only an estimate.
 */
const UNBOUNDED_MEDIA_TOKENS = 10_000;

/** Returns the input tokens that Signalbox reserves money for. */
export const heldInput = (model: Model, facts: Facts): number =>
  inputBound(model, facts) ??
  Math.max(facts.inputTokensMax, expectedInput(facts, model)) +
    (facts.images + facts.pages + facts.unboundedMedia) * UNBOUNDED_MEDIA_TOKENS;
