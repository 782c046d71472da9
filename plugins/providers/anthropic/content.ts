import { type ContentPart, type FilePart, type ImagePart, pathText } from 'signalbox/plugin';
import { inlineData } from '../media.ts';
import type { Notes } from '../notes.ts';
import type { Block, CacheMarks } from './cache.ts';

/** Anthropic's media type for each supported kind of image. */
const IMAGES: ReadonlyMap<string, string> = new Map([
  ['image/jpeg', 'image/jpeg'],
  ['image/jpg', 'image/jpeg'],
  ['image/png', 'image/png'],
  ['image/gif', 'image/gif'],
  ['image/webp', 'image/webp'],
]);
const TEXTS = /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|javascript))$/;

/** The notes and cache marks of a translation. */
export interface TranslationContext {
  readonly notes: Notes;
  readonly marks: CacheMarks;
}

/** The content of a turn of the user or a tool, as blocks. */
export function blocksOf(parts: readonly ContentPart[], context: TranslationContext): Block[] {
  return parts.flatMap((part) =>
    partBlock(part, context.notes).map((block) => context.marks.keep(block, part.extras, pathText(part.at))),
  );
}

/** Text-only content, as blocks. */
export function textBlocksOf(parts: readonly ContentPart[], context: TranslationContext): Block[] {
  refuseOthers(parts, context.notes);
  return blocksOf(parts, context);
}

/** A text block; none for blank text, which the API refuses. */
export function textBlock(text: string): Block[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

/** Refuses parts other than texts and calls. */
export function refuseOthers(parts: readonly ContentPart[], notes: Notes): void {
  for (const { type, at } of parts) {
    if (type === 'text' || type === 'refusal' || type === 'tool-call') continue;
    notes.refuse(pathText(at), 'is not text: this provider takes other parts from users and tools only');
  }
}

function partBlock(part: ContentPart, notes: Notes): Block[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return textBlock(part.text);
    case 'image':
      return imageBlock(part, notes);
    case 'file':
      return fileBlock(part, notes);
    case 'audio':
      notes.refuse(pathText(part.valueAt.slice(0, -1)), 'is audio, which this provider does not take');
      return [];
    case 'tool-call':
      return [];
    case 'native':
      notes.refuse(pathText(part.at), `is a \`${part.kind}\`, which this provider takes in its own dialect only`);
      return [];
  }
}

function imageBlock({ url, detail, valueAt }: ImagePart, notes: Notes): Block[] {
  if (detail !== undefined && detail !== 'auto') notes.drop(`${pathText(valueAt.slice(0, -1))}.detail`);
  if (/^https:/i.test(url)) return [{ type: 'image', source: { type: 'url', url } }];
  const inline = inlineData(url);
  const mediaType = IMAGES.get(inline?.mediaType ?? '');
  if (inline && mediaType) return [base64Image(mediaType, inline.base64)];
  notes.refuse(pathText(valueAt), 'must be an https address or a base64 data: URL of a JPEG, PNG, GIF or WebP image');
  return [];
}

const base64Image = (mediaType: string, data: string): Block => ({
  type: 'image',
  source: { type: 'base64', media_type: mediaType, data },
});

function fileBlock({ data = '', name, valueAt }: FilePart, notes: Notes): Block[] {
  const inline = inlineData(data);
  const source = inline && documentSource(inline.mediaType, inline.base64);
  if (source) return [{ type: 'document', source, ...(name && { title: name }) }];
  const image = IMAGES.get(inline?.mediaType ?? '');
  if (inline && image) return [base64Image(image, inline.base64)];
  notes.refuse(pathText(valueAt), 'must be a base64 data: URL of a PDF, a text or an image');
  return [];
}

function documentSource(mediaType: string, base64: string): Block | null {
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data: base64 };
  const text = TEXTS.test(mediaType) ? decoded(base64) : null;
  return text === null ? null : { type: 'text', media_type: 'text/plain', data: text };
}

/** Decodes base64 text; null if invalid. */
function decoded(base64: string): string | null {
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(base64));
  } catch {
    return null;
  }
}
