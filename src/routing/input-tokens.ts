import type { Facts } from '../core/facts.ts';
import type { Model, PagesMax } from '../core/snapshot.ts';

/** Tokens of an image where the model states no maximum; for estimates only. */
const IMAGE_TOKENS = 1_000;
/** A second of audio, for estimates only: an MP3 of 128 kbit/s, and its tokens where the model states no maximum. */
const AUDIO_BYTES_PER_SECOND = 16_000;
const AUDIO_TOKENS_PER_SECOND = 32;
/** No codec in use has a lower rate (MP3 starts at 8 kbit/s), so the bytes bound the duration. */
const AUDIO_BYTES_PER_SECOND_MIN = 500;
/** Tokens of a usual page, its text and its picture, where the model states no less for any page; for estimates only. */
const PAGE_TOKENS = 2_300;

/** The figures of a model that tell how many tokens an input is. */
export type InputFigures = Pick<
  Model,
  'id' | 'tokenizer' | 'imageTokensMax' | 'audioTokensPerSecondMax' | 'pageTokensMax' | 'contextWindow' | 'maxOutput'
>;

/** Expected input tokens on a model, images, audio and PDFs included. */
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
 * Expected tokens of a request's PDFs. Bytes say little about pages, so that the guess leaves the model room for a whole
 * answer: it excludes no model.
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

/** Input tokens of the text by the model's own tokenizer; Infinity where it did not count. */
function countedInput({ tokenizer }: Pick<Model, 'tokenizer'>, { inputTokensCounted }: Facts): number {
  if (inputTokensCounted === null || tokenizer === null) return Number.POSITIVE_INFINITY;
  return inputTokensCounted[tokenizer] ?? Number.POSITIVE_INFINITY;
}

/** Input tokens that the request cannot exceed on this model; null when nothing bounds its media. */
export function inputBound(model: Model, facts: Facts): number | null {
  const { addOns, images, audioBytes, pdfs, unboundedMedia } = facts;
  // The model reads the findings of a service's tool, too.
  if (addOns !== undefined && addOns.rereadings > 0) return (1 + addOns.rereadings) * model.contextWindow;
  // The service alone knows how long a history is that it keeps.
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

/** Input tokens that a prompt cannot exceed by the count of the model's service; Infinity where it did not count. */
function countedByService({ id }: Pick<Model, 'id'>, { serviceCounts }: Facts): number {
  const counted = serviceCounts?.[id];
  return counted === undefined ? Number.POSITIVE_INFINITY : counted.tokens + counted.margin;
}

/**
 * Tokens that a request's PDFs cannot exceed: the most pages that a service reads, each with the most tokens. Neither a file's
 * bytes nor its own account of its pages bound them. The whole prompt is never longer than the model's window.
 * @param rest tokens that the rest of the prompt cannot exceed
 * @returns null where the policy does not state both figures
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

/** Tokens of media that nothing bounds, where no hard limit applies: the hold is then an estimate. */
const UNBOUNDED_MEDIA_TOKENS = 10_000;

/** The input tokens that money is held for. */
export const heldInput = (model: Model, facts: Facts): number =>
  inputBound(model, facts) ??
  Math.max(facts.inputTokensMax, expectedInput(facts, model)) +
    (facts.images + facts.pages + facts.unboundedMedia) * UNBOUNDED_MEDIA_TOKENS;
