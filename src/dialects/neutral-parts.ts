import { NO_EXTRAS } from '../core/api/extras.ts';
import type { ContentPart, TextPart } from '../core/conversation.ts';
import type { OriginalPath } from '../core/original.ts';

/** The text of a content that is a bare string. */
export const textPart = (text: string, at: OriginalPath): TextPart => ({
  type: 'text',
  text,
  at,
  valueAt: at,
  extras: NO_EXTRAS,
});

/** A part that only its own dialect can say. */
export const nativePart = (kind: string, at: OriginalPath): ContentPart => ({
  type: 'native',
  kind,
  at,
  valueAt: at,
  extras: NO_EXTRAS,
});
