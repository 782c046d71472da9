import type { Facts } from '../../core/request/facts.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { type Intent, readIntent } from './intent.ts';
import type { PromptReader } from './prompt-reader.ts';
import { measure, type RequestSize } from './size.ts';

/** The facts that are read from the content of a request. */
export interface Profile
  extends Intent,
    Pick<
      Facts,
      'inputTokens' | 'inputTokensMax' | 'images' | 'audioBytes' | 'pdfs' | 'pages' | 'unboundedMedia' | 'needs'
    > {
  readonly hourCache: RequestSize['hourCache'];
  readonly unpricedCacheAt: RequestSize['unpricedCacheAt'];
}

/** Reads the size and the intent of a request. The reading of a request is pure. */
export const profile = (request: ModelRequest, reader: PromptReader): Profile =>
  profileOf(measure(request), readIntent(request, reader));

/** Combines the size and the intent of a request into its profile. */
export function profileOf(size: RequestSize, intent: Intent): Profile {
  const { task, mix, stuck, naturalLanguage, languagesSeen, output, hard } = intent;
  return {
    task,
    mix,
    difficulty: difficultyOf(size, intent),
    ...(stuck && { stuck }),
    naturalLanguage,
    languagesSeen,
    inputTokens: Math.max(1, size.tokens),
    inputTokensMax: size.bytes,
    images: size.images,
    audioBytes: size.audioBytes,
    pdfs: size.pdfs,
    pages: size.pages,
    unboundedMedia: size.unboundedMedia,
    output,
    hard,
    needs: size.needs,
    hourCache: size.hourCache,
    unpricedCacheAt: size.unpricedCacheAt,
  };
}

/** Images, audio and files are not read, so their difficulty is unknown. The progress of an agent does not depend on them. */
function difficultyOf(size: RequestSize, { stuck, difficulty }: Intent): Facts['difficulty'] {
  if (stuck) return 'hard';
  return hasMedia(size) ? 'usual' : difficulty;
}

export const hasMedia = ({ images, audioBytes, pdfs, unboundedMedia }: RequestSize): boolean =>
  images + audioBytes + pdfs + unboundedMedia > 0;
