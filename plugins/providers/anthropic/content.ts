import type { ChatMessage, ContentPart } from 'signalbox/plugin';
import { inlineData } from '../media.ts';
import type { Notes } from '../notes.ts';
import type { Block, CacheMarks } from './cache.ts';

type Content = ChatMessage['content'];

/** Anthropic's media type for each supported kind of image. */
const IMAGES: ReadonlyMap<string, string> = new Map([
  ['image/jpeg', 'image/jpeg'],
  ['image/jpg', 'image/jpeg'],
  ['image/png', 'image/png'],
  ['image/gif', 'image/gif'],
  ['image/webp', 'image/webp'],
]);
const TEXTS = /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|javascript))$/;

/** A message's path in the request, and the notes and cache marks of its translation. */
export interface MessageContext {
  readonly path: string;
  readonly notes: Notes;
  readonly marks: CacheMarks;
}

/** The content of a user or tool message, as blocks. */
export function blocksOf(content: Content, context: MessageContext): Block[] {
  if (typeof content === 'string') return textBlock(content);
  return (content ?? []).flatMap((part, at) => {
    const inner = { ...context, path: `${context.path}.content[${at}]` };
    return partBlock(part, inner).map((block) => context.marks.keep(block, part, inner.path));
  });
}

/** Text-only content, as blocks. */
export function textBlocksOf(content: Content, context: MessageContext): Block[] {
  refuseOthers(content, context);
  return blocksOf(content, context);
}

/** Text-only content, as one string. */
export function plainTextOf(content: Content, context: MessageContext): string {
  refuseOthers(content, context);
  return typeof content === 'string' ? content : (content ?? []).map(textOfPart).join('');
}

/** A text block; none for blank text, which the API refuses. */
export function textBlock(text: string): Block[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

const textOfPart = (part: ContentPart): string =>
  part.type === 'text' ? part.text : part.type === 'refusal' ? part.refusal : '';

function refuseOthers(content: Content, { path, notes }: MessageContext): void {
  for (const [at, { type }] of (typeof content === 'string' ? [] : (content ?? [])).entries()) {
    if (type === 'text' || type === 'refusal') continue;
    notes.refuse(`${path}.content[${at}]`, 'is no text: the API takes other things from users and tools alone');
  }
}

function partBlock(part: ContentPart, context: MessageContext): Block[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return textBlock(textOfPart(part));
    case 'image_url':
      return imageBlock(part.image_url, context);
    case 'file':
      return fileBlock(part.file, context);
    case 'input_audio':
      context.notes.refuse(`${context.path}.input_audio`, 'cannot be sent: the API takes no audio');
      return [];
  }
}

function imageBlock(
  image: { readonly url: string; readonly detail?: string },
  { path, notes }: MessageContext,
): Block[] {
  if (image.detail !== undefined && image.detail !== 'auto') notes.drop(`${path}.image_url.detail`);
  if (/^https:/i.test(image.url)) return [{ type: 'image', source: { type: 'url', url: image.url } }];
  const inline = inlineData(image.url);
  const mediaType = IMAGES.get(inline?.mediaType ?? '');
  if (inline && mediaType) return [base64Image(mediaType, inline.base64)];
  notes.refuse(
    `${path}.image_url.url`,
    'is neither an https address nor a base64 data: URL of a JPEG, PNG, GIF or WebP image',
  );
  return [];
}

const base64Image = (mediaType: string, data: string): Block => ({
  type: 'image',
  source: { type: 'base64', media_type: mediaType, data },
});

type FileOf = Extract<ContentPart, { type: 'file' }>['file'];

function fileBlock({ file_data: data = '', filename }: FileOf, { path, notes }: MessageContext): Block[] {
  const inline = inlineData(data);
  const source = inline && documentSource(inline.mediaType, inline.base64);
  if (source) return [{ type: 'document', source, ...(filename && { title: filename }) }];
  const image = IMAGES.get(inline?.mediaType ?? '');
  if (inline && image) return [base64Image(image, inline.base64)];
  notes.refuse(`${path}.file.file_data`, 'is no base64 data: URL of a PDF, a text or an image');
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
