import { difficultyOf } from '../../src/routing/facts.ts';
import { readIntent } from '../../src/routing/profile/intent.ts';
import type { PromptReader } from '../../src/routing/profile/prompt-reader.ts';
import { measure } from '../../src/routing/profile/size.ts';

type Request = Parameters<typeof measure>[0];

/** The facts that are read from the content of a request. */
export type Profile = ReturnType<typeof profile>;

/** Reads the size and the intent of a request. */
export function profile(request: Request, reader: PromptReader) {
  const size = measure(request);
  const intent = readIntent(request, reader);
  const { tokens: inputTokens, bytes: inputTokensMax, ...counts } = size;
  return { ...counts, ...intent, difficulty: difficultyOf(size, intent), inputTokens, inputTokensMax };
}
