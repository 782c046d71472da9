import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { isDeep, seedOf } from './effort.ts';
import { SECTIONS } from './sections.ts';

const isAsked = process.env.SIGNALBOX_SEED !== undefined;

describe('the seeds of laws', () => {
  test('are set in every file for each law that sets none', () => {
    const { seed } = fc.readConfigureGlobal() ?? {};
    if (isDeep && !isAsked) expect(seed).toBeNumber();
    else expect(seed).toBe(seedOf('laws'));
    const drawn = () => fc.sample(fc.nat(), 20);
    expect(drawn()).toEqual(drawn());
  });
});

test('the files of the sections of `npm run test:deep` exist', () => {
  const named = SECTIONS.flatMap(({ files }) => files);
  expect(named.filter((file) => !existsSync(join(import.meta.dir, '../..', file)))).toEqual([]);
});
