import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { LAWS, testLaws } from './books-law.ts';
import { BOOKS_CASES } from './suites/books.ts';
import { BOOKS_IN_PROCESS, booksInMemory, overBooks } from './tested-books.ts';

overBooks(BOOKS_IN_PROCESS, BOOKS_CASES, testLaws);

for (const [guarantee, { law, fault }] of Object.entries(LAWS)) {
  test(`the law detects a fault: ${guarantee}`, async () => {
    expect((await fc.check(law(booksInMemory, fault), { numRuns: 200, endOnFailure: true })).failed).toBe(true);
  });
}
