import type { Static } from '@sinclair/typebox';
import { closed, optional, whole } from '../../core/define/fields.ts';
import type { PagesMax } from '../../core/policy/snapshot.ts';

const pages = (description: string, example: number) =>
  optional(whole(description, { minimum: 1, maximum: 1_000_000, example }));

export const PagesMaxText = closed(
  'The most pages of PDFs that the service reads.',
  {
    request: pages(
      'The most pages that the service reads in all PDFs of a request. A file that is given by URL or ID counts as a PDF.',
      100,
    ),
    file: pages('The most pages that the service reads in one PDF.', 1000),
  },
  { minProperties: 1 },
);
export type PagesMaxText = Static<typeof PagesMaxText>;

/** Reads `pages_max`; undefined if it is not stated. */
export const readPagesMax = (text: PagesMaxText | undefined): PagesMax | undefined =>
  text && { request: text.request ?? null, file: text.file ?? null };
