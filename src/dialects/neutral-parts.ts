import { NO_EXTRAS } from '../core/api/extras.ts';
import type { OriginalPath } from '../core/json/original.ts';
import type { ContentPart, TextPart } from '../core/request/conversation.ts';

/** Returns the text part for content that is a plain string. */
export const textPart = (text: string, at: OriginalPath): TextPart => ({
  type: 'text',
  text,
  at,
  valueAt: at,
  extras: NO_EXTRAS,
});

/** Returns a part that only its own dialect can express. */
export const nativePart = (kind: string, at: OriginalPath): ContentPart => ({
  type: 'native',
  kind,
  at,
  valueAt: at,
  extras: NO_EXTRAS,
});
