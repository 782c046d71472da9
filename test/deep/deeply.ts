import { test } from 'bun:test';
import { effort, isDeep } from './effort.ts';

/**
 * A costly test whose guarantee has cheaper tests in `npm test`. `npm run test:deep -- costly` runs it, and lists it in
 * `test/deep/results.md`.
 */
export function deeply(what: string, run: () => Promise<void>, timeoutMs = 120_000): void {
  test.if(isDeep)(
    what,
    async () => {
      const { proved } = effort('costly', 0, 1);
      await run();
      proved(what);
    },
    timeoutMs,
  );
}

/** Returns the cases of `npm test`, or all cases in `npm run test:deep`. */
export const orDeeply = <Case>(few: readonly Case[], more: readonly Case[]): Case[] =>
  isDeep ? [...few, ...more] : [...few];
