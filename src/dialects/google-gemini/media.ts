import { NO_EXTRAS } from '../../core/api/extras.ts';
import type { OriginalPath } from '../../core/json/original.ts';
import type { ContentPart } from '../../core/request/conversation.ts';

interface Blob {
  readonly mimeType: string;
  readonly data: string;
}

/** The formats of audio in other dialects, by Google's subtype. A format that is not listed has the same name. */
const AUDIO: ReadonlyMap<string, string> = new Map([
  ['mpeg', 'mp3'],
  ['x-wav', 'wav'],
  ['wave', 'wav'],
]);

/** Reads inline data. The type decides whether the data is an image, audio or a file. @param at the place of the blob */
export function blobPart({ mimeType, data }: Blob, at: OriginalPath): ContentPart {
  const base = { at, valueAt: [...at, 'data'], extras: NO_EXTRAS };
  const type = mimeType.trim().toLowerCase();
  // Python's client writes bytes in the alphabet for URLs, which few services read.
  const base64 = data.replaceAll('-', '+').replaceAll('_', '/');
  if (type.startsWith('audio/')) {
    const subtype = type.slice('audio/'.length).split(';', 1)[0] ?? '';
    return { type: 'audio', data: base64, format: AUDIO.get(subtype) ?? subtype, ...base };
  }
  const url = `data:${type};base64,${base64}`;
  return type.startsWith('image/') ? { type: 'image', url, ...base } : { type: 'file', data: url, ...base };
}

/** Reads the address of an image. */
export const imageAt = (url: string, at: OriginalPath): ContentPart => ({
  type: 'image',
  url,
  at: at.slice(0, -1),
  valueAt: at,
  extras: NO_EXTRAS,
});
