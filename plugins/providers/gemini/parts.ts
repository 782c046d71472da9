import { type AudioPart, type ContentPart, type ImagePart, pathText, type Turn } from 'signalbox/plugin';
import type { Json } from '../json.ts';
import { inlineData } from '../media.ts';
import type { Notes } from '../notes.ts';

/** Translates the parts of a turn without empty texts, which Gemini rejects. */
export function geminiParts(parts: readonly ContentPart[], notes: Notes): Json[] {
  return parts.flatMap((part) => {
    dropHint(part, notes);
    return partOf(part, notes);
  });
}

/** Translates the parts of text-only content. */
export function textsOf(parts: readonly ContentPart[], notes: Notes): Json[] {
  for (const { type, at } of parts) {
    if (type === 'text' || type === 'refusal') continue;
    notes.refuse(pathText(at), 'is not text; this provider accepts other parts only from users');
  }
  return geminiParts(parts, notes);
}

/** Drops a cache hint, because Gemini caches implicitly. */
export function dropHint({ extras, at }: Pick<Turn, 'extras' | 'at'>, notes: Notes): void {
  if (extras.cache_control != null) notes.drop(`${pathText(at)}.cache_control`);
}

function partOf(part: ContentPart, notes: Notes): Json[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text === '' ? [] : [{ text: part.text }];
    case 'image':
      return imagePart(part, notes);
    case 'audio':
      return audioPart(part, notes);
    case 'file':
      return dataPart(part.data ?? '', '') ?? notes.refuse(pathText(part.valueAt), FILE);
    case 'tool-call':
      return [];
    case 'native':
      return notes.refuse(pathText(part.at), `is a \`${part.kind}\`, which this provider does not accept`);
  }
}

/** The accepted forms of media, as clauses for errors. */
const IMAGE = 'must be an https address or a base64 data: URL of a PNG, JPEG, WebP, HEIC or HEIF image';
const AUDIO = 'must be base64 data of an audio format that this model accepts, such as wav or mp3';
const FILE = 'must be a base64 data: URL of a PDF, a text, an image or audio';

/**
 * Addresses that Google resolves itself. Google resolves addresses of files that anyone uploaded with our key, whose absence is a 403, and
 * of videos, which are billed by the second and are not limited like images.
 */
const GOOGLES = /(?:^|\.)(?:generativelanguage\.googleapis\.com|youtube\.com|youtube-nocookie\.com|youtu\.be)\.?$/;

function imagePart({ url, detail, valueAt }: ImagePart, notes: Notes): Json[] {
  if (detail === 'low' || detail === 'high') notes.drop(`${pathText(valueAt.slice(0, -1))}.detail`);
  if (GOOGLES.test(URL.parse(url)?.hostname ?? '')) {
    return notes.refuse(pathText(valueAt), "is Google's address of an uploaded file or a video, not an image");
  }
  if (/^https:/i.test(url)) return [{ fileData: { fileUri: url, mimeType: imageType(url) } }];
  return dataPart(url, 'image/') ?? notes.refuse(pathText(valueAt), IMAGE);
}

function audioPart({ data, format, valueAt }: AudioPart, notes: Notes): Json[] {
  const part = dataPart(`data:audio/${format};base64,${data}`, 'audio/');
  return part ?? notes.refuse(pathText(valueAt.slice(0, -1)), AUDIO);
}

/** Returns the data of a `data:` URL; null if it is invalid, of another kind, or not supported by Gemini. */
function dataPart(url: string, kind: string): Json[] | null {
  const data = inlineData(url);
  const mimeType = data && mimeTypeOf(data.mediaType);
  return mimeType?.startsWith(kind) ? [{ inlineData: { mimeType, data: data?.base64 } }] : null;
}

/** The supported types, according to the pages image-, video-, audio- and document-processing of ai.google.dev/gemini-api/docs. */
const READ =
  /^(?:image\/(?:png|jpeg|webp|heic|heif)|audio\/(?:wav|mp3|mpeg|m4a|aiff|aac|ogg|opus|flac|webm)|(?:video|text)\/.+|application\/pdf)$/;
const TEXTS = /^application\/(?:json|xml|yaml|x-yaml|javascript)$/;

/** Returns Google's name of a media type; null if Gemini does not support the type. */
function mimeTypeOf(mediaType: string): string | null {
  if (mediaType === 'image/jpg') return 'image/jpeg';
  if (TEXTS.test(mediaType)) return 'text/plain';
  return READ.test(mediaType) ? mediaType : null;
}

/** Returns the type that Gemini requires for a URL, by its extension; the default is JPEG. */
function imageType(url: string): string {
  const ending = /\.([a-z]+)$/i.exec(url.replace(/[?#].*$/s, ''))?.[1]?.toLowerCase() ?? '';
  return mimeTypeOf(`image/${ending}`) ?? 'image/jpeg';
}
