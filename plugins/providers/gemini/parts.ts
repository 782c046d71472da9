import type { ChatMessage, ContentPart } from 'signalbox/plugin';
import type { Json } from '../json.ts';
import { inlineData } from '../media.ts';

/** What the translation has to say beside its result. Fields by their path, such as `messages[2].content[1].file`. */
export interface Notes {
  /** Hints that have no place in the dialect. */
  readonly dropped: string[];
  /** Why the request cannot be said at all. */
  readonly refused: string[];
}

/** The parts of a message's content; empty texts, which Gemini refuses, are left out. */
export function partsOf(content: ChatMessage['content'], path: string, notes: Notes): Json[] {
  if (typeof content === 'string') return textPart(content);
  return (content ?? []).flatMap((part, at) => partOf(part, `${path}[${at}]`, notes));
}

export const textPart = (text: string): Json[] => (text === '' ? [] : [{ text }]);

function partOf(part: ContentPart, path: string, notes: Notes): Json[] {
  switch (part.type) {
    case 'text':
      return textPart(part.text);
    case 'refusal':
      return textPart(part.refusal);
    case 'image_url':
      return imagePart(part.image_url, `${path}.image_url`, notes);
    case 'input_audio': {
      const { data, format } = part.input_audio;
      return [{ inlineData: { mimeType: `audio/${format.toLowerCase()}`, data } }];
    }
    case 'file':
      return dataPart(part.file.file_data ?? '', `${path}.file.file_data`, notes);
  }
}

function imagePart({ url, detail }: { url: string; detail?: string }, path: string, notes: Notes): Json[] {
  if (detail === 'low' || detail === 'high') notes.dropped.push(`${path}.detail`);
  if (/^data:/i.test(url)) {
    const type = inlineData(url)?.mediaType.replace(/^image\//, '') ?? '';
    if (READABLE.has(type)) return dataPart(url, `${path}.url`, notes);
    notes.refused.push(`${path}.url is no base64 data: URL of a PNG, JPEG, WebP, HEIC or HEIF image`);
    return [];
  }
  return [{ fileData: { fileUri: url, mimeType: imageType(url) } }];
}

function dataPart(url: string, path: string, notes: Notes): Json[] {
  const data = inlineData(url);
  if (data) return [{ inlineData: { mimeType: data.mediaType, data: data.base64 } }];
  notes.refused.push(`${path} is not a base64 data: URL, the only form in which this model takes data`);
  return [];
}

/** Images that it reads: ai.google.dev/gemini-api/docs/image-understanding. */
const READABLE: ReadonlySet<string> = new Set(['png', 'jpeg', 'webp', 'heic', 'heif']);

/** Gemini wants the type of what it fetches: by the ending of the address, and most images are JPEG. */
function imageType(url: string): string {
  const ending = /\.([a-z]+)$/i.exec(url.replace(/[?#].*$/s, ''))?.[1]?.toLowerCase() ?? '';
  return `image/${READABLE.has(ending) ? ending : 'jpeg'}`;
}
