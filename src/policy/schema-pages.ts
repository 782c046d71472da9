import type { Static } from '@sinclair/typebox';
import type { PagesMax } from '../core/snapshot.ts';
import { closed, optional } from './schema-parts.ts';

const pages = (description: string, example: number) =>
  optional.integer({ minimum: 1, maximum: 1_000_000, example }, description);

export const PagesMaxText = closed(
  'Most pages of PDFs that its service reads.',
  {
    request: pages('Most pages that its service reads of all PDFs, and files by address or ID, of a request.', 100),
    file: pages('The same of one file.', 1000),
  },
  { minProperties: 1 },
);
export type PagesMaxText = Static<typeof PagesMaxText>;

/** Reads `pages_max`; undefined where it is not stated. */
export const readPagesMax = (text: PagesMaxText | undefined): PagesMax | undefined =>
  text && { request: text.request ?? null, file: text.file ?? null };
