import type { Facts } from '../../core/facts.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import { type Intent, readIntent } from './intent.ts';
import { measure } from './size.ts';

/** The facts that are read from the content of a request. */
export interface Profile
  extends Intent,
    Pick<Facts, 'inputTokens' | 'inputTokensMax' | 'images' | 'audioBytes' | 'unboundedMedia' | 'needs'> {}

/** Reads the size and the intent of a request. Pure. */
export function profile(request: ModelRequest): Profile {
  const size = measure(request);
  const { task, mix, difficulty, naturalLanguage, languagesSeen, output } = readIntent(request);
  const isText = size.images + size.audioBytes + size.unboundedMedia === 0;
  return {
    task,
    mix,
    // Media are not read.
    difficulty: isText ? difficulty : 'usual',
    naturalLanguage,
    languagesSeen,
    inputTokens: Math.max(1, size.tokens),
    inputTokensMax: size.bytes,
    images: size.images,
    audioBytes: size.audioBytes,
    unboundedMedia: size.unboundedMedia,
    output,
    needs: size.needs,
  };
}
