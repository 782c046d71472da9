import { test } from 'bun:test';
import { effort, isDeep } from './effort.ts';

/** A costly test whose promise has cheaper ones in `npm test`. `npm run test:deep -- costly` runs it, and names it in `test/deep/results.md`. */
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

/** Passes what `npm test` tries on, or in `npm run test:deep` everything. */
export const orDeeply = <Case>(few: readonly Case[], more: readonly Case[]): Case[] =>
  isDeep ? [...few, ...more] : [...few];
