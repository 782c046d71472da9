import { type ContentPart, type FilePart, type ImagePart, pathText } from 'signalbox/plugin';
import { bytesOf, type InlineData, inlineData } from '../media.ts';
import type { Notes } from '../notes.ts';
import type { Block, CacheMarks } from './cache.ts';

/** The supported image types. */
const IMAGE = /^image\/(?:jpe?g|png|gif|webp)$/;
const TEXTS = /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|javascript))$/;

/** The notes and cache marks of a translation. */
export interface TranslationContext {
  readonly notes: Notes;
  readonly marks: CacheMarks;
}

/** Translates the content of a user's or tool's turn to blocks. */
export function blocksOf(parts: readonly ContentPart[], context: TranslationContext): Block[] {
  return parts.flatMap((part) =>
    partBlock(part, context.notes).map((block) => context.marks.keep(block, part.extras, pathText(part.at))),
  );
}

/** Translates text-only content to blocks. */
export function textBlocksOf(parts: readonly ContentPart[], context: TranslationContext): Block[] {
  refuseOthers(parts, context.notes);
  return blocksOf(parts, context);
}

/** Returns a text block; none for blank text, which the API rejects. */
export function textBlock(text: string): Block[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

/** Rejects parts of a turn other than texts and calls. */
export function refuseOthers(parts: readonly ContentPart[], notes: Notes): void {
  for (const { type, at } of parts) {
    if (type === 'text' || type === 'refusal' || type === 'tool-call') continue;
    notes.refuse(pathText(at), 'is not text; this provider accepts other parts only from users and tools');
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
      return notes.refuse(pathText(part.valueAt.slice(0, -1)), 'is audio, which this provider does not accept');
    case 'tool-call':
      return [];
    case 'native':
      return notes.refuse(
        pathText(part.at),
        `is a \`${part.kind}\`, which this provider accepts only in its own dialect`,
      );
  }
}

function imageBlock({ url, detail, valueAt }: ImagePart, notes: Notes): Block[] {
  if (detail !== undefined && detail !== 'auto') notes.drop(`${pathText(valueAt.slice(0, -1))}.detail`);
  if (/^https:/i.test(url)) return [{ type: 'image', source: { type: 'url', url } }];
  const image = inlineImage(inlineData(url));
  if (image) return [image];
  const wanted = 'must be an https address or a base64 data: URL of a JPEG, PNG, GIF or WebP image';
  return notes.refuse(pathText(valueAt), wanted);
}

/** Returns the block for an image that the request contains; null for other data. */
function inlineImage(inline: InlineData | null): Block | null {
  if (!inline || !IMAGE.test(inline.mediaType)) return null;
  const media_type = inline.mediaType.replace('jpg', 'jpeg');
  return { type: 'image', source: { type: 'base64', media_type, data: inline.base64 } };
}

function fileBlock({ data = '', name, valueAt }: FilePart, notes: Notes): Block[] {
  const inline = inlineData(data);
  const source = inline && documentSource(inline.mediaType, inline.base64);
  if (source) return [{ type: 'document', source, ...(name && { title: name }) }];
  const image = inlineImage(inline);
  return image ? [image] : notes.refuse(pathText(valueAt), 'must be a base64 data: URL of a PDF, a text or an image');
}

function documentSource(mediaType: string, base64: string): Block | null {
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data: base64 };
  const bytes = TEXTS.test(mediaType) ? bytesOf(base64) : null;
  return bytes && { type: 'text', media_type: 'text/plain', data: new TextDecoder().decode(bytes) };
}
