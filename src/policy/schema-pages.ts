import type { Static } from '@sinclair/typebox';
import type { PagesMax } from '../core/snapshot.ts';
import { closed, optional } from './schema-parts.ts';

const pages = (description: string, example: number) =>
  optional.integer({ minimum: 1, maximum: 1_000_000, example }, description);

export const PagesMaxText = closed(
  { request: pages('In all files of a request together.', 100), file: pages('In one file.', 1000) },
  {
    minProperties: 1,
    description:
      'The most pages that the service reads of PDFs, and of files by their address or ID. With `page_tokens_max`, hard limits admit them.',
  },
);
export type PagesMaxText = Static<typeof PagesMaxText>;

/** Reads `pages_max`; undefined where it is not stated. */
export const readPagesMax = (text: PagesMaxText | undefined): PagesMax | undefined =>
  text && { request: text.request ?? null, file: text.file ?? null };
